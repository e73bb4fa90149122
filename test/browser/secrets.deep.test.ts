/** No byte that the installation sends to a browser has a secret, on any page. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { environmentNames } from '../../lib/contract/environment.ts';
import { preparedFolder, root } from '../e2e/local-start.ts';
import { type Installation, everyAddress, getAdmin, openAddress, plainContent, populate } from './every-page.ts';
import { type Received, formsOf, recordOf } from './received.ts';
import { type SignedIn, signIn } from './sign-in.ts';

const directory = preparedFolder();
const planted = { token: 'planted-7c4a8d09ca/3762"af61e5', password: 'planted-pw-0b9c2625dc21' };
const echoes: Server = createServer((request, response) => {
  // The body and a header of the answer have what the request carried.
  const { authorization = '' } = request.headers;
  response.writeHead(200, { 'content-type': 'application/json', 'x-echo': authorization }).end(JSON.stringify({ authorization }));
});

let signedIn: SignedIn;
let made: Installation;
/** Each planted value by what it is. */
const secrets = new Map<string, string>();
let received: Received;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The events of a run as a stream. Some streams of an ended run stay open for a while. */
async function streamOf(runId: string): Promise<{ readonly url: string; readonly bytes: Buffer }> {
  const url = `${signedIn.local.url}/v1/runs/${runId}/events`;
  const headers = { authorization: `Bearer ${signedIn.local.apiKey}`, accept: 'text/event-stream' };
  const chunks: Uint8Array[] = [];
  try {
    const { body } = await fetch(url, { headers, signal: AbortSignal.timeout(4_000) });
    for await (const chunk of body ?? []) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'TimeoutError')) throw error;
  }
  return { url, bytes: Buffer.concat(chunks) };
}

const call = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await signedIn.local.call(method, path, body, headers);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};
const keyShape = z.object({ key: z.string() });
const runShape = z.object({ runId: z.string() });

/** A key with the digest that the table has, and a session of another person by it. */
function plantKey(name: string, key: string): string {
  const secret = key.split('_')[3]?.slice(0, 43) ?? '';
  secrets.set(`${name}: key`, key).set(`${name}: secret`, secret).set(`${name}: digest`, sha256(secret));
  return key;
}

async function plantSession(key: string): Promise<void> {
  const { url } = signedIn.local;
  const headers = { 'content-type': 'application/json', origin: url, 'sec-fetch-site': 'same-origin' };
  const answer = await fetch(`${url}/v1/sessions`, { method: 'POST', headers, body: JSON.stringify({ key }) });
  expect(answer.status, await answer.clone().text()).toBeLessThan(300);
  const cookie = /ss_[\w-]{43}/.exec(answer.headers.get('set-cookie') ?? '')?.[0] ?? '';
  expect(cookie).toHaveLength(46);
  secrets.set('session of another person', cookie).set('session: digest', sha256(cookie));
}

/** Workflows, a run and a key of another project, whose first key the operator of the installation creates. */
async function plantProject(): Promise<void> {
  const worker = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(join(directory, 'worker.json'), 'utf8')));
  const lines = readFileSync(join(directory, 'tables.env'), 'utf8').trim().split('\n');
  const tables = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  const table = worker[environmentNames.controlTable] ?? '';
  const options = ['--table', table, '--project', 'rivals', '--environment', 'local', '--scopes', 'admin'];
  const made = await promisify(execFile)(process.execPath, ['bin/check-node.mjs', 'scripts/create-key.ts', ...options], {
    cwd: root,
    env: { ...process.env, ...tables },
  });
  const key = plantKey('another project', made.stdout.trim());
  const headers = { authorization: `Bearer ${key}` };
  const nodes = [{ id: 'start', type: 'start' }];
  await call('POST', '/v1/workflows', { name: 'rival-merger-plan', nodes, edges: [] }, headers);
  const start = { workflowName: 'rival-merger-plan', input: { of: 'rival-input-53' } };
  const { runId } = runShape.parse(await call('POST', '/v1/runs', start, { ...headers, 'idempotency-key': 'rival' }));
  secrets.set('a name of another project', 'rival-merger-plan').set('an input of another project', 'rival-input-53');
  secrets.set('a run of another project', runId);
}

