/**
 * Resumes a run. The log stores the reason and the payload. In a graph or code run it wakes the sleeping nodes; a bundle run receives
 * a message for its workflow.
 */
import { defined } from '../../base/defined.ts';
import { type RunAddress, type RunId, firstCommit } from '../../engine/ids.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { type DurationMs, after, instant } from '../../engine/time.ts';
import type { Reservation } from '../../ports/control.ts';
import type { AppendResult } from '../run-log/append.ts';
import { commitWithDueEntry, endStatusOf } from '../commit/commit-with-due-entry.ts';
import { type Decider, kindOf } from '../decider.ts';
import { type RunFold, readCommits, readRunFold } from '../run-log/read-run-fold.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { wakeAllButLastBatch } from './wake-run.ts';

export interface Resumption {
  readonly reason?: string;
  readonly payload?: JsonValue;
  /** for repeatable requests: one effect per key, for as long as the key is stored */
  readonly idempotency?: {
    readonly key: string;
    readonly bodyHash: string;
    /** absent: `POST /v1/runs/resume` */
    readonly endpoint?: string;
    /** absent: the setting's value */
    readonly idempotencyTtlMs?: DurationMs;
  };
}

export type ResumeResult =
  | { readonly kind: 'resumed'; readonly isReplay: boolean }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'idempotency_conflict' }
  /** the run had already ended, or ended concurrently */
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

const resumeEndpoint = 'POST /v1/runs/resume';

export async function resumeRun(decider: Decider, run: RunAddress, resumption: Resumption): Promise<ResumeResult> {
  const { deps } = decider;
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const { idempotency } = resumption;
  if (idempotency === undefined) return resume(decider, fold, resumption);

  const now = deps.clock.now();
  const proposed: Reservation = {
    runId: deps.ids.runId(now),
    bodyHash: idempotency.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const { endpoint = resumeEndpoint, idempotencyTtlMs = deps.settings.idempotencyMs } = idempotency;
  const reserved = await deps.reservations.reserve(run, endpoint, idempotency.key, proposed, {
    notBefore: instant(now - idempotencyTtlMs),
    expiresAt: after(now, idempotencyTtlMs),
  });
  const reservation = reserved.kind === 'taken' ? reserved.by : proposed;
  if (reservation.bodyHash !== idempotency.bodyHash) return { kind: 'idempotency_conflict' };
  if (reserved.kind === 'taken' && (await wasResumed(decider, fold, reservation))) return { kind: 'resumed', isReplay: true };
  const result = await resume(decider, fold, resumption, reservation);
  // Nothing was written, so the key is released; only the request that reserved it may release it.
  if (result.kind !== 'resumed' && reserved.kind === 'reserved')
    await deps.reservations.release(run, endpoint, idempotency.key, proposed.owner);
  return result;
}

/** Whether the log contains the resumption of the reservation. A lost put reveals one that was committed after this read. */
async function wasResumed({ deps }: Decider, fold: RunFold, { owner }: Reservation): Promise<boolean> {
  return (await readCommits(deps, fold, firstCommit)).some(resumesFor(owner));
}

const resumesFor =
  (owner: Reservation['owner']) =>
  ({ events }: Commit): boolean =>
    events.some((event) => event.type === 'RUN_RESUMED' && event.token === owner);

async function resume(
  decider: Decider,
  fold: RunFold,
  resumption: Resumption,
  reservation?: Reservation,
): Promise<Extract<ResumeResult, { kind: 'resumed' | 'run_terminal' }>> {
  const statusBefore = endStatusOf(fold);
  if (statusBefore !== undefined) return { kind: 'run_terminal', status: statusBefore };
  // The fold has no resumption with this key. A concurrent one is committed before or after this one, and only one is recorded.
  await wakeAllButLastBatch(decider, fold);
  const { reason, payload } = resumption;
  const terms = defined({ reason, payload, token: reservation?.owner, idSeed: reservation?.runId });
  const keyedDecider = reservation === undefined ? decider : { ...decider, isAlreadyRecordedBy: resumesFor(reservation.owner) };
  const appended = await commitWithDueEntry(decider, fold, () => kindOf(decider, fold.head).resume(keyedDecider, fold, terms));
  const statusAfter = endStatusOf(fold);
  // A run that has reached its deadline ends instead.
  const isResumed = appended.kind === 'committed' && appended.commit.events.some(({ type }) => type === 'RUN_RESUMED');
  return isResumed || statusAfter === undefined
    ? { kind: 'resumed', isReplay: appended.kind === 'nothing' }
    : { kind: 'run_terminal', status: statusAfter };
}

/** What a resumption records in the log, and what determines the id of a message that it sends. */
export interface ResumeTerms extends Pick<Resumption, 'reason' | 'payload'> {
  readonly token?: Reservation['owner'];
  readonly idSeed?: RunId;
}

/** For graph runs and code runs, whose sleeping nodes wake. */
export const resumeSleepers = (decider: Decider, fold: RunFold, { reason, payload, token }: ResumeTerms): Promise<AppendResult> =>
  notifyRun(decider, fold, [
    defined({ kind: 'resume-requested', reason, payload: payload === undefined ? undefined : inline(payload), token }),
  ]);
