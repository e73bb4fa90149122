/** Scenarios of packs: fixed chains of scripts in which a pack ends in each of its ways, and the property that must hold then. */
import { fairSharesOf, TimeSliceExceeded } from '../../lib/engine/fair-shares.ts';
import { firstCommit } from '../../lib/engine/ids.ts';
import { type Commit, maxPackAge } from '../../lib/engine/log/commit.ts';
import { type DurationMs, type Instant, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { type Topology, finishedWith, names, takes } from '../conformance/topology.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type CrashRun, type CrashRunOptions, type FixedWorkflow, crashRun } from './crash-run.ts';
import { noFaults } from './faults.ts';
import { packedTopology } from './fixed-topologies.ts';
import type { CodeWorkflow, Part } from './random-code.ts';
import { simulate } from './simulation.ts';
import { runInvariant } from './violation.ts';

/** A run without a crash must not wait for a heartbeat timeout or a sweep. */
const longestCalmMs = seconds(10);

/** A chain of scripts `n0`, `n1` … behind a start node. */
function scripts(count: number, ms: number, more: Partial<Topology> = {}): FixedWorkflow {
  const ids = names(count, 'n');
  return packedTopology({
    name: `scripts-${count}-of-${ms}-ms`,
    description: 'Scripts in a row whose results share commits.',
    edges: [['start', ...ids].join(' -> ')],
    replies: Object.fromEntries(ids.map((id) => [id, takes(durationMs(ms), finishedWith(id))])),
    verify: () => {},
    ...more,
  });
}

interface SeenCommit extends Pick<Commit, 'number' | 'events'> {
  readonly decidedAt: Instant;
  /** when it was stored */
  readonly at: Instant;
}

const completedIn = ({ events }: Pick<Commit, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'NODE_COMPLETED' && event.nodeId !== 'start' ? [event.nodeId] : []));

/** Plays a chain. @throws a violation if it does not complete as soon as its scripts allow */
async function play(
  chain: FixedWorkflow,
  options: CrashRunOptions = {},
  { ends = 'completed', workMs }: { readonly ends?: string; readonly workMs: number },
): Promise<CrashRun & { readonly seen: readonly SeenCommit[] }> {
  const seen: SeenCommit[] = [];
  const run = await crashRun(chain, {
    ...options,
    onCommit: ({ number, events, at }, now) => void seen.push({ number, events, decidedAt: at, at: now }),
  });
  const tookMs = (seen.at(-1)?.at ?? 0) - (seen[0]?.at ?? 0);
  runInvariant(5, run.result.status === ends, `${chain.name} ended as ${run.result.status}, and not as ${ends}`);
  runInvariant(5, tookMs <= workMs + longestCalmMs, `${chain.name} took ${tookMs} ms, and its scripts take ${workMs} ms`);
  return { ...run, seen };
}

/** The put of a commit and its retries. */
const putMs = 250;

/** @throws a violation where watchers see a result later than the age of a pack allows */
async function aPackThatGetsOld(): Promise<void> {
  for (const ms of [1, 40, 100, 240]) {
    const { seen } = await play(scripts(40, ms), {}, { workMs: 40 * ms });
    const later = seen.filter(({ number }) => number > firstCommit);
    runInvariant(5, later.length < 40, `no result of 40 scripts shared its commit: ${later.length} commits`);
    for (const { events, at } of later)
      for (const event of events) {
        if (event.type !== 'NODE_COMPLETED' || event.endedAt === undefined) continue;
        const heldMs = at - event.endedAt;
        runInvariant(12, heldMs <= maxPackAge + putMs, `the result of ${event.nodeId} was held back for ${heldMs} ms`);
      }
  }
}

/** @throws a violation where a pack continues although its events are long */
async function aPackThatGetsLong(): Promise<void> {
  const text = 'x'.repeat(20_000);
  const ids = names(16, 'n');
  const replies = Object.fromEntries(ids.map((id) => [id, finishedWith(text)]));
  const { seen } = await play(scripts(16, 0, { replies }), {}, { workMs: 0 });
  // Four of them exceed 64 KB.
  for (const commit of seen) {
    const { length } = completedIn(commit);
    runInvariant(12, length <= 4, `commit ${commit.number} has ${length} results of 20 KB each`);
  }
}

