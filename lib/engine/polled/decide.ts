/** What becomes of each request of a worker or a client: a fact to commit, nothing new, or no. */
import type { JsonValue } from '../json.ts';
import { type DurationMs, type Instant, after, durationMs } from '../time.ts';
import type { PolledFact } from './entry.ts';
import type { StepAttemptId } from './ids.ts';
import { type PolledState, deadlineExceeded } from './fold.ts';
import { type ErrorRecord, type RunLink, type StepAttempt, endOfLife, hasEnded } from './run.ts';

export type Decision =
  | { readonly kind: 'commit'; readonly fact: PolledFact }
  /** it is so already */
  | { readonly kind: 'stands' }
  | { readonly kind: 'refused' };

const commit = (fact: PolledFact): Decision => ({ kind: 'commit', fact });
const stands: Decision = { kind: 'stands' };
const refused: Decision = { kind: 'refused' };

/** A lease that has run out is still the worker's, until somebody else claims the run: that changes `workerId`, and the log. */
const isOwnedBy = ({ run }: PolledState, workerId: string): boolean => run.status === 'running' && run.workerId === workerId;

export function decideClaim(state: PolledState, workerId: string, lease: DurationMs, now: Instant): Decision {
  const { run } = state;
  if (run.availableAt === null) return refused;
  if (endOfLife(run) <= now) return commit({ type: 'expired' });
  return run.availableAt <= now ? commit({ type: 'claimed', workerId, leaseUntil: after(now, lease) }) : refused;
}

export const decideLease = (state: PolledState, workerId: string, lease: DurationMs, now: Instant): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'lease-extended', leaseUntil: after(now, lease) }) : refused;

/** What it was to wait for may have come in the meantime: then it does not wait. */
export function decidePark(state: PolledState, workerId: string, availableAt: Instant, now: Instant): Decision {
  if (!isOwnedBy(state, workerId)) return refused;
  const isDueNow = availableAt > now && [...state.steps.values()].some((step) => isAnswered(state, step));
  return commit({ type: 'parked', availableAt: isDueNow ? now : availableAt });
}

const isAnswered = ({ deliveries, endedChildren }: PolledState, { id, kind, status, child }: StepAttempt): boolean =>
  status === 'running' &&
  ((kind === 'signal-wait' && deliveries.has(id)) ||
    (kind === 'workflow' && child !== null && isSame(endedChildren.get(id), child)));

const isSame = (one: RunLink | undefined, other: RunLink): boolean =>
  one?.runId === other.runId && one.namespaceId === other.namespaceId;

export const decideCompletion = (state: PolledState, workerId: string, output: JsonValue): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'completed', output }) : refused;

/** In milliseconds. */
export interface PolledRetry {
  readonly initialInterval: number;
  readonly backoffCoefficient: number;
  readonly maximumInterval: number;
  /** 0: without end */
  readonly maximumAttempts: number;
}

export interface Failure {
  readonly workerId: string;
  readonly error: ErrorRecord;
  readonly retry: PolledRetry;
  /** what the caller knows; else what the log says */
  readonly attempts: number | undefined;
  readonly deadlineAt: Instant | null | undefined;
}

export function decideFailure(state: PolledState, failure: Failure, now: Instant): Decision {
  if (!isOwnedBy(state, failure.workerId)) return refused;
  const { error, retry, attempts = state.run.attempts } = failure;
  const deadlineAt = failure.deadlineAt === undefined ? state.run.deadlineAt : failure.deadlineAt;
  if (deadlineAt !== null && now >= deadlineAt) return commit({ type: 'failed', error: deadlineExceeded });
  if (retry.maximumAttempts > 0 && attempts >= retry.maximumAttempts) return commit({ type: 'failed', error });
  const availableAt = after(now, waitBefore(retry, attempts));
  if (deadlineAt !== null && availableAt >= deadlineAt) return commit({ type: 'failed', error });
  return commit({ type: 'rescheduled', error, availableAt });
}

/** `min(initial × coefficient^(attempts − 1), maximum)`, without chance. */
function waitBefore({ initialInterval, backoffCoefficient, maximumInterval }: PolledRetry, attempts: number): DurationMs {
  const wait = Math.min(initialInterval * backoffCoefficient ** Math.max(0, attempts - 1), maximumInterval);
  return durationMs(Math.max(0, Math.round(wait)));
}

export const decideReschedule = (state: PolledState, workerId: string, error: ErrorRecord, availableAt: Instant): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'rescheduled', error, availableAt }) : refused;

export function decideCancel({ run }: PolledState): Decision {
  if (!hasEnded(run)) return commit({ type: 'cancelled' });
  return run.status === 'cancelled' ? stands : refused;
}

type Begun = Omit<Extract<PolledFact, { type: 'step-begun' }>, 'type'>;

export const decideStep = (state: PolledState, workerId: string, begun: Begun): Decision =>
  isOwnedBy(state, workerId) ? commit({ type: 'step-begun', ...begun }) : refused;

interface StepRequest {
  readonly workerId: string;
  readonly stepAttemptId: string;
}

/** Of a step that has ended so, the first result stands. */
const decideStepEnd = (
  state: PolledState,
  { workerId, stepAttemptId }: StepRequest,
  status: StepAttempt['status'],
  fact: (id: StepAttemptId) => PolledFact,
): Decision => {
  const step = state.steps.get(stepAttemptId);
  if (step === undefined || !isOwnedBy(state, workerId)) return refused;
  if (step.status === 'running') return commit(fact(step.id));
  return step.status === status ? stands : refused;
};

export const decideStepCompletion = (state: PolledState, request: StepRequest, output: JsonValue): Decision =>
  decideStepEnd(state, request, 'completed', (id) => ({ type: 'step-completed', stepAttemptId: id, output }));

export const decideStepFailure = (state: PolledState, request: StepRequest, error: ErrorRecord): Decision =>
  decideStepEnd(state, request, 'failed', (id) => ({ type: 'step-failed', stepAttemptId: id, error }));

export const decideLink = (state: PolledState, request: StepRequest, child: RunLink): Decision =>
  decideStepEnd(state, request, 'running', (id) => ({ type: 'child-linked', stepAttemptId: id, child }));

/** Told once, linked or not: the link may be on its way. */
export function decideChildEnd(state: PolledState, stepAttemptId: string, child: RunLink): Decision {
  const step = state.steps.get(stepAttemptId);
  if (step === undefined || hasEnded(state.run) || step.kind !== 'workflow' || step.status !== 'running') return refused;
  if (step.child !== null && !isSame(step.child, child)) return refused;
  if (isSame(state.endedChildren.get(step.id), child)) return stands;
  return commit({ type: 'child-ended', stepAttemptId: step.id, child });
}

/** Waits of a run for a signal that none has reached. */
export const openWaits = ({ run, steps, deliveries }: PolledState, signal: string): readonly StepAttemptId[] =>
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

export interface Sent {
  readonly signal: string;
  readonly data: JsonValue;
  readonly sending: string;
  /** the waits that it is meant for; absent: all that are open */
  readonly only?: readonly StepAttemptId[];
}

/** A wait is reached once, whoever sends. */
export function decideDelivery(state: PolledState, { signal, data, sending, only }: Sent): Decision {
  const waits = openWaits(state, signal).filter((id) => only?.includes(id) !== false);
  if (waits.length > 0) return commit({ type: 'signal-delivered', waits, data, sending });
  return [...state.deliveries.values()].some((delivery) => delivery.sending === sending) ? stands : refused;
}
