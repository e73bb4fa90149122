/** Checks output variables: reserved names, and names that two nodes write. */
import type { Finding, WorkflowDefinition } from './definition.ts';
import { areExclusive, endsBefore } from './exclusive.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import type { Shape } from './shape.ts';

/** Context keys of the run's input and output. */
const reservedNames: readonly string[] = ['input', 'output'];

export const checkVariables = (
  definition: WorkflowDefinition,
  shape: Shape,
  facts: readonly (NodeFacts | undefined)[],
): readonly Finding[] => {
  const writers = writersOf(facts, shape);
  return [
    ...[...writers.values()].flatMap(({ name, nodes }) =>
      isReserved(name)
        ? nodes.map((node) => finding('reserved_name', variablePointer(node), `the name ${name} is reserved for the run`))
        : [],
    ),
    ...checkRewrites(definition, shape, facts, writers),
  ];
};

const isReserved = (name: string): boolean => reservedNames.includes(name) || name.startsWith('__');

const variablePointer = (node: number): string => jsonPointer('nodes', node, 'config', 'outputVariable');

interface Writers {
  readonly name: string;
  readonly nodes: number[];
}

/** By name and enclosing loop: an iteration's variables are its own, independent of those outside it. */
const writersOf = (facts: readonly (NodeFacts | undefined)[], shape: Shape): ReadonlyMap<string, Writers> => {
  const writers = new Map<string, Writers>();
  facts.forEach((known, node) => {
    const name = known?.policy.outputVariable;
    if (name === undefined) return;
    const scopedName = `${shape.loopBodies.enclosingLoops[node] ?? ''}#${name}`;
    const others = writers.get(scopedName);
    if (others === undefined) writers.set(scopedName, { name, nodes: [node] });
    else others.nodes.push(node);
  });
  return writers;
};

/**
 * Two nodes may write one variable if at most one of them can run, or if one always ends before the other begins. Nodes on or after a
 * cycle have no order and are left out until the cycle is removed. Each node has at most one finding: its first conflict.
 */
const checkRewrites = (
  definition: WorkflowDefinition,
  shape: Shape,
  facts: readonly (NodeFacts | undefined)[],
  writers: ReadonlyMap<string, Writers>,
): readonly Finding[] => {
  if ([...writers.values()].every(({ nodes }) => nodes.length < 2)) return [];
  const policies = facts.map((known) => known?.policy ?? { joinMode: 'all' as const, onParentFailure: 'skip' as const });
  const isBefore = endsBefore(shape, policies);
  const isExclusive = areExclusive(shape, policies);
  const sortedNodes = new Set(shape.order);
  const idOf = (node: number): string => definition.nodes[node]?.id ?? '';

  return [...writers.values()].flatMap(({ name, nodes }) => {
    const sorted = nodes.filter((node) => sortedNodes.has(node));
    return sorted.flatMap((node, position) => {
      const earlier = sorted.slice(0, position);
      const isOrdered = (other: number): boolean => isBefore(other, node) || isBefore(node, other);
      const conflictingNode = earlier.find((other) => !isOrdered(other) && !isExclusive(other, node));
      if (conflictingNode !== undefined) {
        const message = `${idOf(conflictingNode)} also writes ${name}, and the graph does not order the two`;
        return [finding('duplicate_output_variable', variablePointer(node), message)];
      }
      const rewritten = earlier.find(isOrdered);
      if (rewritten === undefined) return [];
      const [first, last] = isBefore(rewritten, node) ? [rewritten, node] : [node, rewritten];
      return [
        finding('output_variable_rewritten', variablePointer(node), `${idOf(last)} writes ${name} again after ${idOf(first)}`),
      ];
    });
  });
};
