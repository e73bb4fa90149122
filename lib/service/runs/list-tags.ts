/** Lists the tags of a run in pages, in the order of the events that set them. */
import { type RunAddress, firstCommit } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type Tag, TagReader } from '../../engine/log/tags.ts';
import type { Deps } from '../deps.ts';
import { readWindows } from '../run-log/read-windows.ts';

export type TagListing =
  | {
      readonly kind: 'found';
      readonly tags: readonly Tag[];
      /** the last processed event, or the event of the request */
      readonly last: number;
      readonly hasMore: boolean;
    }
  | { readonly kind: 'not_found' };

/**
 * @param after the id of the last event seen; 0 before the first
 * @param limit minimum number of tags on a full page: the tags of one event are never split
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
  // Events at and after a gap in the log are left to the next request, so there is more to read.
  let hasMore = false;
  // Reads from the first commit, because a tag depends on earlier events of its node.
  for await (const { commits, hasGap } of readWindows(deps, run, { from: firstCommit, events: limit })) {
    newerTags.push(...commits.flatMap(newerTagsIn));
    hasMore = hasGap;
    if ((newerTags.at(-1)?.eventId ?? 0) > pageEnd()) break;
  }
  const tags = newerTags.filter(({ eventId }) => eventId <= pageEnd());
  return { kind: 'found', tags, last: tags.at(-1)?.eventId ?? after, hasMore: hasMore || tags.length < newerTags.length };
}
