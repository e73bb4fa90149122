/** The health check of a deployment of the Workflow DevKit: its message, its answer, and its end without one. */
import { expect, test } from 'vitest';
import { deploymentId, keyId } from '../../lib/engine/ids.ts';
import { devKitBundlePaths } from '../../lib/ports/bundles.ts';
import { checkHealth, healthTimeout } from '../../lib/service/kinds/devkit/check-health.ts';
import { createDeployment } from '../../lib/service/deployments/create-deployment.ts';
import { closeStream, writeStream } from '../../lib/service/kinds/devkit/streams.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { overrideMethods } from './override-methods.ts';
import { createTestEnv, scope } from './test-env.ts';

const id = deploymentId('dep_1');
const devkit = { sdkVersion: '5.0.0-beta.55', specVersion: 7, nodeVersion: '24.1.0', format: 'module' } as const;
const workflows = ['workflow//./workflows/order//order'];

/** @param answer what the code writes to the stream of the check; undefined: nothing */
async function withDeployment(answer: string | undefined, { isUploaded = true } = {}) {
  const env = createTestEnv();
  const files = { [devKitBundlePaths.module.workflow]: 'Symbol.for("@workflow/world//cache")' };
  const { manifest, archive } = await packedDeployment('dep_1', { workflows, files, change: { runtime: 'devkit', devkit } });
  await createDeployment(env.ports, scope, manifest, { by: keyId('creator1'), ...(isUploaded ? { archive } : {}) });
  const { deps } = env;
  const jobs = overrideMethods(deps.jobs, {
    send: async (sent) => {
      const [job] = sent;
      const message = job?.kind === 'devkit' && 'value' in job.message ? JSON.stringify(job.message.value) : '';
      const [, correlationId = ''] = /"__healthCheck":true,"correlationId":"(\w+)"/.exec(message) ?? [];
      expect(job).toMatchObject({ kind: 'devkit', deploymentId: id, queueName: '__wkf_workflow_health_check' });
      if (answer === undefined) return;
      const stream = { scope, name: `__health_check__${correlationId}` };
      await writeStream(deps, stream, [answer]);
      await closeStream(deps, stream);
    },
  });
  const clock = overrideMethods(deps.clock, { sleep: async (wait) => env.ports.clock.advance(wait) });
  return { ...deps, jobs, clock };
}

test('the answer in the stream of the check tells the SDK and how long it took', async () => {
  const answer = JSON.stringify({ healthy: true, workflowCoreVersion: '5.0.0-beta.55', specVersion: 7 });
  const health = { kind: 'healthy', sdkVersion: '5.0.0-beta.55', specVersion: 7, latency: 0 };
  expect(await checkHealth(await withDeployment(answer), scope, id)).toEqual(health);
});

test.each([
  ['no answer', undefined],
  ['another answer', '{"healthy":false}'],
  ['an answer that is no JSON', 'ok'],
])('with %s, the check ends after its timeout', async (_what, answer) => {
  const { kind, ...rest } = await checkHealth(await withDeployment(answer), scope, id);
  expect(kind).toBe('silent');
  expect('waited' in rest ? rest.waited : 0).toBeGreaterThanOrEqual(healthTimeout);
});

test('a deployment without its artifact, one of another runtime and an unknown one are not asked', async () => {
  const deps = await withDeployment(undefined, { isUploaded: false });
  expect(await checkHealth(deps, scope, id)).toEqual({ kind: 'deployment_not_verified' });
  const other = await packedDeployment('dep_2');
  await createDeployment(deps, scope, other.manifest, { by: keyId('creator1'), archive: other.archive });
  expect(await checkHealth(deps, scope, deploymentId('dep_2'))).toEqual({ kind: 'no_devkit' });
  expect(await checkHealth(deps, scope, deploymentId('dep_3'))).toEqual({ kind: 'not_found' });
});
