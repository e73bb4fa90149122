/**
 * What follows from the nodes that have just ended: joins fire, dead branches are skipped, pure nodes are decided
 * on the spot, and the others are dispatched together at the end, when it is known how many siblings they have.
 */
import { type NodeId, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { inline } from '../json.ts';
import type { Failure, SkipReason, Via } from '../log/events.ts';
import { isOpen } from '../log/node-state.ts';
import type { Instant } from '../time.ts';
import { awaitSignal } from './await-signal.ts';
import { type Draft, emit, hasEnded, mayKeepOne } from './draft.ts';
import { edgeState } from './edge-state.ts';
import { finish, haltRun } from './finish.ts';
import { inputOf } from './inputs.ts';
import { verdict } from './join.ts';
import { type Outcome, errorHandle, mainHandle } from './outcome.ts';
import type { PinnedOutput } from './pins.ts';
import type { PlanNode } from './plan.ts';

/**
 * More open siblings than this, and results go over the results queue: that many direct commits would lose
 * more puts than they win. From the simulation's figures: 10 branches within 2 s lose 9 puts.
 */
export const mostDirectSiblings = 8;

/** Decides all that follows from `begin` (the roots of a new run) or from the nodes that ended in this draft. */
export function advance(draft: Draft, ended: readonly PlanNode[], begin: readonly PlanNode[] = []): void {
  const ready: PlanNode[] = [];
  const seen = new Set<NodeId>();
  const work: PlanNode[] = [...ended];

  const fire = (node: PlanNode): void => {
    if (hasEnded(draft)) return;
    seen.add(node.id);
    const pin = draft.tools.plan.pinned?.get(node.id);
    if (pin !== undefined) {
      endPinned(draft, node, pin);
    } else if (node.policy.isDisabled) {
      settle(draft, node, { kind: 'finished', output: inline(null), handle: mainHandle });
    } else if (node.isPure) {
      const input = inputOf(draft.tools.plan, node, topLevel, draft.state, draft.state.nextEventId, draft.tools.loaded);
      settle(draft, node, draft.tools.evaluate(node, input, draft.tools.now));
    } else {
      ready.push(node);
      return;
    }
    work.push(node);
  };

  for (const node of begin) fire(node);
  for (let node = work.shift(); node !== undefined && !hasEnded(draft); node = work.shift()) {
    for (const edge of hasJustEnded(draft, node) ? node.outbound : []) {
      const target = draft.tools.plan.nodes.get(edge.target);
      invariant(target !== undefined, `the plan has an edge to ${edge.target}, which it does not have`);
      if (hasEnded(draft) || seen.has(target.id) || draft.state.nodes.has(nodeKey({ nodeId: target.id, iteration: topLevel })))
        continue;
      consider(draft, target, fire, () => {
        seen.add(target.id);
        work.push(target);
      });
    }
  }
  if (hasEnded(draft)) return;
  dispatch(draft, ready);
  if (draft.state.open.size === 0) finish(draft);
}

const hasJustEnded = (draft: Draft, node: PlanNode): boolean => {
  const state = draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration: topLevel }));
  return state !== undefined && !isOpen(state);
};

function consider(draft: Draft, node: PlanNode, fire: (node: PlanNode) => void, ended: () => void): void {
  const edges = node.inbound.map((edge) => edgeState(draft.state, edge, topLevel, draft.tools.loaded));
  const skip = (reason: SkipReason): void => {
    emit(draft, { type: 'NODE_SKIPPED', nodeId: node.id, iteration: topLevel, reason });
    ended();
  };
  switch (verdict(edges, node.policy)) {
    case 'wait':
      return;
    case 'fire':
      return fire(node);
    case 'skip_branch':
      return skip('branch_not_taken');
    case 'skip_parent':
      return skip('parent_not_successful');
    case 'upstream_failure':
      fail(draft, node, { cause: 'upstream_failure', message: 'upstream_failure', code: 'upstream_failure' });
      return ended();
  }
}

