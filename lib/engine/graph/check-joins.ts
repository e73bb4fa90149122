/**
 * Checks what joins do when an error edge handles the failure of a node before them. A join of mode `all` needs only one taken edge, so
 * it runs without the failed node, which authors seldom expect.
 */
import type { Finding, WorkflowDefinition } from './definition.ts';
import { exclusionsOf } from './check-variables.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import { bodyHandle, errorHandle } from './outcome.ts';
import type { Shape, ShapeEdge } from './shape.ts';

type Facts = readonly (NodeFacts | undefined)[];

export const checkJoins = (definition: WorkflowDefinition, shape: Shape, facts: Facts): readonly Finding[] => {
  const idOf = (node: number): string => definition.nodes[node]?.id ?? '';
  return [
    ...[...joinsAfterFailure(shape, facts)].map(([join, failed]) => {
      const names = namesOf([...failed].map(idOf));
      return finding(
        'join_runs_after_failure',
        jsonPointer('nodes', join),
        `${idOf(join)} also runs when ${names} failed and an error edge handled the failure; to prevent that, set joinMode ` +
          `allSucceeded on ${idOf(join)}, or let the error edge lead to an end node with endsRun true`,
      );
    }),
    ...shape.inbound.flatMap((edges, node) =>
      facts[node]?.policy.joinMode === 'allSucceeded'
        ? edges
            .filter(({ handle }) => handle === errorHandle)
            .map(({ index }) =>
              finding(
                'error_edge_never_taken',
                jsonPointer('edges', index, 'sourceHandle'),
                `${idOf(node)} has joinMode allSucceeded and never runs after a failure: remove this error edge, or set joinMode all`,
              ),
            )
        : [],
    ),
  ];
};

const maxNames = 5;
const namesOf = (ids: readonly string[]): string =>
  ids.length <= maxNames ? ids.join(' or ') : `${ids.slice(0, maxNames).join(', ')} or ${ids.length - maxNames} other nodes`;

/** Joins that run without a node whose failure is handled elsewhere, with those nodes. */
function joinsAfterFailure(shape: Shape, facts: Facts): ReadonlyMap<number, ReadonlySet<number>> {
  const found = new Map<number, Set<number>>();
  const candidates = shape.outbound.flatMap((edges, node) => {
    if (!handlesFailure(edges, facts[node], facts)) return [];
    return joinsWithout(shape, facts, node);
  });
  if (candidates.length === 0) return found;
  const { ofEdge } = exclusionsOf(
    shape,
    facts.map((known) => known?.policy ?? { joinMode: 'all', onParentFailure: 'skip' }),
  );
  for (const { join, failed, otherEdges } of candidates) {
    if (otherEdges.every((edge) => ofEdge(edge, failed))) continue;
    found.set(join, (found.get(join) ?? new Set()).add(failed));
  }
  return found;
}

/** Whether an error edge handles a failure of the node, and the run goes on. */
const handlesFailure = (edges: readonly ShapeEdge[], own: NodeFacts | undefined, facts: Facts): boolean =>
  own?.policy.errorHandling !== 'fail_workflow' &&
  edges.some(isErrorEdge) &&
  !edges.some((edge) => isErrorEdge(edge) && facts[edge.target]?.endsRun === true);

const isErrorEdge = ({ handle }: ShapeEdge): boolean => handle === errorHandle;

interface Candidate {
  readonly join: number;
  readonly failed: number;
  /** edges by which the join may run without the failed node */
  readonly otherEdges: readonly ShapeEdge[];
}

/**
 * The joins that lose an inbound edge when this node fails, and keep another one that does not come from its error handler. A handler
 * that leads into the join replaces the node on purpose.
 */
function joinsWithout(shape: Shape, facts: Facts, failed: number): readonly Candidate[] {
  const stopped = new Set<number>();
  const handlers = new Set<number>();
  const isStopped = (edge: ShapeEdge): boolean =>
    edge.source === failed ? !isErrorEdge(edge) && edge.handle !== bodyHandle : stopped.has(edge.source);
  const isHandler = (edge: ShapeEdge): boolean => (edge.source === failed ? isErrorEdge(edge) : handlers.has(edge.source));
  const found: Candidate[] = [];
  for (const node of affectedNodes(shape, failed)) {
    const edges = shape.inbound[node] ?? [];
    const joinMode = facts[node]?.policy.joinMode;
    if (edges.some(isHandler)) handlers.add(node);
    if (edges.every(isStopped) || (joinMode === 'allSucceeded' && edges.some(isStopped))) stopped.add(node);
    else if (joinMode === 'all' && edges.some(isStopped) && !edges.some(isHandler) && hasEffect(facts[node]))
      found.push({ join: node, failed, otherEdges: edges.filter((edge) => !isStopped(edge)) });
  }
  return found;
}

/** An end that does not end the run has no effect but its output. */
const hasEffect = (own: NodeFacts | undefined): boolean => own !== undefined && (own.handles.length > 0 || own.endsRun === true);

/** The nodes after this one, each after its parents. */
function affectedNodes(shape: Shape, from: number): readonly number[] {
  const reached = new Set([from]);
  for (const node of reached) for (const { target } of shape.outbound[node] ?? []) reached.add(target);
  reached.delete(from);
  return shape.order.filter((node) => reached.has(node));
}
