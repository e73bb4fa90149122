/** Makes a valid definition ready to run. The same definition and policies give the same plan, in the definition's order. */
import type { NodeId } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { NodeDefinition, WorkflowVersion } from './definition.ts';
import type { Plan, PlanEdge, PlanNode } from './plan.ts';
import { type ShapeEdge, shapeOf } from './shape.ts';

/** What `lib/nodes` knows of a node beyond its definition. */
export type NodeTerms = Pick<PlanNode, 'policy' | 'isPure' | 'announcesStart'>;

/** The definition has passed `validate`: what would have been found there is impossible here. */
export const compile = (definition: WorkflowVersion, termsOf: (node: NodeDefinition) => NodeTerms): Plan => {
  const shape = shapeOf(definition);
  invariant(shape.order.length === definition.nodes.length, `${definition.name} has a cycle`);

  const edges = definition.edges.map(({ id: _id, ...edge }): PlanEdge => edge);
  const planned = (list: readonly ShapeEdge[] | undefined): readonly PlanEdge[] =>
    (list ?? []).flatMap(({ index }) => edges[index] ?? []);

  const nodes = definition.nodes.map(({ position: _position, ...node }, index): PlanNode => {
    const { policy, isPure, announcesStart } = termsOf(node);
    return {
      ...node,
      policy,
      isPure,
      announcesStart,
      inbound: planned(shape.inbound[index]),
      outbound: planned(shape.outbound[index]),
      wave: shape.waves[index] ?? 0,
    };
  });

  const byId = new Map<NodeId, PlanNode>(nodes.map((node) => [node.id, node]));
  invariant(byId.size === nodes.length, `${definition.name} uses a node id twice`);
  return {
    name: definition.name,
    version: definition.version,
    options: definition.options,
    nodes: byId,
    roots: nodes.filter((node) => node.inbound.length === 0),
    leaves: nodes.filter((node) => node.outbound.length === 0),
  };
};
