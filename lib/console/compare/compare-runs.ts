/** Two runs node by node: the states, times and outputs of each node, and the nodes after which the runs took different edges. */
import { isSameJson } from '../../engine/compare.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { Run, RunNode } from '../api.ts';
import type { DrawnEdge } from '../layout/definition-graph.ts';
import { wasTaken } from '../run/edges-taken.ts';
import { isOpenRun } from '../runs/open-run.ts';

/** `unknown`: an output is too large for a response, so it was not compared. `none`: neither node has an output. */
export type OutputComparison = 'same' | 'different' | 'unknown' | 'none';

export interface ComparedNode {
  readonly key: string;
  readonly nodeId: string;
  readonly iteration: string | undefined;
  readonly label: string;
  /** undefined: the run has not reached it */
  readonly a: RunNode | undefined;
  readonly b: RunNode | undefined;
  readonly outputs: OutputComparison;
  /** the runs went along different edges after this node, or one of them ends here */
  readonly partsHere: boolean;
  readonly isDifferent: boolean;
}

type ComparedRun = Pick<Run, 'status' | 'nodes'>;

/** @param edges of the definitions of both runs; undefined for runs of code, whose nodes are compared in their order */
export function compareNodes(a: ComparedRun, b: ComparedRun, edges: readonly DrawnEdge[] | undefined): readonly ComparedNode[] {
  const [nodesA, nodesB] = [byKey(a.nodes), byKey(b.nodes)];
  const keys = mergedKeys([...nodesA.keys()], [...nodesB.keys()]);
  const parting = edges === undefined ? firstDifferentStep(a, b) : partingNodes(a, b, edges);
  return keys.flatMap((key): ComparedNode[] => {
    const [one, other] = [nodesA.get(key), nodesB.get(key)];
    const known = one ?? other;
    if (known === undefined) return [];
    const outputs = compareOutputs(one, other);
    const partsHere = known.iteration === undefined && parting.has(known.nodeId);
    return [
      {
        key,
        nodeId: known.nodeId,
        iteration: known.iteration,
        label: known.label ?? known.nodeId,
        a: one,
        b: other,
        outputs,
        partsHere,
        isDifferent: partsHere || outputs === 'different' || one?.status !== other?.status,
      },
    ];
  });
}

const keyOf = ({ nodeId, iteration }: RunNode): string => JSON.stringify([nodeId, iteration]);
const byKey = (nodes: readonly RunNode[]): ReadonlyMap<string, RunNode> => new Map(nodes.map((node) => [keyOf(node), node]));

/** The keys of the first list, with each key that only the second one has after its predecessor there. */
function mergedKeys(first: readonly string[], second: readonly string[]): readonly string[] {
  const known = new Set(first);
  const after = new Map<string | undefined, string[]>();
  let previous: string | undefined;
  for (const key of second)
    if (known.has(key)) previous = key;
    else after.set(previous, [...(after.get(previous) ?? []), key]);
  return [...(after.get(undefined) ?? []), ...first.flatMap((key) => [key, ...(after.get(key) ?? [])])];
}

function compareOutputs(a: RunNode | undefined, b: RunNode | undefined): OutputComparison {
  if (a?.outputOmitted !== undefined || b?.outputOmitted !== undefined)
    return a?.outputOmitted?.bytes === b?.outputOmitted?.bytes ? 'unknown' : 'different';
  const [one, other]: readonly (JsonValue | undefined)[] = [a?.output, b?.output];
  if (one === undefined) return other === undefined ? 'none' : 'different';
  return isSameJson(one, other) ? 'same' : 'different';
}

/** Nodes after which an edge was taken in one run and not in the other. An open run may still take an edge, so it decides nothing. */
function partingNodes(a: ComparedRun, b: ComparedRun, edges: readonly DrawnEdge[]): ReadonlySet<string> {
  const [stepsA, stepsB] = [topLevel(a), topLevel(b)];
  const differs = ({ source, target, handle }: DrawnEdge): boolean => {
    if (!wasReached(stepsA.get(source)) || !wasReached(stepsB.get(source))) return false;
    if (mayFollow(a, stepsA.get(target)) || mayFollow(b, stepsB.get(target))) return false;
    const tookA = wasTaken(stepsA.get(source), stepsA.get(target), handle);
    return tookA !== wasTaken(stepsB.get(source), stepsB.get(target), handle);
  };
  return new Set(edges.filter(differs).map(({ source }) => source));
}

const topLevel = ({ nodes }: ComparedRun): ReadonlyMap<string, RunNode> =>
  new Map(nodes.filter(({ iteration }) => iteration === undefined).map((node) => [node.nodeId, node]));
const unreached: readonly string[] = ['pending', 'skipped', 'cancelled'];
const wasReached = (node: RunNode | undefined): boolean => node !== undefined && !unreached.includes(node.status);
const mayFollow = (run: ComparedRun, target: RunNode | undefined): boolean =>
  isOpenRun(run) && (target === undefined || target.status === 'pending');

/** The first position at which the code of two runs requested different steps, or ended them differently. */
function firstDifferentStep(a: ComparedRun, b: ComparedRun): ReadonlySet<string> {
  for (let at = 0; at < Math.max(a.nodes.length, b.nodes.length); at += 1) {
    const [one, other] = [a.nodes[at], b.nodes[at]];
    if ((one === undefined && isOpenRun(a)) || (other === undefined && isOpenRun(b))) return new Set();
    if (one?.nodeId !== other?.nodeId) return new Set([one, other].flatMap((node) => (node === undefined ? [] : [node.nodeId])));
  }
  return new Set();
}
