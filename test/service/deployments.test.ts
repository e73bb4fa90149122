import { describe, expect, it } from 'vitest';
import { createHash } from 'node:crypto';
import { type AppName, appName, deploymentId, keyId, nodeId, nonce, scheduleId, workflowName } from '../../lib/engine/ids.ts';
import { type Instant, after, days, hours, minutes } from '../../lib/engine/time.ts';
import { bundlePaths, devKitBundlePaths } from '../../lib/ports/bundles.ts';
import { programPath } from '../../lib/ports/programs.ts';
import { type Deployments, type Manifest, pointerAfter, type DevKitBuild } from '../../lib/ports/deployments.ts';
import type { Schedule } from '../../lib/ports/schedules.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import {
  activateDeployment,
  deactivateDeployment,
  rollbackDeployment,
} from '../../lib/service/deployments/activate-deployment.ts';
import { createDeployment } from '../../lib/service/deployments/create-deployment.ts';
import { activeDeployment, getDeployment, listApps, listDeployments } from '../../lib/service/deployments/get-deployments.ts';
import { createWorkflow, publishVersion } from '../../lib/service/definitions/publish-workflow.ts';
import { findReadyDeployment } from '../../lib/service/deployments/find-ready-deployment.ts';
import { removeDeployment } from '../../lib/service/deployments/remove-deployment.ts';
import { verifyDeployment } from '../../lib/service/deployments/verify-deployment.ts';
import { archiveOf } from '../artifact/archives.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { createTestEnv, scope, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const creator = keyId('creator1');
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const activeIdOf = (active: Awaited<ReturnType<typeof activeDeployment>>) =>
  active.kind === 'active' ? active.deploymentId : undefined;
const byNobody = { by: null, allowsRemoval: false };

/** A test environment with the uploaded deployments `dep_1`, `dep_2` … */
const createWithDeployments = async (count: number, wrap?: Parameters<typeof createTestEnv>[0]) => {
  const env = createTestEnv(wrap);
  for (let number = 1; number <= count; number += 1) {
    const { manifest, archive } = await packedDeployment(`dep_${number}`);
    await createDeployment(env.ports, scope, manifest, { by: creator, archive });
    env.ports.clock.advance(minutes(1));
  }
  const change = { by: creator, allowsRemoval: false };
  const activate = (id: string) => activateDeployment(env.deps, scope, deploymentId(id), change);
  const rollback = (id?: string) =>
    rollbackDeployment(env.deps, scope, id === undefined ? {} : { deploymentId: deploymentId(id) }, change);
  const remove = (id: string) => removeDeployment(env.deps, scope, deploymentId(id));
  const active = async () => activeIdOf(await activeDeployment(env.ports, scope, undefined));
  const status = async (id: string) => (await getDeployment(env.ports, scope, deploymentId(id)))?.status;
  return { env, activate, rollback, remove, active, status };
};

const sdk = 'var WorldCache = Symbol.for("@workflow/world//cache");';

describe('creating a deployment', () => {
  it('returns an upload URL for 15 minutes, and a new URL to a repeated request', async () => {
    const { ports } = createTestEnv();
    const { manifest } = await packedDeployment('dep_1');
    const first = await createDeployment(ports, scope, manifest, { by: creator });
    expect(first).toMatchObject({
      kind: 'created',
      deployment: { status: 'created', createdBy: creator },
      upload: { method: 'PUT', expiresAt: after(ports.clock.now(), minutes(15)) },
    });
    ports.clock.advance(hours(1));
    const again = await createDeployment(ports, scope, { ...manifest, files: manifest.files.toReversed() }, { by: null });
    expect(again).toMatchObject({
      kind: 'existing',
      deployment: { createdBy: creator },
      upload: { expiresAt: after(ports.clock.now(), minutes(15)) },
    });
    expect(await activeDeployment(ports, scope, undefined)).toEqual({ kind: 'no_active_deployment' });
  });

  it('accepts the archive in the same request, and then returns no upload URL', async () => {
    const { ports } = createTestEnv();
    const { manifest, archive } = await packedDeployment('dep_1');
    for (const kind of ['created', 'existing'] as const) {
      const answer = await createDeployment(ports, scope, manifest, { by: null, archive });
      expect(answer).toEqual({ kind, deployment: expect.objectContaining({ verifiedAt: ports.clock.now() }) });
    }
    expect(await createDeployment(ports, scope, manifest, { by: null })).not.toHaveProperty('upload');
  });

  it.each<[string, Partial<Manifest>]>([
    ['other workflows', { workflows: [{ name: 'other' }] }],
    ['other steps', { steps: [{ name: 'other' }] }],
    ['another digest', { artifact: { sha256: 'ab'.repeat(32), bytes: 7 } }],
    ['other files', { files: [{ path: 'a', sha256: 'ab'.repeat(32), bytes: 7 }] }],
  ])('refuses an id that has a manifest with %s', async (_what, change) => {
    const { ports } = createTestEnv();
    await createDeployment(ports, scope, (await packedDeployment('dep_1')).manifest, { by: null });
    const { manifest } = await packedDeployment('dep_1', { change });
    expect(await createDeployment(ports, scope, manifest, { by: null })).toEqual({ kind: 'deployment_exists' });
  });

  it('writes nothing if the archive does not match the manifest', async () => {
    const { ports } = createTestEnv();
    const { manifest, archive } = await packedDeployment('dep_1', { files: { 'a.js': 'one' } });
    const other = await packedDeployment('dep_1', { files: { 'a.js': 'two' } });
    expect(await createDeployment(ports, scope, manifest, { by: null, archive: other.archive })).toEqual({
      kind: 'artifact_digest_mismatch',
    });
    expect(await createDeployment(ports, scope, manifest, { by: null, archive })).toMatchObject({
      kind: 'artifact_invalid',
      errors: [{ code: 'bundle_missing', path: bundlePaths.workflow }],
    });
    expect(await listDeployments(ports, scope, { limit: 5 })).toEqual({ deployments: [] });
  });
});

