/** The counted scenarios, with bounds for counts that depend on timing. */
import { type BenchCloud, threads } from './bench-cloud.ts';
import type { Bill } from './bill.ts';
import type { Bound } from './golden.ts';
import { type CodeWorkflow, codeCaller, codeChain, codePacked, codeTogether } from './code-workflows.ts';
import {
  chain,
  chainOfEffects,
  chainWithEnds,
  failingChain,
  fan,
  type Lens,
  looped,
  sleeper,
  fastLens,
  fastLensWorkflow,
  type Workflow,
} from './workflows.ts';

export interface Scenario {
  readonly name: string;
  readonly workflow: Workflow | CodeWorkflow;
  /** final status in the run's head */
  readonly ends: 'completed' | 'failed' | 'pending';
  /** the lens of its nodes */
  readonly lens?: Lens;
  /** its start waits for the end, in one request */
  readonly isAnswered?: true;
  /** so many runs start in one request; the bill is of all of them */
  readonly batchOf?: number;
  /** runs without a warm-up run, because it is long; it reads its definition once */
  readonly isCold?: true;
  /** of a thousand nodes: only the deep tier of tests counts it */
  readonly isLong?: true;
  /** counts a rerun of the warm-up run from this step */
  readonly rerunFrom?: string;
  /** number of results that are collected together */
  readonly heldResults?: number;
  /** bounds by `kind.part`; everything else is exact */
  readonly bounds: Readonly<Record<string, Bound>>;
}

export const between = (atLeast: number, atMost: number): Bound => ({ atLeast, atMost });

/** A warm function reads a key again after 15 s, and an idle event source polls every 20 s, independent of runs. */
export const commonBounds = { 'readUnits.api keys': between(0, 1), 'emptyReceives.of any queue': between(0, 100) };

/** A workflow task checks its log every three seconds, more often per run on a slow machine. */
const codeBounds = {
  ...commonBounds,
  'readUnits.commits': between(1, 60),
  // The pointer, and the deployment after its pin. A thread of the API or of the code that did not execute it before reads it, too.
  'readUnits.deployments': between(2, 4),
};

/** The size of a compressed snapshot varies with its times and ids. */
const snapshots = (atLeast: number, atMost: number) => ({ 'writeUnits.snapshots': between(atLeast, atMost) });

/** Each thread of the worker reads the definition, the head and the log itself. */
const bySeveralThreads = (maxLogReads: number) => ({
  'readUnits.workflow': between(1, 1 + threads),
  'readUnits.head': between(1, threads + 1),
  'readUnits.commits': between(1, maxLogReads),
});

/** Branches that commit concurrently lose puts to each other: the last of n at most n - 1. */
const directBranches = 8;
const maxLostPuts = (directBranches * (directBranches - 1)) / 2;
const collectedBranches = 100;
/** The widest fan-out with one join. */
const wideBranches = 1_000;

/**
 * Scripts in a row share commits, which this machine's clock cuts every 250 ms. `test/bench/pack-counts.test.ts` has the exact counts,
 * on a virtual clock. The bound: on average at least two results share a commit.
 */
const packed = (executed: number) => ({
  'writeUnits.commits': between(1, Math.ceil(executed / 2)),
  'commits.won': between(1, Math.ceil(executed / 2)),
});

/** The first of them is a part of the head, and recorded with the end unless this machine's clock cuts it. */
const packedInHead = (executed: number) => ({ ...packed(executed), 'writeUnits.commits': between(0, Math.ceil(executed / 2)) });

/** The head has the results and the end, unless this machine takes longer than 250 ms for them. */
const heldInHead = { 'writeUnits.commits': between(0, 5), 'writeUnits.end': between(0, 1), 'commits.won': between(0, 5) };

export const batchStarts = 10;
const perBatch = (bounds: Readonly<Record<string, Bound>>): Readonly<Record<string, Bound>> =>
  Object.fromEntries(
    Object.entries(bounds).map(([part, { atLeast, atMost }]) => [part, between(batchStarts * atLeast, batchStarts * atMost)]),
  );

