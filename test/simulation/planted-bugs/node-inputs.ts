/** Bugs in what nodes are given: their context, and what the edges bring. */
import type { PlantedBug } from './bug.ts';

const inputs = 'lib/engine/graph/inputs.ts';
const contextAt = 'lib/engine/graph/context-at.ts';

export const nodeInputBugs: readonly PlantedBug[] = [
  {
    name: 'a node is given what was written after it was asked for',
    file: 'lib/service/execution/attempt-node.ts',
    find: 'fold.state, open.pinnedAt, loaded',
    replace: 'fold.state, fold.state.nextEventId, loaded',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'an edge brings what its source came to after the node was asked for',
    file: inputs,
    find: '!endedBefore(source, before) || ',
    replace: '(!endedBefore(source, before) && before < 0) || ',
    within: 100,
    options: { code: 0 },
  },
  {
    name: 'an edge that was not taken brings something',
    file: inputs,
    find: " || edgeState(state, edge, iteration, loaded, work) !== 'live')",
    replace: ' || work === undefined)',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'of several values under one name the first counts',
    file: inputs,
    find: 'return contributions.at(-1)?.value ?? null;',
    replace: 'return contributions.at(0)?.value ?? null;',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'values that are merged come in another order than their edges',
    file: inputs,
    find: 'return contributions.map(({ value }) => value);',
    replace: 'return contributions.map(({ value }) => value).toReversed();',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'nothing stands in for a parent that is missing',
    file: inputs,
    find: "return node.policy.onParentFailure === 'substitute_default' ? [[label, '']] : [];",
    replace: 'return [];',
    within: 40,
    options: { code: 0 },
  },
  {
    name: 'what was written in one pass is not seen in it',
    file: contextAt,
    find: 'return writes !== undefined && Object.hasOwn(writes, key) ? writes[key] : undefined;',
    replace: 'return writes !== undefined && Object.hasOwn(writes, key) ? undefined : undefined;',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'what was written first stands, whatever is written later',
    file: contextAt,
    find: 'writesIn(state, scope, key)?.findLast(({ writtenBy })',
    replace: 'writesIn(state, scope, key)?.find(({ writtenBy })',
    within: 40,
    options: { code: 0 },
  },
];
