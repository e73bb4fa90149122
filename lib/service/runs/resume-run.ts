/**
 * Tells a run that it shall go on, and why: the log keeps the reason and what was brought. Whatever sleeps in a graph run, or
 * in one of code that is replayed, is woken; the workflow of a fetch run is given a message that says so.
 */
import { defined } from '../../engine/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { firstCommit } from '../../engine/ids.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { type DurationMs, after, instant } from '../../engine/time.ts';
import type { Reservation } from '../../ports/control.ts';
import type { AppendResult } from '../run-log/append.ts';
import { commitWithRecheck, endStatusOf } from '../commit/commit-with-recheck.ts';
import { decideBundleRun } from '../commit/decide-bundle-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import { type RunFold, readCommits, readRunFold } from '../run-log/read-run-fold.ts';
import { notifyWaiting } from '../commit/notify-run.ts';
import { wakeAllButLastBatch } from './wake-run.ts';
import { newWorkflowMessage } from '../commit/new-workflow-message.ts';

export interface Resumption {
  readonly reason?: string;
  readonly payload?: JsonValue;
  /** where the request may be repeated: one effect for the key, for as long as keys are remembered */
  readonly idempotency?: {
    readonly key: string;
    readonly bodyHash: string;
    /** absent: that of `POST /v1/runs/resume` */
    readonly endpoint?: string;
    /** absent: as the settings say */
    readonly idempotencyTtlMs?: DurationMs;
  };
}

export type ResumeResult =
  | { readonly kind: 'resumed'; readonly isReplay: boolean }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'idempotency_conflict' }
  /** the run had ended, before or while this was asked */
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
  // Nothing was tried, so the key is free again; only its own reserver may say so.
  if (result.kind !== 'resumed' && reserved.kind === 'reserved')
    await deps.reservations.release(run, endpoint, idempotency.key, proposed.owner);
  return result;
}

/** Whether the request that made the reservation got as far as the log; what came since the log was read, the lost put shows. */
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
  // The fold holds no request of this key; one that is made at the same moment comes before this one's commit or after it.
  await wakeAllButLastBatch(decider, fold);
  const keyedDecider = reservation === undefined ? decider : { ...decider, isAlreadyRecordedBy: resumesFor(reservation.owner) };
  const appended = await commitWithRecheck(decider, fold, () => commitResumption(keyedDecider, fold, resumption, reservation));
  const statusAfter = endStatusOf(fold);
  // At its deadline a run ends instead.
  const isResumed = appended.kind === 'committed' && appended.commit.events.some(({ type }) => type === 'RUN_RESUMED');
  return isResumed || statusAfter === undefined
    ? { kind: 'resumed', isReplay: appended.kind === 'nothing' }
    : { kind: 'run_terminal', status: statusAfter };
}

async function commitResumption(
  decider: Decider,
  fold: RunFold,
  { reason, payload }: Resumption,
  reservation: Reservation | undefined,
): Promise<AppendResult> {
  const { deps } = decider;
  const { head } = fold;
  const reasonFields = defined({
    reason,
    payload: payload === undefined ? undefined : inline(payload),
    token: reservation === undefined ? undefined : reservation.owner,
  });
  if (head.kind !== 'bundle') return notifyWaiting(decider, fold, [{ kind: 'resume-requested', ...reasonFields }]);
  const messageFields = defined({ reason, payload });
  const newMessage = await newWorkflowMessage(deps, head, messageFields, reservation?.runId);
  return decideBundleRun(decider, fold, [{ kind: 'resumed', newMessage, ...reasonFields }]);
}
