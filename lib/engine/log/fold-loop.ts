/** The fold of loop events: the progress of each loop and its open iterations. */
import { type NodeRef, nodeKey, iterationKeyOf } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import type { Payload } from '../json.ts';
import {
  type RunState,
  type Stamp,
  waitRecordOf,
  dropIteration,
  setOpenNode,
  recordWaitEnd,
  requireOpenNode,
} from './run-state.ts';
import type { RunEvent } from './events.ts';
import { maxFailedItems, type LoopState, type LoopWait, payloadSize, isOpen } from './node-state.ts';

export type LoopEvent = Extract<
  RunEvent,
  { type: 'LOOP_STARTED' | 'LOOP_PAUSED' | 'LOOP_RESULTS_STORED' | 'ITERATION_STARTED' | 'ITERATION_ENDED' }
>;

const loopEventTypes: ReadonlySet<string> = new Set<LoopEvent['type']>([
  'LOOP_STARTED',
  'LOOP_PAUSED',
  'LOOP_RESULTS_STORED',
  'ITERATION_STARTED',
  'ITERATION_ENDED',
]);
export const isLoopEvent = (event: RunEvent): event is LoopEvent => loopEventTypes.has(event.type);

export function applyLoopEvent(state: RunState, event: LoopEvent, stamp: Stamp): void {
  const ref: NodeRef = { nodeId: event.nodeId, iteration: event.iteration };
  if (event.type === 'LOOP_STARTED') return beginLoop(state, ref, event, stamp);
  const wait = requireLoopWait(state, ref, event.attempt);
  const { loop } = wait;
  switch (event.type) {
    case 'LOOP_PAUSED':
      recordWaitEnd(state, event.wakeAt);
      // From here on the loop's timer names this commit.
      return setOpenNode(state, {
        ...wait,
        dispatchedIn: stamp.commit,
        dispatchedAt: stamp.at,
        loop: { ...loop, wakeAt: event.wakeAt },
      });
    case 'LOOP_RESULTS_STORED':
      return setOpenNode(state, {
        ...wait,
        loop: { ...loop, stored: [...loop.stored, event.results], pendingResults: [], pendingSize: 0 },
      });
    case 'ITERATION_STARTED': {
      const { index, item } = event;
      invariant(
        index === loop.next && index < loop.items,
        () => `${nodeKey(ref)} began iteration ${index}, but the next of its ${loop.items} is ${loop.next}`,
      );
      const { wakeAt: _elapsedPause, ...rest } = loop;
      setOpenNode(state, { ...wait, loop: { ...rest, next: index + 1, open: [...loop.open, index] } });
      const itemField = item === undefined ? {} : { item };
      state.iterations.set(iterationKeyOf(ref, index), {
        loop: ref,
        index,
        ...itemField,
        startedBy: state.nextEventId,
        members: [],
        open: 0,
        contextWrites: {},
      });
      return undefined;
    }
    case 'ITERATION_ENDED': {
      invariant(loop.open.includes(event.index), () => `${nodeKey(ref)} ended iteration ${event.index}, which is not open`);
      const payload = event.result ?? resultNodeOutput(state, ref, event);
      dropIteration(state, iterationKeyOf(ref, event.index));
      return setOpenNode(state, {
        ...wait,
        loop: { ...withResult(loop, event.index, payload), ...(event.status === 'failed' ? withFailure(loop, event.index) : {}) },
      });
    }
    default:
      return unreachable(event);
  }
}

function beginLoop(state: RunState, ref: NodeRef, event: Extract<LoopEvent, { type: 'LOOP_STARTED' }>, stamp: Stamp): void {
  const before = state.nodes.get(nodeKey(ref));
  invariant(before === undefined || isOpen(before), () => `${nodeKey(ref)} ended before its loop started`);
  const { type: _type, nodeId: _nodeId, iteration: _iteration, attempt, ...terms } = event;
  setOpenNode(state, {
    ...waitRecordOf(before, ref, { attempt }, state.nextEventId, stamp),
    status: 'waiting',
    for: 'iterations',
    loop: {
      ...terms,
      startedAt: stamp.at,
      next: 0,
      open: [],
      failed: 0,
      pendingResults: [],
      pendingSize: 0,
      totalSize: 0,
      stored: [],
    },
  });
}

function requireLoopWait(state: RunState, ref: NodeRef, attempt: LoopEvent['attempt']): LoopWait {
  const open = requireOpenNode(state.nodes.get(nodeKey(ref)), attempt, ref);
  invariant(open.status === 'waiting' && open.for === 'iterations', () => `${nodeKey(ref)} is not an open loop`);
  return open;
}

const withFailure = ({ failed, failedItems = [] }: LoopState, index: number): Pick<LoopState, 'failed' | 'failedItems'> => ({
  failed: failed + 1,
  failedItems: failedItems.length < maxFailedItems ? [...failedItems, index] : failedItems,
});

const withResult = (loop: LoopState, index: number, payload: Payload): LoopState => ({
  ...loop,
  open: loop.open.filter((other) => other !== index),
  pendingResults: [...loop.pendingResults, { index, payload }],
  pendingSize: loop.pendingSize + payloadSize(payload),
  totalSize: loop.totalSize + payloadSize(payload),
});

function resultNodeOutput(state: RunState, ref: NodeRef, event: Extract<LoopEvent, { type: 'ITERATION_ENDED' }>): Payload {
  invariant(event.from !== undefined, () => `iteration ${event.index} of ${nodeKey(ref)} ended without a result`);
  const node = state.nodes.get(nodeKey({ nodeId: event.from, iteration: iterationKeyOf(ref, event.index) }));
  invariant(node?.status === 'completed', () => `${event.from} supplies the result of an iteration and has not completed`);
  return node.output;
}
