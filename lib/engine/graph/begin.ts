/** How the work of a run begins: at once, or when it has one of the places that its workflow has for runs. */
import { defined } from '../defined.ts';
import { nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { isWaitingForSlot } from '../log/fold.ts';
import { isOpen } from '../log/node-state.ts';
import type { Instant } from '../time.ts';
import { advance } from './advance.ts';
import { type Draft, emit } from './draft.ts';
import type { PlanNodeRef } from './plan.ts';

export const mustWaitForSlot = ({ tools }: Draft): boolean => tools.plan.options.maxConcurrentRuns !== undefined;

/** All that the first commit of such a run says of its work: none of it begins there. */
export function awaitSlot(draft: Draft, notBefore?: Instant): void {
  const slots = draft.tools.plan.options.maxConcurrentRuns;
  invariant(slots !== undefined, 'a run waits for a place where there are none');
  emit(draft, defined({ type: 'SLOT_AWAITED', slots, notBefore }));
}

/** The first place that the log names is the run's. */
export function takeSlot(draft: Draft, slot: number): void {
  if (!isWaitingForSlot(draft.state)) return;
  emit(draft, { type: 'SLOT_TAKEN', slot });
  beginGraph(draft);
}

/** Begins at the roots, and behind what a run that is run again has taken over. */
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
