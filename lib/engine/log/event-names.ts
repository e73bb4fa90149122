/**
 * The one table that gives each engine event its public, dotted name. No other code spells an event name.
 * A published name keeps its meaning: readers resume by it.
 */
import type { DevKitEventName } from '../devkit/events.ts';
import type { RunEventType } from './events.ts';

const publicNames = {
  INPUT_SET: 'input.set',
  SYSTEM_SET: 'system.set',
  RUN_STARTED: 'run.started',
  SLOT_AWAITED: 'slot.awaited',
  SLOT_TAKEN: 'slot.taken',
  RUN_STATUS_CHANGED: 'run.status.changed',
  RUN_COMPLETED: 'run.completed',
  RUN_FAILED: 'run.failed',
  RUN_TIMED_OUT: 'run.timed_out',
  RUN_CANCELLED: 'run.cancelled',
  RUN_RESUMED: 'run.resumed',
  RUN_RECOVERED: 'run.recovered',
  RUN_RETRIED: 'run.retried',
  DEADLINE_EXTENDED: 'deadline.extended',
  ROLLBACK_STARTED: 'rollback.started',
  NODE_DISPATCHED: 'node.queued',
  NODE_STARTED: 'node.started',
  SLEEP_STARTED: 'node.waiting',
  NODE_WOKEN: 'node.woken',
  SIGNAL_AWAITED: 'signal.awaited',
  SIGNAL_RECEIVED: 'signal.received',
  SUBFLOW_CALLED: 'subflow.called',
  NODE_COMPLETED: 'node.completed',
  CONTRACT_VIOLATED: 'contract.violated',
  MODERATION_FLAGGED: 'moderation.flagged',
  NODE_RETRIED: 'node.retried',
  NODE_FAILED: 'node.failed',
  NODE_SKIPPED: 'node.skipped',
  LOOP_STARTED: 'loop.started',
  LOOP_PAUSED: 'loop.paused',
  LOOP_RESULTS_STORED: 'loop.results.stored',
  ITERATION_STARTED: 'iteration.started',
  ITERATION_ENDED: 'iteration.ended',
} as const satisfies Record<Exclude<RunEventType, 'DEVKIT'>, string>;

/** The events of the Workflow DevKit. Where one means the same as an event of another run, it has the same name. */
const devKitNames = {
  run_created: 'input.set',
  run_started: 'run.started',
  run_completed: 'run.completed',
  run_failed: 'run.failed',
  run_cancelled: 'run.cancelled',
  attr_set: 'attributes.set',
  step_created: 'node.queued',
  step_started: 'node.started',
  step_completed: 'node.completed',
  step_failed: 'node.failed',
  step_retrying: 'node.retried',
  hook_created: 'signal.awaited',
  hook_received: 'signal.received',
  hook_disposed: 'hook.disposed',
  hook_conflict: 'hook.conflict',
  wait_created: 'node.waiting',
  wait_completed: 'node.woken',
} as const satisfies Record<DevKitEventName, string>;

const failedNames = { timeout: 'node.timed_out', blocked: 'node.blocked', invalidated: 'node.invalidated' } as const;

export type PublicEventName =
  | (typeof publicNames)[keyof typeof publicNames]
  | (typeof devKitNames)[DevKitEventName]
  | (typeof failedNames)[keyof typeof failedNames];

/** The public name of an engine event. A failure by timeout or at a gate has its own name, such as `node.timed_out`. */
export const mapEngineEventToSse = (
  event:
    | { type: 'DEVKIT'; event: DevKitEventName }
    | { type: Exclude<RunEventType, 'DEVKIT'>; failure?: { cause: string; status?: 'blocked' | 'invalidated' } },
): PublicEventName => {
  if (event.type === 'DEVKIT') return devKitNames[event.event];
  if (event.type !== 'NODE_FAILED') return publicNames[event.type];
  if (event.failure?.status !== undefined) return failedNames[event.failure.status];
  return event.failure?.cause === 'timeout' ? failedNames.timeout : publicNames.NODE_FAILED;
};

export const publicEventNames: readonly PublicEventName[] = [
  ...new Set([...Object.values(publicNames), ...Object.values(failedNames), ...Object.values(devKitNames)]),
];

/** The last event of a run. */
export const finalEventNames: readonly PublicEventName[] = [
  publicNames.RUN_COMPLETED,
  publicNames.RUN_FAILED,
  publicNames.RUN_TIMED_OUT,
  publicNames.RUN_CANCELLED,
];

/** Events of a stream that follow from an event of the log (`derived-events.ts`). */
export const derivedEventNames = { log: 'node.log', cancelled: 'node.cancelled' } as const;
export type DerivedEventName = (typeof derivedEventNames)[keyof typeof derivedEventNames];

/** Frames that readers receive and no log contains: a piece of a node's output stream, and the stream's keep-alive. */
export const deltaEventName = 'node.stream.delta';
export const heartbeatEventName = 'heartbeat';
