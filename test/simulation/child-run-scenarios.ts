/** Scenarios of child runs: properties of two logs that no common write covers. */
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type DurationMs, durationMs, hours, minutes } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type FixedWorkflow, crashRun } from './crash-run.ts';
import { noFaults } from './faults.ts';
import { fixedTopology } from './fixed-topologies.ts';
import { type CodeWorkflow, leafNames } from './random-code.ts';
import { simulate } from './simulation.ts';
import type { VirtualTime } from './virtual-time.ts';
import { runInvariant } from './violation.ts';
import { simulationStart } from './simulated-ports.ts';

const crowdOfCalls: CodeWorkflow = {
  name: 'crowd-of-calls',
  mostAttempts: 1,
  isIdempotent: false,
  part: { kind: 'all', parts: Array.from({ length: 12 }, () => ({ kind: 'child', name: leafNames.graph, ms: 0 })) },
};

/** Five deliveries, a minute apart each, and a minute for what is then told. */
const longestUncollectedMs = minutes(10);

/** @throws a violation where the parent of many child runs is not notified of their ends because the collector cannot read one of them */
export async function uncollectableChildResults(): Promise<void> {
  const open = new Set<string>();
  const called = new Set<string>();
  let now = (): number => simulationStart;
  await simulate({
    seed: 7,
    rates: noFaults,
    runs: 1,
    codes: [crowdOfCalls],
    planted: (world, time) => {
      now = () => time.now;
      return world;
    },
    observed: (by, reached) => {
      const isOver = open.size === 0 || now() <= simulationStart + longestUncollectedMs;
      runInvariant(5, isOver, `${open.size} runs have waited for the ends of their child runs for ${now() - simulationStart} ms`);
      if (by !== 'collect') return reached;
      const head: Deps['log']['head'] = async (run) => {
        if (called.has(run.runId)) throw new Unavailable('a log');
        return reached.log.head(run);
      };
      return { ...reached, log: overrideMethods(reached.log, { head }) };
    },
    onCommit: ({ runId }, { events }) => {
      for (const event of events) {
        if (event.type === 'RUN_STARTED') open.add(runId);
        if (event.type === 'RUN_COMPLETED') open.delete(runId);
        if (event.type === 'SUBFLOW_CALLED') called.add(event.childRunId);
      }
    },
  });
  runInvariant(5, called.size > 0, 'no child run was started');
}

const callsBriefly: FixedWorkflow = fixedTopology({
  name: 'calls-briefly',
  description: 'A run that is made when its caller had left ends, because the sweep sees that.',
  edges: ['start -> call -> next', 'call/error -> rescue'],
  nodes: { call: { type: 'subflow', workflowName: 'endless', expiresInSeconds: 60 } },
  calls: [
    {
      name: 'endless',
      edges: ['begin -> wait'],
      // This signal is never sent.
      nodes: { begin: { type: 'start' }, wait: { type: 'signal', name: 'paid', correlation: 'order-9' } },
    },
  ],
  verify: () => {},
});

/** Long after the parent has ended and has notified its child runs. */
const latePut = minutes(3);

const isCalled = ({ events }: Commit): boolean =>
  events.some((event) => event.type === 'SYSTEM_SET' && event.key === '__calledBy');

type Log = Deps['log'];

/** The creator of a child run pauses for this time before it writes the run. */
const withLateCalls = (log: Log, time: VirtualTime, late: DurationMs, beforeIt: (runId: string) => void): Log =>
  overrideMethods(log, {
    create: async (run) => {
      if (!isCalled(run.commit)) return log.create(run);
      await new Promise<void>((resolve) => time.in(late, resolve));
      beforeIt(run.address.runId);
      return log.create(run);
    },
  });

/** @throws a violation where no sweep checks a run whose creator paused before it wrote the run and could not send its message */
export async function lateChildRun(): Promise<void> {
  const late = new Map<string, number>();
  await crashRun(callsBriefly, {
    planted: (world, time) => ({
      ...world,
      log: withLateCalls(world.log, time, minutes(10), (runId) => void late.set(runId, time.now)),
      jobs: overrideMethods(world.jobs, {
        send: async (jobs) => {
          if (jobs.some(({ run: { runId } }) => late.get(runId) === time.now)) throw new Unavailable('jobs.send');
          return world.jobs.send(jobs);
        },
      }),
    }),
  });
  runInvariant(5, late.size > 0, 'no child run was created late');
}

/** @throws a violation where a child run continues that was created after its parent had ended */
export async function orphanedChildRun(): Promise<void> {
  let hasLeft = false;
  let made = 0;
  await crashRun(callsBriefly, {
    planted: (world, time) => ({
      ...world,
      log: withLateCalls(world.log, time, latePut, () => void (made += hasLeft ? 1 : 0)),
    }),
    onCommit: ({ events }) => {
      hasLeft ||= events.some(({ type }) => type === 'RUN_COMPLETED');
    },
  });
  runInvariant(5, made > 0, 'no child run was created after its parent ended');
}

const childTakes = hours(2);

const callsAtLength: FixedWorkflow = fixedTopology({
  name: 'calls-at-length',
  description: 'A run continues after the end of its child run, although the message about that end is lost.',
  edges: ['start -> call -> next'],
  nodes: { call: { type: 'subflow', workflowName: 'sleeper' } },
  calls: [
    {
      name: 'sleeper',
      edges: ['begin -> nap'],
      nodes: { begin: { type: 'start' }, nap: { type: 'delay', delayMinutes: childTakes / minutes(1) } },
    },
  ],
  verify: () => {},
});

/** A wait of two hours is checked every two hours, and the sweep that notices it comes minutes later. */
const longestUntold = durationMs(childTakes + minutes(10));

/** @throws a violation where a wait for a child run is checked while the child run is at work, and never again */
export async function lostChildEnd(): Promise<void> {
  let lost = 0;
  let [childEndedAt, toldAt] = [Infinity, Infinity];
  const failed = new Set<string>();
  /** The worker of the called run could commit the end itself. It fails before that, so that it sends a message. */
  const failsOnce = (call: string): void => {
    if (childEndedAt === Infinity || failed.has(call)) return;
    failed.add(call);
    throw new Unavailable(call);
  };
  await crashRun(callsAtLength, {
    planted: (world) => ({
      ...world,
      index: overrideMethods(world.index, {
        markDue: async (entry) => {
          failsOnce('index.markDue');
          return world.index.markDue(entry);
        },
      }),
      jobs: overrideMethods(world.jobs, {
        sendDelayed: async (job, delay, hops) => {
          if (job.kind === 'recheck') failsOnce('jobs.sendDelayed');
          const isOfEnd = job.kind === 'child' && childEndedAt < Infinity;
          if (!isOfEnd || lost > 0) return world.jobs.sendDelayed(job, delay, hops);
          lost += 1;
        },
      }),
    }),
    onCommit: ({ events }, now) => {
      for (const event of events) {
        if (event.type === 'RUN_COMPLETED') childEndedAt = Math.min(childEndedAt, now);
        if (event.type === 'NODE_COMPLETED' && event.nodeId === 'call') toldAt = now;
      }
    },
  });
  runInvariant(5, lost === 1, 'no message about the end of a child run was lost');
  runInvariant(
    5,
    toldAt - childEndedAt <= longestUntold,
    `a run continued ${toldAt - childEndedAt} ms after its child run ended`,
  );
}