/** A workflow that sends the secret, prints the answer and fails with it; and its test with a pin. */
async function leak(): Promise<readonly string[]> {
  const address = z.object({ port: z.number() }).parse(echoes.address());
  const ask = {
    id: 'ask',
    type: 'http',
    config: {
      url: `http://127.0.0.1:${address.port}/`,
      headers: { authorization: 'Bearer {{secret:token}}' },
      outputVariable: 'reply',
      retry: { attempts: 1 },
    },
  };
  const code = 'console.log(JSON.stringify(ctx.reply), ctx.pinned);\nthrow new Error(JSON.stringify(ctx.reply))';
  const script = (id: string, text: string) => ({
    id,
    type: 'javascript',
    config: { code: text, outputVariable: id, retry: { attempts: 1 } },
  });
  const definition = {
    name: 'leaky',
    nodes: [{ id: 'start', type: 'start' }, ask, script('pinned', 'return 1'), script('say', code)],
    edges: [
      { source: 'start', target: 'ask' },
      { source: 'ask', target: 'pinned' },
      { source: 'pinned', target: 'say' },
    ],
  };
  await call('POST', '/v1/workflows', definition);
  const pause = { id: 'pause', type: 'delay', config: { delayMinutes: 60 } };
  await call('POST', '/v1/workflows', {
    name: 'leaky-later',
    nodes: [...definition.nodes, pause],
    edges: [{ source: 'start', target: 'pause' }, { source: 'pause', target: 'ask' }, ...definition.edges.slice(1)],
  });
  const start = { workflowName: 'leaky', input: {} };
  const run = runShape.parse(await call('POST', '/v1/runs', start, { 'idempotency-key': 'leaky' })).runId;
  const pinned = { pinned: { output: { a: 'pinned output' } } };
  const tested = runShape.parse(await call('POST', '/v1/workflows/test', { ...definition, input: {}, pinned })).runId;
  await call('POST', '/v1/workflows/leaky/draft', { definition: { ...definition, options: {} }, revision: 0, basedOn: 1 });
  for (const runId of [run, tested])
    await vi.waitFor(async () => expect(await call('GET', `/v1/runs/${runId}`)).toMatchObject({ status: 'failed' }), {
      timeout: 60_000,
      interval: 250,
    });
  return [run, tested];
}

/** The page of a run that leaks while the page follows it: the browser's own event stream. */
async function watchLeak(page: Page): Promise<void> {
  const answer = await call('POST', '/v1/runs', { workflowName: 'leaky-later', input: {} }, { 'idempotency-key': 'later' });
  const { runId } = runShape.parse(answer);
  await openAddress(signedIn, `runs/${runId}?tab=events`);
  await page.getByText('Live: events appear as they happen.').waitFor();
  await call('POST', `/v1/runs/${runId}/wake`, {});
  // As long as for the other leaking runs: the machine may be busy.
  await page.getByText('The run has ended. These are all its events.').waitFor({ timeout: 60_000 });
}

