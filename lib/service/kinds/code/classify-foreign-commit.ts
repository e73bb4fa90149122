/** Classifies what another writer's commit means for a running workflow task. */
import { waitsForManyRuns } from '../../../engine/graph/dispatch.ts';
import { nodeKey } from '../../../engine/ids.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import type { RunState } from '../../../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../../../engine/log/node-state.ts';

export type ForeignEffect =
  /** another workflow task wrote it, or it ended this one: this task must stop */
  | 'takes_over'
  /** a wait has ended or a rollback has begun: the code must receive the new history before its next command batch */
  | 'interrupts'
  /** nothing that is visible to the code */
  | 'nothing';

/**
 * Whether another writer commits so often that a workflow task reads the tail before its puts. The collector commits the ends of many
 * called runs. A read costs a fifth of a put that is lost to it.
 */
export const hasFrequentWriter = (state: RunState): boolean => waitsForManyRuns(state);

/** @param state as it was before the commit */
export function classifyForeignCommit(state: RunState, { events }: Pick<Commit, 'events'>, ownNode: OpenNode): ForeignEffect {
  const effects = events.map((event) => classifyEvent(state, event, ownNode));
  return effects.find((each) => each === 'takes_over') ?? effects.find((each) => each === 'interrupts') ?? 'nothing';
}

function classifyEvent(state: RunState, event: RunEvent, ownNode: OpenNode): ForeignEffect {
  switch (event.type) {
    case 'NODE_DISPATCHED':
      return event.step?.kind === 'workflow_task' ? 'nothing' : 'takes_over';
    // Only the workflow function begins waits, so another workflow task wrote this.
    case 'SLEEP_STARTED':
    case 'SIGNAL_AWAITED':
    case 'SUBFLOW_CALLED':
    case 'RUN_RETRIED':
      return 'takes_over';
    case 'ROLLBACK_STARTED':
      return 'interrupts';
    case 'NODE_WOKEN': {
      // Its backoff was ended early. The end of a sleep follows as its own event.
      const node = state.nodes.get(nodeKey(event));
      return node?.status === 'queued' && node.step?.kind !== 'workflow_task' ? 'interrupts' : 'nothing';
    }
    case 'NODE_COMPLETED':
    case 'NODE_FAILED':
    case 'NODE_RETRIED': {
      const key = nodeKey(event);
      if (key === nodeKey(ownNode)) return 'takes_over';
      const node = state.nodes.get(key);
      if (node === undefined || !isOpen(node) || node.step?.kind === 'workflow_task') return 'nothing';
      return node.status === 'waiting' ? 'interrupts' : 'takes_over';
    }
    default:
      return 'nothing';
  }
}
