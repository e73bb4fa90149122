/** The console in Chromium, from the link that `npm start` prints to a run that is cancelled from its page. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type LocalStart, npmStart, preparedFolder, startLocal } from '../e2e/local-start.ts';
import { launchBrowser } from './chromium.ts';
import { type WatchedPage, isReachable, watchedPage } from './signed-in.ts';
import { approval, invoice, nap, recovering } from './workflows.ts';

let local: LocalStart;
let browser: Browser;
let watched: WatchedPage;
beforeAll(async () => {
  [local, browser] = await Promise.all([startLocal(preparedFolder(), npmStart), launchBrowser()]);
  watched = await watchedPage(browser);
});
afterAll(async () => {
  await browser.close();
  await local.end('SIGTERM');
});

const runShape = z.object({ runId: z.string() });
const start = async (workflow: { readonly name: string }, input: unknown, key = workflow.name): Promise<string> => {
  const published = await local.call('POST', '/v1/workflows', workflow);
  if (published.status !== 409) expect([200, 201], JSON.stringify(published.body)).toContain(published.status);
  const started = await local.call('POST', '/v1/runs', { workflowName: workflow.name, input }, { 'idempotency-key': key });
  expect([200, 201, 202], JSON.stringify(started.body)).toContain(started.status);
  return runShape.parse(started.body).runId;
};

test('the printed link signs in once, and runs appear in the list while one looks', async () => {
  const { page } = watched;
  await expect.poll(() => local.printed(), { timeout: 20_000 }).toMatch(/Console \S+#link=/);
  const link = /Console (\S+)/.exec(local.printed())?.[1] ?? '';
  expect(local.printed().split('#link=')).toHaveLength(2);
  await page.goto(link);
  await page.getByRole('heading', { name: 'No run exists yet' }).waitFor();
  expect(page.url()).not.toContain('link');
  await isReachable(page, 'runs-empty');

  await start(nap, {});
  await start(approval, { orderId: 'order-17' });
  await start(invoice, { orderId: 'order-17', quantity: 3 });
  await page.getByText('Manager approves waits for the signal order-approved/order-17').waitFor();
  await page.getByText('Wait for the night sleeps and wakes in').waitFor();
  await page.getByText('the card ending in 4242 was declined').waitFor();
  await isReachable(page, 'runs');

  const other = await watchedPage(browser);
  await other.page.goto(link);
  await other.page.getByText('This link has been used').waitFor();
  await isReachable(other.page, 'sign-in');
  await other.page.context().close();
});

test('the attention page has what failed, with the reason, and leads to the list', async () => {
  const { page } = watched;
  await page.getByRole('link', { name: 'Attention' }).click();
  const failed = page.getByRole('region', { name: 'Failed in the last day' });
  await failed.getByText('the card ending in 4242 was declined').waitFor();
  // This test does not wait for the sweep.
  await page.getByRole('region', { name: 'Waiting' }).getByText('The sweep has found none.').waitFor();
  await page.getByRole('region', { name: 'Trying again' }).getByText('The sweep has found none.').waitFor();
  await isReachable(page, 'attention');
  await failed.getByRole('link', { name: 'Show in the list' }).click();
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  expect(await page.getByRole('button', { name: 'Failed' }).getAttribute('aria-pressed')).toBe('true');
  // The row of the head, and one run.
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  await page.goBack();
  await page.getByRole('heading', { name: 'Attention' }).waitFor();
  await page.getByRole('link', { name: 'Runs' }).first().click();
});

test('a failed run shows its root cause, graph, waterfall, events and data', async () => {
  const { page } = watched;
  await page.getByRole('link', { name: 'invoice' }).click();
  const reason = page.getByRole('status').filter({ hasText: 'the card ending in 4242 was declined' });
  await reason.waitFor();
  expect(await reason.textContent()).toContain('charge, attempt 3');
  await page.getByRole('group', { name: 'Charge the card, javascript, failed' }).waitFor();
  await isReachable(page, 'run-graph');
  const cost = page.getByText(/^≈ \$0\.0000\d+$/);
  await cost.click();
  await page.getByRole('row').filter({ hasText: 'write units' }).waitFor();
  await isReachable(page, 'run-cost');
  await cost.click();
  await reason.getByRole('button', { name: 'Show charge' }).click();
  const panel = page.getByRole('complementary', { name: 'Node charge' });
  await panel.getByText('1 | charging 150').first().waitFor();
  expect(await panel.getByRole('listitem').count()).toBe(3);
  const titles = await panel.getByRole('heading', { level: 3 }).allTextContents();
  expect(titles).toEqual(['Output', 'Attempts 3', 'Printed', 'Input', 'Config', 'Context']);
  await isReachable(page, 'run-node');
  await panel.getByRole('button', { name: 'Close the node' }).click();
  await panel.waitFor({ state: 'detached' });
  // The keyboard opens it too, and what is closed stays closed.
  await page.getByRole('group', { name: 'Price the order, javascript, completed' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('complementary', { name: 'Node price' }).getByText('return ctx.input.quantity * 50').waitFor();
  await page.getByRole('button', { name: 'Close the node' }).click();
  await page.getByRole('complementary').waitFor({ state: 'detached' });

  await page.getByRole('tab', { name: 'Waterfall' }).click();
  const row = page.getByRole('row').filter({ hasText: 'charge' });
  await row.getByText('attempt 3, at work').waitFor();
  expect(await row.textContent()).toContain('until the next attempt');
  await isReachable(page, 'run-waterfall');

  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('button', { name: 'node.failed' }).click();
  await isReachable(page, 'run-events');
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByText('"order-17"').waitFor();
  await isReachable(page, 'run-data');
});

test('a sleeping run is cancelled from its page, which shows it at once', async () => {
  const { page } = watched;
  await page.getByRole('link', { name: 'Runs' }).first().click();
  await page.getByRole('link', { name: 'nightly-report' }).click();
  await page.getByText('Wait for the night sleeps and wakes in').waitFor();
  await isReachable(page, 'run-sleeping');
  await page.getByRole('button', { name: 'Cancel…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('the report is not needed');
  await isReachable(page, 'run-cancel');
  await dialog.getByRole('button', { name: 'Cancel the run' }).click();
  await page.getByText('It was cancelled: the report is not needed').waitFor();
  await isReachable(page, 'run-cancelled');
});

test('a sleeping node is woken from the page of its run, which completes', async () => {
  const { page } = watched;
  const runId = await start(nap, {}, 'to be woken');
  await page.goto(`${local.url}/console/runs/${runId}`);
  const reason = page.getByRole('status').filter({ hasText: 'sleeps and wakes in' });
  await reason.getByRole('button', { name: 'Wake now…' }).click();
  await page.getByRole('dialog', { name: 'Wake pause?' }).getByRole('button', { name: 'Wake it' }).click();
  await page.locator('.pill', { hasText: 'completed' }).waitFor();
});

test('a failed node is retried now from the page of its run, minutes before its time', async () => {
  const { page } = watched;
  const runId = await start(recovering, {});
  await page.goto(`${local.url}/console/runs/${runId}`);
  const reason = page.getByRole('status').filter({ hasText: 'Charge the card failed, and is tried again in' });
  await reason.getByRole('button', { name: 'Show charge' }).click();
  await isReachable(page, 'run-retrying');
  const panel = page.getByRole('complementary', { name: 'Node charge' });
  await panel.getByRole('button', { name: 'Retry now…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Retry charge now?' });
  await isReachable(page, 'run-retry');
  await dialog.getByRole('button', { name: 'Retry it' }).click();
  await page.locator('.pill', { hasText: 'failed' }).waitFor();
  await page.getByText('the card service is down (charge, attempt 2)').waitFor();
});

test('a waiting run gets its signal from its page, and completes', async () => {
  const { page } = watched;
  await page.getByRole('link', { name: 'Runs' }).first().click();
  await page.getByRole('link', { name: 'order-approval' }).click();
  const reason = page.getByRole('status').filter({ hasText: 'waits for the signal' });
  await reason.getByRole('button', { name: 'Send signal…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send the signal order-approved' });
  await dialog.getByRole('textbox').fill('{"by": ');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.getByText('The text is not JSON').waitFor();
  await isReachable(page, 'run-signal');
  await dialog.getByRole('textbox').fill('{"by": "Ada"}');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'order-approval' }).waitFor();
  await page.locator('.pill', { hasText: 'completed' }).waitFor();
  await page.getByRole('tab', { name: 'Data' }).click();
  await isReachable(page, 'run-completed');
});

test('a failed run runs again from a node, with another input', async () => {
  const { page } = watched;
  await page.getByRole('link', { name: 'Runs' }).first().click();
  await page.getByRole('link', { name: 'invoice' }).click();
  const reason = page.getByRole('status').filter({ hasText: 'the card ending in 4242 was declined' });
  await reason.getByRole('button', { name: 'Run again from here…' }).click();
  await isReachable(page, 'run-rerun');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Input' }).fill('{"orderId": "order-18", "quantity": 4}');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByText('Rerun of').waitFor();
  await page.getByText('from charge').waitFor();
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByText('"order-18"').first().waitFor();
});

test('a link does not replace a session unasked', async () => {
  const { page } = watched;
  const { link } = z.object({ link: z.string() }).parse((await local.call('POST', '/v1/sessions/links')).body);
  await page.goto('about:blank');
  await page.goto(`${local.url}/console/#link=${link}`);
  await page.getByRole('heading', { name: 'You are signed in already' }).waitFor();
  await isReachable(page, 'link-asks');
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  // The link was not sent, so it still signs in.
  const other = await watchedPage(browser);
  await other.page.goto(`${local.url}/console/#link=${link}`);
  await other.page.getByRole('heading', { name: 'Runs' }).waitFor();
  await other.page.context().close();
});

test('pages fit 320 pixels, and say that the connection is lost', async () => {
  const { page } = watched;
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`${local.url}/console/runs`);
  await page.getByRole('link', { name: 'invoice' }).first().waitFor();
  const overflow = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(await overflow()).toBe(0);
  await isReachable(page, 'runs-narrow');
  await page.getByRole('link', { name: 'invoice' }).first().click();
  await page.getByRole('tab', { name: 'Waterfall' }).click();
  await page.getByRole('row').first().waitFor();
  expect(await overflow()).toBe(0);
  await isReachable(page, 'run-narrow');
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.goto(`${local.url}/console/runs`);
  await page.getByRole('link', { name: 'invoice' }).first().waitFor();
  await page.route('**/v1/runs**', (route) => route.abort());
  await page.getByText('Connection lost').waitFor();
  await isReachable(page, 'runs-offline');
  await page.unroute('**/v1/runs**');
  await page.locator('.live-mark', { hasText: 'Live' }).waitFor();
});

test('signing out leaves nothing readable', async () => {
  const { page } = watched;
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Stepwell' }).waitFor();
  expect(await page.evaluate("fetch('v1/runs').then(({ status }) => status)")).toBe(401);
});

test('no script failed, and no page broke its policy', () => {
  expect(watched.complaints).toEqual([]);
});
