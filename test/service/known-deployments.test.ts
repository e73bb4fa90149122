import { expect, it, test } from 'vitest';
import { type Scope, deploymentId, environment, workflowName } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Deployments } from '../../lib/ports/deployments.ts';
import { activateDeployment } from '../../lib/service/deployments/activate-deployment.ts';
import { createDeployment } from '../../lib/service/deployments/create-deployment.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { removeDeployment } from '../../lib/service/deployments/remove-deployment.ts';
import { verifyDeployment } from '../../lib/service/deployments/verify-deployment.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { overrideMethods } from './override-methods.ts';
import { createTestEnv, scope, workflow } from './test-env.ts';

const id = deploymentId('dep_1');

/** A process that starts runs of `hello`, which a deployment serves, and its calls. */
async function startingProcess() {
  const calls: string[] = [];
  const env = createTestEnv({
    wrap: (deps) => ({
      ...deps,
      deployments: overrideMethods(deps.deployments, {
        pointer: async (...read) => {
          calls.push('pointer');
          return deps.deployments.pointer(...read);
        },
        pin: async (...pinned) => {
          calls.push('pin');
          return deps.deployments.pin(...pinned);
        },
        deployment: async (...read) => {
          calls.push('deployment');
          return deps.deployments.deployment(...read);
        },
      }),
    }),
  });
  for (const name of ['dep_1', 'dep_2']) {
    const { manifest, archive } = await packedDeployment(name);
    await createDeployment(env.ports, scope, manifest, { by: null, archive });
  }
  const activate = (name: string) => activateDeployment(env.ports, scope, deploymentId(name), { by: null, allowsRemoval: false });
  await activate('dep_1');
  const decider = { ...env.worker, known: new KnownDeployments() };
  let key = 0;
  const start = async (named: { readonly deploymentId?: typeof id } = {}) => {
    calls.length = 0;
    key += 1;
    const idempotencyKey = `key ${key}`;
    const request = { scope, workflowName: workflowName('hello'), bodyHash: idempotencyKey, idempotencyKey, ...named };
    return startRun(decider, request);
  };
  return { env, calls, start, activate };
}

it('a start of known code reads the pointer, and the deployment once, after its pin', async () => {
  const { calls, start } = await startingProcess();
  expect(await start()).toMatchObject({ kind: 'started', deploymentId: id });
  expect(calls).toEqual(['pointer', 'deployment', 'pin', 'deployment']);
  expect(await start()).toMatchObject({ kind: 'started', deploymentId: id });
  expect(calls).toEqual(['pointer', 'pin', 'deployment']);
});

it('the next start after an activation runs on the other deployment', async () => {
  const { start, activate } = await startingProcess();
  await start();
  await activate('dep_2');
  expect(await start()).toMatchObject({ kind: 'started', deploymentId: deploymentId('dep_2') });
});

it('a known deployment that was removed starts no run, and is pinned by one start at most', async () => {
  const { env, calls, start, activate } = await startingProcess();
  // The start names it, so only its own item shows that it was removed.
  await activate('dep_2');
  const decided = await start({ deploymentId: id });
  if (decided.kind !== 'started') throw new Error(`the run has not started: ${decided.kind}`);
  await env.settle();
  await env.ports.deployments.unpin(scope, id, decided.runId);
  expect(await removeDeployment(env.ports, scope, id)).toMatchObject({ kind: 'removed' });
  expect(await start({ deploymentId: id })).toEqual({ kind: 'deployment_not_found', deploymentId: id });
  expect(calls).toEqual(['pin', 'deployment']);
  expect(await start({ deploymentId: id })).toEqual({ kind: 'deployment_not_found', deploymentId: id });
  expect(calls).toEqual(['deployment']);
});

it('a deployment whose removal was given up runs starts again', async () => {
  const { env, start } = await startingProcess();
  await env.ports.deployments.setRemoving(scope, id, env.ports.clock.now());
  expect(await start({ deploymentId: id })).toEqual({ kind: 'deployment_not_found', deploymentId: id });
  await env.ports.deployments.setRemoving(scope, id, null);
  expect(await start({ deploymentId: id })).toMatchObject({ kind: 'started', deploymentId: id });
});

it('a graph that takes the name of code is started, without a read of the pointer from the second start on', async () => {
  const { env, start, calls } = await startingProcess();
  expect(await start()).toMatchObject({ deploymentId: id });
  await env.publish(workflow('hello', 'a>b'));
  expect(await start()).toMatchObject({ kind: 'started', deploymentId: null });
  expect(calls).toEqual(['pointer']);
  expect(await start()).toMatchObject({ kind: 'started', deploymentId: null });
  expect(calls).toEqual([]);
});

it('a deployment that is not verified is read until it is', async () => {
  const { env, start } = await startingProcess();
  const { manifest: unverified, archive } = await packedDeployment('dep_3');
  const created = await createDeployment(env.ports, scope, unverified, { by: null });
  if (!('upload' in created) || created.upload === undefined) throw new Error('no upload');
  const named = { deploymentId: deploymentId('dep_3') };
  expect(await start(named)).toEqual({ kind: 'deployment_not_verified', ...named });
  env.ports.artifacts.receive(created.upload.url, archive);
  await verifyDeployment(env.ports, scope, named.deploymentId);
  expect(await start(named)).toMatchObject({ kind: 'started', ...named });
});

const { manifest } = await packedDeployment('dpl_1', {});

function countedDeployments() {
  const read: string[] = [];
  const deployments: Pick<Deployments, 'deployment'> = {
    deployment: async ({ environment: name }: Scope, id) => {
      read.push(`${name} ${id}`);
      return id === 'dpl_none'
        ? undefined
        : { manifest: { ...manifest, deploymentId: id }, createdAt: instant(0), createdBy: null, verifiedAt: instant(0) };
    },
  };
  return { read, deployments };
}

test('a manifest is read once in each scope, and an absent one each time', async () => {
  const { read, deployments } = countedDeployments();
  const cache = new KnownDeployments();
  const other = { ...scope, environment: environment('other') };
  for (let time = 0; time < 2; time += 1) {
    expect((await cache.manifest(deployments, scope, deploymentId('dpl_1')))?.deploymentId).toBe('dpl_1');
    await cache.manifest(deployments, other, deploymentId('dpl_1'));
    expect(await cache.manifest(deployments, scope, deploymentId('dpl_none'))).toBeUndefined();
  }
  expect(read).toEqual(['test dpl_1', 'other dpl_1', 'test dpl_none', 'test dpl_none']);
});

test('the least recently used of many manifests is read again', async () => {
  const { read, deployments } = countedDeployments();
  const cache = new KnownDeployments();
  const use = (number: number) => cache.manifest(deployments, scope, deploymentId(`dpl_${number}`));
  for (let number = 1; number <= 32; number += 1) await use(number);
  await use(1);
  await use(33);
  read.length = 0;
  await use(1);
  await use(2);
  expect(read).toEqual(['test dpl_2']);
});
