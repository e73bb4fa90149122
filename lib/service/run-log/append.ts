/**
 * Appends a commit to the run log: decide, put the next commit number, and after a lost put read the new commits and decide again.
 * A conditional put is safe with retries only under these rules:
 * - Each attempt at a commit number has one nonce, and retries repeat it.
 * - The writer tries n+1 only after commit n is known.
 * - When the store refuses the put, the writer compares nonces.
 * - When the outcome is unknown, the writer repeats the same item under the same number until the answer is definite.
 */
import type { RetryLimits } from '../../base/retry.ts';
import type { LoadedPayloads } from '../../engine/graph/context.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../../engine/json.ts';
import { type Commit, nextCommitNo } from '../../engine/log/commit.ts';
import type { Failure, RunEvent } from '../../engine/log/events.ts';
import { type HeadProjection, isHeldByHead } from '../../engine/log/head.ts';
import type { PutResult } from '../../ports/run-log.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { CommitTooLarge, offloadEvents, withPayloads } from './payloads.ts';
import { type RunFold, advanceFold, readTail } from './read-run-fold.ts';
import { retryUnavailable } from './retry-unavailable.ts';

export type AppendResult =
  | {
      readonly kind: 'committed';
      readonly commit: Commit;
      /** puts of this call that another writer won */ readonly lostPuts: number;
    }
  /** there was nothing to decide */
  | { readonly kind: 'nothing' };

/** Lost puts before the caller's message is redelivered. `collect` limits contention, so in practice a writer loses far fewer. */
export const maxLostPuts = 50;
/** Attempts at one put while its outcome is unknown. */
export const maxPutAttempts = 6;
const unknownOutcomeLimits: RetryLimits = { attempts: maxPutAttempts, backoff: { baseMs: 50 } };

export interface AppendTerms {
  /** whether another writer's commit contains all that this commit would record; then nothing is committed. Default: none does */
  readonly isAlreadyRecordedBy?: ((commit: Commit) => boolean) | undefined;
  /** the events to commit when the decided events exceed a commit's size; by default the run fails */
  readonly eventsWhenTooLarge?: ((failure: Failure) => readonly RunEvent[]) | undefined;
  /** the end that the head records with this commit, if the head holds the commit; undefined: it records none */
  readonly endWith?: (commit: Commit) => HeadProjection | undefined;
}

/**
 * Commits the events that `decide` returns for the run, and advances the fold to the last known commit.
 * @throws Unavailable when the outcome of the put stays unknown; the queue must then redeliver the caller's message
 */
export async function append(
  deps: Deps,
  fold: RunFold,
  by: string,
  decide: (loaded: LoadedPayloads) => readonly RunEvent[],
  { isAlreadyRecordedBy = () => false, eventsWhenTooLarge = runFailedEvents, endWith }: AppendTerms = {},
): Promise<AppendResult> {
  const loaded = new Map<PayloadRef, JsonValue>();
  for (let lostPuts = 0; lostPuts <= maxLostPuts; lostPuts += 1) {
    const decided = await withPayloads(deps, fold.head.address, decide, loaded);
    if (decided.length === 0) return { kind: 'nothing' };
    const { asOf } = fold.state;
    invariant(asOf !== 0, 'append needs a fold that contains the first commit of the run');
    const commit: Commit = {
      number: nextCommitNo(asOf),
      firstEventId: fold.state.nextEventId,
      events: await offloadOrReplace(deps, fold.head, decided, eventsWhenTooLarge),
      at: deps.clock.now(),
      by,
      nonce: deps.ids.nonce(),
    };
    const ended = isHeldByHead(fold.head, commit) ? endWith?.(commit) : undefined;
    const result = await putUntilOutcomeKnown(deps, () => deps.log.put(fold.head.address, commit, fold.head.expiresAt, ended));
    if (isWon(result, commit)) {
      advanceFold(fold, commit);
      if (ended !== undefined) fold.head = { ...fold.head, projection: ended };
      return { kind: 'committed', commit, lostPuts };
    }
    let isAlreadyRecorded = false;
    const read = await readTail(deps, fold, (newer) => {
      isAlreadyRecorded ||= isAlreadyRecordedBy(newer);
    });
    invariant(
      read > 0,
      `the store refused commit ${commit.number} of ${fold.head.address.runId} as existing, but a strongly consistent read does not return it`,
    );
    if (isAlreadyRecorded) return { kind: 'nothing' };
  }
  throw new Unavailable(`a free commit number of ${fold.head.address.runId}`);
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
    // A redelivery of the message would decide the same events, and they would be too large again.
    if (!(error instanceof CommitTooLarge)) throw error;
    return offloadEvents(deps, run, eventsWhenTooLarge(error.failure));
  }
}

const runFailedEvents = (error: Failure): readonly RunEvent[] => [
  { type: 'RUN_STATUS_CHANGED', status: 'failed' },
  { type: 'RUN_FAILED', error },
];

/** A refusal with the commit's own nonce means that an earlier attempt at this put succeeded. */
export const isWon = (result: PutResult, commit: Pick<Commit, 'nonce'>): boolean =>
  result.kind === 'stored' || result.nonce === commit.nonce;

/** Repeats the same put while its outcome is unknown. */
export const putUntilOutcomeKnown = ({ clock }: Pick<Deps, 'clock'>, put: () => Promise<PutResult>): Promise<PutResult> =>
  retryUnavailable(clock, put, unknownOutcomeLimits);
