/** A widget in pages of other origins: one that may frame it, and one that may not. */
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { preparedFolder } from '../e2e/local-start.ts';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable, watchedPage } from './signed-in.ts';
import { invoice, nap } from './workflows.ts';

let signedIn: SignedIn;
const directory = preparedFolder();
let html = '';
const sites: Server[] = [];
/** A site that answers each path with one page. */
const site = async (pageText = () => html): Promise<string> => {
  const server = createServer(
    (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(pageText()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  sites.push(server);
  return `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}`;
};
beforeAll(async () => {
  signedIn = await signIn(directory);
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
  // An ended run has one line more, and fits the frame that the console gives out.
  const fits = 'document.documentElement.scrollHeight <= innerHeight';
  expect(await framed.page.frames()[1]?.evaluate(fits)).toBe(true);
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

const created = z.object({ embedId: z.string(), path: z.string() });
const createEmbed = async (
  target: object,
  origins: readonly string[],
): Promise<{ readonly embedId: string; readonly url: string }> => {
  const { status, body } = await signedIn.local.call('POST', '/v1/embeds', { ...target, origins });
  expect(status, JSON.stringify(body)).toBe(201);
  const { embedId, path } = created.parse(body);
  return { embedId, url: `${signedIn.local.url}/${path}` };
};
const startRun = async (workflow: { readonly name: string }, key: string): Promise<string> => {
  await signedIn.local.call('POST', '/v1/workflows', workflow);
  const answer = await signedIn.local.call(
    'POST',
    '/v1/runs',
    { workflowName: workflow.name, input: {} },
    { 'idempotency-key': `${workflow.name} ${key}` },
  );
  return z.object({ runId: z.string() }).parse(answer.body).runId;
};
const frameOf = (url: string): string =>
  `<!doctype html><title>a site</title><iframe src="${url}" title="Status" width="320" height="120"></iframe>`;

test('a site that may not frame it gets nothing by a frame of a site that may', async () => {
  const runId = await startRun(nap, 'nested');
  let target = '';
  const allowed = await site(() => frameOf(target));
  const outer = await site(() => frameOf(`${allowed}/inner`));
  target = (await createEmbed({ runId }, [allowed])).url;
  const { page, complaints } = await watchedPage(signedIn.browser);
  await page.goto(allowed);
  await page.frameLocator('iframe').getByRole('heading', { name: nap.name }).waitFor();
  await page.goto(outer);
  await expect.poll(() => complaints.join(' ')).toContain('frame-ancestors');
  const inner = page.frameLocator('iframe').frameLocator('iframe');
  expect(await inner.getByRole('heading').count()).toBe(0);
  await page.context().close();
});

test('an open frame loads one address only, adds nothing to the history, says nothing to its page, and goes when it is revoked', async () => {
  const runId = await startRun(nap, 'open frame');
  let target = '';
  const allowed = await site(
    () => `${frameOf(target)}<script>heard = []; addEventListener('message', ({ data }) => heard.push(data))</script>`,
  );
  const embed = await createEmbed({ runId }, [allowed]);
  target = embed.url;
  const { page } = await watchedPage(signedIn.browser);
  const asked: { readonly url: string; readonly referer: string | undefined }[] = [];
  page.on('request', (request) => {
    if (request.url().startsWith(signedIn.local.url)) asked.push({ url: request.url(), referer: request.headers()['referer'] });
  });
  await page.goto(allowed);
  const heading = page.frameLocator('iframe').getByRole('heading', { name: nap.name });
  await heading.waitFor();
  const length = await page.evaluate('history.length');
  await page.evaluate("frames[0].postMessage({ type: 'status' }, '*')");
  expect(await page.evaluate("document.querySelector('iframe').contentDocument")).toBeNull();
  await expect.poll(() => asked.length, { timeout: 40_000 }).toBeGreaterThanOrEqual(3);
  await heading.waitFor();
  expect(await page.evaluate('[history.length, heard]')).toEqual([length, []]);
  expect(new Set(asked.map(({ url }) => url))).toEqual(new Set([target]));
  // The page around it names its own origin; a load by the frame itself names nothing.
  for (const { referer } of asked.slice(1)) expect(referer).toBeUndefined();
  expect((await signedIn.local.call('DELETE', `/v1/embeds/${embed.embedId}`)).status).toBe(200);
  await expect.poll(() => heading.count(), { timeout: 40_000 }).toBe(0);
  await page.context().close();
});

test('names of workflows are text of one line in the frame, which hides no status', async () => {
  const registered = await signedIn.local.call('POST', '/v1/world/apps', { baseUrl: 'https://app.example.com' });
  const { deploymentId } = z.object({ deploymentId: z.string() }).parse(registered.body);
  const names = [
    `"><script>document.title='run'</script>`,
    `<img/src=x/onerror="document.title='run'">`,
    '__proto__',
    'x'.repeat(400),
  ];
  let target = '';
  const allowed = await site(() => frameOf(target));
  for (const name of names) {
    const runId = `wrun_${ulid()}`;
    const eventData = { deploymentId, workflowName: `workflow//./internal//${name}`, input: { $bytes: 'ZGV2bFsxXQ==' } };
    const data = { eventType: 'run_created', specVersion: 5, eventData };
    const run = await signedIn.local.call('POST', '/v1/world/events/create', { runId, data });
    expect(run.status, JSON.stringify(run.body)).toBe(200);
    target = (await createEmbed({ runId }, [allowed])).url;
    const { page, complaints } = await watchedPage(signedIn.browser);
    await page.goto(allowed);
    const frame = page.frameLocator('iframe');
    const heading = frame.getByRole('heading');
    await heading.waitFor();
    expect(await heading.textContent()).toBe(name);
    const inside = page.frames()[1];
    const measured =
      '[document.title, document.scripts.length, document.images.length, document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollHeight <= innerHeight]';
    expect(await inside?.evaluate(measured)).toEqual(['Status', 0, 0, true, true]);
    expect(complaints).toEqual([]);
    await page.context().close();
  }
});

test('the page of each state has no findings of axe, also while it loads itself again', async () => {
  const runs = { sleeping: await startRun(nap, 'for axe'), failed: await startRun(invoice, 'for axe') };
  await expect
    .poll(async () => JSON.stringify((await signedIn.local.call('GET', `/v1/runs/${runs.failed}`)).body), { timeout: 30_000 })
    .toContain('"status":"failed"');
  const origins = ['https://intranet.example.com'];
  const states = {
    open: await createEmbed({ runId: runs.sleeping }, origins),
    failed: await createEmbed({ runId: runs.failed }, origins),
    none: await createEmbed({ workflowName: 'never-started' }, origins),
    gone: { url: `${signedIn.local.url}/embed/se_${'x'.repeat(43)}` },
  };
  const { page, complaints } = await watchedPage(signedIn.browser);
  const refreshes: string[] = [];
  // axe needs the document for longer than it stays, so it stays: the header is all that is taken away.
  await page.route('**/embed/*', async (route) => {
    const response = await route.fetch();
    const { refresh, ...headers } = response.headers();
    refreshes.push(refresh ?? '');
    await route.fulfill({ status: response.status(), headers, body: await response.text() });
  });
  for (const [name, { url }] of Object.entries(states)) {
    await page.goto(url);
    await page.getByRole('main').waitFor();
    await isReachable(page, `widget-${name}`);
  }
  expect(refreshes).toEqual(['10', '', '10', '']);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('no token is stored or logged', async () => {
  const { url } = await createEmbed({ workflowName: nap.name }, ['https://intranet.example.com']);
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(`${url}/`)).status).toBe(404);
  const token = url.slice(url.lastIndexOf('/') + 1);
  expect(signedIn.local.printed()).not.toContain(token);
  const texts = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  // The files are those of the state: the origin of the embed is among them.
  expect(texts.filter((text) => text.includes('https://intranet.example.com'))).not.toEqual([]);
  expect(texts.filter((text) => text.includes(token))).toEqual([]);
});

test('the page fits 320 pixels', async () => {
  await fitsNarrow(signedIn, ['widgets']);
  await isReachable(signedIn.watched.page, 'widgets-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
