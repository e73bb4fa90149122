/** An app with WORKFLOW_QUEUE_NAMESPACE, deployed and run: its code takes messages of its own queues only, also those of the platform. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { rotatingItem } from '../tier.ts';
import { type BuiltApp, sdkVersions } from './built-app.ts';
import { ordersApp } from './orders-app.ts';

const program = fileURLToPath(new URL('../../bin/stepwell-cli.mjs', import.meta.url));
const deployed = z.object({ data: z.object({ deploymentId: z.string() }) });

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

describe.each(rotatingItem(sdkVersions))('an app of workflow %s', (sdkVersion) => {
  let app: BuiltApp;
  let deploymentId: string;
  const variables = () => ({ STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey, WORKFLOW_QUEUE_NAMESPACE: 'shop' });
  beforeAll(async () => {
    app = await ordersApp(sdkVersion);
    const printed = await app.run(process.execPath, [program, 'deploy', '--json'], variables());
    ({ deploymentId } = deployed.parse(JSON.parse(printed)).data);
  });

  test('answers a health check, completes a run that the app starts, and one that the platform starts', async () => {
    expect(await cli(served, app.folder, 'deployments', 'health', deploymentId)).toMatch(/ answered after \d+ ms/);
    const client = async (command: string, value: string): Promise<string> =>
      (await app.run('node', ['client.mjs', command, value], variables())).trim();
    const item = `tea-${sdkVersion}`;
    const started = await client('start', item);
    // The client fails while the hook does not exist.
    await expect.poll(() => client('approve', item), { timeout: 60_000, interval: 250 }).toBeDefined();
    expect(await client('result', started)).toContain('charged receipt');
    const runId = (await cli(served, app.folder, 'runs', 'start', 'workflows/order//letter', '--input', `["${item}"]`)).trim();
    expect(await cli(served, app.folder, 'runs', 'result', runId)).toContain(item);
  });
});
