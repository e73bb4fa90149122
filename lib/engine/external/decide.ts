/** Decides requests of workers and clients about external-worker runs: a fact to commit, no change, or a refusal. */
import { backoffMs } from '../../base/retry.ts';
import type { JsonValue } from '../json.ts';
import { type DurationMs, type Instant, after, durationMs } from '../time.ts';
import type { ExternalFact } from './entry.ts';
import { type StepAttemptId, type ErrorRecord, type RunLink, type StepAttempt, endOfLife, hasEnded } from './run.ts';
import { type ExternalState, deadlineExceeded } from './fold.ts';

export type Decision =
  | { readonly kind: 'commit'; readonly fact: ExternalFact }
  /** the requested state already holds */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused' };

const commit = (fact: ExternalFact): Decision => ({ kind: 'commit', fact });
const unchanged: Decision = { kind: 'unchanged' };
const refused: Decision = { kind: 'refused' };

/** A worker keeps an expired lease until another worker claims the run, which changes `workerId` and the log. */
const isOwnedBy = ({ run }: ExternalState, workerId: string): boolean => run.status === 'running' && run.workerId === workerId;

export function decideClaim(state: ExternalState, workerId: string, lease: DurationMs, now: Instant): Decision {
  const { run } = state;
  if (run.availableAt === null) return refused;
  if (endOfLife(run) <= now) return commit({ type: 'expired' });
  return run.availableAt <= now ? commit({ type: 'claimed', workerId, leaseUntil: after(now, lease) }) : refused;
}

export const decideLease = (state: ExternalState, workerId: string, lease: DurationMs, now: Instant): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'lease-extended', leaseUntil: after(now, lease) }) : refused;

/** If the awaited signal or child end has already arrived, the run stays due now. */
export function decideSuspend(state: ExternalState, workerId: string, availableAt: Instant, now: Instant): Decision {
  if (!isOwnedBy(state, workerId)) return refused;
  const isDueNow = availableAt > now && [...state.steps.values()].some((step) => isWaitSatisfied(state, step));
  return commit({ type: 'suspended', availableAt: isDueNow ? now : availableAt });
}

const isWaitSatisfied = ({ deliveries, endedChildren }: ExternalState, { id, kind, status, child }: StepAttempt): boolean =>
  status === 'running' &&
  ((kind === 'signal-wait' && deliveries.has(id)) ||
    (kind === 'workflow' && child !== null && isSameLink(endedChildren.get(id), child)));

const isSameLink = (one: RunLink | undefined, other: RunLink): boolean =>
  one?.runId === other.runId && one.namespaceId === other.namespaceId;

export const decideCompletion = (state: ExternalState, workerId: string, output: JsonValue): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'completed', output }) : refused;

/** Retry policy; intervals in milliseconds. */
export interface ExternalRetry {
  readonly initialInterval: number;
  readonly backoffCoefficient: number;
  readonly maximumInterval: number;
  /** 0: no limit */
  readonly maximumAttempts: number;
}

export interface FailureReport {
  readonly workerId: string;
  readonly error: ErrorRecord;
  readonly retry: ExternalRetry;
  /** the caller's value; undefined: the log's value */
  readonly attempts: number | undefined;
  readonly deadlineAt: Instant | null | undefined;
}

export function decideFailure(state: ExternalState, failure: FailureReport, now: Instant): Decision {
  if (!isOwnedBy(state, failure.workerId)) return refused;
  const { error, retry, attempts = state.run.attempts } = failure;
  const deadlineAt = failure.deadlineAt === undefined ? state.run.deadlineAt : failure.deadlineAt;
  if (deadlineAt !== null && now >= deadlineAt) return commit({ type: 'failed', error: deadlineExceeded });
  if (retry.maximumAttempts > 0 && attempts >= retry.maximumAttempts) return commit({ type: 'failed', error });
  const availableAt = after(now, retryDelay(retry, attempts));
  if (deadlineAt !== null && availableAt >= deadlineAt) return commit({ type: 'failed', error });
  return commit({ type: 'rescheduled', error, availableAt });
}

