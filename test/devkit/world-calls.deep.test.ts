/** The calls that the SDK makes to its World for a run of steps in sequence, at each version, with its bundles on a thread. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeWorldOf } from '../../functions/code/code-world.ts';
import { measuredWorkflows } from '../../bench/devkit/measured-app.ts';
import { devKitName } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import { devKitBundlePaths } from '../../lib/ports/bundles.ts';
import type { DevKitBuild } from '../../lib/ports/deployments.ts';
import { createDeployment } from '../../lib/service/deployments/create-deployment.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { hostOf } from '../bundles/given.ts';
import { createTestEnv, scope } from '../service/test-env.ts';
import { builtApp, sdkVersions } from './built-app.ts';

const steps = 10;
const longestMs = 120_000;
const builds: Readonly<Record<(typeof sdkVersions)[number], DevKitBuild>> = {
  '4.8.9': { sdkVersion: '4.8.9', specVersion: 3, nodeVersion: '24.1.0', format: 'commonjs' },
  '5.0.0-beta.35': { sdkVersion: '5.0.0-beta.35', specVersion: 5, nodeVersion: '24.1.0', format: 'module' },
  '5.0.0-beta.55': { sdkVersion: '5.0.0-beta.55', specVersion: 7, nodeVersion: '24.1.0', format: 'module' },
};

/**
 * A call for the start of a run, for its end, and for the start and the end of each step. In 4.x the creation of a step is a call, each message
 * starts the run again, and a step has two messages. The answer of a start has the events, so `events.list` is never called.
 */
const golden: Readonly<Record<(typeof sdkVersions)[number], Readonly<Record<string, number>>>> = {
  '4.8.9': { encryptionKey: 1, 'events.create': 4 * steps + 2, 'queue.publish': 2 * steps },
  '5.0.0-beta.35': { encryptionKey: 1, 'events.create': 2 * steps + 2 },
  '5.0.0-beta.55': { encryptionKey: 1, 'events.create': 2 * steps + 2 },
};

/** @returns how often the code called each method of its World */
async function callsOf(version: (typeof sdkVersions)[number]): Promise<Readonly<Record<string, number>>> {
  const calls: Record<string, number> = {};
  const app = await builtApp(version, { 'workflows/measured.ts': measuredWorkflows });
  const build = builds[version];
  const files = Object.fromEntries(
    Object.values(devKitBundlePaths[build.format]).map((path) => [path, readFileSync(join(app.folder, path), 'utf8')]),
  );
  const workflowName = devKitName('workflow//./workflows/measured//sequence');
  const { manifest, archive } = await packedDeployment('dpl_1', {
    workflows: [workflowName],
    files,
    change: { runtime: 'devkit', devkit: build },
  });
  const env = createTestEnv({
    code: (request, _id, signal) =>
      host.bundles.deliver(scope, manifest, request, { endsAt: instant(Date.now() + longestMs), signal }),
  });
  const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const world = codeWorldOf(env.worker, logger, undefined);
  const host = hostOf({
    memoryMb: 512,
    world: {
      call: (of, method, body) => {
        calls[method] = (calls[method] ?? 0) + 1;
        return world.call(of, method, body);
      },
    },
  });
  await host.artifacts.put({ scope, deploymentId: manifest.deploymentId, sha256: manifest.artifact.sha256 }, archive);
  const created = await createDeployment(env.ports, scope, manifest, { by: null, archive });
  expect(created.kind).toBe('created');
  const started = await env.start({ workflowName, input: [steps], deploymentId: manifest.deploymentId });
  expect(started.kind).toBe('started');
  await env.settle();
  if (started.kind === 'started') {
    const { state } = await env.fold({ ...scope, runId: started.runId });
    expect(state.progress).toMatchObject({ status: 'completed' });
  }
  return calls;
}

test.each(sdkVersions)('workflow %s makes the golden calls for a run', async (version) => {
  expect(await callsOf(version)).toEqual(golden[version]);
});
