/** Measures the paths with and without the delays of AWS, and prints each beside its goal and its number of waiting calls. */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { createAwsDelay, delayMedians } from './aws-delays.ts';
import { startBenchCloud } from './bench-cloud.ts';
import { type PathTimes, measurePaths, pathGoals, pathNames } from './path-latency.ts';
import { quantilesOf } from './quantiles.ts';
import { table } from './tables.ts';

const rounds = 30;
/** Two benches draw the same delays. */
const seed = 'aws';

/** `test/functions/path-waiting-calls.test.ts` counts them, for the paths of graphs. */
const countsShape = z.record(z.string(), z.array(z.array(z.string())));
const waitingCalls = (): Readonly<Record<string, readonly unknown[]>> =>
  countsShape.parse(JSON.parse(readFileSync(new URL('golden/path-waiting-calls.json', import.meta.url), 'utf8')));

const whole = (ms: number): string => `${Math.round(ms)} ms`;

/** A row for each path. A figure above its goal is no failure: times describe a machine too. */
export function pathTable(delayed: PathTimes, bare: PathTimes, counts: Readonly<Record<string, readonly unknown[]>>): string {
  const rows = pathNames.map((name) => {
    const { count, p50, p90 } = quantilesOf(delayed[name]);
    const alone = quantilesOf(bare[name]);
    const goal = pathGoals[name];
    const verdict = p50 > goal ? 'above the goal' : 'reached';
    const calls = counts[name]?.length;
    return [
      name,
      String(count),
      whole(p50),
      whole(p90),
      whole(goal),
      verdict,
      calls === undefined ? 'not counted' : String(calls),
      whole(alone.p50),
      whole(alone.p90),
    ];
  });
  return table([['', 'measured', 'p50', 'p90', 'goal', 'p50', 'waiting calls', 'p50 without delays', 'p90'], ...rows]);
}

const assumptions = (): string => table(Object.entries(delayMedians).map(([kind, median]) => [kind, `${median} ms`]));

export async function measureLatency(
  directory: string,
  printSection: (title: string, text: string) => void,
  warn: (line: string) => void,
): Promise<void> {
  const measure = async (callDelay?: ReturnType<typeof createAwsDelay>): Promise<PathTimes> => {
    const bench = await startBenchCloud(
      join(directory, callDelay === undefined ? 'bare' : 'delayed'),
      warn,
      undefined,
      callDelay,
    );
    bench.stopRecording();
    try {
      return await measurePaths(bench, rounds);
    } finally {
      await bench.stop();
    }
  };
  const load = (): string => loadavg()[0]?.toFixed(1) ?? '';
  const before = load();
  const bare = await measure();
  const delayed = await measure(createAwsDelay(seed));
  printSection('Delays of AWS, medians', assumptions());
  printSection(
    `Latency with these delays, ${rounds} runs each, at a load of ${before} before and ${load()} after`,
    pathTable(delayed, bare, waitingCalls()),
  );
}
