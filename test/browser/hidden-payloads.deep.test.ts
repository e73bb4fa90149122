/** A session without `payloads:read`: every page works, none of them receives data of a run, and each says what is hidden. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { type Installation, everyAddress, openAddress, plainContent, populate } from './every-page.ts';
import { type Received, recordOf } from './received.ts';
import { type SignedIn, signIn, signInWithScopes } from './sign-in.ts';
import { type WatchedPage, isReachable } from './signed-in.ts';

const planted = 'Ada Lovelace/12 St James "Square"';
const hidden = 'hidden: your session lacks payloads:read';
const scopes = ['runs:read', 'runs:write', 'trigger:write', 'workflows:read', 'workflows:write', 'queries:read', 'deploy:read'];

let signedIn: SignedIn;
let made: Installation;
let reader: WatchedPage;
let received: Received;
const own: { failed: string; waiting: string } = { failed: '', waiting: '' };
/** The same installation, seen in the session without the scope. */
const asReader = (): SignedIn => ({ ...signedIn, watched: reader });

const call = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await signedIn.local.call(method, path, body, headers);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};
const start = async (workflowName: string): Promise<string> => {
  const body = { workflowName, input: { who: planted } };
  const headers = { 'idempotency-key': `hidden-${workflowName}` };
  return z.object({ runId: z.string() }).parse(await call('POST', '/v1/runs', body, headers)).runId;
};
const edges = (...ids: readonly string[]) => ids.slice(1).map((target, index) => ({ source: ids[index], target }));
const script = (id: string, code: string) => ({
  id,
  type: 'javascript',
  config: { code, outputVariable: id, retry: { attempts: 2, backoffMs: 1 } },
});

/** Data in each place that a run has: the input, an output, a printed line, an error with details, a correlation, a pause. */
async function plant(): Promise<void> {
  const publish = async (
    name: string,
    nodes: readonly { readonly id: string; readonly type: string; readonly config: object }[],
  ): Promise<void> => {
    const all = [{ id: 'start', type: 'start' }, ...nodes];
    await call('POST', '/v1/workflows', { name, nodes: all, edges: edges(...all.map(({ id }) => id)) });
  };
  const say = script('say', 'console.log(ctx.input.who); return { who: ctx.input.who }');
  const fail = script('fail', 'console.log(ctx.say.who); throw new Error(`unknown: ${ctx.say.who}`)');
  await publish('sends-parcels', [say, fail]);
  own.failed = await start('sends-parcels');
  await publish('asks', [{ id: 'ask', type: 'signal', config: { name: 'approved', correlation: '{{ctx.input.who}}' } }]);
  own.waiting = await start('asks');
  await publish('sends-later', [{ id: 'pause', type: 'delay', config: { delayMinutes: 60 } }, say, fail]);
  const pinned = { say: { output: { who: planted } } };
  const definition = {
    name: 'sends-parcels',
    nodes: [{ id: 'start', type: 'start' }, say],
    edges: edges('start', 'say'),
    options: {},
  };
  await call('POST', '/v1/workflows/sends-parcels/draft', { definition, revision: 0, basedOn: 1, pinned });
  await vi.waitFor(async () => expect(await call('GET', `/v1/runs/${own.failed}`)).toMatchObject({ status: 'failed' }), {
    timeout: 60_000,
    interval: 250,
  });
}

beforeAll(async () => {
  signedIn = await signIn();
  const code = 'console.log(ctx.input.who);\nreturn { total: ctx.input.who }';
  made = await populate(signedIn, { ...plainContent, code, input: JSON.stringify({ lines: [1, planted], who: planted }) });
  await plant();
  reader = await signInWithScopes(signedIn, scopes);
  received = await recordOf(reader.page);
});
afterAll(() => signedIn.close());

test('a walk through every page receives no planted value, in any form', async () => {
  const addresses = [
    ...everyAddress(made).filter((path) => !/^(keys|audit|widgets)/.test(path)),
    ...[own.failed, own.waiting].flatMap((runId) =>
      ['events', 'data', 'graph', 'waterfall'].map((tab) => `runs/${runId}?tab=${tab}`),
    ),
    ...['say', 'fail'].map((node) => `runs/${own.failed}?node=${node}`),
    `runs/${own.waiting}?node=ask`,
    `compare?a=${own.failed}&b=${made.completed}`,
    'workflows/sends-parcels/edit',
    'signals',
  ];
  for (const path of addresses) {
    await openAddress(asReader(), path);
    await received.arrived();
  }
  expect(await received.settle()).toEqual([]);
  expect(received.parts.length).toBeGreaterThan(addresses.length);
  expect([received.holding(planted), received.holding('Lovelace')]).toEqual([[], []]);
});

