/** Stores and reads the unsaved graph of a test run, which is attached to its log. */
import { type UnsavedGraph, parseUnsavedGraph, unsavedGraphBody } from '../../codec/definition.ts';
import type { RunAddress } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';

const attachmentName = 'graph';

/** Written before the head, so that every existing test run has its graph. */
export const saveTestGraph = async (
  { log }: Pick<Deps, 'log'>,
  run: RunAddress,
  graph: UnsavedGraph,
  expiresAt: Instant,
): Promise<void> => void (await log.attach(run, attachmentName, unsavedGraphBody(graph), { expiresAt, kind: 'graph' }));

/** undefined while the run is being deleted */
export async function findTestGraph({ log }: Pick<Deps, 'log'>, run: RunAddress): Promise<UnsavedGraph | undefined> {
  const stored = await log.attached(run, attachmentName);
  return stored === undefined ? undefined : parseUnsavedGraph(stored);
}

/** @throws Unavailable while the run is being deleted; a redelivered message then finds no run */
export async function readTestGraph(deps: Pick<Deps, 'log'>, run: RunAddress): Promise<UnsavedGraph> {
  const graph = await findTestGraph(deps, run);
  if (graph === undefined) throw new Unavailable(`the graph of the test run ${run.runId}, which is being deleted,`);
  return graph;
}
