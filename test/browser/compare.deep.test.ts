/** Two runs beside each other, and work on several runs at once, of which one request fails. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { programPath } from '../../lib/ports/programs.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { type SignedIn, signIn, signInWithScopes } from './sign-in.ts';
import { isReachable } from './signed-in.ts';
import { nap } from './workflows.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

const edge = (source: string, target: string, sourceHandle?: string) => ({
  source,
  target,
  ...(sourceHandle === undefined ? {} : { sourceHandle }),
});

/** Orders above the limit are approved, others are charged. */
const order = (limit: number) => ({
  name: 'order',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'price',
      type: 'javascript',
      label: 'Price the order',
      config: { code: 'return ctx.input.quantity * 50', outputVariable: 'total' },
    },
    {
      id: 'big',
      type: 'condition',
      label: 'Is it a large order?',
      config: {
        branches: [{ id: 'yes', conditions: [{ leftValue: '{{ctx.total}}', operator: 'greater_than', rightValue: limit }] }],
      },
    },
    { id: 'approve', type: 'javascript', label: 'Approve it', config: { code: 'return true', outputVariable: 'approved' } },
    {
      id: 'charge',
      type: 'javascript',
      label: 'Charge the card',
      config: { code: "throw new Error('the card was declined')", outputVariable: 'charged' },
    },
    { id: 'end', type: 'end' },
  ],
  edges: [
    edge('start', 'price'),
    edge('price', 'big'),
    edge('big', 'approve', 'yes'),
    edge('big', 'charge', 'default'),
    edge('approve', 'end'),
    edge('charge', 'end'),
  ],
});

const runShape = z.object({ runId: z.string() });
const call = async (path: string, body: unknown, headers = {}): Promise<unknown> => {
  const answer = await signedIn.local.call('POST', path, body, headers);
  expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body;
};
const start = async (workflowName: string, input: unknown, key: string): Promise<string> =>
  runShape.parse(await call('/v1/runs', { workflowName, input }, { 'idempotency-key': key })).runId;

let large = '';
let small = '';

test('two selected runs are compared: input, path, outputs and definition', async () => {
  const { page } = signedIn.watched;
  await call('/v1/workflows', order(100));
  large = await start('order', { orderId: 'order-1', quantity: 5 }, 'large');
  await page.locator('.status', { hasText: 'completed' }).waitFor();
  await call('/v1/workflows/order/versions', order(200));
  small = await start('order', { orderId: 'order-2', quantity: 3 }, 'small');
  await page.locator('.status', { hasText: 'failed' }).waitFor();
  for (const runId of [large, small]) await page.getByRole('checkbox', { name: `Select ${runId}` }).check();
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByRole('region', { name: 'Input' }).getByText('/quantity').waitFor();
  const nodes = page.getByRole('region', { name: 'Nodes' });
  const row = (name: string) => nodes.getByRole('row').filter({ hasText: name });
  await row('Is it a large order?').getByText('the paths part here').waitFor();
  expect(await row('Charge the card').textContent()).toContain('the card was declined');
  await nodes.getByRole('button', { name: 'Outputs of price: different' }).click();
  await nodes.getByText('150').waitFor();
  await page.getByRole('region', { name: 'Definition' }).getByText('/config/branches/0/conditions/0/rightValue').waitFor();
  await page.getByRole('heading', { name: 'Definition v1 to v2' }).waitFor();
  await isReachable(page, 'compare');
  await nodes.getByRole('checkbox').check();
  await row('Is it a large order?').waitFor();
  expect(await row('end').count()).toBe(1);
});