export const scenarios: readonly Scenario[] = [
  { name: 'chain-10', workflow: chain(10), ends: 'completed', bounds: { ...commonBounds, ...packedInHead(10) } },
  { name: 'chain-100', workflow: chain(100), ends: 'completed', bounds: { ...commonBounds, ...packed(100) } },
  {
    name: 'chain-1000',
    workflow: chain(1_000),
    ends: 'completed',
    isLong: true,
    bounds: { ...commonBounds, ...packed(1_000) },
  },
  { name: 'chain-10-of-effects', workflow: chainOfEffects(10), ends: 'completed', bounds: commonBounds },
  { name: 'chain-100-of-effects', workflow: chainOfEffects(100), ends: 'completed', bounds: commonBounds },
  { name: 'chain-1000-of-effects', workflow: chainOfEffects(1_000), ends: 'completed', isLong: true, bounds: commonBounds },
  {
    name: 'chain-10-failed',
    workflow: failingChain(10),
    ends: 'failed',
    // The end is published first, so it is a write of its own. It is billed by the size of the head with the results.
    bounds: { ...commonBounds, ...packedInHead(10), 'writeUnits.end': between(1, 2) },
  },
  { name: 'chain-10-with-ends', workflow: chainWithEnds(10), ends: 'completed', bounds: commonBounds },
  {
    name: 'chain-10-answered',
    workflow: chain(10),
    ends: 'completed',
    isAnswered: true,
    bounds: { ...commonBounds, ...packed(10), ...heldInHead },
  },
  {
    name: 'chain-10-in-a-batch-of-ten',
    workflow: chain(10),
    ends: 'completed',
    batchOf: batchStarts,
    bounds: {
      ...commonBounds,
      ...perBatch(packedInHead(10)),
      // The runs that have not begun after a second of a busy machine get messages of their own.
      'invocations.worker': between(1, batchStarts),
      'queueRequests.send node queue': between(1, 2),
      // Each thread of the worker reads the definition once.
      'readUnits.workflow': between(batchStarts, batchStarts + threads),
      'queueRequests.receive node queue': between(1, batchStarts),
      'queueRequests.delete node queue': between(1, batchStarts),
    },
  },
  { name: 'code-10-answered', workflow: codeChain(10), ends: 'completed', isAnswered: true, bounds: codeBounds },
  { name: 'code-10', workflow: codeChain(10), ends: 'completed', bounds: codeBounds },
  { name: 'code-100', workflow: codeChain(100), ends: 'completed', bounds: { ...codeBounds, ...snapshots(4, 6) } },
  { name: 'code-10-idempotent', workflow: codePacked(10), ends: 'completed', bounds: { ...codeBounds, ...packed(11) } },
  {
    name: 'code-100-idempotent',
    workflow: codePacked(100),
    ends: 'completed',
    bounds: { ...codeBounds, ...packed(101), ...snapshots(0, 3) },
  },
  {
    name: 'code-1000',
    workflow: codeChain(1_000),
    ends: 'completed',
    isLong: true,
    bounds: { ...codeBounds, ...snapshots(48, 54) },
  },
  {
    // It copies 99 steps in one commit, whose compressed size varies with their times, and runs one.
    name: 'code-100-from-the-last',
    workflow: codeChain(100),
    ends: 'completed',
    rerunFrom: 'step:99',
    bounds: { ...codeBounds, 'writeUnits.commits': between(4, 7), 'readUnits.deployments': between(1, 3) },
  },
  { name: 'code-10-together', workflow: codeTogether(10), ends: 'completed', bounds: codeBounds },
  // The run and the five that it calls.
  {
    name: 'code-5-calls',
    workflow: codeCaller(5),
    ends: 'completed',
    // A thread of the World that did not start a run reads its head.
    bounds: { ...codeBounds, 'readUnits.deployments': between(12, 21), 'readUnits.head': between(2, 20) },
  },
  // Counted until it sleeps; a schedule wakes it 20 minutes later.
  { name: 'sleep-20-minutes', workflow: sleeper, ends: 'pending', bounds: commonBounds },
  {
    name: 'fan-8',
    workflow: fan(directBranches),
    ends: 'completed',
    bounds: {
      ...commonBounds,
      ...bySeveralThreads(3 * directBranches + maxLostPuts),
      'writeUnits.lost puts': between(0, maxLostPuts),
    },
  },
  {
    // On AWS, a hundred functions end together, which the local threads cannot reproduce.
    name: 'fan-100-together',
    workflow: fan(collectedBranches),
    ends: 'completed',
    heldResults: collectedBranches,
    bounds: { ...commonBounds, ...bySeveralThreads(40), 'emptyReceives.of any queue': between(0, 4 * collectedBranches) },
  },
  {
    name: 'fan-1000-together',
    workflow: fan(wideBranches),
    ends: 'completed',
    isLong: true,
    heldResults: wideBranches,
    bounds: {
      ...commonBounds,
      ...bySeveralThreads(100),
      ...snapshots(26, 32),
      'emptyReceives.of any queue': between(0, 4 * wideBranches),
    },
  },
  {
    name: 'fan-100-scattered',
    workflow: fan(collectedBranches),
    ends: 'completed',
    bounds: {
      ...commonBounds,
      ...bySeveralThreads(40),
      // Measured 15 to 22; the batches depend on the machine's load.
      'writeUnits.commits': between(11, 40),
      'commits.won': between(11, 40),
      'invocations.collect': between(10, 40),
      'queueRequests.receive results queue': between(10, 40),
      'queueRequests.delete results queue': between(10, 40),
      'emptyReceives.of any queue': between(0, 4 * collectedBranches),
    },
  },
];

