/** Runs of the published package `openworkflow`, whose programs keep their own worker, as the console shows them. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { OpenWorkflow } from 'openworkflow';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { environmentNames } from '../../lib/contract/environment.ts';
import { awsEnvironment } from '../../lib/local/aws-environment.ts';
import { BackendStepwell } from '../../lib/openworkflow/backend/index.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { launchBrowser } from './chromium.ts';
import { type WatchedPage, isReachable, watchedPage } from './signed-in.ts';

type StepApi = Parameters<Parameters<OpenWorkflow['implementWorkflow']>[1]>[0]['step'];

let served: InProcessCloud;
let browser: Browser;
let watched: WatchedPage;
let dynamo: DynamoDBClient;
let ow: OpenWorkflow;
beforeAll(async () => {
  [served, browser] = await Promise.all([startInProcessCloud(), launchBrowser()]);
  const { url: endpoint, ...credentials } = served.cloud.tables;
  dynamo = new DynamoDBClient({ endpoint, region: awsEnvironment.region, credentials });
  const tableName = served.cloud.worker?.[environmentNames.runsTable] ?? '';
  ow = new OpenWorkflow({ backend: await BackendStepwell.connect({ tableName, client: dynamo, namespaceId: 'default/local' }) });
  watched = await watchedPage(browser);
  watched.page.setDefaultTimeout(20_000);
  const { link } = z.object({ link: z.string() }).parse((await served.call('POST', '/v1/sessions/links')).body);
  await watched.page.goto(`${served.url}/console/#link=${link}`);
  await watched.page.getByRole('heading', { name: 'No run exists yet' }).waitFor();
});
afterAll(async () => {
  await browser.close();
  dynamo.destroy();
  await served.stop();
  expect(watched.complaints).toEqual([]);
});

test('a failed run of the library is listed, and its page shows the steps, the root cause and the child', async () => {
  const child = ow.defineWorkflow({ name: 'pack items' }, async ({ step }: { step: StepApi }) =>
    step.run({ name: 'pack' }, () => 'packed'),
  );
  const order = ow.defineWorkflow({ name: 'ship order', version: 'v2' }, async ({ step }: { step: StepApi }) => {
    await step.runWorkflow(child.workflow.spec);
    const paid = await step.run({ name: 'charge' }, () => ({ id: 'p-1' }));
    return step.run({ name: 'ship', retryPolicy: { initialInterval: '10ms', maximumAttempts: 2 } }, () => {
      throw new RangeError(`no carrier for ${paid.id}`);
    });
  });
  const worker = ow.newWorker({ concurrency: 4 });
  await worker.start();
  const handle = await order.run({ orderId: '4711' });
  await expect(handle.result()).rejects.toThrow('no carrier for p-1');
  await worker.stop();

  const { page } = watched;
  const row = page.getByRole('row').filter({ hasText: 'ship order' });
  await row.getByText('no carrier for p-1').waitFor();
  expect(await row.textContent()).toContain('failed');
  expect(await page.getByRole('row').filter({ hasText: 'pack items' }).count()).toBe(0);
  await isReachable(page, 'openworkflow-list');

  await row.getByRole('link', { name: 'ship order' }).click();
  const reason = page.getByRole('status').filter({ hasText: 'no carrier for p-1' });
  await reason.waitFor();
  expect(await reason.textContent()).toContain('ship, attempt 2');
  await isReachable(page, 'openworkflow-run');
  await page.getByText('v2', { exact: true }).waitFor();
  await offersNoAction(page);

  await page.getByRole('tab', { name: 'Waterfall' }).click();
  await page.getByRole('row').filter({ hasText: 'charge' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'ship' }).getByText('attempt 2, at work').waitFor();
  await isReachable(page, 'openworkflow-waterfall');
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('button', { name: 'subflow.called' }).waitFor();
  await isReachable(page, 'openworkflow-events');
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByText('"4711"').waitFor();
  await page.getByRole('link', { name: /^…/ }).click();
  await page.getByRole('heading', { name: 'pack items' }).waitFor();
  await page.getByText('Called by').waitFor();
});

test('a run that nothing has begun says when it starts, and one that sleeps says until when', async () => {
  const { page } = watched;
  const later = ow.defineWorkflow({ name: 'later' }, () => 1);
  const { workflowRun } = await later.run(undefined, { availableAt: '1h' });
  await page.goto(`${served.url}/console/runs/${workflowRun.id}`);
  await page.getByRole('heading', { name: 'later' }).waitFor();
  await page.getByRole('status').filter({ hasText: 'It starts in 59 m' }).waitFor();
  await offersNoAction(page);
  await isReachable(page, 'openworkflow-unclaimed');

  const nap = ow.defineWorkflow({ name: 'nap' }, async ({ step }: { step: StepApi }) => step.sleep('until noon', '2h'));
  const worker = ow.newWorker({ concurrency: 1 });
  await worker.start();
  const sleeping = await nap.run();
  await page.goto(`${served.url}/console/runs/${sleeping.workflowRun.id}`);
  await page.getByRole('status').filter({ hasText: 'until noon sleeps and wakes in 1 h 59 m' }).waitFor();
  await offersNoAction(page);
  await worker.stop();

  await page.goto(`${served.url}/console/runs`);
  await page.getByRole('link', { name: 'nap' }).waitFor();
  const boxes = page.getByRole('checkbox', { name: /^Select / });
  expect(await boxes.evaluateAll((all) => all.map((one) => one.hasAttribute('disabled')))).toEqual([true, true, true]);
});

/** The API refuses each of these for a run that a program of the library executes. */
async function offersNoAction(page: Page): Promise<void> {
  await page.getByText('A program with the package openworkflow executes this run').waitFor();
  expect(await page.getByRole('button', { name: /^(Run again|Cancel|Wake|Send signal)/ }).count()).toBe(0);
}
