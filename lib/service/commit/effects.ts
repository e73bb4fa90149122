/**
 * The effects of a commit, as values: what remains to be sent, written or notified once the commit is in the log. `effectsOf` is pure;
 * `dispatch-effects.ts` dispatches its effects in their order.
 */
import { signalWaitsOf } from '../../engine/log/open-nodes.ts';
import { type NodeRef, attempt, nodeKey } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { SignalWait } from '../../engine/log/node-state.ts';
import type { SignalKey } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import type { ChildJob, SlotJob, WaitsJob, WakeJob, WorkJob } from '../../ports/jobs.ts';
import type { StoredSignal, Waiter } from '../../ports/coordination.ts';
import type { RunKind } from '../run-kind.ts';
import { carriedRunOf } from '../run-log/carried-run.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { childJob, originFields, slotJob, wakeJob } from './job-messages.ts';

export type Effect = CommitEffect | SignalEffect;

type CommitEffect =
  | { readonly kind: 'send-jobs'; readonly jobs: readonly WorkJob[] }
  | { readonly kind: 'send-at'; readonly at: Instant; readonly job: WorkJob | WakeJob | SlotJob }
  /** through the delay queue, without a delay */
  | { readonly kind: 'send-message'; readonly job: WaitsJob }
  /** execute the called run here, or request it through the delay queue */
  | { readonly kind: 'call'; readonly fold: RunFold; readonly job: ChildJob }
  /** move the expiry of what the run has stored, later */
  | { readonly kind: 'extend-retention'; readonly fold: RunFold }
  /** notify the caller and the children, publish the end, free slot and deployment, update the head */
  | { readonly kind: 'finalize'; readonly fold: RunFold }
  /** write when the sweep must next check the run */
  | { readonly kind: 'mark-due'; readonly fold: RunFold }
  | { readonly kind: 'notify-start'; readonly fold: RunFold };

/** Steps of matching signals with waits (`match-signals.ts`). A step may have further steps, and the effects of its own commit. */
export type SignalEffect =
  | { readonly kind: 'register-wait'; readonly fold: RunFold; readonly wait: SignalWait }
  /** `fold` of a run that the caller continues to use: it is advanced in place of a second fold of that run */
  | { readonly kind: 'match-signals'; readonly signalKey: SignalKey; readonly fold: RunFold | undefined; readonly round: number }
  | (ClaimedSignal & {
      readonly kind: 'deliver-signal';
      readonly fold: RunFold | undefined;
      /** the waiter's fold, if it has been read */
      readonly waiterFold: RunFold | undefined;
      /** what the commit needs, if it has begun beside the claim */
      readonly preparation?: DeliveryPreparation;
    })
  /** `waiterFold` is undefined if the waiter's run is deleted; `from` is the commit after which the log may contain the signal */
  | (ClaimedSignal & {
      readonly kind: 'settle-signal';
      readonly waiterFold: RunFold | undefined;
      readonly from: Commit['number'];
    })
  /** the effects before it are dispatched; now the error leaves the message to redelivery */
  | { readonly kind: 'fail'; readonly error: unknown };

/** An error of either is thrown where it is awaited. */
export interface DeliveryPreparation {
  readonly mark: Promise<void>;
  readonly payload: Promise<JsonValue | undefined>;
}

interface ClaimedSignal {
  readonly signalKey: SignalKey;
  readonly signal: StoredSignal;
  readonly waiter: Waiter;
}

type CommittedEvents = Pick<Commit, 'number' | 'events' | 'at'>;

/** @param fold the run after the commit */
export function effectsOf(kind: Pick<RunKind, 'jobOf' | 'signals'>, fold: RunFold, commit: CommittedEvents): readonly Effect[] {
  const effects: Effect[] = [];
  const readyJobs: WorkJob[] = [];
  for (const event of commit.events) {
    if (event.type === 'NODE_DISPATCHED' && event.notBefore === undefined) {
      if (event.via !== 'inline') readyJobs.push(kind.jobOf(fold.head, commit.number, event));
    } else if (event.type === 'NODE_WOKEN') {
      if (isRetriedNow(fold, commit, event)) readyJobs.push(kind.jobOf(fold.head, commit.number, event));
    } else effects.push(...effectsOfEvent(kind, fold, commit, event));
  }
  if (readyJobs.length > 0) effects.push({ kind: 'send-jobs', jobs: readyJobs });
  const isStart = commit.events.some(isStartEvent);
  if (isTerminal(fold.state.progress)) {
    // The start too: a pack may contain both.
    if (isStart) effects.push({ kind: 'notify-start', fold });
    effects.push({ kind: 'finalize', fold });
  } else {
    const extension = fold.state.devkit === undefined ? undefined : fold.state.deadlineExtension;
    if (commit.events.some(needsCheck)) effects.push({ kind: 'mark-due', fold });
    if (extension?.at === commit.at || commit.events.some(({ type }) => type === 'DEADLINE_EXTENDED'))
      effects.push({ kind: 'extend-retention', fold });
    if (isStart) effects.push({ kind: 'notify-start', fold });
  }
  return [...effects, ...signalWaitEffects(kind, fold, commit)];
}

