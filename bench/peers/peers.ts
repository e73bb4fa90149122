/** Compares Stepwell with similar engines: the same programs, alternating in one process. docs/BENCH.md explains the results. */
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { measureBarePuts } from '../bare-put.ts';
import { type BenchCloud, root } from '../bench-cloud.ts';
import { startDurableFunctions } from './durable-functions.ts';
import type { Engine } from './engine.ts';
import { measureIdle } from './idle-latency.ts';
import { startOpenWorkflow } from './openworkflow.ts';
import { curveLine, engineTable, idleTable, rowTable, throughputTable } from './report.ts';
import { rawLines } from './samples.ts';
import { measureChain, measureRows } from './steps-in-a-row.ts';
import { startStepwell } from './stepwell.ts';
import { measureThroughput } from './throughput.ts';

const repeats = 3;
const idleRounds = 8;
/** One less than openworkflow's maximum per run. */
const rowSteps = 999;
const barePuts = 300;
const longRunSteps = 25_000;
/** steps between two points of the longest run's curve */
const longRunSampleEvery = 25;

export interface PeerSettings {
  readonly directory: string;
  readonly isLong: boolean;
  readonly printSection: (title: string, text: string) => void;
  readonly warn: (line: string) => void;
}

export async function measurePeers(bench: BenchCloud, { directory, isLong, printSection, warn }: PeerSettings): Promise<void> {
  bench.stopRecording();
  const stepwellEngine = await startStepwell(bench);
  const engines: readonly Engine[] = [stepwellEngine, await startOpenWorkflow(directory), await startDurableFunctions()];
  const names = engines.map(({ name }) => name);
  try {
    printSection('Engines', `${engineTable(engines)}\n\n  ${machine()}\n  ${versions()}`);
    const rows = await measureRows(engines, rowSteps, repeats, () => measureBarePuts(bench.cloud, barePuts, warn));
    printSection(`From one step to the next, in ${repeats} runs of ${rowSteps} each`, rowTable(names, rows));
    printSection('Whether it grows', rows.chains.map(curveLine).join('\n'));
    const idle = await measureIdle(engines, idleRounds, Math.random);
    printSection(`From rest, ${idleRounds} times each`, idleTable(names, idle));
    const throughput = await measureThroughput(engines, repeats);
    printSection(`Runs of 10 steps side by side, ${repeats} times each`, throughputTable(names, throughput));
    if (isLong)
      printSection('The longest run', curveLine(await measureChain(stepwellEngine, longRunSteps, longRunSampleEvery, 'longest')));
    printSection('All samples', rawLines([...rows.samples, ...idle, ...throughput]));
    printSection('Afterwards', `  ${machine()}`);
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

const machine = (): string => {
  const load = loadavg().map((value) => value.toFixed(1));
  return `Node ${process.version}, ${availableParallelism()} processors, load ${load.join(', ')}`;
};

const lockShape = z.looseObject({ packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })) });

function versions(): string {
  const { packages } = lockShape.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  return ['openworkflow', '@aws/durable-execution-sdk-js', '@aws/durable-execution-sdk-js-testing']
    .map((name) => `${name} ${packages[`node_modules/${name}`]?.version ?? 'absent'}`)
    .join(', ');
}
