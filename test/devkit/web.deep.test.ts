/**
 * The web pages of the Workflow DevKit (`workflow web`) and its reader of streams (`workflow inspect stream`) show the runs of Stepwell
 * through `stepwell/world`, in a real browser, at each supported version.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { launchBrowser } from '../browser/chromium.ts';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { freePort } from '../e2e/listening.ts';
import { type BuiltApp, installedSdk, sdkVersions } from './built-app.ts';
import { rotatingItem } from '../tier.ts';
import { ordersApp } from './orders-app.ts';

let served: InProcessCloud;
let browser: Browser;
beforeAll(async () => {
  [served, browser] = await Promise.all([startInProcessCloud(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await served.stop();
});

const streamOf = (runId: string): string => `strm_${runId.slice('wrun_'.length)}_user`;
/** What the step `report` of the example writes. */
const chunk = 'charged receipt-';

describe.each(rotatingItem(sdkVersions))('workflow %s', (sdkVersion) => {
  const item = `tea-${sdkVersion}`;
  let app: BuiltApp;
  let program: string;
  let runId: string;
  const env = (): Readonly<Record<string, string>> => ({
    STEPWELL_URL: served.url,
    STEPWELL_API_KEY: served.apiKey,
    WORKFLOW_TARGET_WORLD: 'stepwell/world',
  });
  beforeAll(async () => {
    app = await ordersApp(sdkVersion);
    program = join(await installedSdk(sdkVersion), 'node_modules/workflow/bin/run.js');
    await cli(served, app.folder, 'deploy', '--json');
    runId = (await app.run('node', ['client.mjs', 'start', item], env())).trim();
    const isWaiting = async (): Promise<void> =>
      expect(await cli(served, app.folder, 'explain', runId)).toContain('waits for resumeHook()');
    await vi.waitFor(isWaiting, { timeout: 60_000, interval: 200 });
  });

  let web: ChildProcess | undefined;
  let address: string;
  let printed = '';
  beforeAll(async () => {
    const port = await freePort();
    address = `http://localhost:${port}`;
    const args = [program, 'web', '--backend', 'stepwell/world', '--noBrowser', '--webPort', String(port)];
    const child = spawn(process.execPath, args, {
      cwd: app.folder,
      env: { ...process.env, ...env() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const collect = (text: Buffer): void => void (printed += text.toString());
    web = child;
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    await vi.waitFor(() => expect(printed).toContain('Web UI available at'), { timeout: 60_000 });
  });
  afterAll(async () => {
    if (web === undefined || web.exitCode !== null) return;
    web.kill('SIGTERM');
    await once(web, 'exit');
  });

  test('inspect stream prints the chunks of a stream that is still open', async () => {
    const args = [program, 'inspect', 'stream', streamOf(runId), '--runId', runId, '--backend', 'stepwell/world', '--json'];
    const reader = spawn(process.execPath, args, {
      cwd: app.folder,
      env: { ...process.env, ...env() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let read = '';
    reader.stdout.on('data', (text: Buffer) => void (read += text.toString()));
    await expect.poll(() => read, { timeout: 120_000 }).toContain(chunk);
    reader.kill('SIGKILL');
    await once(reader, 'exit');
  });

  test('the web pages list the run, show its steps, events and stream, check the health of its code, and cancel it', async () => {
    const page = await browser.newPage();
    const shows = (text: string): Promise<void> =>
      expect.poll(() => page.innerText('body'), { timeout: 120_000 }).toContain(text);
    await page.goto(address);
    await shows(runId);
    await page.goto(`${address}/run/${runId}`);
    // The page leaves out the names of short spans.
    await shows(`approve:${item}`);
    await page.getByRole('tab', { name: 'Events' }).click();
    await shows('Step Completed');
    await shows('quote');
    await page.getByRole('tab', { name: 'Streams' }).click();
    await page.getByRole('button', { name: streamOf(runId) }).click();
    await shows(chunk);
    await page.getByRole('button', { name: 'Health Check' }).click();
    await shows('healthy');
    expect(await page.innerText('body')).not.toMatch(/unhealthy|failed/i);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel Run' }).click();
    const run = async (): Promise<unknown> => (await served.call('GET', `/v1/runs/${runId}`)).body;
    await expect.poll(run, { timeout: 120_000 }).toMatchObject({ status: 'cancelled' });
    await page.close();
  });
});
