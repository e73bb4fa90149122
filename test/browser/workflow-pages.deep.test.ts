/** The pages of workflows: the list, one workflow, its versions and their differences, a start with arguments, and a roll back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable } from './signed-in.ts';
import { approval, invoice } from './workflows.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

const args = [
  { name: 'orderId', type: 'string', required: true },
  { name: 'quantity', type: 'number', default: 2 },
];
const first = { ...invoice, options: { args } };
const second = {
  ...first,
  nodes: first.nodes.map((node) =>
    node.id === 'price' ? { ...node, config: { ...node.config, code: 'return ctx.input.quantity * 60' } } : node,
  ),
  options: { args, deadlineSeconds: 600 },
};

test('the list has each workflow, and leads to its page', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('link', { name: 'Workflows' }).click();
  await page.getByRole('heading', { name: 'No workflow is published yet' }).waitFor();
  await isReachable(page, 'workflows-empty');
  const created = await signedIn.local.call('POST', '/v1/workflows', first);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const published = await signedIn.local.call('POST', '/v1/workflows/invoice/versions', second);
  expect(published.status, JSON.stringify(published.body)).toBe(201);
  await page.reload();
  await page.getByRole('link', { name: 'invoice', exact: true }).waitFor();
  await isReachable(page, 'workflows');
  await page.getByRole('searchbox', { name: 'Name' }).fill('none');
  await page.getByRole('heading', { name: 'No workflow matches' }).waitFor();
  await page.getByRole('searchbox', { name: 'Name' }).fill('INV');
  await page.getByRole('link', { name: 'invoice', exact: true }).click();
  await page.getByRole('heading', { name: 'invoice v2' }).waitFor();
});

test('the page of a workflow shows its graph, and the settings of a node', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('group', { name: 'Price the order, javascript' }).click();
  await page.getByRole('complementary', { name: 'Node price' }).getByText('quantity * 60').waitFor();
  await isReachable(page, 'workflow-graph');
  await page.getByRole('tab', { name: 'Versions' }).click();
  await isReachable(page, 'workflow-versions');
  await page.getByRole('tab', { name: 'Definition' }).click();
  await isReachable(page, 'workflow-definition');
});

test('two versions are compared by node', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('tab', { name: 'Compare' }).click();
  const differences = page.getByRole('list', { name: 'Differences' });
  await differences.getByText('/config/code').waitFor();
  expect(await differences.getByRole('listitem').count()).toBe(2);
  await differences.getByText('deadlineSeconds').waitFor();
  await isReachable(page, 'workflow-compare');
});

test('a run starts with the declared arguments', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Start a run…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start a run of invoice' });
  await dialog.getByRole('textbox', { name: 'orderId' }).fill('order-9');
  expect(await dialog.getByRole('spinbutton', { name: 'quantity' }).inputValue()).toBe('2');
  await isReachable(page, 'workflow-start');
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { name: 'invoice', exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByText('"order-9"').first().waitFor();
});

test('an older version is published again, as the next version', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/workflows/invoice?version=1`);
  await page.getByText('the latest is v2').waitFor();
  await page.getByRole('button', { name: 'Publish v1 again…' }).click();
  await isReachable(page, 'workflow-publish-again');
  await page.getByRole('button', { name: 'Publish it as v3' }).click();
  await page.getByRole('heading', { name: 'invoice v3' }).waitFor();
  const { body } = await signedIn.local.call('GET', '/v1/workflows/invoice?version=3');
  expect(JSON.stringify(body)).toContain('quantity * 50');
});

test('the pages fit 320 pixels', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 320, height: 640 });
  for (const path of ['workflows', 'workflows/invoice', 'workflows/invoice?tab=compare', 'workflows/invoice?tab=versions']) {
    await page.goto(`${signedIn.local.url}/console/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect(overflow, path).toBe(0);
  }
  await isReachable(page, 'workflow-narrow');
});

test('a run that ends between its own request and the one for its events is shown as ended', async () => {
  const { local, watched } = signedIn;
  await local.call('POST', '/v1/workflows', approval);
  const order = { workflowName: approval.name, input: { orderId: 'order-9' } };
  const started = await local.call('POST', '/v1/runs', order, { 'idempotency-key': 'order-9' });
  const { runId } = z.object({ runId: z.string() }).parse(started.body);
  const run = async () => (await local.call('GET', `/v1/runs/${runId}`)).body;
  await expect.poll(run).toMatchObject({
    nodes: expect.arrayContaining([expect.objectContaining({ nodeId: 'approved', status: 'waiting' })]),
  });
  const stale = JSON.stringify(await run());
  const signal = { name: 'order-approved', correlation: 'order-9', signalId: 'yes', payload: { by: 'Ada' } };
  expect((await local.call('POST', '/v1/signals', signal)).status).toBeLessThan(300);
  await expect.poll(run).toMatchObject({ status: 'completed' });
  const { page } = watched;
  const address = new RegExp(`/v1/runs/${runId}$`);
  await page.route(address, (route) => route.fulfill({ body: stale, contentType: 'application/json' }), { times: 1 });
  await page.goto(`${local.url}/console/runs/${runId}`);
  // The page reads an open run again every ten seconds, so only its events tell it sooner.
  await page.locator('.pill', { hasText: 'completed' }).waitFor({ timeout: 8_000 });
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
