/** The page of a run: iterations of a loop, the way to a root cause, live events, and what a node saw. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { runList, runResponse } from '../../lib/api/schemas/runs.ts';
import { deploy, start as startOfCode } from '../e2e/code-projects.ts';
import { type LocalStart, preparedFolder, root } from '../e2e/local-start.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable } from './signed-in.ts';
import { approval, invoice, nap, recovering } from './workflows.ts';

const directory = preparedFolder();
let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn(directory);
});
afterAll(() => signedIn.close());

const runShape = z.object({ runId: z.string() });
const start = async (local: LocalStart, workflow: { readonly name: string }, input: unknown): Promise<string> => {
  const published = await local.call('POST', '/v1/workflows', workflow);
  expect([201, 409], JSON.stringify(published.body)).toContain(published.status);
  const key = { 'idempotency-key': `${workflow.name} ${JSON.stringify(input).slice(0, 40)}` };
  const started = await local.call('POST', '/v1/runs', { workflowName: workflow.name, input }, key);
  expect(started.status, JSON.stringify(started.body)).toBe(202);
  return runShape.parse(started.body).runId;
};

const edge = (source: string, target: string, sourceHandle?: string) => ({
  source,
  target,
  ...(sourceHandle === undefined ? {} : { sourceHandle }),
});

const lines = {
  name: 'ship-lines',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'lines',
      type: 'loop',
      label: 'Each line',
      config: { sourceVariable: '{{ctx.input.lines}}', itemVariable: 'line', concurrency: 10, onItemFailure: 'continue' },
    },
    { id: 'price', type: 'javascript', config: { code: 'return ctx.line * 10', outputVariable: 'price' } },
    {
      id: 'ship',
      type: 'javascript',
      config: { code: "if (ctx.line % 20 === 7)\n  throw new Error('line ' + ctx.line + ' is out of stock');\nreturn ctx.price" },
    },
    { id: 'end', type: 'end' },
  ],
  edges: [edge('start', 'lines'), edge('lines', 'price', 'loop'), edge('price', 'ship'), edge('lines', 'end', 'done')],
};
const strict = {
  ...lines,
  name: 'ship-strictly',
  nodes: lines.nodes.map((node) => (node.id === 'lines' ? { ...node, config: { ...node.config, onItemFailure: 'fail' } } : node)),
};
const caller = {
  name: 'fulfil',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'call', type: 'subflow', label: 'Ship', config: { workflowName: 'ship-strictly', input: { lines: [1, 7] } } },
    { id: 'sorry', type: 'end', config: { status: 'error' } },
    { id: 'end', type: 'end' },
  ],
  edges: [edge('start', 'call'), edge('call', 'sorry', 'error'), edge('call', 'end')],
};
const count = 60;

test('iterations are a grid with failures first, which the keyboard and a filter move in, and which opens what failed', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const runId = await start(local, lines, { lines: Array.from({ length: count }, (_, index) => index) });
  await page.goto(`${local.url}/console/runs/${runId}?tab=iterations`);
  await page.locator('.pill', { hasText: 'completed' }).waitFor({ timeout: 150_000 });
  await page.getByRole('button', { name: `all ${count}` }).waitFor();
  await page.getByRole('button', { name: 'failed 3' }).waitFor();
  const grid = page.getByRole('grid', { name: 'Iterations' });
  const words = (await grid.getByRole('button').allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
  expect(words.slice(0, 4)).toEqual(['[7] failed', '[27] failed', '[47] failed', '[0] completed']);
  await isReachable(page, 'run-iterations');

  const focused = () => page.evaluate('document.activeElement.textContent');
  await grid.getByRole('button').first().focus();
  await expect.poll(focused).toContain('[7]');
  await page.keyboard.press('ArrowRight');
  await expect.poll(focused).toContain('[27]');
  await page.keyboard.press('Enter');
  const panel = page.getByRole('complementary', { name: 'Node ship' });
  await panel.getByText('line 27 is out of stock').first().waitFor();
  await panel.getByText('in lines[27]').waitFor();
  await panel.getByRole('heading', { name: 'Context' }).waitFor();
  await isReachable(page, 'run-iteration-open');
  await page.getByRole('region', { name: 'Nodes of lines[27]' }).getByRole('button', { name: 'price completed' }).click();
  await page.getByRole('complementary', { name: 'Node price' }).getByText('270').first().waitFor();
  await page.getByRole('button', { name: 'Close the node' }).click();

  await page.getByRole('button', { name: 'failed 3' }).click();
  await expect.poll(() => grid.getByRole('button').count()).toBe(3);
  await page.getByRole('button', { name: `all ${count}` }).click();
  await expect.poll(() => grid.getByRole('button').count()).toBeGreaterThan(3);
  await grid.getByRole('button').first().focus();
  await expect.poll(focused).toContain('[7]');
  await page.keyboard.press('End');
  await expect.poll(focused).toContain(`[${count - 1}]`);

  await page.setViewportSize({ width: 320, height: 640 });
  const overflow = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  await expect.poll(overflow).toBe(0);
  await isReachable(page, 'run-iterations-narrow');
  await page.setViewportSize({ width: 1_280, height: 800 });
});

test('the root cause leads through an error end, a called run and a loop to the line of the script', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const published = await local.call('POST', '/v1/workflows', strict);
  expect(published.status, JSON.stringify(published.body)).toBe(201);
  const runId = await start(local, caller, {});
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.locator('.pill', { hasText: 'failed' }).waitFor({ timeout: 150_000 });
  const cause = page.locator('.cause');
  await cause.getByText('line 7 is out of stock').waitFor();
  expect((await cause.textContent())?.replaceAll(/\s+/g, ' ')).toMatch(
    /Root cause call › ship-strictly: lines › ship-strictly: ship in lines\[1\]: script_threw .*line 7 is out of stock at line 2/,
  );
  await isReachable(page, 'run-cause');
  // On a phone it wraps, and each of its links can be tapped.
  await page.setViewportSize({ width: 320, height: 640 });
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
  for (const link of await cause.getByRole('link').all()) {
    const box = await link.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(320);
    expect(box?.height).toBeGreaterThanOrEqual(24);
  }
  await cause.scrollIntoViewIfNeeded();
  await isReachable(page, 'run-cause-narrow');
  await page.setViewportSize({ width: 1_280, height: 800 });
  await cause.getByRole('link', { name: 'ship-strictly: ship in lines[1]' }).click();
  await page.getByRole('heading', { name: 'ship-strictly' }).waitFor();
  await page.getByRole('complementary', { name: 'Node ship' }).getByText('in lines[1]').waitFor();
});

test('the graph of a test run is shown, which no version has', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const tested = await local.call('POST', '/v1/workflows/test', { ...lines, input: { lines: [1] } });
  const { runId } = runShape.parse(tested.body);
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.getByRole('group', { name: /^Each line, loop/ }).waitFor();
});

test('an open run is resumed from its page with a reason and a payload, once, also when a response is lost', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const runId = await start(local, nap, {});
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.getByText('sleeps and wakes in').first().waitFor();
  await page.getByRole('button', { name: 'Resume…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Resume this run?' });
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('paid early');
  await dialog.getByRole('textbox', { name: 'Payload, as JSON' }).fill('{"amount": ');
  await dialog.getByRole('button', { name: 'Resume it' }).click();
  await dialog.getByText('The text is not JSON').waitFor();
  await isReachable(page, 'run-resume');
  await dialog.getByRole('textbox', { name: 'Payload, as JSON' }).fill('{"amount": 135}');
  await page.route('**/v1/runs/resume', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await dialog.getByRole('button', { name: 'Resume it' }).click();
  await dialog.getByText('The service did not respond.').waitFor();
  await page.unroute('**/v1/runs/resume');
  await page.locator('.pill', { hasText: 'completed' }).waitFor();
  const { body } = await local.call('GET', `/v1/runs/${runId}/events`);
  const events = z.object({ data: z.array(z.looseObject({ type: z.string() })) }).parse(body).data;
  const resumed = events.filter(({ type }) => type === 'run.resumed');
  expect(resumed).toHaveLength(1);
  expect(JSON.stringify(resumed)).toMatch(/paid early.*135/);
  await dialog.getByRole('button', { name: 'Back' }).click();
  expect(await page.getByRole('button', { name: 'Resume…' }).count()).toBe(0);
});

