/** Planted bugs in loops and their iterations. */
import type { PlantedBug } from './bug.ts';

const passes = 'lib/engine/graph/iterations.ts';
const advance = 'lib/engine/graph/advance.ts';
const graphs = { code: 0, runs: 4 };

export const loopBugs: readonly PlantedBug[] = [
  {
    name: 'a loop names the item after the failed one',
    file: 'lib/engine/log/fold-loop.ts',
    find: 'failedItems: failedItems.length < maxFailedItems ? [...failedItems, index] : failedItems,',
    replace: 'failedItems: failedItems.length < maxFailedItems ? [...failedItems, index + 1] : failedItems,',
    within: 60,
    faultProfile: 'none',
    options: graphs,
  },
  {
    name: 'a loop forgets its failed items when it ends',
    file: 'lib/engine/log/node-state.ts',
    find: 'defined({ items, started: next, ended: next - open.length, failed, failedItems });',
    replace: 'defined({ items, started: next, ended: next - open.length, failed: failed + 0 * (failedItems?.length ?? 0) });',
    within: 60,
    faultProfile: 'none',
    options: graphs,
  },
  {
    name: 'a loop exceeds its concurrency',
    file: passes,
    find: 'if (loop.open.length >= loop.concurrency || ',
    replace: 'if (loop.open.length > loop.concurrency || ',
    within: 20,
    options: graphs,
  },
  {
    name: 'a loop skips the pause between its items',
    file: passes,
    find: 'loop.delayMs > 0 && loop.wakeAt === undefined && begun.length === 0 && loop.next > 0',
    replace: 'loop.delayMs > 1e12',
    within: 60,
    options: graphs,
  },
  {
    name: 'a pause of a loop ends early',
    file: passes,
    find: '|| (loop.wakeAt ?? draft.tools.now) > draft.tools.now) break;',
    replace: ') break;',
    within: 60,
    faultProfile: 'none',
    options: graphs,
  },
  {
    name: 'an iteration ends with its first ended node',
    file: advance,
    find: 'if (draft.state.iterations.get(iteration)?.open !== 0) return false;',
    replace: 'if (draft.state.iterations.get(iteration) === undefined) return false;',
    within: 20,
    options: graphs,
  },
  {
    name: 'an iteration ends before all of its nodes have started',
    file: advance,
    find: 'return [...ready, ...work].every((nodeRef) => nodeRef.iteration !== iteration);',
    replace: 'return [...work].every((nodeRef) => nodeRef.iteration !== iteration);',
    within: 20,
    options: graphs,
  },
  {
    name: 'a loop omits its last item',
    file: passes,
    find: 'if (loop.next === loop.items) {',
    replace: 'if (loop.next === loop.items || (loop.items > 2 && loop.next === loop.items - 1)) {',
    within: 40,
    options: graphs,
  },
  {
    name: 'a loop returns its results in the order in which iterations end',
    file: 'lib/engine/graph/loop-values.ts',
    find: 'for (const { index, value } of values) inOrder[index] = value;',
    replace: 'values.forEach(({ value }, at) => {\n    inOrder[at] = value;\n  });',
    within: 60,
    options: graphs,
  },
  {
    name: 'a failed iteration does not fail its loop',
    file: passes,
    find: "failure !== undefined && wait.loop.onItemFailure === 'fail' ? itemFailure(index, failure) : tooLarge(draft, nodeRef);",
    replace: 'failure === undefined || index >= 0 ? tooLarge(draft, nodeRef) : itemFailure(index, failure);',
    within: 40,
    options: graphs,
  },
  {
    name: 'a failed iteration fails a loop with the policy continue',
    file: passes,
    find: "failure !== undefined && wait.loop.onItemFailure === 'fail' ?",
    replace: 'failure !== undefined ?',
    within: 40,
    options: graphs,
  },
  {
    name: 'an ended loop leaves its iterations open',
    file: 'lib/engine/log/run-state.ts',
    find: 'for (const index of node.loop.open) dropIteration(state, iterationKeyOf(node, index));',
    replace: 'void node.loop.open;',
    within: 1,
    scenario: 'a loop that ends beside an iteration at work',
  },
];
