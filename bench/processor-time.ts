/**
 * Processor time of a start and of a step on the embedded cloud, by thread. On a busy machine it says more than times by the clock:
 * other programs make a run take longer, and hardly change what it computes.
 */
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { localKey } from '../lib/local/local-credentials.ts';
import { type BenchCloud, endedHeadIn } from './bench-cloud.ts';
import { deployCode } from './code-workflows.ts';
import { programNames } from './peers/programs.ts';
import { table } from './tables.ts';
import { chain } from './workflows.ts';

const client = fileURLToPath(new URL('processor-client.ts', import.meta.url));
const projectFolder = fileURLToPath(new URL('peers/project', import.meta.url));
const stepsPerRun = 10;
const parallelStarts = 16;
const timeoutMs = 300_000;
const recorded = z.looseObject({ pid: z.number() });

interface Load {
  readonly what: string;
  /** body of the start */
  readonly body: object;
  readonly warmUp: number;
  readonly runs: number;
  /** what the time is divided by: units in a run */
  readonly units: number;
  readonly unit: 'start' | 'step';
}

export interface ProcessorTime {
  readonly what: string;
  readonly unit: string;
  /** milliseconds of one unit, by the name of the thread */
  readonly threads: ReadonlyMap<string, number>;
  readonly totalMs: number;
  readonly calls: number;
  readonly perSecond: number;
}

const [chainProgram] = programNames;
const chainInput = { run: 'processor', steps: stepsPerRun, every: stepsPerRun };

const loads: readonly Load[] = [
  {
    what: 'starts of one script',
    body: { workflowName: chain(1).name, input: {} },
    warmUp: 300,
    runs: 600,
    units: 1,
    unit: 'start',
  },
  {
    what: `runs of ${stepsPerRun} steps of code`,
    body: { workflowName: chainProgram, input: chainInput },
    warmUp: 60,
    runs: 200,
    units: stepsPerRun,
    unit: 'step',
  },
];

/** Nanoseconds on a processor of each thread, by its name: the first field of `schedstat` (Linux, scheduler/sched-stats.rst). */
function processorNs(pids: ReadonlyMap<number, string>): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const [pid, prefix] of pids) {
    const tasks = `/proc/${pid}/task`;
    for (const task of readdirSync(tasks)) {
      try {
        const name = prefix + readFileSync(join(tasks, task, 'comm'), 'utf8').trim();
        const ns = Number(readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0]);
        times.set(name, (times.get(name) ?? 0) + ns);
      } catch {
        // The thread has ended since the folder was read.
      }
    }
  }
  return times;
}

export async function measureProcessorTime(bench: BenchCloud, directory: string): Promise<readonly ProcessorTime[]> {
  const { url, recorder } = bench.cloud;
  if (url === undefined) throw new Error('the template has no API');
  const apiKey = localKey(bench.cloud);
  await bench.publish(chain(1));
  await deployCode(url, apiKey, projectFolder);
  const { pid } = recorded.parse(JSON.parse(readFileSync(join(directory, 'state', 'dynoxide.pid'), 'utf8')));
  const pids = new Map([
    [process.pid, ''],
    [pid, 'dynoxide: '],
  ]);
  const ended = new Set<string>();
  let calls = 0;
  const stopListening = recorder.listen((call) => {
    calls += 1;
    const head = endedHeadIn(call);
    if (head !== undefined) ended.add(head);
  });
  const run = async ({ body }: Load, name: string, runs: number): Promise<void> => {
    const before = ended.size;
    const child = spawn(process.execPath, [client, url, apiKey, name, String(runs), String(parallelStarts)], {
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    child.stdin.end(JSON.stringify(body));
    const exitCode = await new Promise((resolve) => child.once('exit', resolve));
    if (exitCode !== 0) throw new Error('the client failed');
    const until = performance.now() + timeoutMs;
    while (ended.size - before < runs) {
      if (performance.now() > until) throw new Error(`${name}: ${ended.size - before} of ${runs} runs have ended`);
      await wait(2);
    }
  };
  const measured: ProcessorTime[] = [];
  for (const load of loads) {
    await run(load, `warm ${load.what}`, load.warmUp);
    const [before, callsBefore, startedAt] = [processorNs(pids), calls, performance.now()];
    await run(load, load.what, load.runs);
    const count = load.runs * load.units;
    const perSecond = (count * 1_000) / (performance.now() - startedAt);
    const threads = new Map(
      [...processorNs(pids)]
        .map(([name, ns]) => [name, (ns - (before.get(name) ?? 0)) / 1e6 / count] as const)
        .toSorted(([, left], [, right]) => right - left),
    );
    const totalMs = [...threads.values()].reduce((sum, ms) => sum + ms, 0);
    measured.push({ what: load.what, unit: load.unit, threads, totalMs, calls: (calls - callsBefore) / count, perSecond });
  }
  stopListening();
  return measured;
}

/** Threads with less than this are summed. */
const shownMs = 0.02;

export const processorTable = ({ unit, threads, totalMs, calls, perSecond }: ProcessorTime): string => {
  const shown = [...threads].filter(([, ms]) => ms >= shownMs);
  const rest = totalMs - shown.reduce((sum, [, ms]) => sum + ms, 0);
  const milliseconds = (ms: number): string => `${ms.toFixed(2)} ms`;
  return table([
    ['thread', `of a ${unit}`],
    ...shown.map(([name, ms]) => [name, milliseconds(ms)]),
    ['all others', milliseconds(rest)],
    ['altogether', milliseconds(totalMs)],
    ['calls of services', calls.toFixed(2)],
    ['in a second', perSecond.toFixed(0)],
  ]);
};
