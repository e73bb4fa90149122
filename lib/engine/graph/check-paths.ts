/** Checks that every node is reachable from a start and that the graph has no cycle. */
import type { Finding, NodeDefinition, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import type { Shape } from './shape.ts';

/**
 * If the definition has start nodes, runs begin there and nowhere else, so another node without inbound edges is unreachable.
 * Otherwise runs begin at every node without inbound edges.
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
      ? [finding('no_trigger_node', jsonPointer('nodes'), 'no node starts the run: every node waits for another')]
      : []),
    ...cycles.map((nodes) =>
      finding('cycle_detected', jsonPointer('nodes', nodes[0] ?? 0), `CycleDetected: ${nodes.map(idOf).join(', ')} form a cycle`),
    ),
    ...definition.nodes.flatMap((node, index) =>
      reachedNodes.has(index) || cycleNodes.has(index) || isDuplicateId(definition, node, index)
        ? []
        : [finding('unreachable_node', jsonPointer('nodes', index), `${node.id} is not reachable from a start of the run`)],
    ),
  ];
};

/** A node with the id of an earlier node has no edges of its own; only the duplicate id is reported. */
const isDuplicateId = ({ nodes }: WorkflowDefinition, node: NodeDefinition, index: number): boolean =>
  nodes.findIndex(({ id }) => id === node.id) !== index;

const reachable = (shape: Shape, from: readonly number[]): ReadonlySet<number> => {
  const reached = new Set(from);
  for (const node of reached) for (const { target } of shape.outbound[node] ?? []) reached.add(target);
  return reached;
};

/**
 * The cycles, each as its nodes in the order of the definition (Tarjan's algorithm with an explicit stack). Only nodes that the
 * topological sort left out are visited; a group of one node lies after a cycle and is not part of it.
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