describe('an app of the Workflow DevKit', () => {
  it.each([
    [
      '4.8.9',
      `${sdk} register("step//workflow@4.8.9//fetch");`,
      /contains Workflow DevKit 4\.8\.9, which needs the runtime devkit/,
    ],
    [
      'a beta',
      `${sdk} register("step//@workflow/core/runtime/start@5.0.0-beta.35//start");`,
      /Workflow DevKit 5\.0\.0-beta\.35,/,
    ],
    ['no version', sdk, /Workflow DevKit of an unknown version,/],
  ])('is refused with the version that its bundle shows: %s', async (_what, flow, message) => {
    const { ports } = createTestEnv();
    const { manifest, archive } = await packedDeployment('dep_1', { files: { [bundlePaths.workflow]: flow } });
    expect(await createDeployment(ports, scope, manifest, { by: null, archive })).toEqual({
      kind: 'artifact_invalid',
      errors: [{ code: 'devkit_unsupported', path: bundlePaths.workflow, message: expect.stringMatching(message) }],
    });
  });

  it('is found in the module that newer builders write, beside the missing bundle', async () => {
    const { ports } = createTestEnv();
    const path = '.well-known/workflow/v1/flow.mjs';
    const { manifest, archive } = await packedDeployment('dep_1', { files: { [path]: sdk } });
    expect(await createDeployment(ports, scope, manifest, { by: null, archive })).toMatchObject({
      kind: 'artifact_invalid',
      errors: [{ code: 'bundle_missing' }, { code: 'devkit_unsupported', path }],
    });
  });

  const build: DevKitBuild = { sdkVersion: '4.8.9', specVersion: 3, nodeVersion: '24.1.0', format: 'commonjs' };
  const beta: DevKitBuild = { sdkVersion: '5.0.0-beta.35', specVersion: 5, nodeVersion: '24.1.0', format: 'module' };
  const flowModule = devKitBundlePaths.module.workflow;
  const flow4 = { [bundlePaths.workflow]: `${sdk} register("step//workflow@4.8.9//fetch");`, [bundlePaths.step]: sdk };
  const flow5 = { [flowModule]: `${sdk} register("step//@workflow/core/runtime/start@5.0.0-beta.35//start");` };
  const created = async (devkit: DevKitBuild, files: Readonly<Record<string, string>>) => {
    const { ports } = createTestEnv();
    const change = { runtime: 'devkit' as const, devkit };
    const { manifest, archive } = await packedDeployment('dep_1', { workflows: ['workflow//./a//b'], files, change });
    return createDeployment(ports, scope, manifest, { by: null, archive });
  };

  it.each([
    ['4.8.9', build, flow4],
    ['4.9.0, whose bundle shows no version', { ...build, sdkVersion: '4.9.0' }, { ...flow4, [bundlePaths.workflow]: sdk }],
    ['5.0.0-beta.35', beta, flow5],
    ['a later beta', { ...beta, sdkVersion: '5.0.0-beta.55', specVersion: 7 }, { [flowModule]: sdk }],
  ])('is accepted with the runtime devkit: %s', async (_what, devkit, files) => {
    expect(await created(devkit, files)).toMatchObject({ kind: 'created', deployment: { verifiedAt: expect.any(Number) } });
  });

  it.each([
    ['4.1.0', { ...build, sdkVersion: '4.1.0' }, /4\.1\.0, which Stepwell does not support: use workflow 4\.8/],
    ['an early beta', { ...beta, sdkVersion: '5.0.0-beta.19' }, /5\.0\.0-beta\.19, which Stepwell does not support/],
    ['6.0.0', { ...beta, sdkVersion: '6.0.0' }, /6\.0\.0, which Stepwell does not know/],
    [
      'another spec version',
      { ...beta, sdkVersion: '5.0.0-beta.60', specVersion: 8 },
      /spec version 8 Stepwell does not support/,
    ],
    ['modules of another kind', { ...build, sdkVersion: '5.0.0-beta.60', specVersion: 7 }, /bundles are no ES modules/],
  ])('of %s is refused with the version and what to use', async (_what, devkit, message) => {
    const files = devkit.format === 'commonjs' ? { ...flow4, [bundlePaths.workflow]: sdk } : { [flowModule]: sdk };
    expect(await created(devkit, files)).toMatchObject({
      kind: 'artifact_invalid',
      errors: [{ code: 'devkit_unsupported', message: expect.stringMatching(message) }],
    });
  });

  it('whose bundle shows another version than its manifest is refused', async () => {
    expect(await created({ ...build, sdkVersion: '4.8.10' }, flow4)).toMatchObject({
      errors: [{ code: 'devkit_unsupported', message: expect.stringMatching(/DevKit 4\.8\.9, and the manifest says 4\.8\.10/) }],
    });
  });

  it('without a bundle for steps is refused, and so is a bundle without the SDK', async () => {
    const { [bundlePaths.step]: _steps, ...flowOnly } = flow4;
    expect(await created(build, flowOnly)).toMatchObject({ errors: [{ code: 'bundle_missing', path: bundlePaths.step }] });
    expect(await created(beta, { [flowModule]: 'export const POST = () => 0;' })).toMatchObject({
      errors: [{ code: 'devkit_unsupported', message: expect.stringMatching(/no bundle contains the Workflow DevKit/) }],
    });
  });

  it('is not meant by a file elsewhere in the archive that mentions it', async () => {
    const { ports } = createTestEnv();
    const files = { [bundlePaths.workflow]: 'export const POST = () => 0;', 'lib/notes.js': sdk };
    const { manifest, archive } = await packedDeployment('dep_1', { files });
    expect(await createDeployment(ports, scope, manifest, { by: null, archive })).toMatchObject({ kind: 'created' });
  });
});