/** The event ended a backoff. A step needs no job: a workflow task retries it. */
function isRetriedNow({ state }: RunFold, { number }: CommittedEvents, event: NodeRef): boolean {
  const node = state.nodes.get(nodeKey(event));
  if (node?.status !== 'queued' || node.dispatchedIn !== number) return false;
  return node.step === undefined || node.step.kind === 'workflow_task';
}

/**
 * Waits that the sweep must check. A paused loop and a wait for a slot need no due time: the sweep checks a running run every few minutes
 * and finds a lost wake-up.
 */
const needsCheck = ({ type }: RunEvent): boolean => beginsWait.has(type);

const isStartEvent = (event: RunEvent): boolean =>
  event.type === 'DEVKIT' ? event.event === 'run_started' : event.type === 'RUN_STATUS_CHANGED' && event.status === 'running';

const beginsWait: ReadonlySet<RunEvent['type']> = new Set(['SLEEP_STARTED', 'SIGNAL_AWAITED', 'SUBFLOW_CALLED']);

function effectsOfEvent(
  kind: Pick<RunKind, 'jobOf'>,
  fold: RunFold,
  { number, at }: CommittedEvents,
  event: RunEvent,
): readonly Effect[] {
  const { head, state } = fold;
  switch (event.type) {
    case 'NODE_DISPATCHED':
      return event.notBefore === undefined || event.via === 'inline'
        ? []
        : [{ kind: 'send-at', at: event.notBefore, job: kind.jobOf(head, number, event) }];
    case 'NODE_RETRIED': {
      if (event.via === 'inline') return [];
      const job = kind.jobOf(head, number, { ...event, attempt: attempt(event.attempt + 1) });
      return [{ kind: 'send-at', at: event.retryAt, job }];
    }
    case 'SLEEP_STARTED':
    case 'LOOP_PAUSED':
      return [{ kind: 'send-at', at: event.wakeAt, job: wakeJob(head, number, event) }];
    case 'SLOT_AWAITED':
      if (state.admission === undefined) return [];
      return [{ kind: 'send-at', at: event.notBefore ?? at, job: slotJob(head, state.admission) }];
    case 'SIGNAL_AWAITED':
      return event.expiresAt === undefined ? [] : [{ kind: 'send-at', at: event.expiresAt, job: wakeJob(head, number, event) }];
    case 'SUBFLOW_CALLED': {
      const call: Effect = { kind: 'call', fold, job: childJob(head, event, event.childRunId) };
      if (event.expiresAt === undefined) return [call];
      return [call, { kind: 'send-at', at: event.expiresAt, job: wakeJob(head, number, event) }];
    }
    default:
      return [];
  }
}

/** Last, because a match with a signal advances the run. */
function signalWaitEffects({ signals }: Pick<RunKind, 'signals'>, fold: RunFold, commit: CommittedEvents): readonly Effect[] {
  if (!commit.events.some(({ type }) => type === 'SIGNAL_AWAITED')) return [];
  if (signals === 'by_message') return [{ kind: 'send-message', job: { kind: 'waits', ...originFields(fold.head) } }];
  return signalWaitsOf(fold.state)
    .filter(({ dispatchedIn }) => dispatchedIn === commit.number)
    .map((wait) => ({ kind: 'register-wait', fold, wait }));
}

/** The effects of a commit that this process has put, with the run in their messages if it is small. */
export function carryingRun(fold: RunFold, effects: readonly Effect[]): readonly Effect[] {
  const carried = effects.some(({ kind }) => kind === 'send-jobs') ? carriedRunOf(fold) : undefined;
  if (carried === undefined) return effects;
  const carrying = (job: WorkJob): WorkJob => (job.kind === 'node' ? { ...job, carried } : job);
  return effects.map((effect) => (effect.kind === 'send-jobs' ? { ...effect, jobs: effect.jobs.map(carrying) } : effect));
}
