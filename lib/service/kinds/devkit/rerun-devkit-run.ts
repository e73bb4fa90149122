/** A rerun from the beginning: a new run of the same workflow with the same input. The input is serialized, so no other can be given. */
import { defined } from '../../../base/defined.ts';
import { rerunSystemValues } from '../../../engine/log/lineage.ts';
import type { DevKitHead } from '../../../engine/log/head.ts';
import type { Decider } from '../../decider.ts';
import type { ResolvedDevKit } from '../../new-run.ts';
import type { RerunRefusal, RerunRequest } from '../../runs/rerun-run.ts';

export async function resolveDevKitRerun(
  _decider: Decider,
  head: DevKitHead,
  { input, version, deploymentId = head.deploymentId, from, results, sourceRun }: RerunRequest,
): Promise<ResolvedDevKit | RerunRefusal> {
  if (version !== undefined) return { kind: 'not_applicable', field: 'version' };
  if (from !== undefined) return { kind: 'not_applicable', field: 'fromNode' };
  if (results !== undefined) return { kind: 'not_applicable', field: 'results' };
  if (input !== undefined) return { kind: 'not_applicable', field: 'input' };
  const [creation] = head.commit.events;
  if (creation?.type !== 'DEVKIT') return { kind: 'not_found' };
  const { specVersion, data = {} } = creation;
  return {
    kind: 'found',
    runtime: 'devkit',
    workflowName: head.workflow.name,
    deploymentId,
    input: null,
    system: rerunSystemValues(sourceRun.runId),
    request: defined({
      event: 'run_created',
      specVersion,
      data: { ...data, deploymentId },
      payload: creation.payload,
    }),
    sendsFirst: true,
  };
}
