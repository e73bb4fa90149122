/** Reads the graph that a run executes: the version that it pins, or the unsaved graph of a test run. */
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { PinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import { type RunAddress, workflowName } from '../../engine/ids.ts';
import { isTestRun } from '../../engine/log/head.ts';
import type { Deps } from '../deps.ts';
import { findTestGraph } from '../run-log/test-graph.ts';

export type RunDefinitionResult =
  | {
      readonly kind: 'found';
      readonly definition: WorkflowDefinition;
      /** null: a test run */
      readonly version: number | null;
      readonly pinned?: PinnedOutputs;
    }
  | { readonly kind: 'not_found' }
  /** deployed code executes the run */
  | { readonly kind: 'no_graph' };

export async function getRunDefinition(deps: Pick<Deps, 'log' | 'workflows'>, run: RunAddress): Promise<RunDefinitionResult> {
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  if (head.kind !== 'graph') return { kind: 'no_graph' };
  if (isTestRun(head)) {
    const graph = await findTestGraph(deps, run);
    if (graph === undefined) return { kind: 'not_found' };
    return { kind: 'found', definition: graph.definition, version: null, pinned: graph.pinned };
  }
  // The version is missing if the workflow was deleted and its deletion has not reached this run yet.
  const version = await deps.workflows.version(run, workflowName(head.workflow.name), head.workflow.version);
  return version === undefined ? { kind: 'not_found' } : { kind: 'found', definition: version, version: version.version };
}
