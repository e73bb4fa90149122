/** How the work of a run begins: at once, or when it has one of the places that its workflow has for runs. */
import { nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { waitsForPlace } from '../log/fold.ts';
import { isOpen } from '../log/node-state.ts';
import type { Instant } from '../time.ts';
import { advance } from './advance.ts';
import { type Draft, emit } from './draft.ts';
import type { Place } from './plan.ts';

export const mustWaitForPlace = ({ tools }: Draft): boolean => tools.plan.options.maxConcurrentRuns !== undefined;

/** All that the first commit of such a run says of its work: none of it begins there. */
export function awaitPlace(draft: Draft, notBefore?: Instant): void {
  const places = draft.tools.plan.options.maxConcurrentRuns;
  invariant(places !== undefined, 'a run waits for a place where there are none');
  emit(draft, { type: 'PLACE_AWAITED', places, ...(notBefore === undefined ? {} : { notBefore }) });
}

/** The first place that the log names is the run's. */
export function takePlace(draft: Draft, place: number): void {
  if (!waitsForPlace(draft.state)) return;
  emit(draft, { type: 'PLACE_TAKEN', place });
  begin(draft);
}

/** Begins at the roots, and behind what a run that is run again has taken over. */
export function begin(draft: Draft): void {
  const { plan } = draft.tools;
  const at = (node: Place['node']): Place => ({ node, iteration: topLevel });
  const known = (node: Place['node']) => draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration: topLevel }));
  const standing = [...draft.state.nodes.entries()].flatMap(([, state]) => {
    const node = isOpen(state) ? undefined : plan.nodes.get(state.nodeId);
    return node === undefined ? [] : [at(node)];
  });
  advance(draft, standing, plan.roots.filter((root) => known(root) === undefined).map(at));
}
