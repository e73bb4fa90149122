/** Begins the graph of a run: at once, or when the run has a concurrency slot. */
import { defined } from '../../base/defined.ts';
import { nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { isWaitingForSlot } from '../log/fold.ts';
import { isOpen } from '../log/node-state.ts';
import type { Instant } from '../time.ts';
import { advance } from './advance.ts';
import { emit } from '../decision.ts';
import type { Draft } from './draft.ts';
import type { PlanNodeRef } from './plan.ts';

export const mustWaitForSlot = ({ tools }: Draft): boolean => tools.plan.options.maxConcurrentRuns !== undefined;

/** The first commit of a run that waits for a slot; it begins no node. */
export function awaitSlot(draft: Draft, notBefore?: Instant): void {
  const slots = draft.tools.plan.options.maxConcurrentRuns;
  invariant(slots !== undefined, 'the run waits for a slot, but its workflow limits no concurrent runs');
  emit(draft, defined({ type: 'SLOT_AWAITED', slots, notBefore }));
}

/** The run takes the first slot that its log names; later ones change nothing. */
export function takeSlot(draft: Draft, slot: number): void {
  if (!isWaitingForSlot(draft.state)) return;
  emit(draft, { type: 'SLOT_TAKEN', slot });
  beginGraph(draft);
}

/** Begins at the roots, and after the results that a rerun has taken over. */
export function beginGraph(draft: Draft): void {
  const { plan } = draft.tools;
  const toRef = (node: PlanNodeRef['node']): PlanNodeRef => ({ node, iteration: topLevel });
  const existingState = (node: PlanNodeRef['node']) => draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration: topLevel }));
  const endedRefs = [...draft.state.nodes.entries()].flatMap(([, state]) => {
    const node = isOpen(state) ? undefined : plan.nodes.get(state.nodeId);
    return node === undefined ? [] : [toRef(node)];
  });
  advance(draft, endedRefs, plan.roots.filter((root) => existingState(root) === undefined).map(toRef));
}
