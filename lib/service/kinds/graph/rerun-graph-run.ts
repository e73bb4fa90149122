/** Finds what a rerun of a graph run starts: a version of its workflow, from the beginning or from a chosen node. */
import { validateInput } from '../../../engine/graph/validate-input.ts';
import { type ReusedNode, reusableResults } from '../../../engine/graph/rerun-from.ts';
import { type RunAddress, nodeId, workflowName } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import { type GraphHead, isTestRun } from '../../../engine/log/head.ts';
import { rerunSystemValues } from '../../../engine/log/lineage.ts';
import { closedReason, hasVersion } from '../../definitions/closed-reason.ts';
import type { Deps } from '../../deps.ts';
import type { Decider } from '../../decider.ts';
import { loadPayload } from '../../run-log/payloads.ts';
import { readRunFold } from '../../run-log/read-run-fold.ts';
import { readRunInput } from '../../run-log/read-run-input.ts';
import type { RerunRequest, ResolvedRerun } from '../../runs/rerun-run.ts';

export async function resolveGraphRerun(
  { deps, plans }: Decider,
  head: GraphHead,
  { sourceRun, input, version: number, deploymentId, from, results, replace = {} }: RerunRequest,
): Promise<ResolvedRerun> {
  if (isTestRun(head)) return { kind: 'test_run' };
  if (deploymentId !== undefined) return { kind: 'not_applicable', field: 'deploymentId' };
  if (results !== undefined) return { kind: 'not_applicable', field: 'results' };
  const name = workflowName(head.workflow.name);
  const summary = await deps.workflows.summary(sourceRun, name);
  // The workflow was deleted; its deletion has not reached this run yet.
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const closed = closedReason(summary);
  if (closed !== undefined) return { kind: closed };
  const versionNumber = number ?? head.workflow.version;
  const version = hasVersion(summary, versionNumber) ? await deps.workflows.version(sourceRun, name, versionNumber) : undefined;
  if (version === undefined) return { kind: 'version_not_found', workflowName: name };
  const checkedInput = validateInput(version.options.args, input === undefined ? await readRunInput(deps, head) : input);
  if (checkedInput.kind === 'refused') return { kind: 'input_invalid', errors: checkedInput.errors };
  const found = { kind: 'found' as const, version, input: checkedInput.input };
  if (from === undefined && Object.keys(replace).length > 0) return { kind: 'outputs_not_kept', nodeIds: Object.keys(replace) };
  if (from === undefined) return { ...found, system: rerunSystemValues(sourceRun.runId) };
  const node = version.nodes.find(({ id }) => id === from);
  if (node === undefined) return { kind: 'node_not_found', nodeId: from };
  const earlier = await readRunFold(deps, sourceRun);
  invariant(earlier !== undefined, `run ${sourceRun.runId} has a head and no log`);
  const replaced = new Map(Object.entries(replace).map(([id, { output }]) => [nodeId(id), output]));
  const reusable = reusableResults(plans.add(sourceRun, version), earlier.state, node.id, replaced);
  const notKept = [...replaced.keys()].filter((id) => reusable.every((result) => result.nodeId !== id));
  if (notKept.length > 0) return { kind: 'outputs_not_kept', nodeIds: notKept };
  const reused = await Promise.all(reusable.map((result) => withValue(deps, sourceRun, result)));
  return { ...found, system: rerunSystemValues(sourceRun.runId, node.id), startFrom: { from: node.id, reused } };
}

/** Loads an offloaded result for the new run, because the stored payload expires with the source run. */
async function withValue(deps: Deps, sourceRun: RunAddress, result: ReusedNode): Promise<ReusedNode> {
  if (result.status !== 'completed' || 'value' in result.output) return result;
  return { ...result, output: { value: await loadPayload(deps, sourceRun, result.output.ref) } };
}
