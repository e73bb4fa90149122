/** Scenarios: workflows with situations that seeds rarely draw, and the property that must hold for a crash at any call. */
import { commitNo, firstCommit } from '../../lib/engine/ids.ts';
import { durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { failedWith, finishedWith, singleAttempt, takes } from '../conformance/topology.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { aCallBesideOtherWork, aCallInPlace } from './calls-in-place-scenarios.ts';
import { type CrashRunOptions, type FixedWorkflow, crashRun } from './crash-run.ts';
import { noFaults } from './faults.ts';
import { fixedTopology } from './fixed-topologies.ts';
import type { CodeWorkflow } from './random-code.ts';
import { lateChildRun, lostChildEnd, orphanedChildRun, uncollectableChildResults } from './child-run-scenarios.ts';
import {
  aCrashWhileADeadlineIsExtended,
  aLongLogThatOutlivesItsFirstExpiry,
  aRetentionMessageThatIsLost,
} from './long-wait-scenarios.ts';
import { aRerunFromAStep } from './rerun-scenarios.ts';
import { aSignalThatIsSentAgain, aSignalWhoseWaitEndsFirst } from './signal-scenarios.ts';
import { devKitScenarios } from './devkit/devkit-scenarios.ts';
import { manyUncollectableChildResults, redeliveriesDuringLongWork } from './message-flood-scenarios.ts';
import { packScenarios } from './pack-scenarios.ts';
import { simulate } from './simulation.ts';
import { runInvariant } from './violation.ts';

/** From a worker crash until its node starts again: a heartbeat timeout of 100 s, the next check and the sweep (invariant 5). */
const maxStallMs = minutes(3);

const quick = seconds(3);
/** The crashed attempt and its repetition take this long in addition. */
const longestMs = durationMs(maxStallMs + 2 * quick);

const besideOneAtWork: FixedWorkflow = fixedTopology({
  name: 'beside-one-at-work',
  description: 'A branch whose worker dies is begun again while the other is still at work.',
  edges: ['start -> slow -> join', 'start -> quick -> join'],
  nodes: { slow: { timeoutSeconds: 840 } },
  replies: { slow: takes(minutes(12)), quick: takes(quick) },
  verify: () => {},
});

/** The longest delay of the quick branch by a crash. */
async function judgeBranches(options: CrashRunOptions = {}): Promise<number> {
  let dispatchedAt: number | undefined;
  let longest = 0;
  await crashRun(besideOneAtWork, {
    ...options,
    onCommit: ({ events }, now) => {
      for (const event of events) {
        if (!('nodeId' in event) || event.nodeId !== 'quick') continue;
        if (event.type === 'NODE_DISPATCHED') dispatchedAt = now;
        if (event.type === 'NODE_COMPLETED' && dispatchedAt !== undefined) longest = now - dispatchedAt;
      }
    },
  });
  return longest;
}

/** @throws a violation where a crashed branch waits for the other one */
async function aDeadBranchBesideOneAtWork(): Promise<void> {
  const { calls } = await crashRun(besideOneAtWork);
  for (let call = 1; call <= calls.length; call += 1) {
    const tookMs = await judgeBranches({ crashPoints: [{ call, kind: 'crashAfter' }] });
    runInvariant(
      5,
      tookMs <= longestMs,
      `a branch took ${tookMs} ms beside a running one; its worker crashed after call ${call}`,
    );
  }
}

const limitSeconds = 60;

const exceedsItsLimit: FixedWorkflow = fixedTopology({
  name: 'exceeds-its-limit',
  description: 'An attempt that would take ten minutes is aborted at its time limit of one.',
  edges: ['start -> slow -> after'],
  nodes: { slow: { timeoutSeconds: limitSeconds, ...singleAttempt } },
  replies: { slow: takes(minutes(10)) },
  verify: () => {},
});

/** The grace after the limit, and the calls that commit the failure. */
const longestPastLimitMs = seconds(10);

/** @throws a violation where an attempt continues after its time limit */
async function anAttemptThatExceedsItsTimeLimit(): Promise<void> {
  let [begunAt, endedAt] = [0, Infinity];
  await crashRun(exceedsItsLimit, {
    onCommit: ({ events }, now) => {
      for (const event of events) {
        if (!('nodeId' in event) || event.nodeId !== 'slow') continue;
        if (event.type === 'NODE_DISPATCHED') begunAt = now;
        if (event.type === 'NODE_FAILED' || event.type === 'NODE_COMPLETED') endedAt = now;
      }
    },
  });
  const pastMs = endedAt - begunAt - limitSeconds * 1_000;
  runInvariant(12, pastMs <= longestPastLimitMs, `an attempt continued for ${pastMs} ms after its time limit`);
}

const endsBesideAnIteration: FixedWorkflow = fixedTopology({
  name: 'ends-beside-an-iteration',
  description: 'A failed item ends the loop while another item is at work. The result of that one comes while the run continues.',
  edges: ['start -> l', 'l/loop -> item', 'l/error -> rescue'],
  nodes: {
    l: { type: 'loop', sourceVariable: '{{ctx.input.items}}', concurrency: 2 },
    item: { timeoutSeconds: 840, ...singleAttempt },
    rescue: { timeoutSeconds: 840 },
  },
  input: { items: [0, 1] },
  replies: {
    item: async ({ iteration, lasts }) => {
      if (iteration === 'l[0]') {
        await lasts(quick);
        return failedWith('invalid');
      }
      await lasts(minutes(2));
      return finishedWith(iteration);
    },
    rescue: takes(minutes(5)),
  },
  verify: () => {},
});

/** @throws a violation where an iteration of an ended loop stays open, and its result is recorded */
async function aLoopThatEndsBesideAnIteration(): Promise<void> {
  const { result } = await crashRun(endsBesideAnIteration);
  runInvariant(4, result.status === 'completed', `a run whose loop failed beside an iteration at work is ${result.status}`);
}

/** A change of a run schedules its check after two minutes, and the sweep runs once per minute. */
const longestUntoldMs = minutes(4);

/** @throws a violation where no sweep checks a run that got a signal and whose messages are lost */
async function aSignalWhoseMessagesAreLost(): Promise<void> {
  let isLost = false;
  let [givenAt, tookMs] = [0, Infinity];
  const toldWhileItWaits = fixedTopology({
    name: 'told-while-it-waits',
    description: 'A run that waits for a day and is given its signal goes on, though every message about it is lost.',
    edges: ['start -> wait -> after'],
    nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-9', expiresInSeconds: 86_400 } },
    actions: async ({ start, settle, advanceTime, send, finish }) => {
      await start();
      await settle();
      // Until the run has no check for a while.
      await advanceTime(minutes(30));
      isLost = true;
      await send('paid', 5, { correlation: 'order-9' });
      isLost = false;
      await finish();
    },
    verify: () => {},
  });
  await crashRun(toldWhileItWaits, {
    planted: (world) => ({
      ...world,
      jobs: overrideMethods(world.jobs, {
        send: async (jobs) => (isLost ? undefined : world.jobs.send(jobs)),
        sendDelayed: async (job, delay) => (isLost ? undefined : world.jobs.sendDelayed(job, delay)),
      }),
    }),
    onCommit: ({ events }, now) => {
      for (const event of events) {
        if (event.type === 'SIGNAL_RECEIVED') givenAt = now;
        if (event.type === 'NODE_COMPLETED' && event.nodeId === 'after') tookMs = now - givenAt;
      }
    },
  });
  runInvariant(5, tookMs <= longestUntoldMs, `a run with a new signal continued after ${tookMs} ms`);
}

const entersItsWait: FixedWorkflow = fixedTopology({
  name: 'enters-its-wait',
  description: 'A signal that lies there before its wait begins is given to it, wherever the worker that begins the wait dies.',
  edges: ['start -> nap -> wait -> paid', 'wait/expired -> reminder'],
  nodes: {
    nap: { type: 'delay', delayMinutes: 30 },
    // The wait expires before the message of a crashed worker is redelivered, and before the sweep checks the run.
    wait: { type: 'signal', name: 'paid', correlation: 'order-9', expiresInSeconds: 60, onExpiry: 'continue' },
  },
  actions: async ({ start, settle, send, finish }) => {
    await start();
    await settle();
    await send('paid', 5, { correlation: 'order-9' });
    await finish();
  },
  verify: () => {},
});

/** @throws a violation where a wait expires although its signal was stored */
async function aWaitThatItsWorkerDoesNotEnter(): Promise<void> {
  const { calls, result } = await crashRun(entersItsWait);
  for (let call = 1; call <= calls.length; call += 1) {
    const { nodes } = (await crashRun(entersItsWait, { crashPoints: [{ call, kind: 'crashAfter' }] })).result;
    runInvariant(11, nodes === result.nodes, `a wait did not get the stored signal; its worker crashed after call ${call}`);
  }
}

/** The time for which the signal store is unavailable, and the limit for the delivery of the stored signal after it. */
const outMs = minutes(10);
const longestOverdueMs = minutes(3);

/** @throws a violation where only the expiry timer gives an expired wait its signal */
async function aWaitWhoseWakesAreLost(): Promise<void> {
  const isOfWait = (job: Job): boolean => job.kind === 'wake' && job.nodeId === 'wait';
  let [begunAt, givenAt] = [0, Infinity];
  await crashRun(entersItsWait, {
    chaos: { seed: 7, rates: { ...noFaults, lostTimer: 1 } },
    planted: (world, time) => ({
      ...world,
      jobs: overrideMethods(world.jobs, {
        sendDelayed: async (job, delay) => (isOfWait(job) ? undefined : world.jobs.sendDelayed(job, delay)),
      }),
      signals: overrideMethods(world.signals, {
        addWaiter: async (...wait) => {
          begunAt = begunAt === 0 ? time.now : begunAt;
          if (time.now < begunAt + outMs) throw new Unavailable('the signal store');
          return world.signals.addWaiter(...wait);
        },
      }),
    }),
    onCommit: ({ events }, now) => {
      if (events.some(({ type }) => type === 'SIGNAL_RECEIVED')) givenAt = now;
    },
  });
  const overdueMs = givenAt - begunAt - outMs;
  runInvariant(
    11,
    overdueMs <= longestOverdueMs,
    `a signal was delivered ${overdueMs} ms after the signal store was available again`,
  );
}

const waitSeconds = 30_000;
/** The sweep sends a delayed recheck for the deadline of a waiting run. */
const longestBehindDeadlineMs = seconds(5);

const waitsForNothing: FixedWorkflow = fixedTopology({
  name: 'waits-for-nothing',
  description: 'A run that waits for a signal which nobody sends ends at its deadline.',
  edges: ['start -> wait -> after'],
  nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-9' } },
  options: { deadlineSeconds: waitSeconds },
  verify: () => {},
});

/** @throws a violation where a waiting run with a lost timer ends late because the checks of its wait are too far apart */
async function aRunThatWaitsPastItsDeadline(): Promise<void> {
  let [startedAt, endedAt] = [0, Infinity];
  await crashRun(waitsForNothing, {
    // Otherwise the timer of the wait would end the run.
    chaos: { seed: 7, rates: { ...noFaults, lostTimer: 1 } },
    onCommit: ({ number, events }, now) => {
      if (number === firstCommit) startedAt = now;
      if (events.some(({ type }) => type === 'RUN_TIMED_OUT')) endedAt = now;
    },
  });
  const lateMs = endedAt - startedAt - waitSeconds * 1_000;
  runInvariant(5, lateMs <= longestBehindDeadlineMs, `a waiting run ended ${lateMs} ms after its deadline`);
}

const naps: FixedWorkflow = fixedTopology({
  name: 'naps',
  description: 'A run whose head is shown as waiting, and as completed when it has ended, whichever of both lands first.',
  edges: ['start -> nap -> after'],
  nodes: { nap: { type: 'delay', delayMinutes: 120 } },
  verify: () => {},
});

/** @throws a violation where a late projection overwrites the end in the head */
async function aProjectionThatLandsLate(): Promise<void> {
  let landed = 0;
  await crashRun(naps, {
    planted: (world) => ({
      ...world,
      log: overrideMethods(world.log, {
        project: async (run, projection) => {
          await world.log.project(run, projection);
          if (projection.status !== 'completed') return;
          // A projection that a sweep started while the run slept.
          await world.log.project(run, { status: 'running', asOf: commitNo(projection.asOf - 1), attention: 'waiting' });
          landed += 1;
        },
      }),
    }),
  });
  runInvariant(5, landed > 0, 'no end was projected');
}

const besideLongStep: CodeWorkflow = {
  name: 'beside-a-long-step',
  mostAttempts: 1,
  isIdempotent: false,
  part: {
    kind: 'all',
    parts: [
      { kind: 'step', ms: 200_000, failures: 0, mostAttempts: 1, hasRollback: false },
      {
        kind: 'seq',
        parts: [
          { kind: 'sleep', ms: 20_000 },
          { kind: 'step', ms: 5, failures: 0, mostAttempts: 1, hasRollback: false },
        ],
      },
    ],
  },
};

/** A workflow task checks every three seconds for new commits and then commits the next command batch. */
const longestUnheardMs = seconds(10);

/** @throws a violation where the code receives the end of its delay only when a concurrent step ends */
async function aSleepThatEndsBesideAStepAtWork(): Promise<void> {
  const endedAt = new Map<string, number>();
  let heard = 0;
  await simulate({
    seed: 7,
    rates: noFaults,
    codes: [besideLongStep],
    onCommit: ({ runId }, { events, at }) => {
      for (const event of events) {
        if (event.type === 'NODE_COMPLETED' && event.nodeId === 'nap-0.1.0') endedAt.set(runId, at);
        if (event.type !== 'NODE_DISPATCHED' || event.nodeId !== 'work-0.1.1') continue;
        const unheardMs = at - (endedAt.get(runId) ?? 0);
        runInvariant(
          5,
          unheardMs <= longestUnheardMs,
          `the code of ${runId} received the end of its delay after ${unheardMs} ms`,
        );
        heard += 1;
      }
    },
  });
  runInvariant(5, heard > 0, 'no delay has ended');
}

const besideOverdueTask: CodeWorkflow = {
  name: 'beside-an-overdue-task',
  mostAttempts: 1,
  isIdempotent: false,
  part: {
    kind: 'all',
    parts: [
      // After the fifth failure it is retried 16 s later, by a workflow task of its own.
      { kind: 'step', ms: 5, failures: 6, mostAttempts: 10, hasRollback: false },
      {
        kind: 'seq',
        parts: [
          { kind: 'sleep', ms: 20_000 },
          { kind: 'step', ms: 400_000, failures: 0, mostAttempts: 1, hasRollback: false },
        ],
      },
    ],
  },
};

/** @throws a violation where the sweep takes a workflow task for lost that waits for the task of its run at work */
async function aWorkflowTaskThatWaitsForAnother(): Promise<void> {
  const openTasks = new Set<string>();
  let waitedUntilTheEnd = 0;
  await simulate({
    seed: 7,
    rates: noFaults,
    codes: [besideOverdueTask],
    code: 1,
    runs: 1,
    onCommit: (_run, { events }) => {
      for (const event of events) {
        if (event.type === 'NODE_DISPATCHED' && event.nodeId.startsWith('.workflow-task')) openTasks.add(event.nodeId);
        if (event.type === 'NODE_COMPLETED') openTasks.delete(event.nodeId);
        if (event.type === 'RUN_COMPLETED') waitedUntilTheEnd = openTasks.size;
      }
    },
  });
  runInvariant(5, waitedUntilTheEnd > 0, 'no workflow task waited for another one until its run ended');
}

/** The number of puts that a start retries by itself. */
const mostPuts = 6;

/** @throws a violation where one key creates two runs: the first was created, and its response was lost */
async function aStartThatNobodyIsToldOf(): Promise<void> {
  let unheard = mostPuts;
  await simulate({
    seed: 7,
    rates: noFaults,
    planted: (world) => ({
      ...world,
      log: overrideMethods(world.log, {
        create: async (run) => {
          const created = await world.log.create(run);
          if (unheard === 0) return created;
          unheard -= 1;
          throw new Unavailable('the response of a log');
        },
      }),
    }),
    runs: 1,
  });
  runInvariant(9, unheard === 0, 'the client gave a start up too early');
}

export const scenarios = {
  'a sleep ends while a step runs': aSleepThatEndsBesideAStepAtWork,
  'a workflow task that waits for another one': aWorkflowTaskThatWaitsForAnother,
  'the collector cannot read child runs': uncollectableChildResults,
  'the collector cannot read many child runs': manyUncollectableChildResults,
  'redelivered messages during long work': redeliveriesDuringLongWork,
  'a child run created after its parent ended': orphanedChildRun,
  'a child run created late': lateChildRun,
  'a start whose response is lost': aStartThatNobodyIsToldOf,
  'a crashed branch beside a running one': aDeadBranchBesideOneAtWork,
  'a projection that arrives late': aProjectionThatLandsLate,
  'a signal whose messages are lost': aSignalWhoseMessagesAreLost,
  'a wait that its worker does not register': aWaitThatItsWorkerDoesNotEnter,
  'a run that waits past its deadline': aRunThatWaitsPastItsDeadline,
  'an attempt that exceeds its time limit': anAttemptThatExceedsItsTimeLimit,
  'a wait whose expiry timers are lost': aWaitWhoseWakesAreLost,
  'a long log that outlives its first expiry': aLongLogThatOutlivesItsFirstExpiry,
  'a crash while a deadline is extended': aCrashWhileADeadlineIsExtended,
  'a retention message that is lost': aRetentionMessageThatIsLost,
  'a rerun from a step': aRerunFromAStep,
  'a loop that ends beside an iteration at work': aLoopThatEndsBesideAnIteration,
  'a signal that is sent again': aSignalThatIsSentAgain,
  'a signal whose wait ends before it is stored': aSignalWhoseWaitEndsFirst,
  'a child run whose end is lost': lostChildEnd,
  'a called run in the worker of its caller': aCallInPlace,
  'a called run beside other work of its caller': aCallBesideOtherWork,
  ...packScenarios,
  ...devKitScenarios,
} as const;

export type ScenarioName = keyof typeof scenarios;
