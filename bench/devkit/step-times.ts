/**
 * `npm run bench -- --devkit`: what a step of the Workflow DevKit takes in a sequence of 50, at each version, beside the bare put of the
 * same process and beside the SDK's own Worlds; and whether a step of a long run takes longer at its end than at its start.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { measureBarePuts } from '../bare-put.ts';
import { type BenchCloud, root } from '../bench-cloud.ts';
import { gapsOf, interquartileMean } from '../long-runs.ts';
import { quantilesOf } from '../quantiles.ts';
import { table } from '../tables.ts';
import { devkitVersions } from './devkit-scenarios.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { type MeasuredApp, buildMeasuredApp, measuredWorkflow } from './measured-app.ts';

/** The World of Postgres of the same line, where one is published for the SDK's version. */
const worldPostgres: Readonly<Record<string, string>> = {
  [devkitVersions.stable]: '@workflow/world-postgres@4.3.7',
  [devkitVersions.pinned]: '@workflow/world-postgres@5.0.0-beta.27',
};
const postgresPort = 54_329;

const medianOf = ({ runs: times }: StepTimes, name: keyof RunTimes): number => quantilesOf(times.map((run) => run[name])).p50;

const steps = 50;
const runs = 5;
const barePuts = 500;
/** Steps of a long run. In the 4.x line each message replays all of the run, which is the SDK's own. */
const longRuns = { '4': 200, '5': 1_000 } as const;
/** Of a long run the first and the last tenth are compared. */
const tenths = 10;

/** Of a step, in medians of bare puts: the 4.x line sends a message for each step and one for what follows it. */
const maxBarePuts = { '4': 14, '5': 5 } as const;
/** How much longer a step of the last tenth of a long run may take than one of the first. */
const maxGrowth = 2;

/** Of a run. */
interface RunTimes {
  /** from the start's request to its end, divided by its steps: the bound is about this one */
  readonly perStepMs: number;
  /** from the start's request to the first event of a step */
  readonly startMs: number;
  /** from the first event of a step to the last one, divided by the steps */
  readonly stepMs: number;
}

interface StepTimes {
  readonly version: string;
  readonly runs: readonly RunTimes[];
  /** by run of the SDK's own Worlds: the time from its start to its end, divided by its steps */
  readonly worldLocalMs: readonly number[];
  /** empty: no World of Postgres is published for the version, or this machine has no Postgres */
  readonly worldPostgresMs: readonly number[];
  /** the mean of the middle half, of the first and of the last tenth of a long run */
  readonly firstMs: number;
  readonly lastMs: number;
}

const pollMs = 20;

const runShape = z.looseObject({ status: z.string(), completedAt: z.string().nullish() });
const eventsShape = z.looseObject({
  data: z.array(z.looseObject({ timestamp: z.string(), payload: z.looseObject({ nodeId: z.string().optional() }).nullish() })),
});
const timesShape = z.array(z.number());

interface TimedRun {
  readonly runId: string;
  readonly startedAt: number;
  /** milliseconds from before the start's request to its last event */
  readonly tookMs: number;
}

async function timeRun(bench: BenchCloud, app: MeasuredApp, count: number, key: string): Promise<TimedRun> {
  const startedAt = Date.now();
  const runId = await bench.start(measuredWorkflow(app, 'sequence', count), `step-times-${app.version}-${key}`);
  // Without a request, which would take time of the same process.
  while (!bench.hasEnded(runId)) await wait(pollMs);
  const { status, completedAt } = runShape.parse(await bench.get(`/v1/runs/${runId}?resolveData=none`));
  if (status !== 'completed') throw new Error(`${runId} is ${status}`);
  return { runId, startedAt, tookMs: Date.parse(completedAt ?? '') - startedAt };
}

async function timeSteps(bench: BenchCloud, app: MeasuredApp, key: string): Promise<RunTimes> {
  const { runId, startedAt, tookMs } = await timeRun(bench, app, steps, key);
  const { data } = eventsShape.parse(await bench.get(`/v1/runs/${runId}/events?limit=1000`));
  const times = data.flatMap(({ timestamp, payload }) => (payload?.nodeId === undefined ? [] : [Date.parse(timestamp)]));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  return { perStepMs: tookMs / steps, startMs: first - startedAt, stepMs: (last - first) / steps };
}

