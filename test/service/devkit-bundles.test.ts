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

async function deployedApp(code: BundleHandler) {
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
  const created = await createDeployment(env.ports, scope, manifest, { by: null, archive });
  if (created.kind !== 'created') throw new Error(created.kind);
  const world = { ...env.worker, by: 'world', foldCache: new FoldCache() };
  const run = { ...scope, runId: env.deps.ids.runId(env.deps.clock.now()) };
  await createWorldEvent(world, { run, request: creation(manifest.deploymentId, 3), params: {} });
  const head = await env.deps.log.head(run);
  if (head?.kind !== 'devkit') throw new Error('the run was not created');
  await publishDevKitMessage(world, { scope, queueName, message: { runId: run.runId } }, head);
  const deliver = async (): Promise<void> => {
    for (const job of env.ports.jobs.takeDevKitMessages()) await env.take(job);
  };
  return { env, run, deliver };
}

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
