/** The part of the fold that loops write: how far each has come, and its passes under way. */
import { type NodeRef, nodeKey, passKey } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import type { Payload } from '../json.ts';
import { parked } from './dispatched.ts';
import type { RunEvent } from './events.ts';
import { type LoopState, sizeOf } from './loop-state.ts';
import { type LoopWait, isOpen } from './node-state.ts';
import { type RunState, type Stamp, dropPass, put, running } from './run-state.ts';

export type LoopEvent = Extract<
  RunEvent,
  { type: 'LOOP_STARTED' | 'LOOP_PAUSED' | 'LOOP_RESULTS_KEPT' | 'ITERATION_STARTED' | 'ITERATION_ENDED' }
>;

const loopEvents: ReadonlySet<string> = new Set<LoopEvent['type']>([
  'LOOP_STARTED',
  'LOOP_PAUSED',
  'LOOP_RESULTS_KEPT',
  'ITERATION_STARTED',
  'ITERATION_ENDED',
]);
export const isOfLoop = (event: RunEvent): event is LoopEvent => loopEvents.has(event.type);

export function applyLoopEvent(state: RunState, event: LoopEvent, stamp: Stamp): void {
  const ref: NodeRef = { nodeId: event.nodeId, iteration: event.iteration };
  if (event.type === 'LOOP_STARTED') return begin(state, ref, event, stamp);
  const wait = waitOf(state, ref, event.attempt);
  const { loop } = wait;
  switch (event.type) {
    case 'LOOP_PAUSED':
      // From here on the commit that says so is what its timer names.
      return put(state, {
        ...wait,
        dispatchedIn: stamp.commit,
        dispatchedAt: stamp.at,
        loop: { ...loop, wakeAt: event.wakeAt },
      });
    case 'LOOP_RESULTS_KEPT':
      return put(state, { ...wait, loop: { ...loop, kept: [...loop.kept, event.results], fresh: [], freshSize: 0 } });
    case 'ITERATION_STARTED': {
      const { index, item } = event;
      invariant(index === loop.next && index < loop.items, () => `${nodeKey(ref)} began its pass ${index}, not ${loop.next}`);
      const { wakeAt: _over, ...rest } = loop;
      put(state, { ...wait, loop: { ...rest, next: index + 1, open: [...loop.open, index] } });
      const small = item === undefined ? {} : { item };
      state.passes.set(passKey(ref, index), {
        loop: ref,
        index,
        ...small,
        startedBy: state.nextEventId,
        members: [],
        open: 0,
        written: {},
      });
      return undefined;
    }
    case 'ITERATION_ENDED': {
      invariant(loop.open.includes(event.index), () => `${nodeKey(ref)} ended its pass ${event.index}, which was not under way`);
      const payload = event.result ?? outputOf(state, ref, event);
      dropPass(state, passKey(ref, event.index));
      return put(state, {
        ...wait,
        loop: { ...withResult(loop, event.index, payload), failed: loop.failed + (event.status === 'failed' ? 1 : 0) },
      });
    }
    default:
      return unreachable(event);
  }
}

function begin(state: RunState, ref: NodeRef, event: Extract<LoopEvent, { type: 'LOOP_STARTED' }>, stamp: Stamp): void {
  const before = state.nodes.get(nodeKey(ref));
  invariant(before === undefined || isOpen(before), () => `${nodeKey(ref)} had ended before it began to loop`);
  const { type: _type, nodeId: _nodeId, iteration: _iteration, attempt, ...terms } = event;
  put(state, {
    ...parked(before, ref, { attempt }, state.nextEventId, stamp),
    status: 'waiting',
    for: 'passes',
    loop: {
      ...terms,
      startedAt: stamp.at,
      next: 0,
      open: [],
      failed: 0,
      fresh: [],
      freshSize: 0,
      size: 0,
      kept: [],
    },
  });
}

function waitOf(state: RunState, ref: NodeRef, attempt: LoopEvent['attempt']): LoopWait {
  const open = running(state.nodes.get(nodeKey(ref)), attempt, ref);
  invariant(open.status === 'waiting' && open.for === 'passes', () => `${nodeKey(ref)} is no loop at work`);
  return open;
}

const withResult = (loop: LoopState, index: number, payload: Payload): LoopState => ({
  ...loop,
  open: loop.open.filter((other) => other !== index),
  fresh: [...loop.fresh, { index, payload }],
  freshSize: loop.freshSize + sizeOf(payload),
  size: loop.size + sizeOf(payload),
});

function outputOf(state: RunState, ref: NodeRef, event: Extract<LoopEvent, { type: 'ITERATION_ENDED' }>): Payload {
  invariant(event.from !== undefined, () => `a pass of ${nodeKey(ref)} ended without a result`);
  const node = state.nodes.get(nodeKey({ nodeId: event.from, iteration: passKey(ref, event.index) }));
  invariant(node?.status === 'completed', () => `${event.from}, whose output is to be the result of a pass, has not completed`);
  return node.output;
}
