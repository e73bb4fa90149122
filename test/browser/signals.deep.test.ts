/** The page of signals: which runs wait for which one, and a signal that is delivered or stored. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn, signInWithScopes } from './sign-in.ts';
import { isReachable } from './signed-in.ts';
import { approval } from './workflows.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

async function start(orderId: string): Promise<string> {
  const started = await signedIn.local.call(
    'POST',
    '/v1/runs',
    { workflowName: approval.name, input: { orderId } },
    { 'idempotency-key': orderId },
  );
  expect(started.status, JSON.stringify(started.body)).toBe(202);
  return z.object({ runId: z.string() }).parse(started.body).runId;
}
const statusOf = async (runId: string): Promise<string> =>
  z.looseObject({ status: z.string() }).parse((await signedIn.local.call('GET', `/v1/runs/${runId}`)).body).status;

test('without a waiting run the page says how a node waits', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Signals' }).click();
  await page.getByRole('heading', { name: 'No open run waits for a signal' }).waitFor();
  await isReachable(page, 'signals-empty');
});

test('each waiting run is listed with its signal, and a click fills in the form', async () => {
  const { page } = signedIn.watched;
  expect((await signedIn.local.call('POST', '/v1/workflows', approval)).status).toBe(201);
  const [first] = [await start('order-17'), await start('order-18')];
  await expect
    .poll(async () => JSON.stringify((await signedIn.local.call('GET', `/v1/runs/${first}`)).body))
    .toContain('waitingFor');
  await page.reload();
  await page.getByRole('row').filter({ hasText: 'order-18' }).getByText('order-approved').waitFor();
  await page.getByRole('button', { name: 'Send order-approved to order-17' }).click();
  expect(await page.getByRole('textbox', { name: 'Correlation' }).inputValue()).toBe('order-17');
  expect(new URL(page.url()).search).toBe('?name=order-approved&correlation=order-17');
  await isReachable(page, 'signals');
});

test('a payload that is not JSON is not sent', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('textbox', { name: 'Payload' }).fill('{"by": ');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('The text is not JSON').waitFor();
  await isReachable(page, 'signals-not-json');
});

test('a signal is delivered to the run that waits for it, which completes and leaves the list', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('textbox', { name: 'Payload' }).fill('{"by": "Ada"}');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('Delivered to').waitFor();
  await isReachable(page, 'signals-delivered');
  const address = await page.getByRole('status').getByRole('link').getAttribute('href');
  const runId = address?.split('/').at(-1) ?? '';
  await expect.poll(() => statusOf(runId)).toBe('completed');
  await expect.poll(() => page.getByRole('row').count(), { timeout: 20_000 }).toBe(2);
});

test('a signal for which no node waits yet is stored, and the first node that waits receives it', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('textbox', { name: 'Correlation' }).fill('order-19');
  await page.getByRole('spinbutton', { name: 'Stored for hours' }).fill('2');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('Stored: no node waits for it yet.').waitFor();
  const runId = await start('order-19');
  await expect.poll(() => statusOf(runId)).toBe('completed');
});

test('a signal that is sent again after a lost response counts once', async () => {
  const { page } = signedIn.watched;
  await page.route('**/v1/signals', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('textbox', { name: 'Correlation' }).fill('order-18');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('The service did not respond.').waitFor();
  await page.unroute('**/v1/signals');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  // Another signal would be stored: the run that waited has received this one.
  await page.getByText('Delivered to').waitFor();
});

test('a person who may not send signals sees which scope is missing', async () => {
  const reader = await signInWithScopes(signedIn, ['runs:read']);
  await reader.page.goto(`${signedIn.local.url}/console/signals?name=a&correlation=b`);
  await reader.page.getByRole('button', { name: 'Send', exact: true }).click();
  await reader.page.getByText('This session lacks the scope runs:write').waitFor();
  await isReachable(reader.page, 'signals-scope');
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
});

test('a failed list can be tried again, and the form stays usable', async () => {
  const { page } = signedIn.watched;
  await page.route('**/v1/runs?**', (route) => route.fulfill({ status: 500, json: { message: 'Something failed.' } }));
  await page.goto(`${signedIn.local.url}/console/signals`);
  await page.getByText('Something failed.').waitFor();
  await isReachable(page, 'signals-error');
  await page.unroute('**/v1/runs?**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'No open run waits for a signal' }).waitFor();
});

test('more runs than a page has are read by the page with a button', async () => {
  const { page } = signedIn.watched;
  const first = await start('order-first');
  for (let n = 0; n < 27; n += 1) await start(`order-many-${n}`);
  await expect.poll(() => statusOf(first)).not.toBe('completed');
  await page.reload();
  await page.getByRole('row').filter({ hasText: 'order-many-26' }).waitFor();
  const oldest = page.getByRole('row').filter({ hasText: 'order-first' });
  expect(await oldest.count()).toBe(0);
  await isReachable(page, 'signals-more');
  await page.getByRole('button', { name: 'More runs' }).click();
  await oldest.waitFor();
  await expect.poll(() => page.getByRole('button', { name: 'More runs' }).count()).toBe(0);
});

test('the page fits 320 pixels', async () => {
  const { page } = signedIn.watched;
  await start('order-20');
  await fitsNarrow(signedIn, ['signals']);
  await page.getByRole('row').filter({ hasText: 'order-20' }).scrollIntoViewIfNeeded();
  await isReachable(page, 'signals-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
