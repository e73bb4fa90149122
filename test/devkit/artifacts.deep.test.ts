/**
 * Apps of the Workflow DevKit, built with its own tool at each supported version, deployed by the command line and run on threads.
 * Each deployment replaces the one before, and the open runs of that one would stay on it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { type ArtifactApp, buildArtifactApp } from './artifact-app.ts';

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

const deployed = z.object({ data: z.object({ deploymentId: z.string() }) });
const started = z.object({ runId: z.string() });

describe.each([
  ['4.8.9', { format: 'commonjs', specVersion: 3 }],
  ['5.0.0-beta.35', { format: 'module', specVersion: 5 }],
  ['5.0.0-beta.55', { format: 'module', specVersion: 7 }],
] as const)('an app of workflow %s', (sdkVersion, build) => {
  let app: ArtifactApp;
  let deploymentId: string;
  beforeAll(async () => {
    app = await buildArtifactApp(sdkVersion);
    const printed = await cli(served, app.folder, 'deploy', '--json');
    deploymentId = deployed.parse(JSON.parse(printed)).data.deploymentId;
  }, 240_000);

  test('is deployed with what it is built with', async () => {
    const { body } = await served.call('GET', `/v1/deployments/${deploymentId}`);
    expect(body).toMatchObject({
      runtime: 'devkit',
      devkit: { sdkVersion, ...build, nodeVersion: process.versions.node },
      workflows: ['order//greet', 'order//order', 'webhooks//byDefault', 'webhooks//withManual', 'webhooks//withStatic'].map(
        (name) => ({
          name: `workflow//./workflows/${name}`,
        }),
      ),
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

  test('completes a run with a sleep, a retried step, a stream, a hook, parallel steps and a run of its own', async () => {
    const env = { STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey };
    const lines = (await app.run('node', ['client.mjs', 'complete', `tea-${build.specVersion}`], env)).trim().split('\n');
    const { runId } = started.parse(JSON.parse(lines[0] ?? ''));
    const item = `tea-${build.specVersion}`;
    const receipt = 'receipt-50-2';
    expect(JSON.parse(lines[1] ?? '')).toEqual({
      value: { item, price: 50, receipt, by: 'ada', parts: [1, 2, 3].map((part) => `${item}-${part}`), greeting: 'hello ada' },
      line: `charged ${receipt}`,
    });
    const { body } = await served.call('GET', `/v1/runs/${runId}`);
    expect(body).toMatchObject({ status: 'completed', deploymentId });
  });
});