test('a run continues after a failed node with an output that a person gives it, and the node does not run', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const runId = await start(local, invoice, { orderId: 'order-77', quantity: 2 });
  await page.goto(`${local.url}/console/runs/${runId}?node=receipt`);
  await page.locator('.pill', { hasText: 'failed' }).waitFor();
  const panel = page.getByRole('complementary', { name: 'Node receipt' });
  await panel.getByRole('button', { name: 'Run again from here…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run again from receipt' });
  const choice = dialog.getByLabel('Replace an output');
  // The start, this node and what follows it have no output that could be kept.
  const options = async (): Promise<readonly string[]> => (await choice.locator('option').allTextContents()).slice(1);
  await expect.poll(options).toEqual(['Price the order (completed)', 'Charge the card (failed)', 'Notify the shop (completed)']);
  await choice.selectOption('price');
  expect(JSON.parse(await dialog.getByLabel('Output of price, as JSON').inputValue())).toBe(100);
  await dialog.getByRole('button', { name: 'Keep the output of price' }).click();
  expect(await options()).toContain('Price the order (completed)');
  await choice.selectOption('charge');
  const output = dialog.getByLabel('Output of charge, as JSON');
  await output.fill('{ "id": ');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await dialog.getByText('Output of charge: The text is not JSON').waitFor();
  await isReachable(page, 'run-rerun-replaced');
  // What the server refuses is shown, and the corrected request starts the run.
  await output.fill('{ "id": "ch_by_hand" }');
  await dialog.getByLabel('Version').fill('99');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Version').fill('1');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByText('from receipt').waitFor();
  await page.locator('.pill', { hasText: 'completed' }).waitFor();
  await page.getByRole('tab', { name: 'Graph' }).waitFor();
  const again = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  expect((await local.call('GET', `/v1/runs/${again}`)).body).toMatchObject({
    rerunOf: runId,
    nodes: expect.arrayContaining([
      expect.objectContaining({ nodeId: 'charge', status: 'completed', output: { id: 'ch_by_hand' } }),
      expect.objectContaining({ nodeId: 'receipt', status: 'completed' }),
    ]),
  });
});