describe('the event bus', () => {
  const noticesOf = (env: Awaited<ReturnType<typeof createWithDeployments>>['env']) =>
    env.ports.notices.deploymentChanges.map(({ deploymentId: id, change }) => `${id} ${change}`);

  it('receives the creation, verification and removal of a deployment', async () => {
    const { ports } = createTestEnv();
    const { manifest, archive } = await packedDeployment('dep_1');
    const createdAt = ports.clock.now();
    await createDeployment(ports, scope, manifest, { by: null });
    await ports.artifacts.put({ scope, deploymentId: manifest.deploymentId, sha256: manifest.artifact.sha256 }, archive);
    ports.clock.advance(minutes(1));
    for (let count = 0; count < 2; count += 1) await verifyDeployment(ports, scope, manifest.deploymentId);
    const verifiedAt = ports.clock.now();
    ports.clock.advance(minutes(1));
    await removeDeployment(ports, scope, manifest.deploymentId);
    const of = { scope, deploymentId: 'dep_1' };
    expect(ports.notices.deploymentChanges).toEqual([
      { ...of, change: 'created', changedAt: createdAt },
      { ...of, change: 'verified', changedAt: verifiedAt },
      { ...of, change: 'removed', changedAt: ports.clock.now() },
    ]);
  });

  it('receives nothing for refused requests', async () => {
    const { env, activate, remove } = await createWithDeployments(1);
    await activate('dep_1');
    const before = noticesOf(env);
    expect(await remove('dep_1')).toEqual({ kind: 'deployment_active' });
    const { manifest } = await packedDeployment('dep_1', { change: { workflows: [{ name: 'other' }] } });
    expect(await createDeployment(env.ports, scope, manifest, { by: null })).toEqual({ kind: 'deployment_exists' });
    expect(noticesOf(env)).toEqual(before);
  });

  it.each(['created', 'verified', 'removed'] as const)(
    'receives the notice from the repeated request if it was unavailable: %s',
    async (lost) => {
      let isDown = true;
      const env = createTestEnv({
        wrap: (deps) => ({
          ...deps,
          notices: overrideMethods(deps.notices, {
            deploymentChanged: async (notice) => {
              if (isDown && notice.change === lost) throw new Unavailable('the event bus');
              return deps.notices.deploymentChanged(notice);
            },
          }),
        }),
      });
      const { manifest, archive } = await packedDeployment('dep_1');
      const create = () => createDeployment(env.deps, scope, manifest, { by: null, archive });
      const remove = () => removeDeployment(env.deps, scope, manifest.deploymentId);
      if (lost === 'removed') await create();
      const act = lost === 'removed' ? remove : create;
      await expect(act()).rejects.toThrow(Unavailable);
      isDown = false;
      await act();
      expect(noticesOf(env)).toContain(`dep_1 ${lost}`);
    },
  );
});