test("B's input runs on the version of A, and the page compares the new run", async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Run B’s input on v1…' }).click();
  await isReachable(page, 'compare-run-on');
  await page.getByRole('dialog').getByRole('button', { name: 'Start and compare' }).click();
  await page.getByText(`a rerun of …${small.slice(-8)}`).waitFor();
  const again = new URL(page.url()).searchParams.get('b') ?? '';
  expect(again).not.toBe(small);
  await page.getByRole('region', { name: 'Run B' }).getByText('completed').waitFor();
  await page.getByText('Both runs have the same version.').waitFor();
  const { body } = await signedIn.local.call('GET', `/v1/runs/${again}`);
  expect(z.looseObject({ workflowVersion: z.int(), input: z.unknown() }).parse(body)).toMatchObject({
    workflowVersion: 1,
    input: { orderId: 'order-2', quantity: 3 },
  });
});

test('A and B change places, and an address without runs asks for them', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Swap A and B' }).click();
  await page.getByRole('region', { name: 'Run B' }).getByText(large.slice(-8)).waitFor();
  await page.goto(`${signedIn.local.url}/console/compare`);
  await page.getByRole('textbox', { name: 'Run A' }).fill(large);
  await page.getByRole('textbox', { name: 'Run B' }).fill(`${small.slice(0, -4)}0000`);
  await isReachable(page, 'compare-empty');
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByText('Run B cannot be read.').waitFor();
  await isReachable(page, 'compare-error');
  await page.getByRole('textbox', { name: 'Run B' }).fill(small);
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByRole('region', { name: 'Nodes' }).waitFor();
});

test('a person who lacks a scope sees which one', async () => {
  const reader = await signInWithScopes(signedIn, ['runs:read']);
  await reader.page.goto(`${signedIn.local.url}/console/compare?a=${large}&b=${small}`);
  await reader.page.getByRole('region', { name: 'Nodes' }).getByText('the paths part here').waitFor();
  await reader.page.getByRole('button', { name: 'Run B’s input on v1…' }).click();
  await reader.page.getByRole('button', { name: 'Start and compare' }).click();
  await reader.page.getByRole('dialog').getByText('This session lacks the scope runs:write').waitFor();
  await isReachable(reader.page, 'compare-scope');
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
});

test('several runs are cancelled; the one that fails is named, and only it is repeated', async () => {
  const { page } = signedIn.watched;
  await call('/v1/workflows', nap);
  const sleeping: string[] = [];
  for (let index = 0; index < 6; index += 1) sleeping.push(await start(nap.name, { index }, `nap-${index}`));
  await page.goto(`${signedIn.local.url}/console/runs?workflow=${nap.name}`);
  for (const runId of sleeping) await page.getByRole('checkbox', { name: `Select ${runId}` }).check();
  await isReachable(page, 'runs-selected');
  const refused = sleeping[2] ?? '';
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/cancel')) asked.push(request.url());
  });
  await page.route(`**/v1/runs/${refused}/cancel`, (route) =>
    route.fulfill({ status: 503, json: { code: 'unavailable', message: 'The service is unavailable.' } }),
  );
  await page.getByRole('button', { name: 'Cancel 6 open…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 6 runs?' });
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('a drill');
  await dialog.getByRole('button', { name: 'Cancel 6 runs' }).click();
  await dialog.getByText('1 of 6 failed').waitFor();
  const failures = dialog.getByRole('list', { name: 'Failures' });
  expect(await failures.getByRole('link').allTextContents()).toEqual([`…${refused.slice(-8)}`]);
  await isReachable(page, 'runs-partial-failure');
  expect(asked).toHaveLength(6);
  await page.unroute(`**/v1/runs/${refused}/cancel`);
  await dialog.getByRole('button', { name: 'Cancel the run' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(asked.slice(6)).toEqual([`${signedIn.local.url}/v1/runs/${refused}/cancel`]);
  await expect.poll(() => page.locator('.status', { hasText: 'cancelled' }).count()).toBe(6);
});

