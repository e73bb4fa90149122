/** Whether every node can be reached from a beginning, and nothing leads back to itself. */
import type { Finding, NodeDefinition, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import type { Shape } from './shape.ts';

/**
 * Where any node begins runs, a run begins there and nowhere else, so a node without inbound edges is unreachable.
 * Otherwise every node without inbound edges is a beginning.
 */
export const checkPaths = (
  definition: WorkflowDefinition,
  shape: Shape,
  facts: readonly (NodeFacts | undefined)[],
): readonly Finding[] => {
  const cycles = cyclesOf(shape);
  const cycleNodes = new Set(cycles.flat());
  const roots = [...definition.nodes.keys()].filter((node) => (shape.inbound[node] ?? []).length === 0);
  const triggers = roots.filter((node) => facts[node]?.isTrigger === true);
  const reachedNodes = reachable(shape, triggers.length > 0 ? triggers : roots);
  const idOf = (node: number): string => definition.nodes[node]?.id ?? '';
  return [
    ...(roots.length === 0
      ? [finding('no_trigger_node', jsonPointer('nodes'), 'no node begins the run: every node waits for another')]
      : []),
    ...cycles.map((nodes) =>
      finding(
        'cycle_detected',
        jsonPointer('nodes', nodes[0] ?? 0),
        `CycleDetected: ${nodes.map(idOf).join(', ')} lead back to themselves`,
      ),
    ),
    ...definition.nodes.flatMap((node, index) =>
      reachedNodes.has(index) || cycleNodes.has(index) || isDuplicateId(definition, node, index)
        ? []
        : [finding('unreachable_node', jsonPointer('nodes', index), `no way leads from a beginning to ${node.id}`)],
    ),
  ];
};

/** A node whose id is another's already has no edges of its own; that is reported once, as the duplicate it is. */
const isDuplicateId = ({ nodes }: WorkflowDefinition, node: NodeDefinition, index: number): boolean =>
  nodes.findIndex(({ id }) => id === node.id) !== index;

const reachable = (shape: Shape, from: readonly number[]): ReadonlySet<number> => {
  const reached = new Set(from);
  for (const node of reached) for (const { target } of shape.outbound[node] ?? []) reached.add(target);
  return reached;
};

/**
 * The groups of nodes that lead back to themselves, each in the order of the definition (Tarjan's algorithm, with its
 * own stack). Only what the sort left over is looked at; a group of one is behind a cycle and not on it.
 */
const cyclesOf = (shape: Shape): readonly (readonly number[])[] => {
  const sortedNodes = new Set(shape.order);
  const number = new Map<number, number>();
  const lowLinks = new Map<number, number>();
  const stack: number[] = [];
  const onStack = new Set<number>();
  const cycles: number[][] = [];

  const enter = (node: number): void => {
    number.set(node, number.size);
    lowLinks.set(node, number.size - 1);
    stack.push(node);
    onStack.add(node);
  };
  const lower = (node: number, to: number): void => void lowLinks.set(node, Math.min(lowLinks.get(node) ?? to, to));
  const leave = (node: number): void => {
    if (lowLinks.get(node) !== number.get(node)) return;
    const group = stack.splice(stack.lastIndexOf(node));
    for (const member of group) onStack.delete(member);
    if (group.length > 1) cycles.push(group.sort((one, other) => one - other));
  };

  for (let root = 0; root < shape.size; root += 1) {
    if (sortedNodes.has(root) || number.has(root)) continue;
    enter(root);
    const path = [{ node: root, next: 0 }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const target = shape.outbound[top.node]?.[top.next]?.target;
      top.next += 1;
      if (target === undefined) {
        path.pop();
        leave(top.node);
        const parent = path.at(-1);
        if (parent !== undefined) lower(parent.node, lowLinks.get(top.node) ?? 0);
      } else if (!number.has(target)) {
        enter(target);
        path.push({ node: target, next: 0 });
      } else if (onStack.has(target)) lower(top.node, number.get(target) ?? 0);
    }
  }
  return cycles.sort((one, other) => (one[0] ?? 0) - (other[0] ?? 0));
};