describe('activating a deployment', () => {
  it('activates it once for new runs, and notifies the event bus', async () => {
    const { env, activate, active, status } = await createWithDeployments(2);
    const at = env.ports.clock.now();
    expect(await activate('dep_1')).toEqual({
      kind: 'activated',
      app: 'default',
      deploymentId: 'dep_1',
      activatedAt: at,
      previousDeploymentId: null,
      revision: 1,
    });
    env.ports.clock.advance(minutes(1));
    expect(await activate('dep_1')).toMatchObject({ activatedAt: at, revision: 1 });
    expect(env.ports.notices.activations).toHaveLength(1);
    expect(await activate('dep_2')).toMatchObject({ previousDeploymentId: 'dep_1', revision: 2 });
    expect(await active()).toBe('dep_2');
    expect([await status('dep_1'), await status('dep_2')]).toEqual(['inactive', 'active']);
    expect(env.ports.notices.activations.at(-1)).toMatchObject({ scope, deploymentId: 'dep_2', previousDeploymentId: 'dep_1' });
  });

  it('verifies the upload, and refuses a missing or wrong archive', async () => {
    const { ports } = createTestEnv();
    const { manifest, archive } = await packedDeployment('dep_1');
    const created = await createDeployment(ports, scope, manifest, { by: null });
    if (!('upload' in created) || created.upload === undefined) throw new Error('no upload');
    const activate = () => activateDeployment(ports, scope, manifest.deploymentId, byNobody);
    expect(await activate()).toEqual({ kind: 'artifact_missing' });
    for (const wrong of [archive.subarray(1), new Uint8Array(archive.byteLength), new Uint8Array(archive.byteLength + 1)]) {
      ports.artifacts.receive(created.upload.url, wrong);
      expect(await activate()).toEqual({ kind: 'artifact_digest_mismatch' });
    }
    ports.artifacts.receive(created.upload.url, archive);
    expect(await activate()).toMatchObject({ kind: 'activated' });
    expect(await getDeployment(ports, scope, manifest.deploymentId)).toMatchObject({ verifiedAt: ports.clock.now() });
  });

  it('a verified deployment that is not active runs only the starts that name it', async () => {
    const { ports } = createTestEnv();
    const { manifest, archive } = await packedDeployment('dep_1');
    const created = await createDeployment(ports, scope, manifest, { by: null });
    if (!('upload' in created) || created.upload === undefined) throw new Error('no upload');
    const verify = () => verifyDeployment(ports, scope, manifest.deploymentId);
    const ready = () => findReadyDeployment({ deps: ports }, scope, manifest.deploymentId, workflowName('hello'));
    expect([await verify(), await ready()]).toMatchObject([{ kind: 'artifact_missing' }, { kind: 'deployment_not_verified' }]);
    ports.artifacts.receive(created.upload.url, new Uint8Array(archive.byteLength));
    expect(await verify()).toEqual({ kind: 'artifact_digest_mismatch' });
    ports.artifacts.receive(created.upload.url, archive);
    const verifiedAt = ports.clock.now();
    expect([await verify(), await ready()]).toMatchObject([{ kind: 'verified', verifiedAt }, { kind: 'ready' }]);
    ports.clock.advance(minutes(1));
    expect(await verify()).toEqual({ kind: 'verified', verifiedAt });
    expect(await activeDeployment(ports, scope, undefined)).toEqual({ kind: 'no_active_deployment' });
    expect(await verifyDeployment(ports, scope, deploymentId('none'))).toEqual({ kind: 'not_found' });
  });

  it('refuses an unsafe archive, and one without its bundles', async () => {
    const { ports } = createTestEnv();
    const evil = await archiveOf([{ name: '../a.js', content: 'x' }]);
    const artifact = { sha256: sha256(evil), bytes: evil.byteLength };
    const { manifest } = await packedDeployment('dep_1', { change: { artifact } });
    const created = await createDeployment(ports, scope, manifest, { by: null });
    if (!('upload' in created) || created.upload === undefined) throw new Error('no upload');
    ports.artifacts.receive(created.upload.url, evil);
    expect(await activateDeployment(ports, scope, manifest.deploymentId, byNobody)).toMatchObject({
      kind: 'artifact_invalid',
      errors: [{ code: 'path_unsafe', path: '../a.js' }],
    });
    const steps = await packedDeployment('dep_2', { change: { steps: [{ name: 'charge' }] } });
    expect(await createDeployment(ports, scope, steps.manifest, { by: null, archive: steps.archive })).toMatchObject({
      kind: 'artifact_invalid',
      errors: [{ code: 'bundle_missing', path: bundlePaths.step }],
    });
  });

  it('refuses an archive of code without the module of its workflows', async () => {
    const { ports } = createTestEnv();
    const code = await packedDeployment('dep_1', { change: { runtime: 'code' } });
    expect(await createDeployment(ports, scope, code.manifest, { by: null, archive: code.archive })).toMatchObject({
      kind: 'artifact_invalid',
      errors: [{ code: 'program_missing', path: programPath }],
    });
    const whole = await packedDeployment('dep_1', {
      files: { [programPath]: 'export const workflows = [];' },
      change: { runtime: 'code' },
    });
    const { manifest, archive } = whole;
    expect(await createDeployment(ports, scope, manifest, { by: null, archive })).toMatchObject({ kind: 'created' });
  });

  it('the order of code versions is part of the manifest', async () => {
    const { ports } = createTestEnv();
    const versions = [
      { name: 'hello', version: '1' },
      { name: 'hello', version: '2' },
    ];
    const sent = async (workflows: Manifest['workflows'], runtime: Manifest['runtime']) => {
      const { manifest } = await packedDeployment(`dep_${runtime}`, { change: { runtime, workflows } });
      return (await createDeployment(ports, scope, manifest, { by: null })).kind;
    };
    expect(await sent(versions, 'code')).toBe('created');
    expect(await sent(versions, 'code')).toBe('existing');
    expect(await sent(versions.toReversed(), 'code')).toBe('deployment_exists');
    expect(await sent([{ name: 'a' }, { name: 'b' }], 'bundle')).toBe('created');
    expect(await sent([{ name: 'b' }, { name: 'a' }], 'bundle')).toBe('existing');
  });

  it('retries after concurrent changes of the pointer, and is unavailable under too many', async () => {
    let losses = 3;
    const wrap = (lost: () => boolean) => (deps: ReturnType<typeof createTestEnv>['deps']) => {
      const deployments: Deployments = Object.assign(Object.create(deps.deployments), {
        pointer: (of: typeof scope) => deps.deployments.pointer(of),
        deployment: (...of: Parameters<Deployments['deployment']>) => deps.deployments.deployment(...of),
        markActivated: (...of: Parameters<Deployments['markActivated']>) => deps.deployments.markActivated(...of),
        movePointer: async (...of: Parameters<Deployments['movePointer']>) =>
          lost() ? false : deps.deployments.movePointer(...of),
      });
      return { ...deps, deployments };
    };
    const { activate } = await createWithDeployments(1, { wrap: wrap(() => (losses -= 1) >= 0) });
    expect(await activate('dep_1')).toMatchObject({ kind: 'activated' });
    const contended = await createWithDeployments(1, { wrap: wrap(() => true) });
    await expect(contended.activate('dep_1')).rejects.toThrow(Unavailable);
  });

  it('a repeated request completes an activation that crashed before its notice', async () => {
    let isBroken = true;
    const { env, activate, active } = await createWithDeployments(1, {
      wrap: (deps) => ({
        ...deps,
        notices: {
          ...deps.notices,
          deploymentActivated: async (notice) => {
            if (isBroken) throw new Unavailable('the event bus');
            return deps.notices.deploymentActivated(notice);
          },
        },
      }),
    });
    await expect(activate('dep_1')).rejects.toThrow(Unavailable);
    expect(await active()).toBe('dep_1');
    isBroken = false;
    for (let count = 0; count < 2; count += 1) expect(await activate('dep_1')).toMatchObject({ revision: 1 });
    expect(env.ports.notices.activations).toHaveLength(1);
  });

  it('of a missing deployment is not found', async () => {
    const { activate } = await createWithDeployments(0);
    expect(await activate('dep_1')).toEqual({ kind: 'not_found' });
  });
});

