/** Compiles a valid definition into a plan. The same definition and policies give the same plan, in the definition's order. */
import { defined } from '../../base/defined.ts';
import type { NodeId } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { NodeDefinition, WorkflowVersion } from './definition.ts';
import { type ShapeEdge, shapeOf } from './shape.ts';
import { bodyHandle, errorHandle } from './outcome.ts';
import type { Plan, PlanEdge, PlanLoop, PlanNode } from './plan.ts';

/** What `lib/nodes` adds to a node's definition. */
export type NodeExecutionTraits = Pick<PlanNode, 'policy' | 'isPure' | 'recordsStart'> &
  Partial<Pick<PlanNode, 'isLoop' | 'endsRun'>>;

/** The definition has passed `validate`, so what `validate` reports cannot occur here. */
export const compile = (definition: WorkflowVersion, traitsOf: (node: NodeDefinition) => NodeExecutionTraits): Plan => {
  const traits = definition.nodes.map(traitsOf);
  const isLoop = (node: number): boolean => traits[node]?.isLoop === true;
  // Triggers only matter to `validate`: a valid definition has the same loop bodies without them.
  const shape = shapeOf(definition, { isLoop, isTrigger: () => false });
  invariant(shape.order.length === definition.nodes.length, `${definition.name} has a cycle`);

  const edges = new Map<number, PlanEdge>();
  // Both ends share one object per edge: decisions identify inbound edges by identity.
  const plannedEdge = ({ index, source, handle }: ShapeEdge): PlanEdge => {
    const known = edges.get(index);
    if (known !== undefined) return known;
    const declared = definition.edges[index];
    invariant(declared !== undefined, `the shape of ${definition.name} has edge ${index}, which its definition does not have`);
    const { id: _id, ...edge } = declared;
    const planned: PlanEdge = isLoop(source)
      ? defined({ ...edge, sourceHandle: handle, isEntry: handle === bodyHandle ? (true as const) : undefined })
      : edge;
    edges.set(index, planned);
    return planned;
  };
  const planned = (list: readonly ShapeEdge[] | undefined): readonly PlanEdge[] => (list ?? []).map(plannedEdge);

  const endsRun = ({ target }: ShapeEdge): boolean => traits[target]?.endsRun === true;
  /** An end that ends the run is decided before its siblings, so that they begin nothing that it cancels at once. */
  const inOrder = (list: readonly ShapeEdge[] = []): readonly ShapeEdge[] =>
    list.some(endsRun) ? [...list.filter(endsRun), ...list.filter((edge) => !endsRun(edge))] : list;

  const nodes = definition.nodes.map((declared, index): PlanNode => {
    const { position: _position, ...node } = declared;
    const { policy, isPure, recordsStart, endsRun: isLastNode } = traits[index] ?? traitsOf(declared);
    const enclosingLoop = shape.loopBodies.enclosingLoops[index];
    const loop = enclosingLoop === undefined ? undefined : definition.nodes[enclosingLoop]?.id;
    return defined({
      ...node,
      policy,
      isPure,
      recordsStart,
      endsRun: isLastNode,
      isLoop: isLoop(index),
      loop,
      inbound: planned(shape.inbound[index]),
      outbound: planned(inOrder(shape.outbound[index])).filter((edge) => edge.isEntry !== true),
      wave: shape.waves[index] ?? 0,
    });
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
    resultNodes: body.filter(({ outbound }) => outbound.every(({ sourceHandle }) => sourceHandle === errorHandle)),
  };
}
