/**
 * The example `devkit-orders`, built with the tool of the Workflow DevKit at each supported version, deployed by the command line and run on
 * threads. Each deployment replaces the one before, and the open runs of that one would stay on it.
 */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { application } from '../../examples/app-host.ts';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { rotatingItem } from '../tier.ts';
import { type BuiltApp, sdkVersions } from './built-app.ts';
import { orderExample, ordersApp } from './orders-app.ts';

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

const deployed = z.object({ data: z.object({ deploymentId: z.string() }) });
const diagnosticsToken = 'a-token-of-32-characters-or-more';

/** What each version is built with. */
const builds = {
  '4.8.9': { format: 'commonjs', specVersion: 3 },
  '5.0.0-beta.35': { format: 'module', specVersion: 5 },
  '5.0.0-beta.55': { format: 'module', specVersion: 7 },
} as const;

const workflowNames = [
  'order//letter',
  'order//order',
  'parcel//parcel',
  ...['byDefault', 'withManual', 'withStatic'].map((name) => `webhooks//${name}`),
];

describe.each(rotatingItem(sdkVersions))('an app of workflow %s', (sdkVersion) => {
  const build = builds[sdkVersion];
  let app: BuiltApp;
  let deploymentId: string;
  beforeAll(async () => {
    app = await ordersApp(sdkVersion);
    const printed = await cli(served, app.folder, 'deploy', '--json');
    deploymentId = deployed.parse(JSON.parse(printed)).data.deploymentId;
  });

  test('is deployed with what it is built with', async () => {
    const { body } = await served.call('GET', `/v1/deployments/${deploymentId}`);
    expect(body).toMatchObject({
      runtime: 'devkit',
      devkit: { sdkVersion, ...build, nodeVersion: process.versions.node },
      workflows: workflowNames.map((name) => ({ name: `workflow//./workflows/${name}` })),
    });
  });

  test('answers a health check', async () => {
    const { status, body } = await served.call('GET', `/v1/deployments/${deploymentId}/health`);
    const { specVersion } = build;
    expect([status, body]).toEqual([
      200,
      {
        deploymentId,
        healthy: true,
        latencyMs: expect.any(Number),
        sdkVersion: expect.stringContaining(sdkVersion),
        specVersion,
      },
    ]);
    expect(await cli(served, app.folder, 'deployments', 'health', deploymentId)).toMatch(
      / answered after \d+ ms, with Workflow DevKit /,
    );
  });

  test('validate-ownership --strict proves by a callback that its code is executed in the service', async () => {
    const host = application({
      NODE_ENV: 'production',
      WORKFLOW_EXECUTION_MODE: 'remote',
      WORKFLOW_TARGET_WORLD: 'workflow-studio/world-remote',
      WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: diagnosticsToken,
    }).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const { port } = z.object({ port: z.number() }).parse(host.address());
    const options = ['--app-url', `http://127.0.0.1:${port}`, '--diagnostics-token', diagnosticsToken];
    const printed = await cli(served, app.folder, 'validate-ownership', '--strict', ...options);
    host.close();
    expect(printed.trimEnd()).toMatch(/^(?:\[PASS\] .*\n)+\[PASS\] callback: the code answered in the service after \d+ ms$/);
  });

  test('comes to what expected.json says, with the client of the example', async () => {
    const env = { STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey };
    const client = async (...args: readonly string[]): Promise<string> =>
      (await app.run('node', ['client.mjs', ...args], env)).trimEnd();
    const [item] = orderExample.input;
    const { output, status, stream } = orderExample.expected;
    const runId = await client('start', item);
    const waits = (): Promise<string> => cli(served, app.folder, 'explain', runId);
    await expect.poll(waits, { timeout: 60_000 }).toMatch(/^Node \S+ \(hook\) waits for /);
    await client('approve', item);
    const [result = '', ...lines] = (await client('result', runId)).split('\n');
    expect({ output: JSON.parse(result), lines }).toEqual({ output, lines: stream });
    expect((await served.call('GET', `/v1/runs/${runId}`)).body).toMatchObject({ status, deploymentId });
  });
});
