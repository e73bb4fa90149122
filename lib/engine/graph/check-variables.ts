/** Checks output variables: reserved names, and names that two nodes write. */
import type { Finding, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import type { NodePolicy } from './plan.ts';
import type { Shape, ShapeEdge } from './shape.ts';

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
    ...checkReads(facts),
  ];
};

const maxNamesShown = 10;

/** Whether some node writes each name that a node reads. Where and when it writes is not checked. */
function checkReads(facts: readonly (NodeFacts | undefined)[]): readonly Finding[] {
  // What an unknown node or an invalid config would write is not known.
  if (facts.includes(undefined)) return [];
  const written = new Set(facts.flatMap((known) => known?.writes ?? []));
  const names = ['input', ...written];
  const shown = names.length <= maxNamesShown ? names.join(', ') : `${names.slice(0, maxNamesShown).join(', ')} and others`;
  return facts.flatMap((known, node) =>
    (known?.reads ?? [])
      .filter(({ name }) => !isReserved(name) && !written.has(name))
      .map(({ pointer, name }) =>
        finding(
          'variable_unknown',
          `${jsonPointer('nodes', node)}${pointer}`,
          `no node writes ctx.${name}: set outputVariable of a node to ${name}, or read one of ${shown}`,
        ),
      ),
  );
}

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

/**
 * Which two nodes never both run, and which two always run one after the other. Bit sets carried along the sorted graph answer both
 * questions for all nodes at once: 2,000 nodes and 10,000 edges take milliseconds.
 */
export type JoinPolicy = Pick<NodePolicy, 'joinMode' | 'onParentFailure'>;

type Bits = Uint32Array;

const set = (bits: Bits, bit: number): void => {
  bits[bit >>> 5] = (bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
};
const has = (bits: Bits, bit: number): boolean => ((bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
const union = (into: Bits, other: Bits): void => {
  for (let word = 0; word < into.length; word += 1) into[word] = (into[word] ?? 0) | (other[word] ?? 0);
};
const intersect = (into: Bits, other: Bits): void => {
  for (let word = 0; word < into.length; word += 1) into[word] = (into[word] ?? 0) & (other[word] ?? 0);
};

/**
 * Whether the first node always ends before the second begins. All ancestors of a join that waits for all have ended when it fires; for
 * a join that fires on the first live edge, only the common ancestors of all its edges have.
 */
export const endsBefore = (shape: Shape, policies: readonly JoinPolicy[]): ((earlier: number, later: number) => boolean) => {
  const words = (shape.size + 31) >>> 5;
  const before = Array.from({ length: shape.size }, () => new Uint32Array(words));
  for (const node of shape.order) {
    const current = before[node] ?? new Uint32Array(words);
    (shape.inbound[node] ?? []).forEach(({ source }, position) => {
      const inherited = Uint32Array.from(before[source] ?? []);
      set(inherited, source);
      if (position === 0 || policies[node]?.joinMode !== 'any') union(current, inherited);
      else intersect(current, inherited);
    });
  }
  return (earlier, later) => has(before[later] ?? new Uint32Array(words), earlier);
};

/**
 * Whether at most one of two nodes can run: some ancestor must end by one handle for the first and by another for the second.
 * A node that may run after a failure (`propagate`, `substitute_default`) is also compatible with ancestors that ended by no handle.
 */
export const areExclusive = (shape: Shape, policies: readonly JoinPolicy[]): ((one: number, other: number) => boolean) =>
  exclusionsOf(shape, policies).ofNodes;

interface Exclusions {
  readonly ofNodes: (one: number, other: number) => boolean;
  /** whether an edge is never taken in a run in which the node runs */
  readonly ofEdge: (edge: Pick<ShapeEdge, 'source' | 'handle'>, node: number) => boolean;
}

export const exclusionsOf = (shape: Shape, policies: readonly JoinPolicy[]): Exclusions => {
  const { groups, bitOf, size } = handleBits(shape);
  const words = (size + 31) >>> 5;
  const none = new Uint32Array(words);
  for (const group of groups) set(none, group.none);

  const possible = Array.from({ length: shape.size }, () => new Uint32Array(words));
  const inheritedBy = ({ source, handle }: Pick<ShapeEdge, 'source' | 'handle'>): Bits => {
    const inherited = Uint32Array.from(possible[source] ?? []);
    const takenBit = bitOf(source, handle);
    for (let bit = groups[source]?.first ?? 0; bit < (groups[source]?.end ?? 0); bit += 1) {
      if (bit !== takenBit) inherited[bit >>> 5] = (inherited[bit >>> 5] ?? 0) & ~(1 << (bit & 31));
    }
    return inherited;
  };
  for (const node of shape.order) {
    const current = possible[node] ?? new Uint32Array(words);
    const edges = shape.inbound[node] ?? [];
    if (edges.length === 0) current.fill(0xffff_ffff);
    const runsAfterFailure = policies[node]?.onParentFailure !== 'skip';
    for (const edge of edges) {
      const inherited = inheritedBy(edge);
      if (runsAfterFailure) union(inherited, none);
      union(current, inherited);
    }
  }

  const branching = groups.filter(({ first, end }) => end - first > 2);
  const isImpossible = (one: Bits | undefined, other: Bits | undefined): boolean => {
    const common = Uint32Array.from(one ?? []);
    intersect(common, other ?? new Uint32Array(words));
    return branching.some(({ first, end }) => {
      for (let bit = first; bit < end; bit += 1) if (has(common, bit)) return false;
      return true;
    });
  };
  return {
    ofNodes: (one, other) => isImpossible(possible[one], possible[other]),
    ofEdge: (edge, node) => isImpossible(inheritedBy(edge), possible[node]),
  };
};

/** Numbers every handle that has an edge, node by node, plus one bit per node for "ended by no handle". */
const handleBits = (shape: Shape) => {
  const bits = shape.outbound.map(() => new Map<string, number>());
  let size = 0;
  const groups = shape.outbound.map((edges, node) => {
    const first = size;
    for (const { handle } of edges) if (bits[node]?.has(handle) === false) bits[node].set(handle, size++);
    const none = size++;
    return { first, none, end: size };
  });
  return { groups, size, bitOf: (node: number, handle: string): number | undefined => bits[node]?.get(handle) };
};