describe('a rollback', () => {
  it('activates the previous deployment, or the named one', async () => {
    const { env, activate, rollback, active } = await createWithDeployments(3);
    expect(await rollback()).toEqual({ kind: 'no_previous_deployment' });
    for (const id of ['dep_1', 'dep_2', 'dep_3']) {
      env.ports.clock.advance(minutes(1));
      await activate(id);
      if (id === 'dep_1') expect(await rollback()).toEqual({ kind: 'no_previous_deployment' });
    }
    env.ports.clock.advance(minutes(1));
    expect(await rollback()).toMatchObject({ deploymentId: 'dep_2', previousDeploymentId: 'dep_3', revision: 4 });
    env.ports.clock.advance(minutes(1));
    expect(await rollback('dep_1')).toMatchObject({ deploymentId: 'dep_1', revision: 5 });
    expect(await active()).toBe('dep_1');
    const notified = env.ports.notices.activations.map(({ deploymentId: id }) => id);
    expect(notified).toEqual(['dep_1', 'dep_2', 'dep_3', 'dep_2', 'dep_1']);
    const rollbacks = env.ports.notices.activations.map(({ isRollback = false }) => isRollback);
    expect(rollbacks).toEqual([false, false, false, true, true]);
    expect(await rollback('dep_9')).toEqual({ kind: 'not_found' });
  });

  it('skips removed deployments', async () => {
    const { activate, rollback, remove } = await createWithDeployments(3);
    for (const id of ['dep_1', 'dep_2', 'dep_3']) await activate(id);
    expect(await remove('dep_2')).toMatchObject({ kind: 'removed' });
    expect(await rollback()).toMatchObject({ deploymentId: 'dep_1' });
    await remove('dep_3');
    expect(await rollback()).toEqual({ kind: 'no_previous_deployment' });
  });
});

describe('a name refers to one workflow:', () => {
  it('a deployment with the name of a published graph is not activated, until the graph is archived', async () => {
    const { env, activate } = await createWithDeployments(1);
    await env.publish(workflow('hello', 'a>b'));
    expect(await activate('dep_1')).toEqual({ kind: 'workflow_name_taken', app: 'default', names: [{ name: 'hello' }] });
    await env.ports.workflows.archive(scope, workflowName('hello'), env.ports.clock.now());
    expect(await activate('dep_1')).toMatchObject({ kind: 'activated' });
  });

  it('no graph is published under a name that the active deployment has', async () => {
    const { env, activate } = await createWithDeployments(1);
    const { version: _version, ...definition } = workflow('hello', 'a>b');
    const graph = { ...definition, nodes: [{ id: nodeId('a'), type: 'start', config: {} }], edges: [] };
    expect(await createWorkflow(env.ports, scope, graph, inspectNode)).toMatchObject({ kind: 'published' });
    await env.ports.workflows.archive(scope, workflowName('hello'), env.ports.clock.now());
    await activate('dep_1');
    const other = { ...graph, name: workflowName('other') };
    expect(await createWorkflow(env.ports, scope, graph, inspectNode)).toEqual({
      kind: 'workflow_name_taken',
      app: 'default',
    });
    expect(await createWorkflow(env.ports, scope, other, inspectNode)).toMatchObject({ kind: 'published' });
    expect(await publishVersion(env.ports, scope, other, inspectNode)).toMatchObject({ kind: 'published', version: 2 });
  });
});

