/** Makes a valid definition ready to run. The same definition and policies give the same plan, in the definition's order. */
import type { NodeId } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { NodeDefinition, WorkflowVersion } from './definition.ts';
import { bodyHandle } from './bodies.ts';
import { errorHandle } from './outcome.ts';
import type { Plan, PlanEdge, PlanLoop, PlanNode } from './plan.ts';
import type { ShapeEdge } from './shape-edge.ts';
import { shapeOf } from './shape.ts';

/** What `lib/nodes` knows of a node beyond its definition. */
export type NodeTerms = Pick<PlanNode, 'policy' | 'isPure' | 'announcesStart'> & Partial<Pick<PlanNode, 'isLoop'>>;

/** The definition has passed `validate`: what would have been found there is impossible here. */
export const compile = (definition: WorkflowVersion, termsOf: (node: NodeDefinition) => NodeTerms): Plan => {
  const terms = definition.nodes.map(termsOf);
  const isLoop = (node: number): boolean => terms[node]?.isLoop === true;
  // Who begins runs was looked at by `validate`: a valid definition has the same bodies without it.
  const shape = shapeOf(definition, { isLoop, begins: () => false });
  invariant(shape.order.length === definition.nodes.length, `${definition.name} has a cycle`);

  const edges = new Map<number, PlanEdge>();
  // One object for both ends of an edge: a decision knows the edges into a node by their identity.
  const plannedEdge = ({ index, source, handle }: ShapeEdge): PlanEdge => {
    const known = edges.get(index);
    if (known !== undefined) return known;
    const drawn = definition.edges[index];
    invariant(drawn !== undefined, `the shape of ${definition.name} has an edge ${index}, which is not in its definition`);
    const { id: _id, ...edge } = drawn;
    const planned: PlanEdge = isLoop(source)
      ? { ...edge, sourceHandle: handle, ...(handle === bodyHandle ? { isEntry: true as const } : {}) }
      : edge;
    edges.set(index, planned);
    return planned;
  };
  const planned = (list: readonly ShapeEdge[] | undefined): readonly PlanEdge[] => (list ?? []).map(plannedEdge);

  const nodes = definition.nodes.map((drawn, index): PlanNode => {
    const { position: _position, ...node } = drawn;
    const { policy, isPure, announcesStart } = terms[index] ?? termsOf(drawn);
    const around = shape.bodies.around[index];
    const loop = around === undefined ? undefined : definition.nodes[around]?.id;
    return {
      ...node,
      policy,
      isPure,
      announcesStart,
      isLoop: isLoop(index),
      ...(loop === undefined ? {} : { loop }),
      inbound: planned(shape.inbound[index]),
      outbound: planned(shape.outbound[index]).filter((edge) => edge.isEntry !== true),
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
    roots: nodes.filter((node) => node.inbound.length === 0 && node.loop === undefined),
    leaves: nodes.filter((node) => node.outbound.length === 0 && node.loop === undefined),
    loops: new Map(nodes.flatMap((loop) => (loop.isLoop ? [[loop.id, planLoop(nodes, loop)] as const] : []))),
  };
};

function planLoop(nodes: readonly PlanNode[], { id }: PlanNode): PlanLoop {
  const body = nodes.filter(({ loop }) => loop === id);
  return {
    body,
    entries: body.filter(({ inbound }) => inbound.some(({ isEntry }) => isEntry === true)),
    leaves: body.filter(({ outbound }) => outbound.length === 0),
    ends: body.filter(({ outbound }) => outbound.every(({ sourceHandle }) => sourceHandle === errorHandle)),
  };
}
