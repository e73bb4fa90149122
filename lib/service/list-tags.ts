/** The tags of a run, page by page, in the order of the events that they follow from. */
import { type RunAddress, firstCommit } from '../engine/ids.ts';
import { type Tag, TagReader } from '../engine/log/tags.ts';
import type { Deps } from './deps.ts';

export type TagListing =
  | {
      readonly kind: 'found';
      readonly tags: readonly Tag[];
      /** the last event that is dealt with, or the one that was asked after */
      readonly last: number;
      readonly hasMore: boolean;
    }
  | { readonly kind: 'not_found' };

/**
 * @param after the id of the last event seen; 0 before the first
 * @param limit tags of a page at least: those of one event are never parted
 */
export async function listTags(
  deps: Pick<Deps, 'log'>,
  run: RunAddress,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<TagListing> {
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const tail = await deps.log.commitsAfter(run, firstCommit);
  // Up to the first missing number; what is missing now is given to the next question.
  const dense = tail.filter((commit, index) => commit.number === firstCommit + 1 + index);
  const reader = new TagReader();
  const rest = [head.commit, ...dense].flatMap((commit) => reader.read(commit)).filter(({ eventId }) => eventId > after);
  const border = rest[limit - 1]?.eventId ?? Infinity;
  const tags = rest.filter(({ eventId }) => eventId <= border);
  return { kind: 'found', tags, last: tags.at(-1)?.eventId ?? after, hasMore: tags.length < rest.length };
}