async function timesOf(bench: BenchCloud, app: MeasuredApp, postgres: Postgres | undefined): Promise<StepTimes> {
  await bench.publish(measuredWorkflow(app, 'sequence', steps));
  // The first run loads the app.
  await timeRun(bench, app, steps, 'warm-up');
  const times: RunTimes[] = [];
  for (let run = 0; run < runs; run += 1) times.push(await timeSteps(bench, app, String(run)));
  const longRun = longRuns[lineOf(app.version)];
  const { runId } = await timeRun(bench, app, longRun, 'long');
  const gaps = await gapsOf(bench, runId);
  const tenth = longRun / tenths;
  return {
    version: app.version,
    runs: times,
    worldLocalMs: await onOtherWorld(app),
    worldPostgresMs: worldPostgres[app.version] === undefined || postgres === undefined ? [] : await onPostgres(app, postgres),
    firstMs: interquartileMean(gaps.slice(0, tenth)),
    lastMs: interquartileMean(gaps.slice(-tenth)),
  };
}

async function onOtherWorld(app: MeasuredApp, variables: Readonly<Record<string, string>> = {}): Promise<readonly number[]> {
  const program = 'on-other-world.mjs';
  copyFileSync(join(root, 'bench', 'devkit', program), join(app.folder, program));
  const printed = await app.run('node', [program, String(steps), String(runs)], variables);
  return timesShape.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? '')).map((ms) => ms / steps);
}

async function onPostgres(app: MeasuredApp, { url }: Postgres): Promise<readonly number[]> {
  const variables = { WORKFLOW_POSTGRES_URL: url };
  await app.run('node', ['node_modules/@workflow/world-postgres/bin/setup.js'], variables);
  return onOtherWorld(app, variables);
}

const lineOf = (version: string): keyof typeof maxBarePuts => (version.startsWith('4.') ? '4' : '5');

/** @returns a message for each exceeded threshold */
export async function measureStepTimes(
  bench: BenchCloud,
  directory: string,
  printSection: (title: string, text: string) => void,
  warn: (line: string) => void,
): Promise<readonly string[]> {
  const measured: StepTimes[] = [];
  const bareMs = [...(await measureBarePuts(bench.cloud, barePuts, warn))];
  for (const version of Object.values(devkitVersions)) {
    warn(`measuring ${version}`);
    const worldPackage = worldPostgres[version];
    const postgres = worldPackage === undefined ? undefined : await startPostgres(postgresPort);
    const packages = worldPackage === undefined || postgres === undefined ? [] : [worldPackage];
    const app = await buildMeasuredApp(join(directory, `devkit-${version}`), version, packages);
    try {
      measured.push(await timesOf(bench, app, postgres));
    } finally {
      await postgres?.stop();
    }
    bareMs.push(...(await measureBarePuts(bench.cloud, barePuts, warn)));
  }
  const bare = quantilesOf(bareMs).p50;
  const inPuts = (times: StepTimes): number => medianOf(times, 'perStepMs') / bare;
  const growthOf = ({ firstMs, lastMs }: StepTimes): number => lastMs / firstMs;
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  printSection(
    `A step of ${steps} in sequence, at a bare put of ${ms(bare)}`,
    table([
      ['', 'with its part of the start', 'in bare puts', 'the start alone', 'a step alone', 'in bare puts'],
      ...measured.map((times) => [
        times.version,
        ms(medianOf(times, 'perStepMs')),
        inPuts(times).toFixed(1),
        ms(medianOf(times, 'startMs')),
        ms(medianOf(times, 'stepMs')),
        (medianOf(times, 'stepMs') / bare).toFixed(1),
      ]),
    ]),
  );
  const ofOther = (times: readonly number[]): string => (times.length === 0 ? 'not measured' : ms(quantilesOf(times).p50));
  printSection(
    `The same on the SDK's own Worlds, with their part of the start, and a step of a long run`,
    table([
      ['', 'world-local', 'world-postgres', 'of the first tenth', 'of the last tenth', 'growth'],
      ...measured.map((times) => [
        times.version,
        ofOther(times.worldLocalMs),
        ofOther(times.worldPostgresMs),
        ms(times.firstMs),
        ms(times.lastMs),
        growthOf(times).toFixed(2),
      ]),
    ]),
  );
  return measured.flatMap((times) => {
    const most = maxBarePuts[lineOf(times.version)];
    return [
      ...(inPuts(times) <= most
        ? []
        : [`a step of ${times.version} takes ${inPuts(times).toFixed(1)} bare puts, and ${most} is the most`]),
      ...(growthOf(times) <= maxGrowth
        ? []
        : [
            `the last steps of ${times.version} take ${growthOf(times).toFixed(2)} times as long as the first, and ${maxGrowth} is the most`,
          ]),
    ];
  });
}
