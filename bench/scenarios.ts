/** What is counted, and which of its counts depend on timing, with the bounds that they must keep. */
import { type BenchCloud, threads } from './bench-cloud.ts';
import type { Bill } from './bill.ts';
import type { Bound } from './golden.ts';
import { type CodeWorkflow, codeChain, codeTogether } from './code-workflows.ts';
import { chain, chainWithEnds, fan, type Lens, looped, sleeper, fastLens, fastLensWorkflow, type Workflow } from './workflows.ts';

export interface Scenario {
  readonly name: string;
  readonly workflow: Workflow | CodeWorkflow;
  /** the status of the run's head when nothing moves it any more */
  readonly ends: 'completed' | 'pending';
  /** what its nodes ask a model with */
  readonly lens?: Lens;
  /** it has not run before: it is long, and reads its definition once */
  readonly isCold?: true;
  /** results that are held back until so many have come, and are then collected together */
  readonly heldResults?: number;
  /** bounds by `kind.part`; everything else is exact */
  readonly bounds: Readonly<Record<string, Bound>>;
}

const between = (atLeast: number, atMost: number): Bound => ({ atLeast, atMost });

/** A warm function reads a key again after 15 s, and an idle event source asks every 20 s, whoever runs. */
const commonBounds = { 'readUnits.api keys': between(0, 1), 'emptyReceives.of any queue': between(0, 100) };

/** While code is driven, its log is looked at every three seconds: on a slow machine that is oftener in a run. */
const codeBounds = { ...commonBounds, 'readUnits.commits': between(1, 60) };

/** A snapshot weighs what its fold comes to when it is packed, and times and ids pack a little better or worse each time. */
const snapshots = (atLeast: number, atMost: number) => ({ 'writeUnits.snapshots': between(atLeast, atMost) });

/** Several threads of the worker may have to read the definition, the head and the log, each for itself. */
const bySeveralThreads = (maxLogReads: number) => ({
  'readUnits.workflow': between(1, 1 + threads),
  'readUnits.head': between(1, threads + 1),
  'readUnits.commits': between(1, maxLogReads),
});

/** Branches that commit themselves lose puts to each other: the last of n at most n - 1. */
const directBranches = 8;
const maxLostPuts = (directBranches * (directBranches - 1)) / 2;
const collectedBranches = 100;
/** As the widest fan-out that is still one join. */
const wideBranches = 1_000;

export const scenarios: readonly Scenario[] = [
  { name: 'chain-10', workflow: chain(10), ends: 'completed', bounds: commonBounds },
  { name: 'chain-100', workflow: chain(100), ends: 'completed', bounds: commonBounds },
  { name: 'chain-1000', workflow: chain(1_000), ends: 'completed', bounds: commonBounds },
  { name: 'chain-10-with-ends', workflow: chainWithEnds(10), ends: 'completed', bounds: commonBounds },
  { name: 'code-10', workflow: codeChain(10), ends: 'completed', bounds: codeBounds },
  { name: 'code-100', workflow: codeChain(100), ends: 'completed', bounds: { ...codeBounds, ...snapshots(4, 6) } },
  { name: 'code-1000', workflow: codeChain(1_000), ends: 'completed', bounds: { ...codeBounds, ...snapshots(48, 54) } },
  { name: 'code-10-together', workflow: codeTogether(10), ends: 'completed', bounds: codeBounds },
  // until it sleeps: what wakes it is the schedule, and 20 minutes later
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
    // as a hundred functions end together on AWS, which four threads on two cores cannot
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
      // Measured 15 to 22; how results fall into batches is the machine's doing, and a loaded one scatters them more.
      'writeUnits.commits': between(11, 40),
      'commits.won': between(11, 40),
      'invocations.collect': between(10, 40),
      'queueRequests.receive results queue': between(10, 40),
      'queueRequests.delete results queue': between(10, 40),
      'emptyReceives.of any queue': between(0, 4 * collectedBranches),
    },
  },
];

/** Counted apart from the others: what takes its time by itself, and a pass of a loop at a time. */
export const slowScenarios: readonly Scenario[] = [
  { name: 'loop-10', workflow: looped(10), ends: 'completed', bounds: commonBounds },
  { name: 'loop-100', workflow: looped(100), ends: 'completed', bounds: commonBounds },
  {
    name: 'loop-1000',
    workflow: looped(1_000),
    ends: 'completed',
    isCold: true,
    // The commits that put results away hold more than one unit, and pack a little better or worse.
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

/**
 * The bill of one run of the scenario in a warm cloud: its workflow has run once before. Nothing else may run meanwhile.
 */
export async function count(bench: BenchCloud, { name, workflow, ends, lens, isCold, heldResults }: Scenario): Promise<Bill> {
  if (lens !== undefined) await bench.publishLens(lens);
  await bench.publish(workflow);
  if (isCold !== true) await bench.waitUntilIdle(await bench.start(workflow, `${name}-warm`));
  const from = bench.calls;
  const release = heldResults === undefined ? undefined : bench.holdResults(heldResults);
  const runId = await bench.start(workflow, `${name}-counted`);
  const status = await bench.waitUntilIdle(runId);
  release?.();
  if (status !== ends) throw new Error(`a run of ${name} is ${status}, and should be ${ends}`);
  return bench.bill(runId, from);
}