/** @throws a violation where a pack is committed after the deadline of its run */
async function aDeadlineInThePack(): Promise<void> {
  const deadlineSeconds = 10;
  let drafted = 0;
  for (let ms = 9_400; ms < 10_000; ms += 30) {
    const ids = names(30, 'n');
    const replies = Object.fromEntries(ids.map((id, at) => [id, takes(durationMs(at === 0 ? ms : 31), finishedWith(id))]));
    let deadlineAt = Infinity;
    const planted = (world: Deps): Deps => ({
      ...world,
      log: overrideMethods(world.log, {
        create: (run) => {
          deadlineAt = run.deadlineAt;
          return world.log.create(run);
        },
      }),
    });
    const chain = scripts(30, ms, { replies, options: { deadlineSeconds } });
    const { seen, report } = await play(chain, { planted }, { ends: 'failed', workMs: deadlineSeconds * 1_000 });
    drafted += report.packed;
    const late = seen.filter(({ decidedAt }) => decidedAt >= deadlineAt).flatMap(completedIn);
    runInvariant(5, late.length === 0, `the results of ${late.join(', ')} were recorded after the deadline`);
  }
  runInvariant(5, drafted > 0, 'no pack was open at the deadline');
}

/** @throws a violation where the attempt of a dropped pack continues */
async function aCancellationInThePack(): Promise<void> {
  let now: () => number = () => 0;
  let [cancelledAt, stoppedAt] = [0, Infinity];
  const chain = scripts(3, 5, {
    nodes: { n1: { timeoutSeconds: 840 } },
    replies: {
      n0: takes(durationMs(5)),
      n1: async ({ lasts }) => {
        await lasts(minutes(10));
        stoppedAt = now();
        return finishedWith('n1');
      },
    },
    actions: async ({ start, advanceTime, cancel, finish }) => {
      await start();
      await advanceTime(durationMs(120));
      await cancel();
      cancelledAt = now();
      await finish();
    },
  });
  const { seen } = await play(
    chain,
    { planted: (world, time) => ((now = () => time.now), world) },
    { ends: 'cancelled', workMs: 1_000 },
  );
  runInvariant(
    4,
    seen.every((commit) => completedIn(commit).length === 0),
    'the pack of a cancelled run was committed',
  );
  const lateMs = stoppedAt - cancelledAt;
  runInvariant(12, lateMs <= longestCalmMs, `an attempt continued for ${lateMs} ms after its run was cancelled`);
}

/** Before the first pack of a worker, the sweep records a recovery. */
const recoveredFirst =
  (onDrop: () => void) =>
  (world: Deps): Deps => {
    let isFirst = true;
    return {
      ...world,
      log: overrideMethods(world.log, {
        put: async (run, commit, expiresAt) => {
          if (isFirst && commit.by === 'worker' && completedIn(commit).length > 1) {
            isFirst = false;
            onDrop();
            const recovered: Commit = {
              ...commit,
              events: [{ type: 'RUN_RECOVERED', nodes: ['n0'] }],
              by: 'sweep',
              nonce: world.ids.nonce(),
            };
            await world.log.put(run, recovered, expiresAt);
          }
          return world.log.put(run, commit, expiresAt);
        },
      }),
    };
  };

/** @throws a violation where a run stalls after another writer's commit dropped a pack */
async function anotherWriterBeforeThePack(): Promise<void> {
  // The pack of the short chain is committed at the end of the run, and that of the long one during an attempt.
  for (const count of [5, 30]) {
    let dropped = 0;
    const planted = recoveredFirst(() => (dropped += 1));
    const { seen } = await play(scripts(count, 40), { planted }, { workMs: 2 * count * 40 });
    runInvariant(5, dropped === 1, 'no pack was dropped');
    const completed = seen.flatMap(completedIn);
    runInvariant(4, completed.join() === names(count, 'n').join(), `the results are those of ${completed.join(', ')}`);
  }
}

/** @throws a violation where the result that ends a pack is lost, because what follows from it needs a value from the bucket */
async function aResultThatNeedsAStoredValue(): Promise<void> {
  const input = { text: 'x'.repeat(400_000) };
  const end = { outputParameters: [{ name: 'text', sourceVariable: '{{ctx.input.text}}' }] };
  const ids = names(3, 'n');
  const chain = scripts(3, 5, { input, edges: [['start', ...ids, 'end'].join(' -> ')], nodes: { end } });
  const { result, report } = await play(chain, {}, { workMs: 15 });
  runInvariant(12, report.executions === ids.length, `${ids.length} scripts were executed ${report.executions} times`);
  runInvariant(4, result.output === JSON.stringify(input), `the output has ${result.output.length} characters`);
}

