/**
 * A name refers to one workflow: a published graph, or a workflow of an active deployment. Each side checks the other before it
 * takes a name. If both take a name concurrently, both succeed, and a start runs the graph.
 */
import { type Scope, type WorkflowName, workflowName } from '../../engine/ids.ts';
import { type ActiveApp, type Manifest, appServing } from '../../ports/deployments.ts';
import type { Deps } from '../deps.ts';
import { closedReason } from './closed-reason.ts';

/** The workflow names of the manifest that published graphs already use. */
export async function namesTakenByGraphs(
  { workflows }: Pick<Deps, 'workflows'>,
  scope: Scope,
  manifest: Manifest,
): Promise<readonly WorkflowName[]> {
  // A name that the Workflow DevKit makes cannot be one of a graph.
  if (manifest.runtime === 'devkit') return [];
  const summaries = await Promise.all(manifest.workflows.map(({ name }) => workflows.summary(scope, workflowName(name))));
  return summaries.flatMap((one) => (one === undefined || closedReason(one) !== undefined ? [] : [one.name]));
}

/** The app whose active deployment has a workflow of that name. */
export const findServingApp = async (
  { deployments }: Pick<Deps, 'deployments'>,
  scope: Scope,
  name: WorkflowName,
): Promise<ActiveApp | undefined> => appServing(await deployments.pointer(scope), name);