let leaky: readonly string[] = [];
beforeAll(async () => {
  echoes.listen(0, '127.0.0.1');
  await once(echoes, 'listening');
  const texts = { token: planted.token, 'orders-db': `postgres://app:${planted.password}@db.example.com/orders` };
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify(texts), { mode: 0o600 });
  signedIn = await signIn(directory, { STEPWELL_ALLOW_LOCALHOST: 'true' });
  received = await recordOf(signedIn.watched.page);
  made = await populate(signedIn, plainContent);
  for (const [name, text] of Object.entries(planted)) secrets.set(`secret ${name}`, text);
  const info = z
    .object({
      webhookSecret: z.string(),
      clock: z.object({ token: z.string() }),
      tables: z.object({ secretAccessKey: z.string() }),
    })
    .parse(JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')));
  secrets.set('webhook secret', info.webhookSecret).set('token of the clock', info.clock.token);
  secrets.set('credentials of the tables', info.tables.secretAccessKey);
  const own = signedIn.local.apiKey.split('_')[3]?.slice(0, 43) ?? '';
  secrets.set('own key', signedIn.local.apiKey).set('own key: secret', own).set('own key: digest', sha256(own));
  const other = keyShape.parse(await call('POST', '/v1/keys', { scopes: ['runs:read'] })).key;
  await plantSession(plantKey('another key', other));
  await plantProject();
  const embed = await call('POST', '/v1/embeds', { runId: made.failed, origins: ['https://intranet.example.com'] });
  const token = z.object({ path: z.string() }).parse(embed).path.slice('embed/'.length);
  secrets.set('token of an embed', token).set('token of an embed: digest', sha256(token));
  const { link } = z.object({ link: z.string() }).parse(await call('POST', '/v1/sessions/links'));
  secrets.set('link', link).set('link: digest', sha256(link));
  leaky = await leak();
  await getAdmin(signedIn);
});
afterAll(async () => {
  await signedIn.close();
  echoes.close();
});

test('a walk through every page receives no planted value, in any form', async () => {
  const { page } = signedIn.watched;
  const addresses = [
    ...everyAddress(made),
    ...leaky.flatMap((runId) => ['events', 'data', 'graph', 'waterfall'].map((tab) => `runs/${runId}?tab=${tab}`)),
    ...leaky.flatMap((runId) => ['ask', 'pinned', 'say'].map((node) => `runs/${runId}?node=${node}`)),
    `compare?a=${leaky[0]}&b=${leaky[1]}`,
    'workflows/leaky/edit',
  ];
  for (const path of addresses) {
    await openAddress(signedIn, path);
    await received.arrived();
  }
  await watchLeak(page);
  const widget = secrets.get('token of an embed') ?? '';
  await page.goto(`${signedIn.local.url}/embed/${widget}`);
  for (const runId of [...leaky, made.completed, made.failed]) {
    received.parts.push(await streamOf(runId));
  }
  // Each address was read at least once.
  expect(await received.settle()).toEqual([]);
  expect(received.parts.length).toBeGreaterThan(addresses.length);
  const found = [...secrets].map(([name, text]) => [name, received.holding(text).slice(0, 3)] as const);
  expect(found.filter(([, urls]) => urls.length > 0)).toEqual([]);
});

test('the search finds what is there: a mask where the secret was, an output that was pinned, and each form of a text', () => {
  expect(secrets.size).toBeGreaterThan(20);
  for (const [name, text] of secrets) expect(text.length, name).toBeGreaterThan(10);
  // The answer of the server that repeats the secret did reach the pages.
  expect(received.holding('Bearer ').filter((url) => leaky.some((runId) => url.includes(runId)))).not.toEqual([]);
  expect(received.holding('Bearer ').filter((url) => url.startsWith('stream '))).not.toEqual([]);
  expect(received.holding('pinned output')).not.toEqual([]);
  expect(received.holding(plainContent.text).length).toBeGreaterThan(10);
  const before = received.parts.length;
  for (const form of formsOf(planted.token)) {
    received.parts.push({ url: `planted ${form}`, bytes: Buffer.from(`before ${form} after`) });
    expect(received.holding(planted.token), form).toContain(`planted ${form}`);
  }
  // At each offset of base64.
  for (const prefix of ['', 'a', 'ab']) {
    const bytes = Buffer.from(Buffer.from(`${prefix}${planted.token} after`).toString('base64'));
    received.parts.push({ url: `base64 after ${prefix}`, bytes });
    expect(received.holding(planted.token)).toContain(`base64 after ${prefix}`);
  }
  received.parts.length = before;
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
