/**
 * Runs of the Workflow DevKit while threads and all processes of the embedded cloud are killed with SIGKILL: each run completes with
 * its result, no step is left out, and no step executes again after the log has its result.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { CloudTime } from '../e2e/kills/cloud-time.ts';
import { type KillableCloud, startKillableCloud } from '../e2e/kills/killable-cloud.ts';
import { preparedFolder } from '../e2e/local-start.ts';
import { pinnedVersion } from '../../bench/devkit/measured-app.ts';
import { ordersApp } from './orders-app.ts';

const workflowName = 'workflow//./workflows/parcel//parcel';
const runs = 10;
const kills = ['thread', 'whole', 'thread', 'whole', 'whole'] as const;
const steps = new Set(['pick', 'wrap', 'label', 'send']);
/** Effects and events have the clocks of two threads. */
const slackMs = 1_000;

const time = new CloudTime();
const folder = preparedFolder();
const effects = join(folder, 'effects.txt');
let cloud: KillableCloud;
beforeAll(() => {
  appendFileSync(effects, '');
  cloud = startKillableCloud(folder, { aheadMs: 0, effectServerPort: 0 });
});
afterAll(() => cloud.kill());

/** Asks until there is an answer: a killed cloud gives none. */
async function call(method: string, path: string, body?: object, key?: string): Promise<unknown> {
  for (;;) {
    try {
      const { url, apiKey } = await cloud.started;
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': key ?? path };
      const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, { ...init, signal: AbortSignal.timeout(20_000) });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      if (response.status < 500 && response.status !== 429) throw new Refused(`${method} ${path}: ${text}`);
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    await wait(50);
  }
}
class Refused extends Error {}

const started = z.looseObject({ runId: z.string() });
const runShape = z.looseObject({ status: z.string() });
const eventsShape = z.looseObject({
  data: z.array(
    z.looseObject({ type: z.string(), timestamp: z.string(), payload: z.looseObject({ nodeId: z.string().optional() }) }),
  ),
});

/** @param at the run whose first step is at work when the kill comes */
async function killOne(kill: (typeof kills)[number], at: number): Promise<void> {
  for (let looks = 0; looks < 500 && !readFileSync(effects, 'utf8').includes(`parcel-${at} `); looks += 1) await wait(20);
  if (kill === 'thread') {
    await cloud.killThread(at / runs, 50, 10_000);
    return;
  }
  await cloud.kill();
  time.moved(5_000);
  cloud = startKillableCloud(folder, { aheadMs: time.aheadMs, effectServerPort: 0 });
}

/** Moves the clock while nothing happens: the sweep replaces messages that a kill lost. */
async function untilAllEnded(ids: readonly string[]): Promise<void> {
  for (let minutes = 0; minutes < 60;) {
    const open = await Promise.all(ids.map(async (id) => runShape.parse(await call('GET', `/v1/runs/${id}?resolveData=none`))));
    if (open.every(({ status }) => status !== 'pending' && status !== 'running')) return;
    if ((await cloud.atWork()).length === 0) {
      time.moved(61_000);
      await cloud.moveClock(61_000);
      minutes += 1;
    }
    await wait(300);
  }
  throw new Error('runs are open after an hour without a kill');
}

test(`${runs} runs survive ${kills.length} kills`, { timeout: 400_000 }, async () => {
  const app = await ordersApp(pinnedVersion);
  const place = await cloud.started;
  await cli({ ...place, call: () => Promise.reject(new Error('unused')) }, app.folder, 'deploy', '--json');
  const ids: string[] = [];
  for (let at = 0; at < runs; at += 1) {
    const body = { workflowName, input: [`parcel-${at}`, effects] };
    ids.push(started.parse(await call('POST', '/v1/runs', body, `start-${at}`)).runId);
    const kill = at % 2 === 1 ? kills[(at - 1) / 2] : undefined;
    if (kill !== undefined) await killOne(kill, at);
  }
  await untilAllEnded(ids);

  const seen = readFileSync(effects, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  let repeated = 0;
  for (const [at, id] of ids.entries()) {
    expect(await call('GET', `/v1/runs/${id}?resolveData=none`), id).toMatchObject({ status: 'completed' });
    const own = seen.filter(([name]) => name === `parcel-${at}`);
    expect(new Set(own.map(([, what]) => what)), id).toEqual(steps);
    repeated += own.length - steps.size;
    const { data } = eventsShape.parse(await call('GET', `/v1/runs/${id}/events?limit=1000`));
    const ends = data.filter(({ type }) => type === 'node.completed');
    expect(ends.filter(({ payload }) => payload.nodeId !== undefined).length, id).toBe(steps.size);
    const lastEnd = Math.max(...ends.map(({ timestamp }) => Date.parse(timestamp)));
    expect(Math.max(...own.map(([, , ms]) => Number(ms))), `${id} worked after its last result`).toBeLessThan(lastEnd + slackMs);
  }
  // A step whose process died before its result is executed again.
  console.log(`${runs} runs, ${kills.length} kills, ${repeated} of ${runs * steps.size} steps executed again`);
});
