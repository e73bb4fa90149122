/** The graph that a test run carries beside its log. */
import { type UnsavedGraph, parseUnsavedGraph, unsavedGraphBody } from '../codec/definition.ts';
import type { RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';

const name = 'graph';

/** Before the head: a test run that exists always has its graph. */
export const carryGraph = async (
  { log }: Pick<Deps, 'log'>,
  run: RunAddress,
  graph: UnsavedGraph,
  expiresAt: Instant,
): Promise<void> => void (await log.attach(run, name, unsavedGraphBody(graph), { expiresAt, kind: 'graph' }));

/** undefined where the run is being forgotten */
export async function graphCarried({ log }: Pick<Deps, 'log'>, run: RunAddress): Promise<UnsavedGraph | undefined> {
  const kept = await log.attached(run, name);
  return kept === undefined ? undefined : parseUnsavedGraph(kept);
}

/** @throws Unavailable where the run is being forgotten: a message that comes again finds no run */
export async function carriedGraph(deps: Pick<Deps, 'log'>, run: RunAddress): Promise<UnsavedGraph> {
  const graph = await graphCarried(deps, run);
  if (graph === undefined) throw new Unavailable(`the graph of the test run ${run.runId}`);
  return graph;
}
