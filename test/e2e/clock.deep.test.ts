import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { createTestCli, dataIn, errorIn } from '../cli/test-cli.ts';
import { type LocalStart, freshFolder, preparedFolder, startLocal } from './local-start.ts';

let directory: string;
let cloud: LocalStart;
beforeAll(async () => {
  directory = preparedFolder();
  cloud = await startLocal(directory);
});
afterAll(() => cloud.end('SIGTERM'));

const cli = () => createTestCli({ env: { STEPWELL_DIR: directory }, fetch });
const advanced = z.object({ offsetMs: z.number(), now: z.string() });
const day = 86_400_000;

const nap = {
  name: 'nap',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'sleep', type: 'delay', config: { delayType: 'dynamic', delayVariable: '{{ctx.input.pauseMs}}' } },
    { id: 'when', type: 'javascript', config: { code: 'return Date.now()', outputVariable: 'at' } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'at', sourceVariable: '{{ctx.at}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'sleep' },
    { source: 'sleep', target: 'when' },
    { source: 'when', target: 'end' },
  ],
};

const run = z.looseObject({ status: z.string(), completedAt: z.string().nullish(), createdAt: z.string() });
const statusOf = async (runId: string) => run.parse((await cloud.call('GET', `/v1/runs/${runId}`)).body);
const started = async (): Promise<string> => {
  const { body } = await cloud.call(
    'POST',
    '/v1/runs',
    { workflowName: 'nap', input: { pauseMs: 6 * day } },
    { 'idempotency-key': `${Math.random()}` },
  );
  return z.looseObject({ runId: z.string() }).parse(body).runId;
};

test('a run that sleeps six days ends after the clock was advanced, and the next start keeps the time', async () => {
  const published = await cloud.call('POST', '/v1/workflows', nap);
  expect(published.body).toMatchObject({ name: 'nap' });
  const first = await started();
  await expect.poll(async () => JSON.stringify(await statusOf(first)), { timeout: 60_000 }).toContain('"waiting"');
  const { offsetMs } = dataIn(await cli().type('--json', 'clock', 'advance', '6 days'), advanced);
  expect(offsetMs).toBe(6 * day);
  await expect.poll(async () => (await statusOf(first)).status, { timeout: 60_000 }).toBe('completed');
  const { createdAt, completedAt } = await statusOf(first);
  expect(Date.parse(completedAt ?? '') - Date.parse(createdAt)).toBeGreaterThanOrEqual(6 * day);

  const second = await started();
  await cloud.end('SIGKILL');
  cloud = await startLocal(directory);
  expect(Date.parse((await statusOf(second)).createdAt) - Date.now()).toBeGreaterThan(5 * day);
  expect(dataIn(await cli().type('--json', 'clock', 'advance', '6d'), advanced).offsetMs).toBe(12 * day);
  await expect.poll(async () => (await statusOf(second)).status, { timeout: 60_000 }).toBe('completed');
}, 180_000);

test.each(['8', '-1 day', 'soon', '0s'])('the duration %s is refused', async (duration) => {
  expect(errorIn(await cli().type('--json', 'clock', 'advance', '--', duration)).message).toContain("such as '8 days'");
});

test('more than 400 days are refused', async () => {
  expect(errorIn(await cli().type('--json', 'clock', 'advance', '399 days'))).toMatchObject({
    code: 'clock_refused',
    message: 'The clock can be at most 400 days ahead.',
  });
});

test('a request without the token of the state folder is refused', async () => {
  const local = z
    .object({ clock: z.object({ url: z.string() }) })
    .parse(JSON.parse((await import('node:fs')).readFileSync(`${directory}/local.json`, 'utf8')));
  const response = await fetch(local.clock.url, { method: 'POST', body: '{"advanceMs":1}' });
  expect(response.status).toBe(403);
});

test('where no embedded cloud runs, the message says how to start one', async () => {
  const nowhere = createTestCli({ env: { STEPWELL_DIR: freshFolder() } });
  expect(errorIn(await nowhere.type('--json', 'clock', 'advance', '1 day')).message).toContain('Start it with stepwell start');
});
