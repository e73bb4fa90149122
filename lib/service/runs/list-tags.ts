/** The tags of a run, page by page, in the order of the events that they follow from. */
import { type RunAddress, firstCommit } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type Tag, TagReader } from '../../engine/log/tags.ts';
import type { Deps } from '../deps.ts';
import { readWindows } from '../run-log/read-windows.ts';

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
  const reader = new TagReader();
  const newerTagsIn = (commit: Commit): readonly Tag[] => reader.read(commit).filter(({ eventId }) => eventId > after);
  const newerTags = [...newerTagsIn(head.commit)];
  const pageEnd = (): number => newerTags[limit - 1]?.eventId ?? Infinity;
  // What is missing now, and all that comes after it, is given to the next question: that there is more is known already.
  let hasMore = false;
  // From the first commit, whatever was asked: what a tag says of a node may have come long before it.
  for await (const { commits, hasGap } of readWindows(deps, run, { from: firstCommit, events: limit })) {
    newerTags.push(...commits.flatMap(newerTagsIn));
    hasMore = hasGap;
    if ((newerTags.at(-1)?.eventId ?? 0) > pageEnd()) break;
  }
  const tags = newerTags.filter(({ eventId }) => eventId <= pageEnd());
  return { kind: 'found', tags, last: tags.at(-1)?.eventId ?? after, hasMore: hasMore || tags.length < newerTags.length };
}