test('the event stream of an open run has no planted value, and the page follows the run', async () => {
  const runId = await start('sends-later');
  await openAddress(asReader(), `runs/${runId}?tab=events`);
  await reader.page.getByText('Live: events appear as they happen.').waitFor();
  const before = received.messages();
  await call('POST', `/v1/runs/${runId}/wake`, {});
  await reader.page.getByText('The run has ended. These are all its events.').waitFor();
  expect(received.messages()).toBeGreaterThan(before + 3);
  expect(received.holding('node.retried').filter((url) => url.startsWith('stream '))).not.toEqual([]);
  expect([received.holding(planted), received.holding('Lovelace')]).toEqual([[], []]);
});

test('the page of a failed run says what is hidden, and shows the rest', async () => {
  const { page } = reader;
  await openAddress(asReader(), `runs/${own.failed}?tab=data&node=fail`);
  await page.getByText('failed', { exact: true }).first().waitFor();
  await page.locator('.reason').getByText('hidden: payloads:read is required').waitFor();
  expect(await page.getByText(hidden).count()).toBeGreaterThanOrEqual(3);
  await page.getByRole('heading', { name: /^Attempts/ }).waitFor();
  expect(await page.locator('.attempts li').count()).toBe(2);
  await isReachable(page, 'hidden-run');
  if (process.env['STEPWELL_PICTURES'] !== undefined)
    await page.screenshot({ path: `${process.env['STEPWELL_PICTURES']}/console-hidden.png` });
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByText(hidden).first().waitFor();
  await page.getByRole('button', { name: 'node.retried' }).click();
  await page.getByLabel('Payload of the event').getByText('retryAt').waitFor();
  await isReachable(page, 'hidden-events');
});

test('a rerun keeps an input that its session may not see', async () => {
  const { page } = reader;
  await openAddress(asReader(), `runs/${own.failed}`);
  await page.getByRole('button', { name: 'Run again…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(hidden).waitFor();
  expect(await dialog.getByLabel('Input, as JSON').inputValue()).toBe('');
  await isReachable(page, 'hidden-rerun');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByText('Rerun of').waitFor();
  const runId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  expect(await call('GET', `/v1/runs/${runId}`)).toMatchObject({ input: { who: planted }, rerunOf: own.failed });
});

test('a signal is sent by its correlation, which a person types', async () => {
  const { page } = reader;
  await openAddress(asReader(), `runs/${own.waiting}`);
  await page.getByText('ask waits for the signal approved.').waitFor();
  await page.getByRole('button', { name: 'Send signal…' }).click();
  const dialog = page.getByRole('dialog');
  await isReachable(page, 'hidden-signal');
  await dialog.getByLabel(/^Correlation, which is hidden/).fill(planted);
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await vi.waitFor(async () => expect(await call('GET', `/v1/runs/${own.waiting}`)).toMatchObject({ status: 'completed' }), {
    timeout: 20_000,
    interval: 200,
  });
});

test('two runs are compared without their data, and a schedule keeps the input that is not shown', async () => {
  const { page } = reader;
  await openAddress(asReader(), `compare?a=${own.failed}&b=${made.completed}`);
  await page.getByLabel('Input').getByText(hidden).waitFor();
  await isReachable(page, 'hidden-compare');
  await openAddress(asReader(), `schedules/${plainContent.name}`);
  await page.getByLabel('Input').getByText(hidden).waitFor();
  await page.getByRole('button', { name: 'Edit…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Cron', { exact: true }).fill('0 4 * * *');
  await isReachable(page, 'hidden-schedule');
  await dialog.getByRole('button', { name: 'Save it' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await call('GET', `/v1/schedules/${plainContent.name}`)).toMatchObject({ cron: '0 4 * * ? *', input: { who: planted } });
});

test('no script failed, and no page broke its policy', () => {
  expect(reader.complaints).toEqual([]);
});

test('the search finds the value in a session that may see it', async () => {
  const full = await recordOf(signedIn.watched.page);
  await openAddress(signedIn, `runs/${own.failed}?tab=data`);
  await signedIn.watched.page.getByText('Lovelace').first().waitFor();
  await full.settle();
  expect(full.holding(planted)).not.toEqual([]);
});
