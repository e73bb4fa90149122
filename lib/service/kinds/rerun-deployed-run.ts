/** Finds what a rerun of a code run or a bundle run starts: its workflow, on the same or another deployment. */
import type { BundleHead, CodeHead } from '../../engine/log/head.ts';
import { rerunSystemValues } from '../../engine/log/lineage.ts';
import { findReadyDeployment } from '../deployments/find-ready-deployment.ts';
import type { Decider } from '../run-kind.ts';
import { readRunInput } from '../run-log/read-run-input.ts';
import type { RerunRequest, ResolvedRerun } from '../runs/rerun-run.ts';

export async function resolveDeployedRerun(
  { deps }: Decider,
  head: BundleHead | CodeHead,
  { sourceRun, input, version, deploymentId, from }: RerunRequest,
): Promise<ResolvedRerun> {
  if (version !== undefined) return { kind: 'not_applicable', field: 'version' };
  if (from !== undefined) return { kind: 'not_applicable', field: 'fromNode' };
  const id = deploymentId ?? head.deploymentId;
  const ready = await findReadyDeployment(deps, sourceRun, id, head.workflow.name);
  if (ready.kind !== 'ready') return ready;
  return {
    kind: 'found',
    ...ready.serves,
    deploymentId: id,
    input: input ?? (await readRunInput(deps, head)),
    system: rerunSystemValues(sourceRun.runId),
  };
}
