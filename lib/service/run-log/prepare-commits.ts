/**
 * Writes the commits of a run that exist from its beginning, before the run itself: the head is written last, so a reader sees all of
 * them or no run. A request that is repeated after a crash prepares the same commits, and finds those that exist.
 */
import { createHash } from 'node:crypto';
import { type Nonce, commitNo, eventId, nonce } from '../../engine/ids.ts';
import { type Commit, isTombstone } from '../../engine/log/commit.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import type { RunCreation } from '../../engine/log/head.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { isWon, putUntilOutcomeKnown } from './append.ts';
import { offloadEvents } from './payloads.ts';

/**
 * @param batches the events of each commit after the first
 * @returns the commits; undefined if the run was deleted
 * @throws Unavailable if another version of Stepwell prepared other commits for this request
 */
export async function prepareCommits(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  creation: RunCreation,
  batches: readonly (readonly RunEvent[])[],
): Promise<readonly Commit[] | undefined> {
  const { address, commit: first } = creation;
  const commits: Commit[] = [];
  let nextEvent = first.firstEventId + first.events.length;
  for (const batch of batches) {
    const events = await offloadEvents(deps, creation, batch);
    const commit: Commit = {
      number: commitNo(first.number + commits.length + 1),
      firstEventId: eventId(nextEvent),
      events,
      at: first.at,
      by: first.by,
      nonce: nonceOf(first.nonce, nextEvent, events),
    };
    const result = await putUntilOutcomeKnown(deps, () => deps.log.prepare(address, commit, creation));
    if (!isWon(result, commit)) {
      if (result.kind === 'occupied' && isTombstone(result)) return undefined;
      throw new Unavailable(`the copied log of ${address.runId}`);
    }
    commits.push(commit);
    nextEvent += events.length;
  }
  return commits;
}

/** The same for each attempt of one request, and for no other commit. */
function nonceOf(owner: Nonce, firstEvent: number, events: readonly RunEvent[]): Nonce {
  const digest = createHash('sha256')
    .update(JSON.stringify([owner, firstEvent, events]))
    .digest('base64url');
  return nonce(digest);
}
