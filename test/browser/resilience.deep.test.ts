/** What a page does when something fails under it: the cloud, the session, one panel; and what hostile or unknown values do to it. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { type LocalStart, preparedFolder, startLocal } from '../e2e/local-start.ts';
import { launchBrowser } from './chromium.ts';
import { type WatchedPage, isReachable, watchedPage } from './signed-in.ts';
import { approval, invoice } from './workflows.ts';

const folder = preparedFolder();
let local: LocalStart;
let browser: Browser;
let watched: WatchedPage;

const linkShape = z.object({ link: z.string() });
const signIn = async (page: Page): Promise<void> => {
  // A cloud that has just started may refuse the first requests.
  const { link } = await vi.waitFor(async () => linkShape.parse((await local.call('POST', '/v1/sessions/links')).body), {
    timeout: 60_000,
    interval: 1_000,
  });
  await page.goto(`${local.url}/console/#link=${link}`);
  await page
    .getByRole('heading', { name: 'Runs' })
    .or(page.getByRole('heading', { name: 'No run exists yet' }))
    .first()
    .waitFor();
};
beforeAll(async () => {
  [local, browser] = await Promise.all([startLocal(folder), launchBrowser()]);
  watched = await watchedPage(browser);
  watched.page.setDefaultTimeout(40_000);
  await signIn(watched.page);
});
afterAll(async () => {
  await browser.close();
  await local.end('SIGTERM');
});

const runShape = z.object({ runId: z.string() });
const start = async (workflow: { readonly name: string }, input: unknown, key: string): Promise<string> => {
  const published = await local.call('POST', '/v1/workflows', workflow);
  expect([201, 409], JSON.stringify(published.body)).toContain(published.status);
  const body = { workflowName: workflow.name, input };
  const started = await local.call('POST', '/v1/runs', body, { 'idempotency-key': key });
  expect(started.status, JSON.stringify(started.body)).toBe(202);
  return runShape.parse(started.body).runId;
};
const signal = async (orderId: string): Promise<void> => {
  const sent = await local.call('POST', '/v1/signals', { name: 'order-approved', correlation: orderId, payload: { by: 'Ada' } });
  expect(sent.status, JSON.stringify(sent.body)).toBe(202);
};
const completed = (page: Page) => page.locator('.pill', { hasText: 'completed' }).waitFor();

test('two tabs on one run both show what happens', async () => {
  const { page } = watched;
  const runId = await start(approval, { orderId: 'two-tabs' }, 'two tabs');
  const other = await page.context().newPage();
  for (const each of [page, other]) {
    await each.goto(`${local.url}/console/runs/${runId}?tab=events`);
    await each.getByRole('button', { name: 'signal.awaited' }).waitFor();
  }
  await signal('two-tabs');
  for (const each of [page, other]) {
    await completed(each);
    await each.getByRole('button', { name: 'run.completed' }).waitFor();
  }
  await other.close();
});

test('a page whose cloud is killed says so, and goes on without a gap when it is back', async () => {
  const { page } = watched;
  const runId = await start(approval, { orderId: 'killed' }, 'killed');
  await page.goto(`${local.url}/console/runs/${runId}?tab=events`);
  await page.getByRole('button', { name: 'signal.awaited' }).waitFor();
  await page.getByText('Live: events appear as they happen.').waitFor();
  const { port } = new URL(local.url);
  await local.end('SIGKILL');
  await page.getByText('The connection was lost.').first().waitFor();
  await isReachable(page, 'run-connection-lost');
  local = await startLocal(folder, undefined, { STEPWELL_PORT: port });
  await signal('killed');
  await completed(page);
  await page.getByText('The run has ended. These are all its events.').waitFor();
  const shown = await page.getByRole('region', { name: 'Events' }).getByRole('listitem').allTextContents();
  const { lastEventId } = z.looseObject({ lastEventId: z.number() }).parse((await local.call('GET', `/v1/runs/${runId}`)).body);
  expect(shown.map((text) => Number(/^\d+/.exec(text)?.[0]))).toEqual(Array.from({ length: lastEventId }, (_, at) => at + 1));
});

const endSession = (page: Page) => page.evaluate("fetch('v1/session', { method: 'DELETE' }).then(({ status }) => status)");

test('a session that ends while one watches leaves the page as it is, and goes on after the next sign-in', async () => {
  const { page } = watched;
  const runId = await start(approval, { orderId: 'watched' }, 'watched');
  await page.goto(`${local.url}/console/runs/${runId}?tab=events`);
  await page.getByRole('button', { name: 'signal.awaited' }).waitFor();
  await endSession(page);
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  await isReachable(page, 'session-ended');
  await dialog.getByLabel('API key').fill('sw_nonsense');
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('API key').fill(local.apiKey);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  await signal('watched');
  await completed(page);
});

test('a session that ends while one edits loses no work', async () => {
  const { page } = watched;
  await page.goto(`${local.url}/console/workflows/order-approval/edit`);
  await page.getByRole('group', { name: /^Manager approves/ }).click();
  const label = page.getByRole('textbox', { name: 'Label' });
  await label.waitFor();
  await endSession(page);
  await label.fill('The director approves');
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  await dialog.getByLabel('API key').fill(local.apiKey);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByRole('textbox', { name: 'Label' }).inputValue()).toBe('The director approves');
  const draft = async (): Promise<string> => JSON.stringify((await local.call('GET', '/v1/workflows/order-approval/draft')).body);
  await expect.poll(draft, { timeout: 30_000 }).toContain('The director approves');
});

const markup = '<img src=x onerror="globalThis.broken=1">';
const hostile = {
  name: 'hostile',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'odd',
      type: 'javascript',
      label: `${markup} \u202Egnp.exe`,
      config: {
        code: `console.log(${JSON.stringify(markup)}, '\\u202E');
          return JSON.parse('{"__proto__": {"polluted": true}, "constructor": "x", ${JSON.stringify(markup).replaceAll('\\', '\\\\')}: "${'\\\\u202E'}", "": null}')`,
      },
    },
    { id: 'large', type: 'javascript', label: 'Large', config: { code: "return { text: 'x'.repeat(1_000_000) }" } },
    { id: 'fails', type: 'javascript', label: '\u202Etxet', config: { code: `throw new Error(${JSON.stringify(markup)})` } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'odd' },
    { source: 'odd', target: 'large' },
    { source: 'large', target: 'fails' },
    { source: 'fails', target: 'end' },
  ],
};

test('hostile names and outputs are text on every page', async () => {
  const { page } = watched;
  const runId = await start(hostile, { [markup]: '\u202E', __proto__: null, large: 'y'.repeat(200_000) }, 'hostile');
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.locator('.pill', { hasText: 'failed' }).waitFor();
  const pages = [
    'runs',
    'attention',
    'workflows',
    'workflows/hostile',
    'workflows/hostile/edit',
    ...['graph', 'waterfall', 'events', 'data'].map((tab) => `runs/${runId}?tab=${tab}`),
    ...['odd', 'large', 'fails'].map((node) => `runs/${runId}?node=${node}`),
  ];
  for (const path of pages) {
    await page.goto(`${local.url}/console/${path}`);
    await page.locator('main h1').first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => undefined);
    expect(await page.evaluate('[globalThis.broken, ({}).polluted, document.images.length]'), path).toEqual([
      undefined,
      undefined,
      0,
    ]);
  }
  await page.goto(`${local.url}/console/runs/${runId}?node=odd`);
  const panel = page.getByRole('complementary', { name: 'Node odd' });
  await panel.getByText('__proto__').first().waitFor();
  await panel.getByText(markup).first().waitFor();
  await isReachable(page, 'run-hostile');
  // Scripts return up to a megabyte; values of other nodes are larger.
  await page.route('**/v1/runs/**', async (route) => {
    const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
    const response = await route.fetch({ headers });
    const text = await response.text();
    await route.fulfill({ response, body: text.replaceAll('x'.repeat(1_000_000), 'x'.repeat(5_000_000)) });
  });
  await page.goto(`${local.url}/console/runs/${runId}?node=large`);
  await page
    .getByRole('complementary', { name: 'Node large' })
    .getByRole('button', { name: 'all 5000002 characters' })
    .first()
    .waitFor();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('a part that fails leaves the others', async () => {
  const { page } = watched;
  const runId = await start(invoice, { orderId: 'parts', quantity: 1 }, 'parts');
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.locator('.pill', { hasText: 'failed' }).waitFor();
  const refused = {
    status: 500,
    contentType: 'application/json',
    body: JSON.stringify({ code: 'internal', message: 'This part is broken.' }),
  };
  const parts: readonly (readonly [pattern: string, path: string])[] = [
    ['**/definition', `runs/${runId}`],
    ['**/timeline*', `runs/${runId}?tab=waterfall`],
    ['**/events*', `runs/${runId}?tab=events`],
    ['**/nodes/*', `runs/${runId}?node=charge&tab=data`],
  ];
  for (const [pattern, path] of parts) {
    await page.route(pattern, (route) => route.fulfill(refused));
    await page.goto(`${local.url}/console/${path}`);
    await page.getByText('This part is broken.').first().waitFor();
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    // The head, its reason and the other views are as ever.
    await page.getByText('the card ending in 4242 was declined').first().waitFor();
    await page.getByRole('tab', { name: 'Data' }).click();
    await page.getByRole('tabpanel').getByText('"parts"').waitFor();
    await page.unroute(pattern);
    await page.goto(`${local.url}/console/${path}`);
    await page.getByRole('tabpanel').waitFor();
  }
  // An estimate that fails is absent.
  await page.route('**/v1/runs/*estimate=true*', (route) => route.fulfill(refused));
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.getByRole('group', { name: /^Charge the card/ }).waitFor();
  expect(await page.getByText('This part is broken.').count()).toBe(0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

/** Adds a field to each object, and replaces statuses by words that no one knows yet. */
const ofTomorrow = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ofTomorrow);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]): [string, unknown] =>
    key === 'status' && each === 'failed'
      ? [key, 'suspended_by_quota']
      : key === 'type'
        ? [key, 'quantum']
        : [key, ofTomorrow(each)],
  );
  return { ...Object.fromEntries(entries), fieldOfTomorrow: { nested: [1] } };
};

test('an answer of a newer service, with fields and words of its own, is shown', async () => {
  const { page } = watched;
  const runId = await start(invoice, { orderId: 'tomorrow', quantity: 1 }, 'tomorrow');
  await page.goto(`${local.url}/console/runs/${runId}`);
  await page.locator('.pill', { hasText: 'failed' }).waitFor();
  await page.route('**/v1/runs/**', async (route) => {
    // A cookie counts only in a request of the page itself.
    const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
    const response = await route.fetch({ headers });
    const type = response.headers()['content-type'] ?? '';
    if (!type.includes('json')) return route.fulfill({ response });
    return route.fulfill({ response, json: ofTomorrow(await response.json()) });
  });
  for (const tab of ['graph', 'waterfall', 'events', 'data']) {
    await page.goto(`${local.url}/console/runs/${runId}?tab=${tab}&node=charge`);
    await page.locator('.pill', { hasText: 'suspended by quota' }).waitFor();
    await page.getByRole('tabpanel').waitFor();
    await page.getByRole('complementary', { name: 'Node charge' }).getByText('suspended by quota').first().waitFor();
  }
  await isReachable(page, 'run-of-tomorrow');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('no script failed, and no page broke its policy', () => {
  expect(watched.complaints).toEqual([]);
});