const orders = appName('@acme/orders');
const billing = appName('billing');

const scheduleNamed = (id: string, name: string, at: Instant): Schedule => ({
  ...scope,
  scheduleId: scheduleId(id),
  incarnation: nonce('n1'),
  bodyHash: 'h',
  definition: {
    workflowName: workflowName(name),
    timing: { recurrence: { kind: 'rate', rate: '1 day', anchor: at } },
    overlap: 'skip',
    catchUpWindowMs: days(1),
    isPaused: false,
  },
  setting: 1,
  createdAt: at,
  updatedAt: at,
  fires: [],
  revision: 1,
});

/** Two apps, each with the uploaded deployments that are named as `<app> <workflows>`. */
async function createWithApps() {
  const env = createTestEnv();
  const upload = async (id: string, app: AppName, workflows: readonly string[]) => {
    const { manifest, archive } = await packedDeployment(id, { workflows, change: { app } });
    await createDeployment(env.ports, scope, manifest, { by: creator, archive });
  };
  const activate = (id: string, allowsRemoval = false) =>
    activateDeployment(env.deps, scope, deploymentId(id), { by: creator, allowsRemoval });
  const activeIds = async () => (await listApps(env.ports, scope)).map(({ app, history }) => `${app} ${history[0].deploymentId}`);
  await upload('orders_1', orders, ['ship', 'refund']);
  await upload('billing_1', billing, ['invoice']);
  return { env, upload, activate, activeIds };
}

