/** The API with a deployment of code that is scripted by the test. */
import { environment, projectId } from '../../lib/engine/ids.ts';
import { after, days, hours, minutes } from '../../lib/engine/time.ts';
import { pointerAfter } from '../../lib/ports/deployments.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runWorkflowTask } from '../../lib/service/kinds/code/run-workflow-task.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { codeManifest } from '../service/code-test-env.ts';
import { type ScriptStage, ScriptedPrograms, type StepFunction } from '../service/scripted-programs.ts';
import { simulatedTypes } from '../simulation/random-graph.ts';
import { type Http, http } from './http.ts';

/** The API with the active deployment `dep_1`, whose workflow is `order`. */
export async function shippedCode(
  workflows?: Parameters<typeof codeManifest>[1],
  api: Http = http(),
): Promise<readonly [Http, string]> {
  const { world } = api;
  const now = world.clock.now();
  const scope = { projectId: projectId('acme'), environment: environment('test') };
  const manifest = codeManifest('dep_1', workflows);
  await world.deployments.create(scope, { manifest, createdAt: now, createdBy: null, verifiedAt: now });
  const activation = { deploymentId: manifest.deploymentId, at: now, by: null };
  await world.deployments.movePointer(scope, 0, pointerAfter(undefined, manifest, activation));
  return [api, await api.key(['admin'])];
}

export const startCode = (api: Http, key: string) =>
  api.call('POST', '/v1/runs', { key, body: { workflowName: 'order', input: { n: 1 } }, headers: { 'Idempotency-Key': 'k' } });

/** A step function that fails at this step. */
export const failingAt =
  (failing: string): StepFunction =>
  (step) => {
    if (step === failing) throw new Error('refused');
    return `${step} done`;
  };

/** Executes the open workflow tasks. */
export async function driveCode({ world }: Http, stages: readonly ScriptStage[], stepFunction?: StepFunction): Promise<void> {
  const deps = { ...world, settings: { retentionMs: days(30), idempotencyMs: hours(24), requiresHttps: true } };
  const programs = new ScriptedPrograms(() => world.clock, stages, stepFunction);
  const driver = { deps, plans: new Plans(simulatedTypes), kinds: runKinds, by: 'code', programs };
  const delivery = { isRedelivered: false, mustEndAt: after(world.clock.now(), minutes(15)) };
  for (const job of world.jobs.takeMessages()) if (job.kind === 'workflow_task') await runWorkflowTask(driver, job, delivery);
}
