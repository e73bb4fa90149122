/**
 * Committing: decide, put into the next slot, and on a lost put read what is new and decide again. A conditional put
 * is safe with retries only by these rules:
 * one nonce per slot attempt, unchanged over retries; n+1 only after n is known; on refusal compare nonces;
 * on an unknown outcome repeat the same item into the same slot until the answer is definite.
 */
import type { LoadedPayloads } from '../../engine/graph/context-at.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../../engine/json.ts';
import { type Commit, nextCommitNo } from '../../engine/log/commit.ts';
import type { Failure, RunEvent } from '../../engine/log/events.ts';
import { applyCommit } from '../../engine/log/fold.ts';
import { type DurationMs, durationMs } from '../../engine/time.ts';
import type { PutResult } from '../../ports/run-log.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { CommitTooLarge, offloadEvents, withPayloads } from './payloads.ts';
import { type RunFold, readTail } from './read-run-fold.ts';

export type AppendResult =
  | { readonly kind: 'committed'; readonly commit: Commit; /** puts that another writer won */ readonly lostPuts: number }
  /** nothing was left to decide */
  | { readonly kind: 'nothing' };

/** How often another writer may win before the message is left to come back. Contention is foreseen (`collect`), so this is far off. */
const maxLostPuts = 50;
/** Tries of one put whose outcome stays unknown. */
const maxPutAttempts = 6;
const initialBackoffMs = 50;

/**
 * Commits what `question` decides about the run. The fold is moved to the last commit known.
 * @param isAlreadyRecordedBy whether a commit that came before this one could says all of it: then nothing is left to decide
 * @param eventsWhenTooLarge what is committed where that fits no commit; absent: the run fails by it
 * @throws Unavailable where the outcome of the put stays unknown; the caller's message must come back
 */
export async function append(
  deps: Deps,
  fold: RunFold,
  by: string,
  decide: (loaded: LoadedPayloads) => readonly RunEvent[],
  isAlreadyRecordedBy: (commit: Commit) => boolean = () => false,
  eventsWhenTooLarge: (failure: Failure) => readonly RunEvent[] = runFailedEvents,
): Promise<AppendResult> {
  const loaded = new Map<PayloadRef, JsonValue>();
  for (let lostPuts = 0; lostPuts <= maxLostPuts; lostPuts += 1) {
    const decided = await withPayloads(deps, fold.head.address, decide, loaded);
    if (decided.length === 0) return { kind: 'nothing' };
    const { asOf } = fold.state;
    invariant(asOf !== 0, 'a run without its first commit cannot go on');
    const commit: Commit = {
      number: nextCommitNo(asOf),
      firstEventId: fold.state.nextEventId,
      events: await offloadOrReplace(deps, fold.head, decided, eventsWhenTooLarge),
      at: deps.clock.now(),
      by,
      nonce: deps.ids.nonce(),
    };
    const result = await putUntilOutcomeKnown(deps, () => deps.log.put(fold.head.address, commit, fold.head.expiresAt));
    if (isWon(result, commit)) {
      applyCommit(fold.state, commit);
      return { kind: 'committed', commit, lostPuts };
    }
    let isAlreadyRecorded = false;
    const read = await readTail(deps, fold, (newer) => {
      isAlreadyRecorded ||= isAlreadyRecordedBy(newer);
    });
    invariant(read > 0, `slot ${commit.number} of ${fold.head.address.runId} is taken, and a strong read does not show by what`);
    if (isAlreadyRecorded) return { kind: 'nothing' };
  }
  throw new Unavailable('a free slot of the log');
}

async function offloadOrReplace(
  deps: Deps,
  run: RunFold['head'],
  events: readonly RunEvent[],
  eventsWhenTooLarge: (failure: Failure) => readonly RunEvent[],
): Promise<readonly RunEvent[]> {
  try {
    return await offloadEvents(deps, run, events);
  } catch (error) {
    // It would be too large each time that its message came back.
    if (!(error instanceof CommitTooLarge)) throw error;
    return offloadEvents(deps, run, eventsWhenTooLarge(error.failure));
  }
}

const runFailedEvents = (error: Failure): readonly RunEvent[] => [
  { type: 'RUN_STATUS_CHANGED', status: 'failed' },
  { type: 'RUN_FAILED', error },
];

/** Refused by one's own earlier try means won. */
export const isWon = (result: PutResult, commit: Pick<Commit, 'nonce'>): boolean =>
  result.kind === 'stored' || result.nonce === commit.nonce;

/** Repeats the same put while its outcome is unknown. */
export async function putUntilOutcomeKnown(deps: Pick<Deps, 'clock'>, put: () => Promise<PutResult>): Promise<PutResult> {
  let backoff: DurationMs = durationMs(initialBackoffMs);
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await put();
    } catch (error) {
      if (!(error instanceof Unavailable) || attempts === maxPutAttempts) throw error;
      await deps.clock.sleep(backoff);
      backoff = durationMs(backoff * 2);
    }
  }
}