describe('several apps of one environment', () => {
  it('an activation replaces the active deployment of its own app only', async () => {
    const { env, upload, activate, activeIds } = await createWithApps();
    await activate('orders_1');
    expect(await activate('billing_1')).toMatchObject({ app: 'billing', previousDeploymentId: null, revision: 2 });
    expect(await activeIds()).toEqual(['@acme/orders orders_1', 'billing billing_1']);
    await upload('orders_2', orders, ['ship', 'refund', 'track']);
    expect(await activate('orders_2')).toMatchObject({ app: '@acme/orders', previousDeploymentId: 'orders_1', revision: 3 });
    expect(await activeIds()).toEqual(['@acme/orders orders_2', 'billing billing_1']);
    for (const name of ['track', 'invoice']) {
      const workflow = workflowName(name);
      expect(await env.start({ workflowName: workflow, idempotencyKey: name })).toMatchObject({ kind: 'started' });
    }
    expect(env.ports.notices.activations.map(({ app, deploymentId: id }) => `${app} ${id}`)).toEqual([
      '@acme/orders orders_1',
      'billing billing_1',
      '@acme/orders orders_2',
    ]);
  });

  it('a workflow name belongs to one app: a clash is refused with both apps', async () => {
    const { upload, activate, activeIds } = await createWithApps();
    await activate('orders_1');
    await upload('billing_2', billing, ['invoice', 'refund']);
    expect(await activate('billing_2')).toEqual({
      kind: 'workflow_name_taken',
      app: 'billing',
      names: [{ name: 'refund', app: '@acme/orders' }],
    });
    expect(await activeIds()).toEqual(['@acme/orders orders_1']);
  });

  it('a rollback names its app, unless one app alone is active', async () => {
    const { env, upload, activate, activeIds } = await createWithApps();
    const rollback = (app?: AppName) => rollbackDeployment(env.deps, scope, { app }, { by: creator, allowsRemoval: true });
    await activate('orders_1');
    await upload('orders_2', orders, ['ship']);
    await activate('orders_2', true);
    expect(await rollback()).toMatchObject({ deploymentId: 'orders_1' });
    await activate('billing_1');
    expect(await rollback()).toEqual({ kind: 'app_required', apps: [orders, billing] });
    expect(await rollback(billing)).toEqual({ kind: 'no_previous_deployment' });
    expect(await rollback(orders)).toMatchObject({ deploymentId: 'orders_2', app: '@acme/orders' });
    expect(await activeIds()).toEqual(['@acme/orders orders_2', 'billing billing_1']);
    expect(await activeDeployment(env.ports, scope, undefined)).toEqual({ kind: 'app_required', apps: [orders, billing] });
    expect(await activeDeployment(env.ports, scope, billing)).toMatchObject({
      deploymentId: 'billing_1',
      workflows: ['invoice'],
    });
  });

  it('an activation that removes a workflow with open runs or schedules says so, and is done when the caller accepts it', async () => {
    const { env, upload, activate, activeIds } = await createWithApps();
    await activate('orders_1');
    await env.start({ workflowName: workflowName('refund') });
    await env.ports.schedules.create(scheduleNamed('nightly', 'ship', env.ports.clock.now()));
    await env.ports.schedules.create(scheduleNamed('weekly', 'invoice', env.ports.clock.now()));
    await upload('orders_2', orders, ['track']);
    expect(await activate('orders_2')).toEqual({
      kind: 'workflows_in_use',
      app: '@acme/orders',
      uses: [
        { workflow: 'ship', openRuns: 0, schedules: ['nightly'] },
        { workflow: 'refund', openRuns: 1, schedules: [] },
      ],
    });
    expect(await activeIds()).toEqual(['@acme/orders orders_1']);
    expect(await activate('orders_2', true)).toMatchObject({ kind: 'activated' });
    // The run of the removed workflow still pins the app's earlier deployment, but it is not removed again.
    await upload('orders_3', orders, ['track', 'ship']);
    expect(await activate('orders_3')).toMatchObject({ kind: 'activated' });
  });

  it('a removed workflow that nothing uses needs no question', async () => {
    const { env, upload, activate } = await createWithApps();
    await activate('orders_1');
    const run = await env.begin('refund');
    await cancelRun(env.worker, run);
    await env.settle();
    await upload('orders_2', orders, ['ship']);
    expect(await activate('orders_2')).toMatchObject({ kind: 'activated' });
  });

  it('a deactivated app has no workflows, its deployment can be removed, and another app can take the names', async () => {
    const { env, upload, activate, activeIds } = await createWithApps();
    await activate('orders_1');
    await activate('billing_1');
    const deactivate = (allowsRemoval = false) =>
      deactivateDeployment(env.deps, scope, deploymentId('orders_1'), { allowsRemoval });
    await env.start({ workflowName: workflowName('ship') });
    expect(await deactivate()).toMatchObject({ kind: 'workflows_in_use', uses: [{ workflow: 'ship', openRuns: 1 }] });
    expect(await deactivate(true)).toEqual({ kind: 'deactivated', app: orders, revision: 3 });
    expect(await deactivate()).toEqual({ kind: 'deactivated', app: orders, revision: 3 });
    expect(await activeIds()).toEqual(['billing billing_1']);
    await upload('billing_2', billing, ['invoice', 'refund']);
    expect(await activate('billing_2')).toMatchObject({ kind: 'activated' });
    expect(await deactivateDeployment(env.deps, scope, deploymentId('none'), { allowsRemoval: true })).toEqual({
      kind: 'not_found',
    });
  });

  it('of two apps that take one name concurrently, one is refused', async () => {
    const { upload, activate, activeIds } = await createWithApps();
    await upload('billing_2', billing, ['ship']);
    const results = await Promise.all([activate('orders_1'), activate('billing_2')]);
    expect(results.map(({ kind }) => kind).toSorted()).toEqual(['activated', 'workflow_name_taken']);
    expect(await activeIds()).toHaveLength(1);
  });

  it('a name that the Workflow DevKit makes from paths belongs to one app too, whatever their SDK: the clash names both apps', async () => {
    const { env, activate, activeIds } = await createWithApps();
    const uploadDevKit = async (id: string, app: AppName, devkit: DevKitBuild, names: readonly string[]) => {
      const files = Object.fromEntries(
        Object.values(devKitBundlePaths[devkit.format]).map((path) => [path, 'Symbol.for("@workflow/world//cache")']),
      );
      const sent = await packedDeployment(id, { workflows: names, files, change: { app, runtime: 'devkit', devkit } });
      await createDeployment(env.ports, scope, sent.manifest, { by: creator, archive: sent.archive });
    };
    const build4: DevKitBuild = { sdkVersion: '4.8.9', specVersion: 3, nodeVersion: '24.1.0', format: 'commonjs' };
    const build5: DevKitBuild = { sdkVersion: '5.0.0-beta.55', specVersion: 7, nodeVersion: '24.1.0', format: 'module' };
    const order = 'workflow//./workflows/order//order';
    await uploadDevKit('orders_2', orders, build4, [order, 'workflow//./workflows/order//track']);
    await uploadDevKit('billing_2', billing, build5, [order, 'workflow//./workflows/bill//invoice']);
    await uploadDevKit('billing_3', billing, build5, ['workflow//./workflows/bill//order']);
    expect(await activate('orders_2')).toMatchObject({ kind: 'activated' });
    const refusal = { kind: 'workflow_name_taken', app: 'billing', names: [{ name: order, app: '@acme/orders' }] };
    expect(await activate('billing_2')).toEqual(refusal);
    expect(await activate('billing_2', true)).toEqual(refusal);
    // The function's name alone is no clash.
    expect(await activate('billing_3')).toMatchObject({ kind: 'activated' });
    expect(await activeIds()).toEqual(['@acme/orders orders_2', 'billing billing_3']);
  });

  it('the start of an unknown workflow names the inactive deployment that has it', async () => {
    const { env, upload, activate } = await createWithApps();
    await activate('orders_1');
    await upload('billing_2', billing, ['invoice', 'remind']);
    expect(await env.start({ workflowName: workflowName('remind') })).toEqual({
      kind: 'workflow_not_found',
      inactive: { deploymentId: 'billing_2', app: 'billing' },
    });
    expect(await env.start({ workflowName: workflowName('unknown') })).toEqual({ kind: 'workflow_not_found' });
  });

  it('an app is refused when the pointer would exceed one item', async () => {
    const { env, activate } = await createWithApps();
    const filler = Array.from({ length: 2_500 }, (_, index) => `${'w'.repeat(115)}.${index}`);
    const manifest = { app: appName('filler'), workflows: filler.map((name) => ({ name })) };
    const activation = { deploymentId: deploymentId('filler_1'), at: env.ports.clock.now(), by: null };
    await env.ports.deployments.movePointer(scope, 0, pointerAfter(undefined, manifest, activation));
    expect(await activate('orders_1')).toEqual({ kind: 'too_many_apps' });
  });
});

