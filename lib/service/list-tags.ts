/** The tags of a run, page by page, in the order of the events that they follow from. */
import { type RunAddress, firstCommit } from '../engine/ids.ts';
import { type Tag, TagReader } from '../engine/log/tags.ts';
import type { Deps } from './deps.ts';
import { untilFirstHole } from './read-log.ts';

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
  // What is missing now, and all that comes after it, is given to the next question: that there is more is known already.
  const dense = untilFirstHole(tail, firstCommit + 1);
  const isTorn = dense.length < tail.length;
  const reader = new TagReader();
  const rest = [head.commit, ...dense].flatMap((commit) => reader.read(commit)).filter(({ eventId }) => eventId > after);
  const border = rest[limit - 1]?.eventId ?? Infinity;
  const tags = rest.filter(({ eventId }) => eventId <= border);
  return { kind: 'found', tags, last: tags.at(-1)?.eventId ?? after, hasMore: isTorn || tags.length < rest.length };
}