test('several runs start again, each once, also when a response is lost', async () => {
  const { page } = signedIn.watched;
  const boxes = page.getByRole('checkbox', { name: /^Select/ });
  for (const index of [0, 1, 2]) await boxes.nth(index).check();
  const lost = (await boxes.nth(1).getAttribute('aria-label'))?.slice('Select '.length) ?? '';
  await page.route(`**/v1/runs/${lost}/rerun`, async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('button', { name: 'Run 3 again…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run 3 runs again?' });
  await dialog.getByRole('button', { name: 'Start 3 runs again' }).click();
  await dialog.getByText('1 of 3 failed').waitFor();
  await page.unroute(`**/v1/runs/${lost}/rerun`);
  await dialog.getByRole('button', { name: 'Start the run again' }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => page.getByText('sleeps and wakes in').count()).toBe(3);
  const { body } = await signedIn.local.call('GET', `/v1/runs?workflowName=${nap.name}`);
  expect(z.object({ data: z.array(z.unknown()) }).parse(body).data).toHaveLength(9);
});

/** Charges in two steps. The second version of the code gives a discount in a step between. */
const charging = (discount: string) =>
  `export const workflows = [{ [Symbol.for('stepwell.workflow')]: 1, spec: { name: 'charge-card' }, fn: async ({ input, step }) => {
    const price = await step.run({ name: 'price' }, () => input.quantity * 10);
    ${discount}
    await step.run({ name: 'charge', retryPolicy: { maximumAttempts: 1 } }, () => {
      if (price > 50) throw new Error('the card was declined');
      return { charged: price };
    });
  } }];`;

async function deploy(id: string, code: string): Promise<void> {
  const { manifest, archive } = await packedDeployment(id, {
    workflows: ['charge-card'],
    files: { [programPath]: code },
    change: { runtime: 'code' },
  });
  const form = new FormData();
  form.append('manifest', JSON.stringify(manifest));
  form.append('artifact', new Blob([Buffer.from(archive)], { type: 'application/gzip' }), 'artifact.tgz');
  const headers = { authorization: `Bearer ${signedIn.local.apiKey}` };
  const answer = await fetch(`${signedIn.local.url}/v1/deployments`, { method: 'POST', headers, body: form });
  expect(answer.status, await answer.text()).toBe(201);
  await call(`/v1/deployments/${id}/activate`, {});
}

test('two runs of code are compared: input, steps and outputs, and no definition', async () => {
  const { page } = signedIn.watched;
  const ended = async (quantity: number, status: string): Promise<string> => {
    const runId = await start('charge-card', { quantity }, `charge ${quantity}`);
    await expect
      .poll(async () => (await signedIn.local.call('GET', `/v1/runs/${runId}`)).body, { timeout: 60_000 })
      .toMatchObject({ status });
    return runId;
  };
  await deploy('charges-1', charging(''));
  const good = await ended(3, 'completed');
  await deploy('charges-2', charging("await step.run({ name: 'discount' }, () => 0.1);"));
  const bad = await ended(6, 'failed');
  await page.goto(`${signedIn.local.url}/console/compare?a=${good}&b=${bad}`);
  await page.getByRole('region', { name: 'Input' }).getByText('/quantity').waitFor();
  const nodes = page.getByRole('region', { name: 'Nodes' });
  const row = (name: string) => nodes.getByRole('row').filter({ hasText: name });
  await row('charge').getByText('the card was declined').waitFor();
  expect(await row('discount').textContent()).toContain('not reached');
  await nodes.getByRole('button', { name: 'Outputs of price: different' }).click();
  await nodes.getByText('60').first().waitFor();
  await isReachable(page, 'compare-code');
});

test('the comparison fits 320 pixels', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 320, height: 640 });
  for (const path of ['compare', `compare?a=${large}&b=${small}`]) {
    await page.goto(`${signedIn.local.url}/console/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (path.includes('?')) await page.getByRole('region', { name: 'Definition' }).getByText('rightValue').waitFor();
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect(overflow, path).toBe(0);
  }
  await isReachable(page, 'compare-narrow');
  await page.getByRole('region', { name: 'Nodes' }).scrollIntoViewIfNeeded();
  await isReachable(page, 'compare-narrow-nodes');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
