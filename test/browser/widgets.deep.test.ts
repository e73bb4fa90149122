/** A widget in pages of other origins: one that may frame it, and one that may not. */
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable, watchedPage } from './signed-in.ts';
import { nap } from './workflows.ts';

let signedIn: SignedIn;
/** A site that answers with this page. */
let html = '';
const sites: Server[] = [];
const site = async (): Promise<string> => {
  const server = createServer((_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(html));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  sites.push(server);
  return `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}`;
};
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(async () => {
  for (const server of sites) server.close();
  await signedIn.close();
});

test('a widget is created, framed by its origin alone, and revoked', async () => {
  const { page } = signedIn.watched;
  const [allowed, refused] = [await site(), await site()];
  await signedIn.local.call('POST', '/v1/workflows', nap);
  const order = { workflowName: nap.name, input: {} };
  const started = await signedIn.local.call('POST', '/v1/runs', order, { 'idempotency-key': 'one' });
  const { runId } = z.object({ runId: z.string() }).parse(started.body);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Widgets', exact: true }).click();
  await page.getByRole('heading', { name: 'No widget exists' }).waitFor();
  await isReachable(page, 'widgets-empty');
  await page.getByRole('button', { name: 'Create a widget…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name of a workflow, or id of a run').fill(nap.name);
  await dialog.getByLabel('Origins of the pages').fill(`${allowed}/path`);
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Origins of the pages').fill(allowed);
  await isReachable(page, 'widgets-create');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  html = (await page.locator('pre.secret').textContent()) ?? '';
  expect(html).toContain('<iframe src="http://127.0.0.1:');
  await isReachable(page, 'widgets-snippet');
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText(`the newest run of ${nap.name}`).waitFor();
  await isReachable(page, 'widgets');

  const framed = await watchedPage(signedIn.browser);
  await framed.page.goto(allowed);
  await framed.page.frameLocator('iframe').getByRole('heading', { name: nap.name }).waitFor();
  const main = framed.page.frameLocator('iframe').getByRole('main');
  // The page loads itself again every ten seconds, and a function shows one view for five.
  // A run that has only started to sleep stays pending.
  await expect.poll(() => main.textContent(), { timeout: 30_000 }).toMatch(/pending\s*started \d{4}-/);
  expect((await signedIn.local.call('POST', `/v1/runs/${runId}/cancel`, {})).status).toBeLessThan(300);
  await expect.poll(() => main.textContent(), { timeout: 30_000 }).toMatch(/cancelled\s*started .*, ended \d{4}-/);
  expect(framed.complaints).toEqual([]);
  const other = await watchedPage(signedIn.browser);
  await other.page.goto(refused);
  await expect.poll(() => other.complaints.join(' ')).toContain('frame-ancestors');
  expect(await other.page.frameLocator('iframe').getByRole('heading', { name: nap.name }).count()).toBe(0);
  // The page by itself has no findings either.
  const address = /src="([^"]+)"/.exec(html)?.[1] ?? '';
  const alone = await watchedPage(signedIn.browser);
  await alone.page.goto(address);
  await alone.page.getByRole('heading', { name: nap.name }).waitFor();
  await isReachable(alone.page, 'widget');
  expect(alone.complaints).toEqual([]);

  await page.getByRole('button', { name: 'Revoke…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke it' }).click();
  await page.getByRole('heading', { name: 'No widget exists' }).waitFor();
  await expect.poll(async () => (await fetch(address)).status, { timeout: 15_000 }).toBe(404);
});

test('the page fits 320 pixels', async () => {
  await fitsNarrow(signedIn, ['widgets']);
  await isReachable(signedIn.watched.page, 'widgets-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