/** Counted in an installation that publishes each end of a run on the bus, and not only failures. */
export const endsPublished = { 'stepwell:runEvents': 'ended' } as const;
export const scenariosWithEndsPublished: readonly Scenario[] = [
  { name: 'chain-10-end-published', workflow: chain(10), ends: 'completed', bounds: { ...commonBounds, ...packed(10) } },
];

/** Counted separately: slow scenarios and sequential loops. */
export const slowScenarios: readonly Scenario[] = [
  { name: 'loop-10', workflow: looped(10), ends: 'completed', bounds: { ...commonBounds, ...packed(11) } },
  { name: 'loop-100', workflow: looped(100), ends: 'completed', bounds: { ...commonBounds, ...packed(101) } },
  {
    name: 'loop-1000',
    workflow: looped(1_000),
    ends: 'completed',
    isLong: true,
    isCold: true,
    bounds: { ...commonBounds, 'readUnits.workflow': between(1, 1 + threads), ...packed(1_001) },
  },
  { name: 'loop-10-of-effects', workflow: looped(10, { hasEffects: true }), ends: 'completed', bounds: commonBounds },
  { name: 'loop-100-of-effects', workflow: looped(100, { hasEffects: true }), ends: 'completed', bounds: commonBounds },
  {
    name: 'loop-1000-of-effects',
    workflow: looped(1_000, { hasEffects: true }),
    ends: 'completed',
    isLong: true,
    isCold: true,
    // Commits that store results exceed one unit, and their compressed size varies.
    bounds: { ...commonBounds, 'readUnits.workflow': between(1, 1 + threads), 'writeUnits.commits': between(1_001, 1_005) },
  },
  // 15 where its words come to the millisecond; a loaded machine says them more slowly, and a longer stream is more of them
  {
    name: fastLensWorkflow.name,
    workflow: fastLensWorkflow,
    ends: 'completed',
    lens: fastLens,
    bounds: { ...commonBounds, 'writeUnits.streams': between(14, 23) },
  },
];

/** The bill of one run of the scenario, after a warm-up run. No other run may be active. */
export async function count(bench: BenchCloud, scenario: Scenario): Promise<Bill> {
  if (scenario.isAnswered === true) return countAnswered(bench, scenario);
  if (scenario.batchOf !== undefined) return countBatch(bench, scenario, scenario.batchOf);
  const { name, workflow, ends, lens, isCold, rerunFrom, heldResults } = scenario;
  if (lens !== undefined) await bench.publishLens(lens);
  await bench.publish(workflow);
  const warmRun = isCold === true ? undefined : await bench.start(workflow, `${name}-warm`);
  if (warmRun !== undefined) await bench.waitUntilIdle(warmRun);
  const from = bench.calls;
  const release = heldResults === undefined ? undefined : bench.holdResults(heldResults);
  const runId =
    warmRun === undefined || rerunFrom === undefined
      ? await bench.start(workflow, `${name}-counted`)
      : await bench.rerun(warmRun, rerunFrom);
  const status = await bench.waitUntilIdle(runId);
  release?.();
  if (status !== ends) throw new Error(`a run of ${name} is ${status}, and should be ${ends}`);
  return bench.bill([runId], from);
}

/** The same for a start that waits. The function of its job has ended when the request is answered, and no queue has a message. */
async function countAnswered(bench: BenchCloud, { name, workflow }: Scenario): Promise<Bill> {
  await bench.publish(workflow);
  await bench.startAndWait(workflow, `${name}-warm`);
  const from = bench.calls;
  return bench.bill([await bench.startAndWait(workflow, `${name}-counted`)], from);
}

/** The same for the runs that one request starts. */
async function countBatch(bench: BenchCloud, { name, workflow, ends }: Scenario, size: number): Promise<Bill> {
  await bench.publish(workflow);
  const runBatch = async (round: string): Promise<readonly string[]> => {
    const keys = Array.from({ length: size }, (_one, at) => `${name}-${round}-${at}`);
    const runIds = await bench.startBatch(workflow, keys);
    for (const runId of runIds) {
      const status = await bench.waitUntilIdle(runId);
      if (status !== ends) throw new Error(`a run of ${name} is ${status}, and should be ${ends}`);
    }
    return runIds;
  };
  await runBatch('warm');
  const from = bench.calls;
  return bench.bill(await runBatch('counted'), from);
}