test('a run of code continues from a step with a result that a person gives an earlier step', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  await deploy(local, join(root, 'examples/code-workflows'));
  const items = [{ price: 50, quantity: 2 }];
  const runId = await startOfCode(local, 'fulfil-order', { items, discount: 0.1 });
  const read = async () => runResponse.parse((await local.call('GET', `/v1/runs/${runId}`)).body);
  await expect.poll(async () => (await read()).status, { timeout: 30_000 }).toBe('completed');
  const { nodes } = await read();
  const [total, discount] = ['total', 'discount'].map((key) => nodes.find(({ label }) => label === key)?.nodeId ?? '');
  await page.goto(`${local.url}/console/runs/${runId}?node=${discount}`);
  const panel = page.getByRole('complementary', { name: `Node ${discount}` });
  await panel.getByRole('button', { name: 'Run again from here…' }).click();
  const dialog = page.getByRole('dialog', { name: `Run again from ${discount}` });
  const choice = dialog.getByLabel('Replace an output');
  expect((await choice.locator('option').allTextContents()).slice(1)).toEqual(['total (completed)']);
  await choice.selectOption(total ?? '');
  const output = dialog.getByLabel(`Output of ${total}, as JSON`);
  expect(await output.inputValue()).toBe('100');
  await output.fill('200');
  await isReachable(page, 'run-rerun-of-code');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await expect.poll(() => new URL(page.url()).pathname).not.toContain(runId);
  await page.locator('.pill', { hasText: 'completed' }).first().waitFor();
  const again = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  expect((await local.call('GET', `/v1/runs/${again}`)).body).toMatchObject({
    rerunOf: runId,
    output: { total: 200, due: 180 },
  });
});

