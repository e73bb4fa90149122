/**
 * Committing: decide, put into the next slot, and on a lost put read what is new and decide again. A conditional put
 * is safe with retries only by these rules:
 * one nonce per slot attempt, unchanged over retries; n+1 only after n is known; on refusal compare nonces;
 * on an unknown outcome repeat the same item into the same slot until the answer is definite.
 */
import type { LoadedPayloads } from '../engine/graph/context-at.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import { type Commit, nextCommitNo } from '../engine/log/commit.ts';
import type { Failure, RunEvent } from '../engine/log/events.ts';
import { applyCommit } from '../engine/log/fold.ts';
import { type DurationMs, durationMs } from '../engine/time.ts';
import type { PutResult } from '../ports/run-log.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { CommitTooLarge, spillEvents, withPayloads } from './payloads.ts';
import { type RunFold, readTail } from './read-log.ts';

export type Appended =
  | { readonly kind: 'committed'; readonly commit: Commit; /** puts that another writer won */ readonly lost: number }
  /** nothing was left to decide */
  | { readonly kind: 'nothing' };

/** How often another writer may win before the message is left to come back. Contention is foreseen (`collect`), so this is far off. */
const mostLostPuts = 50;
/** Tries of one put whose outcome stays unknown. */
const mostPuts = 6;
const firstPauseMs = 50;

/**
 * Commits what `question` decides about the run. The fold is moved to the last commit known.
 * @param isSaidBy whether a commit that came before this one could says all of it: then nothing is left to decide
 * @param instead what is committed where that fits no commit; absent: the run fails by it
 * @throws Unavailable where the outcome of the put stays unknown; the caller's message must come back
 */
export async function append(
  deps: Deps,
  fold: RunFold,
  by: string,
  question: (loaded: LoadedPayloads) => readonly RunEvent[],
  isSaidBy: (commit: Commit) => boolean = () => false,
  instead: (failure: Failure) => readonly RunEvent[] = endedBy,
): Promise<Appended> {
  const loaded = new Map<PayloadRef, JsonValue>();
  for (let lost = 0; lost <= mostLostPuts; lost += 1) {
    const decided = await withPayloads(deps, fold.head.address, question, loaded);
    if (decided.length === 0) return { kind: 'nothing' };
    const { asOf } = fold.state;
    invariant(asOf !== 0, 'a run without its first commit cannot go on');
    const commit: Commit = {
      number: nextCommitNo(asOf),
      firstEventId: fold.state.nextEventId,
      events: await fitting(deps, fold.head, decided, instead),
      at: deps.clock.now(),
      by,
      nonce: deps.ids.nonce(),
    };
    const result = await untilDefinite(deps, () => deps.log.put(fold.head.address, commit, fold.head.expiresAt));
    if (isWon(result, commit)) {
      applyCommit(fold.state, commit);
      return { kind: 'committed', commit, lost };
    }
    let isSaid = false;
    const read = await readTail(deps, fold, (other) => {
      isSaid ||= isSaidBy(other);
    });
    invariant(read > 0, `slot ${commit.number} of ${fold.head.address.runId} is taken, and a strong read does not show by what`);
    if (isSaid) return { kind: 'nothing' };
  }
  throw new Unavailable('a free slot of the log');
}

async function fitting(
  deps: Deps,
  run: RunFold['head'],
  events: readonly RunEvent[],
  instead: (failure: Failure) => readonly RunEvent[],
): Promise<readonly RunEvent[]> {
  try {
    return await spillEvents(deps, run, events);
  } catch (error) {
    // It would be too large each time that its message came back.
    if (!(error instanceof CommitTooLarge)) throw error;
    return spillEvents(deps, run, instead(error.failure));
  }
}

const endedBy = (error: Failure): readonly RunEvent[] => [
  { type: 'RUN_STATUS_CHANGED', status: 'failed' },
  { type: 'RUN_FAILED', error },
];

/** Refused by one's own earlier try means won. */
export const isWon = (result: PutResult, commit: Pick<Commit, 'nonce'>): boolean =>
  result.kind === 'stored' || result.nonce === commit.nonce;

/** Repeats the same put while its outcome is unknown. */
export async function untilDefinite(deps: Pick<Deps, 'clock'>, put: () => Promise<PutResult>): Promise<PutResult> {
  let pause: DurationMs = durationMs(firstPauseMs);
  for (let tried = 1; ; tried += 1) {
    try {
      return await put();
    } catch (trouble) {
      if (!(trouble instanceof Unavailable) || tried === mostPuts) throw trouble;
      await deps.clock.sleep(pause);
      pause = durationMs(pause * 2);
    }
  }
}
