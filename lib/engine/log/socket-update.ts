/** The update that WebSocket watchers of a run receive for an event: a node's status or the run's. Most events cause one. */
import type { Attempt, NodeRef } from '../ids.ts';
import type { Payload } from '../json.ts';
import type { Failure, RunEvent } from './events.ts';
import type { RunStatus } from './head.ts';

export const nodeUpdateName = 'workflow_node_update';
export const statusUpdateName = 'workflow_status_update';

type UpdatedStatus =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'timed_out'
  | 'blocked'
  | 'invalidated'
  | 'skipped'
  | 'cancelled';

export interface NodeUpdate extends NodeRef {
  readonly kind: 'node';
  readonly status: UpdatedStatus;
  /** absent for a skipped node */
  readonly attempt?: Attempt;
  readonly output?: Payload;
  readonly error?: Failure;
}

export interface StatusUpdate {
  readonly kind: 'run';
  readonly status: RunStatus;
  readonly error?: Failure;
}

/** Whether no delta of the node follows. */
export const isNodeEnd = ({ status }: NodeUpdate): boolean => status !== 'queued' && status !== 'running' && status !== 'waiting';

/** Undefined: the event changes no status. */
export function updateOf(event: RunEvent): NodeUpdate | StatusUpdate | undefined {
  switch (event.type) {
    case 'RUN_STATUS_CHANGED':
      // The last events of the run report its end.
      return event.status === 'running' ? { kind: 'run', status: 'running' } : undefined;
    case 'RUN_COMPLETED':
      return { kind: 'run', status: 'completed' };
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return { kind: 'run', status: 'failed', error: event.error };
    case 'RUN_CANCELLED':
      return { kind: 'run', status: 'cancelled' };
    case 'NODE_DISPATCHED':
      return { ...nodeOf(event), status: 'queued' };
    case 'NODE_STARTED':
      return { ...nodeOf(event), status: 'running' };
    case 'SLEEP_STARTED':
    case 'SIGNAL_AWAITED':
    case 'SUBFLOW_CALLED':
    case 'LOOP_STARTED':
      return { ...nodeOf(event), status: 'waiting' };
    case 'NODE_COMPLETED':
      return { ...nodeOf(event), status: 'completed', output: event.output };
    case 'NODE_RETRIED':
      return { ...nodeOf(event), status: 'queued', error: event.failure };
    case 'NODE_FAILED':
      return { ...nodeOf(event), status: failedStatus(event.failure), error: event.failure };
    case 'NODE_SKIPPED':
      return { kind: 'node', nodeId: event.nodeId, iteration: event.iteration, status: 'skipped' };
    default:
      return undefined;
  }
}

const nodeOf = ({ nodeId, iteration, attempt }: NodeRef & { readonly attempt: Attempt }) => ({
  kind: 'node' as const,
  nodeId,
  iteration,
  attempt,
});

const failedStatus = ({ status, cause }: Failure): UpdatedStatus => status ?? (cause === 'timeout' ? 'timed_out' : 'failed');
