/** Messages of the Workflow DevKit to deployed artifacts: the request, and what the result of a bundle means for the run. */
import { expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { devKitBundlePaths } from '../../lib/ports/bundles.ts';
import { createDeployment } from '../../lib/service/deployments/create-deployment.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { createWorldEvent } from '../../lib/service/kinds/devkit/events-of-world.ts';
import { getRun } from '../../lib/service/kinds/devkit/world-reads.ts';
import { publishDevKitMessage } from '../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { creation } from './devkit-test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { type BundleHandler, createTestEnv, scope } from './test-env.ts';

const queueName = '__wkf_workflow_workflow//./workflows/order//processOrder';

/** An environment with a deployment of Workflow DevKit 5.0.0-beta.55. */
async function deployment(code: BundleHandler, isVerified = true) {
  // No application has the id of a deployment: a lookup would be in vain.
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    registeredApps: overrideMethods(deps.registeredApps, {
      app: () => Promise.reject(new Error('an application was looked up')),
    }),
  });
  const env = createTestEnv({ code, wrap });
  const { manifest, archive } = await packedDeployment('dpl_1', {
    workflows: ['workflow//./workflows/order//processOrder'],
    files: { [devKitBundlePaths.module.workflow]: `Symbol.for("@workflow/world//cache");` },
    change: {
      runtime: 'devkit',
      devkit: { sdkVersion: '5.0.0-beta.55', specVersion: 7, nodeVersion: '24.1.0', format: 'module' },
    },
  });
  const created = await createDeployment(env.ports, scope, manifest, { by: null, ...(isVerified ? { archive } : {}) });
  if (created.kind !== 'created') throw new Error(created.kind);
  const world = { ...env.worker, by: 'world', foldCache: new FoldCache() };
  const run = { ...scope, runId: env.deps.ids.runId(env.deps.clock.now()) };
  return { env, manifest, world, run };
}

async function deployedApp(code: BundleHandler) {
  const { env, manifest, world, run } = await deployment(code);
  await createWorldEvent(world, { run, request: creation(manifest.deploymentId, 3), params: {} });
  const head = await env.deps.log.head(run);
  if (head?.kind !== 'devkit') throw new Error('the run was not created');
  await publishDevKitMessage(world, { scope, queueName, message: { runId: run.runId } }, head);
  const deliver = async (): Promise<void> => {
    for (const job of env.ports.jobs.takeDevKitMessages()) await env.take(job);
  };
  return { env, run, deliver };
}

const neverCalled: BundleHandler = () => ({ kind: 'unloadable', message: 'a run was executed' });

test.each([
  ['of a workflow that the deployment lacks', { workflowName: 'workflow//./workflows/order//proces' }, 3, 'workflow_not_found'],
  ['of a later spec version', {}, 8, 'run_not_supported'],
] as const)('a start %s is refused, and creates nothing', async (_what, data, specVersion, code) => {
  const { env, manifest, world, run } = await deployment(neverCalled);
  const request = creation(manifest.deploymentId, specVersion);
  const refused = await createWorldEvent(world, { run, request: { ...request, data: { ...request.data, ...data } }, params: {} });
  expect(refused).toMatchObject({ kind: 'refused', code });
  expect(await env.deps.log.head(run)).toBeUndefined();
});

test('a start on a deployment that was never verified is refused', async () => {
  const { manifest, world, run } = await deployment(neverCalled, false);
  expect(await createWorldEvent(world, { run, request: creation(manifest.deploymentId, 3), params: {} })).toMatchObject({
    code: 'deployment_not_verified',
  });
});

test('the message of a start whose workflow the deployment lacks names those that it has', async () => {
  const { manifest, world, run } = await deployment(neverCalled);
  const runInput = { deploymentId: manifest.deploymentId, workflowName: 'workflow//./a//b', specVersion: 7, input: null };
  const published = await publishDevKitMessage(world, { scope, queueName, message: { runId: run.runId, runInput } }, undefined);
  expect(published).toMatchObject({
    code: 'workflow_not_found',
    message: expect.stringMatching(/no workflow workflow\/\/\.\/a\/\/b\. It has .*processOrder\. Correct the name/),
  });
});

test('a health check of the endpoint of steps goes to the one of workflows in version 5, which executes the steps', async () => {
  const { env, manifest, world } = await deployment(neverCalled);
  const message = { __healthCheck: true, correlationId: 'c' };
  for (const name of ['__wkf_step_health_check', '__shop_wkf_step_health_check', '__wkf_workflow_health_check'])
    await publishDevKitMessage(world, { scope, queueName: name, message, deploymentId: manifest.deploymentId }, undefined);
  expect(env.ports.jobs.takeDevKitMessages().map((job) => job.queueName)).toEqual([
    '__wkf_workflow_health_check',
    '__shop_wkf_workflow_health_check',
    '__wkf_workflow_health_check',
  ]);
});

test('the bundle of the run’s deployment receives the message', async () => {
  const deployments: string[] = [];
  const { env, run, deliver } = await deployedApp((_request, id) => {
    deployments.push(id);
    return { kind: 'responded', status: 200, body: { ok: true } };
  });
  await deliver();
  expect(deployments).toEqual(['dpl_1']);
  expect(env.bundleRequests).toEqual([
    {
      queueName,
      body: { runId: run.runId },
      headers: expect.objectContaining({
        'x-vqs-queue-name': queueName,
        'x-vqs-message-attempt': '1',
        'x-workflow-run-id': run.runId,
      }),
    },
  ]);
  expect(env.ports.jobs.takeDue()).toEqual([]);
});

test.each([
  ['crashed', { kind: 'crashed', message: 'the code ended its thread with code 1' }],
  ['took too long', { kind: 'timed_out' }],
  ['answered with an error', { kind: 'responded', status: 500, body: { error: 'x' } }],
] as const)('a message whose code %s is delivered again as its next attempt', async (_what, result) => {
  const { env, deliver } = await deployedApp(() => result);
  await deliver();
  env.ports.clock.advance(minutes(1));
  for (const job of env.ports.jobs.takeDue()) await env.take(job);
  await deliver();
  expect(env.bundleRequests.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['1', '2']);
});

test('a bundle that cannot be loaded fails the run with the reason', async () => {
  const { env, run, deliver } = await deployedApp(() => ({ kind: 'unloadable', message: 'it has a World of its own' }));
  await deliver();
  const found = await getRun({ ...env.worker, foldCache: new FoldCache() }, scope, run.runId, 'all');
  expect(found).toMatchObject({
    value: { status: 'failed', error: { message: expect.stringContaining('it has a World of its own') } },
  });
  expect(env.bundleRequests).toHaveLength(1);
});
