/** The latency of the four paths that a run waits for, on the embedded cloud. Each is compared with its goal, which no test checks. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { StepwellClient } from '../lib/client/index.ts';
import { localKey } from '../lib/local/local-credentials.ts';
import type { BenchCloud } from './bench-cloud.ts';
import { startStepwell } from './peers/stepwell.ts';
import { effectCaller, effectChild, effectWaiter, chainOfEffects } from './workflows.ts';

/** Milliseconds, with the delays of AWS. */
export const pathGoals = {
  'trigger → first node': 90,
  'node → node, with side effects': 8,
  'signal → wake': 80,
  'child → parent, graph': 120,
  'child → parent, code': 120,
} as const;
export type PathName = keyof typeof pathGoals;
export const pathNames = [
  'trigger → first node',
  'node → node, with side effects',
  'signal → wake',
  'child → parent, graph',
  'child → parent, code',
] as const satisfies readonly PathName[];

export type PathTimes = Readonly<Record<PathName, readonly number[]>>;

const chainLength = 10;
const pollMs = 5;
const timeoutMs = 60_000;

const timelineShape = z.looseObject({
  origin: z.string(),
  nodes: z.array(z.string()),
  rows: z.array(
    z.tuple([z.int(), z.unknown(), z.int(), z.unknown(), z.number().nullable(), z.number().nullable(), z.string()], z.unknown()),
  ),
});

interface NodeTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: string;
}

/** Times of the first attempts, in milliseconds since 1970. */
async function nodeTimes(bench: BenchCloud, runId: string): Promise<ReadonlyMap<string, NodeTimes>> {
  const { origin, nodes, rows } = timelineShape.parse(await bench.get(`/v1/runs/${runId}/timeline`));
  const since = (ms: number | null): number => (ms === null ? Number.NaN : Date.parse(origin) + ms);
  return new Map(
    rows.flatMap(([index, , attempt, , started, ended, status]) =>
      attempt === 1 ? [[nodes[index] ?? '', { startedAt: since(started), endedAt: since(ended), status }]] : [],
    ),
  );
}

const startOf = (times: ReadonlyMap<string, NodeTimes>, node: string): number => times.get(node)?.startedAt ?? Number.NaN;

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what} after ${timeoutMs} ms`);
    await wait(pollMs);
  }
}

const untilEnded = (bench: BenchCloud, runId: string): Promise<void> =>
  until(() => bench.hasEnded(runId), `run ${runId} has not ended`);

/** Runs each path `rounds` times, one run after the other, after two rounds that are not counted. */
export async function measurePaths(bench: BenchCloud, rounds: number): Promise<PathTimes> {
  const { url } = bench.cloud;
  if (url === undefined) throw new Error('the template has no API');
  const client = new StepwellClient({ baseUrl: url, apiKey: localKey(bench.cloud) });
  const chain = chainOfEffects(chainLength);
  for (const workflow of [chain, effectWaiter, effectChild, effectCaller]) await bench.publish(workflow);
  const code = await startStepwell(bench);
  const times: Record<PathName, number[]> = {
    'trigger → first node': [],
    'node → node, with side effects': [],
    'signal → wake': [],
    'child → parent, graph': [],
    'child → parent, code': [],
  };
  const record = (round: number, name: PathName, values: readonly number[]): void => {
    if (round >= 0) times[name].push(...values);
  };
  for (let round = -2; round < rounds; round += 1) {
    const requestedAt = Date.now();
    const chained = await bench.start(chain, `path-chain-${round}`);
    await untilEnded(bench, chained);
    const ofChain = await nodeTimes(bench, chained);
    record(round, 'trigger → first node', [startOf(ofChain, 'n1') - requestedAt]);
    const ends = [...ofChain.values()].map(({ endedAt }) => endedAt).toSorted((one, other) => one - other);
    record(
      round,
      'node → node, with side effects',
      ends.slice(1).map((end, at) => end - (ends[at] ?? end)),
    );

    const waiting = await bench.start(effectWaiter, `path-waiter-${round}`);
    await until(
      async () => (await nodeTimes(bench, waiting)).get('signal')?.status === 'waiting',
      `run ${waiting} does not wait for its signal`,
    );
    // And until the functions have ended what follows the wait's commit. A fixed pause would measure the machine: docs/BENCH.md.
    await until(() => !bench.hasMessages(), `run ${waiting} still has messages`);
    const sentAt = Date.now();
    await client.sendSignal({ name: 'go', correlation: waiting });
    await untilEnded(bench, waiting);
    record(round, 'signal → wake', [startOf(await nodeTimes(bench, waiting), 'after') - sentAt]);

    const calling = await bench.start(effectCaller, `path-caller-${round}`);
    await untilEnded(bench, calling);
    const ofCaller = await nodeTimes(bench, calling);
    record(round, 'child → parent, graph', [startOf(ofCaller, 'after') - startOf(ofCaller, 'before')]);

    const { at } = await (await code.start('parent', { run: `path-${round}`, steps: 1, every: 1 })).result();
    record(round, 'child → parent, code', [(at[2] ?? Number.NaN) - (at[0] ?? Number.NaN)]);
  }
  return times;
}