describe('removing a deployment', () => {
  it('removes the artifact, and its id stays reserved', async () => {
    const { env, remove, status } = await createWithDeployments(1);
    const { manifest, archive } = await packedDeployment('dep_1');
    const name = { scope, deploymentId: manifest.deploymentId, sha256: manifest.artifact.sha256 };
    expect(await env.ports.artifacts.read(name, archive.byteLength)).toBeDefined();
    expect(await remove('dep_1')).toEqual({ kind: 'removed', removedAt: env.ports.clock.now() });
    expect(await env.ports.artifacts.read(name, archive.byteLength)).toBeUndefined();
    expect(await status('dep_1')).toBeUndefined();
    expect(await remove('dep_1')).toEqual({ kind: 'not_found' });
    expect(await createDeployment(env.ports, scope, manifest, { by: null, archive })).toEqual({ kind: 'deployment_exists' });
  });

  it('is refused while it is active, and changes nothing', async () => {
    const { env, activate, remove } = await createWithDeployments(1);
    await activate('dep_1');
    expect(await remove('dep_1')).toEqual({ kind: 'deployment_active' });
    expect(await getDeployment(env.ports, scope, deploymentId('dep_1'))).not.toHaveProperty('removingSince');
  });

  it('is refused while an open run pins it', async () => {
    const { env, remove } = await createWithDeployments(1);
    await env.publish(workflow('flow', 'a>b'));
    const { runId } = await env.begin('flow');
    const hold = { since: env.ports.clock.now(), expiresAt: after(env.ports.clock.now(), days(37)) };
    await env.ports.deployments.pin(scope, deploymentId('dep_1'), runId, hold);
    const { deployments } = await listDeployments(env.ports, scope, { limit: 5 });
    expect(deployments.map(({ manifest, openRuns }) => [manifest.deploymentId, openRuns])).toEqual([['dep_1', 1]]);
    expect(await remove('dep_1')).toEqual({ kind: 'deployment_in_use', runId });
    expect(await getDeployment(env.ports, scope, deploymentId('dep_1'))).not.toHaveProperty('removingSince');
    await env.settle();
    expect(await remove('dep_1')).toMatchObject({ kind: 'removed' });
  });

  it('is refused for an hour while a pin has no run yet', async () => {
    const { env, remove } = await createWithDeployments(1);
    const runId = env.ports.ids.runId(env.ports.clock.now());
    const hold = { since: env.ports.clock.now(), expiresAt: after(env.ports.clock.now(), days(37)) };
    await env.ports.deployments.pin(scope, deploymentId('dep_1'), runId, hold);
    expect(await remove('dep_1')).toEqual({ kind: 'deployment_in_use', runId });
    env.ports.clock.advance(hours(1));
    expect(await remove('dep_1')).toMatchObject({ kind: 'removed' });
  });

  it('that has begun makes a concurrent activation fail', async () => {
    let removing: Promise<unknown> | undefined;
    const { env, activate, active, remove } = await createWithDeployments(1, {
      wrap: (deps) => ({
        ...deps,
        workflows: Object.assign(Object.create(deps.workflows), {
          // Between the activation's read of the deployment and its write of the pointer.
          summary: async (...of: Parameters<typeof deps.workflows.summary>) => {
            removing ??= removeDeployment(deps, scope, deploymentId('dep_1'));
            await removing;
            return deps.workflows.summary(...of);
          },
        }),
      }),
    });
    expect(await activate('dep_1')).toEqual({ kind: 'not_found' });
    expect(await active()).toBeUndefined();
    expect(await remove('dep_1')).toEqual({ kind: 'not_found' });
    expect(env.ports.notices.activations).toEqual([]);
  });

  it('that crashed is continued by a repeated request; meanwhile it cannot be activated', async () => {
    const { env, activate, remove } = await createWithDeployments(1);
    await env.ports.deployments.setRemoving(scope, deploymentId('dep_1'), env.ports.clock.now());
    expect(await activate('dep_1')).toEqual({ kind: 'not_found' });
    expect(await remove('dep_1')).toMatchObject({ kind: 'removed' });
  });
});