/** A pinned node is not run, whatever it is: it ends with what was pinned. */
function endPinned(draft: Draft, node: PlanNode, { output, handle = mainHandle }: PinnedOutput): void {
  const { now } = draft.tools;
  const times = { attempt: firstAttempt, startedAt: now, endedAt: now };
  emit(draft, { ...completed(node, { kind: 'finished', output: inline(output), handle }, times), isPinned: true });
}

/** Records what became of a node that needs no worker. It is not retried: the same context gives the same answer. */
function settle(draft: Draft, node: PlanNode, outcome: Outcome): void {
  const { now } = draft.tools;
  switch (outcome.kind) {
    case 'finished':
      emit(draft, completed(node, outcome, { attempt: firstAttempt, startedAt: now, endedAt: now }));
      return;
    case 'failed':
      return fail(draft, node, outcome.failure);
    case 'sleeping':
      return sleep(draft, node, outcome);
    case 'awaiting':
      return awaitSignal(draft, node, outcome);
  }
}

export function sleep(
  draft: Draft,
  node: PlanNode,
  outcome: Extract<Outcome, { kind: 'sleeping' }>,
  attempt = firstAttempt,
): void {
  if (outcome.wakeAt > draft.tools.deadlineAt) {
    return fail(
      draft,
      node,
      { cause: 'deadline', code: 'sleep_past_deadline', message: 'the sleep would end after the deadline of the run' },
      attempt,
    );
  }
  emit(draft, {
    type: 'SLEEP_STARTED',
    nodeId: node.id,
    iteration: topLevel,
    attempt,
    wakeAt: outcome.wakeAt,
    output: outcome.output,
  });
}

interface Times {
  readonly attempt: typeof firstAttempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed?: readonly string[];
}

/** The completion of a node. `output` and `input` are the run's own keys; only an end node writes `output`. */
export const completed = (node: PlanNode, outcome: Extract<Outcome, { kind: 'finished' }>, times: Times) => {
  const variable = outcome.end === undefined ? node.policy.outputVariable : 'output';
  return {
    type: 'NODE_COMPLETED' as const,
    nodeId: node.id,
    iteration: topLevel,
    ...times,
    output: outcome.output,
    handle: outcome.handle,
    ...(variable === undefined ? {} : { variable }),
    ...(outcome.end === undefined ? {} : { end: outcome.end }),
  };
};

/** A failure that is not tried again: the error edge takes it, or the run ends, or each child's policy decides. */
export function fail(
  draft: Draft,
  node: PlanNode,
  failure: Failure,
  attempt = firstAttempt,
  times?: Omit<Times, 'attempt'>,
): void {
  const { now } = draft.tools;
  const isHandled = node.policy.errorHandling === 'continue' && node.outbound.some((edge) => edge.sourceHandle === errorHandle);
  emit(draft, {
    type: 'NODE_FAILED',
    nodeId: node.id,
    iteration: topLevel,
    attempt,
    failure,
    ...(isHandled ? { handle: 'error' as const } : {}),
    ...(isHandled && node.policy.outputVariable !== undefined ? { variable: node.policy.outputVariable } : {}),
    startedAt: times?.startedAt ?? now,
    endedAt: times?.endedAt ?? now,
    ...(times?.printed === undefined ? {} : { printed: times.printed }),
  });
  if (node.policy.errorHandling === 'fail_workflow') haltRun(draft, node);
}

/** Asks for the ready nodes: one goes on here, where it may; many together send their results to be collected. */
function dispatch(draft: Draft, ready: readonly PlanNode[]): void {
  const working = [...draft.state.open.keys()].filter((key) => draft.state.nodes.get(key)?.status !== 'waiting').length;
  const isCrowded = working + ready.length > mostDirectSiblings;
  for (const node of ready) {
    const via: Via = isCrowded ? 'collect' : mayKeepOne(draft) ? 'inline' : 'queue';
    emit(draft, { type: 'NODE_DISPATCHED', nodeId: node.id, iteration: topLevel, attempt: firstAttempt, via, wave: node.wave });
    if (via === 'inline') {
      emit(draft, {
        type: 'NODE_STARTED',
        nodeId: node.id,
        iteration: topLevel,
        attempt: firstAttempt,
        startedAt: draft.tools.now,
      });
    }
  }
}