test('the attention page has what the sweep found: on which signal a run waits, and when one tries again', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  await start(local, approval, { orderId: 'order-41' });
  const retried = await start(local, recovering, {});
  // Otherwise the sweep that follows the clock comes before the first attempt has failed.
  const failedOnce = {
    nodes: expect.arrayContaining([expect.objectContaining({ nodeId: 'charge', status: 'queued', attempt: 2 })]),
  };
  await expect
    .poll(async () => (await local.call('GET', `/v1/runs/${retried}`)).body, { timeout: 30_000 })
    .toMatchObject(failedOnce);
  const { clock } = z
    .object({ clock: z.object({ url: z.string(), token: z.string() }) })
    .parse(JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')));
  // The sweep comes once a minute, to runs that have been open for some. The next attempt is due in ten.
  const advanced = await fetch(`${clock.url}/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clock.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ advanceMs: 8 * 60_000 }),
  });
  expect(advanced.status).toBe(200);
  await page.goto(`${local.url}/console/attention`);
  const waiting = page.getByRole('region', { name: 'Waiting' });
  await waiting.getByText('waits for the signal order-approved/order-41').waitFor({ timeout: 150_000 });
  const retrying = page.getByRole('region', { name: 'Trying again' });
  await retrying.getByText('Charge the card failed, and is tried again in').waitFor({ timeout: 150_000 });
  await isReachable(page, 'attention-swept');
});

test('a run whose worker died in each attempt is on the attention page, with what can be done', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const runId = await start(local, invoice, { orderId: 'lost', quantity: 1 });
  await expect
    .poll(async () => (await local.call('GET', `/v1/runs/${runId}`)).body, { timeout: 30_000 })
    .toMatchObject({
      status: 'failed',
    });
  // As the service answers after deliveries without a result (test/service/execution has how it comes to that).
  const error = {
    code: 'recovery_error',
    cause: 'lost',
    message: '3 deliveries of this attempt ended without a result, because its worker died or threw; no worker recorded a reason',
    details: { lostDeliveries: 3 },
  };
  const lost = <Shown extends { readonly runId: string }>(run: Shown): Shown => (run.runId === runId ? { ...run, error } : run);
  const answer = async (route: Route): Promise<unknown> => {
    const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
    return (await route.fetch({ headers })).json();
  };
  await page.route('**/v1/runs?*status=failed*', async (route) => {
    const list = runList.parse(await answer(route));
    await route.fulfill({ json: { ...list, data: list.data.map(lost) } });
  });
  await page.route(new RegExp(`/v1/runs/${runId}(\\?|$)`), async (route) => {
    const run = lost(runResponse.parse(await answer(route)));
    await route.fulfill({ json: { ...run, rootCause: { nodeId: 'charge', attempt: 3, error } } });
  });
  await page.goto(`${local.url}/console/attention`);
  const row = page.getByRole('region', { name: 'Failed in the last day' }).getByRole('row').filter({ hasText: 'recovery_error' });
  await row.getByText('because its worker died or threw').waitFor();
  await isReachable(page, 'attention-lost');
  // On a phone the reason is below the row.
  await page.setViewportSize({ width: 320, height: 640 });
  await row.getByText('because its worker died or threw').waitFor();
  const state = await row.getByText('failed').boundingBox();
  const why = await row.getByText('because its worker died or threw').boundingBox();
  expect(why?.y).toBeGreaterThan((state?.y ?? 1e9) + 10);
  expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
  await isReachable(page, 'attention-lost-narrow');
  await page.setViewportSize({ width: 1_280, height: 800 });
  await row.getByRole('link', { name: 'invoice' }).click();
  const reason = page.getByRole('status').filter({ hasText: 'because its worker died or threw' });
  await reason.getByText('(charge, attempt 3)').waitFor();
  await reason.getByRole('button', { name: 'Run again from here…' }).waitFor();
  await isReachable(page, 'run-lost');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('the list, the page and its events say the same of a run', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const listed = z.object({ data: z.array(z.looseObject({ runId: z.string(), status: z.string() })) });
  const ended = ['completed', 'failed', 'cancelled'];
  const slept = await start(local, nap, { of: 'one truth' });
  expect((await local.call('POST', `/v1/runs/${slept}/cancel`, {})).status).toBe(200);
  const { data } = listed.parse((await local.call('GET', '/v1/runs?includeChildren=true')).body);
  const statuses = new Set(data.map(({ status }) => status));
  for (const status of [...ended, 'running']) expect([...statuses]).toContain(status);
  for (const { runId, status } of data) {
    await page.goto(`${local.url}/console/runs/${runId}`);
    // An open run says more than that: it waits, sleeps or tries again.
    const word = ended.includes(status) ? new RegExp(status) : /running|waiting|sleeping|retrying/;
    await page.locator('.page-head .pill', { hasText: word }).waitFor();
    const newest = await local.call('GET', `/v1/runs/${runId}/events?limit=1000`);
    const event = z
      .object({ data: z.array(z.looseObject({ type: z.string() })) })
      .parse(newest.body)
      .data.at(-1);
    const end = /^run\.(completed|failed|cancelled)$/.exec(event?.type ?? '')?.[1];
    expect([runId, end]).toEqual([runId, ended.includes(status) ? status : undefined]);
  }
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