/** `min(initial × coefficient^(attempts − 1), maximum)`, without jitter. */
function retryDelay({ initialInterval, backoffCoefficient, maximumInterval }: ExternalRetry, attempts: number): DurationMs {
  const backoff = { baseMs: initialInterval, factor: backoffCoefficient, maxMs: maximumInterval };
  return durationMs(Math.max(0, Math.round(backoffMs(backoff, Math.max(1, attempts)))));
}

export const decideReschedule = (state: ExternalState, workerId: string, error: ErrorRecord, availableAt: Instant): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'rescheduled', error, availableAt }) : refused;

export function decideCancel({ run }: ExternalState): Decision {
  if (!hasEnded(run)) return commit({ type: 'cancelled' });
  return run.status === 'cancelled' ? unchanged : refused;
}

type StepStart = Omit<Extract<ExternalFact, { type: 'step-begun' }>, 'type'>;

export const decideStep = (state: ExternalState, workerId: string, begun: StepStart): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'step-begun', ...begun }) : refused;

interface StepRequest {
  readonly workerId: string;
  readonly stepAttemptId: string;
}

/** A repeated report of the same end changes nothing; the first result stands. */
const decideStepEnd = (
  state: ExternalState,
  { workerId, stepAttemptId }: StepRequest,
  status: StepAttempt['status'],
  fact: (id: StepAttemptId) => ExternalFact,
): Decision => {
  const step = state.steps.get(stepAttemptId);
  if (step === undefined || !isOwnedBy(state, workerId)) return refused;
  if (step.status === 'running') return commit(fact(step.id));
  return step.status === status ? unchanged : refused;
};

export const decideStepCompletion = (state: ExternalState, request: StepRequest, output: JsonValue): Decision =>
  decideStepEnd(state, request, 'completed', (id) => ({ type: 'step-completed', stepAttemptId: id, output }));

export const decideStepFailure = (state: ExternalState, request: StepRequest, error: ErrorRecord): Decision =>
  decideStepEnd(state, request, 'failed', (id) => ({ type: 'step-failed', stepAttemptId: id, error }));

export const decideLink = (state: ExternalState, request: StepRequest, child: RunLink): Decision =>
  decideStepEnd(state, request, 'running', (id) => ({ type: 'child-linked', stepAttemptId: id, child }));

/** Recorded once, whether or not the child is linked yet: the link may arrive later. */
export function decideChildEnd(state: ExternalState, stepAttemptId: string, child: RunLink): Decision {
  const step = state.steps.get(stepAttemptId);
  if (step === undefined || hasEnded(state.run) || step.kind !== 'workflow' || step.status !== 'running') return refused;
  if (step.child !== null && !isSameLink(step.child, child)) return refused;
  if (isSameLink(state.endedChildren.get(step.id), child)) return unchanged;
  return commit({ type: 'child-ended', stepAttemptId: step.id, child });
}

/** Waits of a run for this signal that have received none. */
export const openWaits = ({ run, steps, deliveries }: ExternalState, signal: string): readonly StepAttemptId[] =>
  hasEnded(run)
    ? []
    : [...steps.values()]
        .filter(
          ({ id, kind, status, context }) =>
            kind === 'signal-wait' &&
            status === 'running' &&
            context?.kind === 'signal-wait' &&
            context.signal === signal &&
            !deliveries.has(id),
        )
        .map(({ id }) => id);

export interface SignalSend {
  readonly signal: string;
  readonly data: JsonValue;
  readonly sendId: string;
  /** the waits that the signal is for; absent: all open waits */
  readonly waitIds?: readonly StepAttemptId[];
}

/** Each wait receives one signal. */
export function decideDelivery(state: ExternalState, { signal, data, sendId, waitIds }: SignalSend): Decision {
  const waits = openWaits(state, signal).filter((id) => waitIds?.includes(id) !== false);
  if (waits.length > 0) return commit({ type: 'signal-delivered', waits, data, sendId });
  return [...state.deliveries.values()].some((delivery) => delivery.sendId === sendId) ? unchanged : refused;
}