/** @throws a violation where the results before a script that spends its slice are lost, or where a slow lane runs several nodes */
async function aSliceSpentInAPack(): Promise<void> {
  const slow = new Set(['n2', 'n3']);
  const lanes: string[][] = [];
  let spent = 0;
  const plain = scripts(6, 5);
  const chain: FixedWorkflow = {
    ...plain,
    attempts: (process) => {
      const ran: string[] = [];
      lanes.push(ran);
      return async ({ id }, _input, { timeSlice, signal }) => {
        if (slow.has(id) && timeSlice !== undefined) {
          await process.sleep(timeSlice, signal);
          spent += 1;
          throw new TimeSliceExceeded();
        }
        ran.push(id);
        await process.sleep(durationMs(slow.has(id) ? 2_000 : 5), signal);
        return { outcome: finishedWith(id), printed: [] };
      };
    },
  };
  const planted = (world: Deps): Deps => ({ ...world, settings: { ...world.settings, shares: fairSharesOf(4, 100) } });
  const { seen } = await play(chain, { planted }, { workMs: 6_000 });
  runInvariant(4, seen.flatMap(completedIn).join() === names(6, 'n').join(), 'a node has no result, or more than one');
  runInvariant(12, spent >= slow.size, `${spent} slices were spent`);
  for (const ran of lanes)
    runInvariant(12, !slow.has(ran[0] ?? '') || ran.length === 1, `a job in the slow lane ran ${ran.join(', ')}`);
}

/** @throws a violation where a worker continues a row of packs beyond its own time */
async function moreScriptsThanTheTimeOfAWorker(): Promise<void> {
  const workMs: DurationMs = minutes(20);
  const count = 20;
  const ids = names(count, 'n');
  const nodes = Object.fromEntries(ids.map((id) => [id, { timeoutSeconds: 120 }]));
  const { report } = await play(scripts(count, workMs / count, { nodes }), {}, { workMs });
  runInvariant(12, report.outOfTime === 0, `${report.outOfTime} workers reached the time limit of their function`);
}

const idempotentStep = (ms: number): Part => ({
  kind: 'step',
  ms,
  failures: 0,
  mostAttempts: 1,
  hasRollback: false,
  isIdempotent: true,
});

const codeOf = (name: string, part: Part): CodeWorkflow => ({ name, mostAttempts: 1, isIdempotent: false, part });

/** Some clients of these seeds wake or cancel the run, and others do not. */
const codeSeeds = [1, 2, 3, 4, 5, 6];

/**
 * The wait ends after five seconds. The worker reads that after six, when the step has ended and its result would be held back.
 * @throws a violation where the code gets a result before a wait that the log has before it
 */
async function aWaitThatEndsBeforeAPackOfSteps(): Promise<void> {
  const row: Part = { kind: 'seq', parts: [idempotentStep(5_850), idempotentStep(400), idempotentStep(400)] };
  const wait: Part = { kind: 'seq', parts: [{ kind: 'sleep', ms: 4_900 }, idempotentStep(400)] };
  const both = codeOf('row-and-wait', { kind: 'all', parts: [row, wait] });
  for (const seed of codeSeeds) await simulate({ seed, rates: noFaults, codes: [both], runs: 1 });
}

/** @throws a violation where watchers see the result of a step later than the age of a pack allows */
async function aPackOfStepsThatGetsOld(): Promise<void> {
  let shared = 0;
  for (const ms of [1, 40, 240]) {
    const row = codeOf('row', { kind: 'seq', parts: Array.from({ length: 40 }, () => idempotentStep(ms)) });
    const { packed } = await simulate({
      seed: 1,
      rates: noFaults,
      codes: [row],
      runs: 1,
      onCommit: (_run, { events }, now) => {
        for (const event of events) {
          if (event.type !== 'NODE_COMPLETED' || !event.nodeId.startsWith('work-') || event.endedAt === undefined) continue;
          const heldMs = now - event.endedAt;
          runInvariant(12, heldMs <= maxPackAge + putMs, `the result of ${event.nodeId} was held back for ${heldMs} ms`);
        }
      },
    });
    shared += packed;
  }
  runInvariant(12, shared > 60, `of 120 steps, ${shared} began before their commit`);
}

export const packScenarios = {
  'a pack that gets old': aPackThatGetsOld,
  'a pack that gets long': aPackThatGetsLong,
  'a deadline in a pack': aDeadlineInThePack,
  'a cancellation in a pack': aCancellationInThePack,
  'another writer before a pack': anotherWriterBeforeThePack,
  'a pack whose last result needs a stored value': aResultThatNeedsAStoredValue,
  'a slice that is spent in a pack': aSliceSpentInAPack,
  'a pack of steps that gets old': aPackOfStepsThatGetsOld,
  'a wait that ends before a pack of steps': aWaitThatEndsBeforeAPackOfSteps,
  'more scripts than the time of a worker': moreScriptsThanTheTimeOfAWorker,
} as const;
