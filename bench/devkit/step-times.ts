/**
 * `npm run bench -- --devkit`: what a step of the Workflow DevKit takes in a sequence of 50, at each version, beside the bare put of the
 * same process and beside the SDK's own World of files; and whether a step of a long run takes longer at its end than at its start.
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
import { type MeasuredApp, buildMeasuredApp, measuredWorkflow } from './measured-app.ts';

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

interface StepTimes {
  readonly version: string;
  /** by run: the time from the start's request to its end, divided by its steps */
  readonly stepMs: readonly number[];
  readonly worldLocalMs: readonly number[];
  /** the mean of the middle half, of the first and of the last tenth of a long run */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Seldom, because the requests take time of the same process. */
const pollMs = 100;

const runShape = z.looseObject({ status: z.string(), completedAt: z.string().nullish() });
const timesShape = z.array(z.number());

/** @returns the run, and the milliseconds from before the start's request to its last event */
async function timeRun(bench: BenchCloud, app: MeasuredApp, count: number, key: string): Promise<readonly [string, number]> {
  const startedAt = Date.now();
  const runId = await bench.start(measuredWorkflow(app, 'sequence', count), `step-times-${app.version}-${key}`);
  for (;;) {
    const { status, completedAt } = runShape.parse(await bench.get(`/v1/runs/${runId}?resolveData=none`));
    if (status === 'completed') return [runId, Date.parse(completedAt ?? '') - startedAt];
    if (status !== 'pending' && status !== 'running') throw new Error(`${runId} is ${status}`);
    await wait(pollMs);
  }
}

async function timesOf(bench: BenchCloud, app: MeasuredApp): Promise<StepTimes> {
  await bench.publish(measuredWorkflow(app, 'sequence', steps));
  // The first run loads the app.
  await timeRun(bench, app, steps, 'warm-up');
  const stepMs: number[] = [];
  for (let run = 0; run < runs; run += 1) stepMs.push((await timeRun(bench, app, steps, String(run)))[1] / steps);
  const longRun = longRuns[lineOf(app.version)];
  const [runId] = await timeRun(bench, app, longRun, 'long');
  const gaps = await gapsOf(bench, runId);
  const tenth = longRun / tenths;
  return {
    version: app.version,
    stepMs,
    worldLocalMs: await onWorldLocal(app),
    firstMs: interquartileMean(gaps.slice(0, tenth)),
    lastMs: interquartileMean(gaps.slice(-tenth)),
  };
}

async function onWorldLocal(app: MeasuredApp): Promise<readonly number[]> {
  const program = 'on-world-local.mjs';
  copyFileSync(join(root, 'bench', 'devkit', program), join(app.folder, program));
  const printed = await app.run('node', [program, String(steps), String(runs)]);
  return timesShape.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? '')).map((ms) => ms / steps);
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
    measured.push(await timesOf(bench, await buildMeasuredApp(join(directory, `devkit-${version}`), version)));
    bareMs.push(...(await measureBarePuts(bench.cloud, barePuts, warn)));
  }
  const bare = quantilesOf(bareMs).p50;
  const inPuts = ({ stepMs }: StepTimes): number => quantilesOf(stepMs).p50 / bare;
  const growthOf = ({ firstMs, lastMs }: StepTimes): number => lastMs / firstMs;
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  printSection(
    `A step of ${steps} in sequence, at a bare put of ${ms(bare)}`,
    table([
      ['', 'a step', 'in bare puts', 'on world-local', 'of the first tenth', 'of the last tenth', 'growth'],
      ...measured.map((times) => [
        times.version,
        ms(quantilesOf(times.stepMs).p50),
        inPuts(times).toFixed(1),
        ms(quantilesOf(times.worldLocalMs).p50),
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
