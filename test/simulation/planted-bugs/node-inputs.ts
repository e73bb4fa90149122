/** Planted bugs in the inputs of nodes: their context and the values of their edges. */
import type { PlantedBug } from './bug.ts';

const inputs = 'lib/engine/graph/inputs.ts';
const contextAt = 'lib/engine/graph/context.ts';

export const nodeInputBugs: readonly PlantedBug[] = [
  {
    name: 'a node reads values written after its dispatch',
    file: 'lib/service/kinds/graph/attempt-node.ts',
    find: 'state, open.pinnedAt, loaded',
    replace: 'state, state.nextEventId, loaded',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'an edge reads an output from after the node’s dispatch',
    file: inputs,
    find: '!endedBefore(source, before) || ',
    replace: '(!endedBefore(source, before) && before < 0) || ',
    within: 100,
    options: { code: 0 },
  },
  {
    name: 'an edge that is not taken brings a value',
    file: inputs,
    find: " || edgeState(state, edge, iteration, loaded, work) !== 'live')",
    replace: ' || work === undefined)',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'the first of several values with the same name wins',
    file: inputs,
    find: 'return contributions.at(-1)?.value ?? null;',
    replace: 'return contributions.at(0)?.value ?? null;',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'merged values are not in the order of their edges',
    file: inputs,
    find: 'return contributions.map(({ value }) => value);',
    replace: 'return contributions.map(({ value }) => value).toReversed();',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'a missing parent is not substituted',
    file: inputs,
    find: "return node.policy.onParentFailure === 'substitute_default' ? [[label, '']] : [];",
    replace: 'return [];',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'an iteration does not see its own writes',
    file: contextAt,
    find: 'return writes !== undefined && Object.hasOwn(writes, key) ? writes[key] : undefined;',
    replace: 'return writes !== undefined && Object.hasOwn(writes, key) ? undefined : undefined;',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a later write does not replace an earlier one',
    file: contextAt,
    find: 'writesIn(state, scope, key)?.findLast(({ writtenBy })',
    replace: 'writesIn(state, scope, key)?.find(({ writtenBy })',
    within: 40,
    options: { code: 0 },
  },
];
