/** One seed, one world: the real engine and service over simulated ports, random workflows, faults, and the checker. */
import { createHash } from 'node:crypto';
import type { WorkflowOptions, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { type RunAddress, topLevel, workflowName } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { defaultDeadline } from '../../lib/engine/log/head.ts';
import { type FairShares, fairSharesOf, provenTimeSlice } from '../../lib/engine/fair-shares.ts';
import type { RunEvents } from '../../lib/engine/run-events.ts';
import { type DurationMs, type Instant, days, hours, minutes } from '../../lib/engine/time.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { beginSweeping } from '../../lib/service/execution/begin-sweeping.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { BudgetChecker } from './budget-checker.ts';
import { ChildRunCanceller } from './child-run-canceller.ts';
import { Checker } from './checker.ts';
import { Clients } from './clients.ts';
import type { Workload, WorkloadOf } from './workload.ts';
import { sweepEachMinute } from './sweep-each-minute.ts';
import { DeadlineChecker } from './deadline-checker.ts';
import { ExpiryChecker } from './expiry-checker.ts';
import { EffectChecker } from './effect-checker.ts';
import { type CrashPoint, type FaultKind, type FaultRates, Faults, hasOnlyMessageFaults, isHarmless } from './faults.ts';
import { FailedItemsChecker } from './failed-items-checker.ts';
import { FoldChecker } from './fold-checker.ts';
import { Functions, type FunctionOverrides } from './functions.ts';
import { NodeInputChecker } from './node-input-checker.ts';
import { GraphChecker, isPlainGraph } from './graph-checker.ts';
import { WorkerLossChecker } from './worker-loss-checker.ts';
import { OutcomeChecker } from './outcome-checker.ts';
import { SlotChecker } from './slot-checker.ts';
import { Prng } from './prng.ts';
import type { CodeWorkflow } from './random-code.ts';
import { Readers } from './readers.ts';
import { RerunClient } from './rerun-client.ts';
import { checkFinalReplay } from './check-final-replay.ts';
import { signalsSentByCode } from './signals-sent-by-code.ts';
import { SignalChecker } from './signal-checker.ts';
import { StepChecker } from './step-checker.ts';
import { StallChecker } from './stall-checker.ts';
import { TimingChecker } from './timing-checker.ts';
import { runInvariant } from './violation.ts';
import { VirtualTime } from './virtual-time.ts';
import { NotificationChecker } from './notification-checker.ts';
import { SimulatedPorts, simulatedRetention, simulationStart } from './simulated-ports.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly rates: FaultRates;
  readonly runs?: number;
  /** all runs have the same workflow */
  readonly isShared?: boolean;
  /** the limits of every graph workflow */
  readonly limits?: WorkflowOptions;
  /** the share of workflows that are code */
  readonly code?: number;
  /** code workflows to run in turn, instead of random ones */
  readonly codes?: readonly CodeWorkflow[];
  /** crashes at port calls of the whole simulation */
  readonly crashPoints?: readonly CrashPoint[];
  /** wraps the ports with a planted bug */
  readonly planted?: (world: Deps, time: VirtualTime) => Deps;
  /** wraps the calls of each process */
  readonly observed?: (by: string, reached: Deps) => Deps;
  readonly withoutSweep?: boolean;
  /** a client cancels child runs */
  readonly cancelsCalled?: boolean;
  /** a client reruns each failed code run once from this step */
  readonly rerunsFrom?: string;
  /** no node sleeps or waits for a signal: a stalled node is then caused by a fault */
  readonly isBrisk?: boolean;
  /** called for each stored commit */
  readonly onCommit?: (run: RunAddress, commit: Commit, now: Instant) => void;
  /** called with the name of each port call, in order */
  readonly onCall?: (name: string) => void;
  /** the workload, instead of one drawn from the seed; it runs the sweep itself */
  readonly workload?: WorkloadOf;
  /** command batches with more entries are written in several commits; absent: the product's limit */
  readonly maxPartBytes?: number;
  /** commits before the first snapshot of a workload's run; absent: the product's number */
  readonly firstSnapshotAt?: number;
  readonly workings?: FunctionOverrides;
  /** the share of nodes and steps that kill their worker */
  readonly poison?: number;
  /** all processes crash repeatedly for some minutes */
  readonly isCrashStorm?: boolean;
  /** the share of node attempts that take longer than a first slice */
  readonly slowScripts?: number;
  /** the share of nodes that are idempotent, so that workers commit their results together */
  readonly idempotent?: number;
  /** the share of starts that wait for their runs */
  readonly awaited?: number;
  /** the share of waits that last longer than the default deadline */
  readonly longWaits?: number;
  /** clients start their runs in batches */
  readonly areBatched?: boolean;
  /** which status changes of runs the owner asks for; by default each end */
  readonly runEvents?: RunEvents;
  /** the project's share of the workers; by default half of four for slow scripts */
  readonly shares?: FairShares;
}

export interface SimulationReport {
  /** time slices that attempts used up, and among them those of proven nodes and of nodes that had used one up before */
  readonly slicesSpent: number;
  readonly provenSlicesSpent: number;
  readonly repeatSlicesSpent: number;
  readonly counts: Record<FaultKind, number>;
  readonly calls: number;
  readonly commits: number;
  readonly resumptions: number;
  readonly happened: number;
  /** batches of which a part was redelivered */
  readonly partialBatches: number;
  /** nodes that clients woke before their time */
  readonly woken: number;
  readonly signalsSent: number;
  readonly signalsGiven: number;
  /** waits for a signal that ended without one */
  readonly waitsUnmet: number;
  /** the longest time that an acknowledged signal and a matching wait coexisted */
  readonly maxOverlapMs: number;
  /** the longest time between two commits of an open run */
  readonly maxStallMs: number;
  /** the longest time by which a node was late according to its log */
  readonly maxBehindMs: number;
  /** by readers that reconnect */
  readonly eventsRead: number;
  /** events read a second time, and events read by a waiting reader */
  readonly seenAgain: number;
  readonly seenLive: number;
  /** attempts that ended as lost after worker crashes */
  readonly lostAttempts: number;
  /** runs that were ended by their budget */
  readonly overBudget: number;
  /** executions of idempotent nodes before the commit that dispatched them */
  readonly packed: number;
  /** runs that acquired a concurrency slot, and the most at the same time */
  readonly acquiredSlot: number;
  readonly awaitedSlot: number;
  readonly together: number;
  /** events of nodes inside loop iterations */
  readonly inPasses: number;
  /** attempts of nodes and step functions, how many of them were repetitions, and rollbacks */
  readonly executions: number;
  readonly repeated: number;
  readonly rolledBack: number;
  /** code runs whose result equals the predicted result */
  readonly foretold: number;
  /** graph nodes whose digest shows the right input */
  readonly answered: number;
  /** processes that were ended by the time limits of their functions */
  readonly outOfTime: number;
  /** runs that were ended by their deadline */
  readonly pastDeadline: number;
  /** extensions of deadlines */
  readonly extensions: number;
  /** virtual time from the start to the end of all runs */
  readonly tookMs: number;
  /** all commits with their times, and the heads: the same for the same seed, byte for byte */
  readonly history: string;
  /** stored folds compared with their logs */
  readonly foldsCompared: number;
  /** graph nodes compared with their edges */
  readonly judged: number;
  readonly summary: readonly string[];
}

/** The number of crashes in a crash storm and the longest time between two: at most a quarter of an hour in total. */
const [fewestCrashes, mostCrashes] = [6, 40];
const longestLullMs = 22_000;

/** Schedules crashes of all processes, from a random time in the first ten minutes on. */
function brewStorm(prng: Prng, time: VirtualTime, crash: () => void): void {
  let at = prng.whole(0, 600_000);
  for (let left = prng.whole(fewestCrashes, mostCrashes); left > 0; left -= 1) {
    time.in(at, crash);
    at += prng.whole(500, longestLullMs);
  }
}

/** A quarter of the slow attempts and half of the others prove their nodes, so that all three time slices occur. */
const drawnCpuMs = (isSlow: boolean, chance: number): number | undefined => {
  if (isSlow) return 4 * provenTimeSlice * chance;
  return chance < 0.5 ? provenTimeSlice * chance : undefined;
};

/** A number from 0 up to 1, derived from a name, so that it does not change other draws. */
const chanceOf = (name: string): number => createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32;

/** Every run must have ended by then: the longest delay, the dead letters of a poison node, and the heartbeat timeouts. */
const patience = days(3);
/** Each attempt that kills its workers takes up to one hour to end; loops and child runs with ten attempts each multiply it. */
const patienceWithPoison = days(12);
/** The maximum of twenty thousand simulations is 200,000 events; a simulation with more sends messages without end. */
const mostHappenings = 1_000_000;
/** A run without a declared deadline lasts a year at most. */
const patienceWithLongWaits = days(400);
/** The items of open runs are checked at a port call this long after the last check. */
const betweenExpiryChecks = hours(1);
/** Early in half of the simulations, so that short runs also use stored folds; the product's value is 64. */
const firstSnapshots = [2, 4, 8, 64, 64, 64] as const;
/** Time for the finalization of the last run and for late messages. */
const aftermathMs = 4 * 3_600_000;

const patienceOf = ({ longWaits = 0, poison = 0, workload }: SimulationOptions): DurationMs =>
  longWaits > 0 || workload !== undefined ? patienceWithLongWaits : poison > 0 ? patienceWithPoison : patience;

export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const { seed, rates, runs = 3, isShared = false, limits = {}, code = 0.4, isBrisk = false, codes = [] } = options;
  const prng = new Prng(seed);
  const time = new VirtualTime(simulationStart);
  const faults = new Faults(rates, prng, options.crashPoints, options.onCall);
  const around = { time, prng, faults };

  const checker = new Checker();
  const {
    poison = 0,
    isCrashStorm = false,
    slowScripts = 0,
    longWaits = 0,
    idempotent = 0,
    awaited = 0,
    areBatched = false,
    shares = fairSharesOf(4, 100),
  } = options;
  const hasNoFaults =
    Object.entries(rates).every(([kind, rate]) => rate === 0 || isHarmless(kind)) && (options.crashPoints ?? []).length === 0;
  const isCalm = hasNoFaults && poison === 0 && !isCrashStorm;
  /** and no planted delay */
  const isPlain = isCalm && options.workload === undefined && options.planted === undefined;
  const signals = new SignalChecker(isCalm);
  const slots = new SlotChecker(limits.maxConcurrentRuns);
  const budgets = new BudgetChecker(limits.budget);
  // A fixed workload and replaced workings may end processes themselves.
  const endsNoProcess =
    poison === 0 &&
    !isCrashStorm &&
    (options.crashPoints ?? []).length === 0 &&
    options.workload === undefined &&
    options.workings === undefined;
  const effects = new EffectChecker(endsNoProcess && hasOnlyMessageFaults(rates), isPlain);
  const outcomes = new OutcomeChecker(options.cancelsCalled);
  const folds = new FoldChecker();
  const failedItems = new FailedItemsChecker();
  const versionOf = async (run: RunAddress): Promise<WorkflowVersion | undefined> => {
    const head = await world.memory.log.head(run);
    const { name, version } = head?.kind === 'graph' ? head.workflow : {};
    return name === undefined || version === undefined
      ? undefined
      : world.memory.workflows.version(run, workflowName(name), version);
  };
  const graphs = new GraphChecker(
    async (run) => {
      const drawn = await versionOf(run);
      return drawn === undefined || (options.workload !== undefined && !isPlainGraph(drawn)) ? undefined : drawn;
    },
    (thrown) => functions.problems.push(thrown),
  );
  const areClocksRight = rates.wrongClock === 0 && rates.clockJump === 0;
  const times = new TimingChecker(areClocksRight, () => isCalm && clients.isRough !== true);
  const steps = new StepChecker(isPlain, (runId) => world.isHurried(runId));
  const deadlines = new DeadlineChecker(isPlain);
  const expiries = new ExpiryChecker(simulatedRetention, isPlain);
  const still = new StallChecker(isPlain && slowScripts === 0, poison > 0 || slowScripts > 0);
  const { runEvents = 'ended' } = options;
  const words = new NotificationChecker(areClocksRight, checker, runEvents);
  const isOnlyStorm = isCrashStorm && poison === 0 && hasNoFaults;
  const losses = new WorkerLossChecker({
    onlyWorkersCrash: hasNoFaults,
    isOnlyPoison: hasNoFaults && !isCrashStorm,
    isCrashStorm: isOnlyStorm,
  });
  const kills = (name: string): boolean => chanceOf(`${seed} ${name}`) < poison;
  const long = longWaits === 0 ? undefined : { share: longWaits, chance: (name: string) => chanceOf(`${seed} ${name}`) };
  const isSlow = (attempt: string): boolean => chanceOf(`${seed} slow ${attempt}`) < slowScripts;
  const cpuMs = (attempt: string): number | undefined =>
    slowScripts === 0 ? undefined : drawnCpuMs(isSlow(attempt), chanceOf(`${seed} cpu ${attempt}`));
  const isIdempotent = (node: string): boolean => chanceOf(`${seed} idempotent ${node}`) < idempotent;
  let inPasses = 0;
  const functions = new Functions(
    around,
    effects,
    { folds, steps, times, words, losses },
    { ...options, isPlain, kills, isSlow, cpuMs, isIdempotent },
  );
  // A fixed workload uses the product's settings, so that its crash points are those of the product.
  const firstSnapshotAt = options.workload === undefined ? prng.fork().pick(firstSnapshots) : options.firstSnapshotAt;
  const seen = (run: RunAddress, commit: Commit): void => {
    inPasses += commit.events.filter((event) => 'iteration' in event && event.iteration !== topLevel).length;
    checker.committed(run, commit, time.now);
    folds.committed(run, commit);
    failedItems.committed(run, commit, checker.stateOf(run.runId));
    signals.committed(run, commit, time.now);
    budgets.committed(run, commit);
    deadlines.committed(run, commit, time.now, world.deadlines.get(run.runId));
    expiries.committed(run, commit, time.now, world.creations.get(run.runId));
    world.deadlines.set(run.runId, expiries.deadlineOf(run.runId) ?? time.now);
    slots.committed(run, commit);
    if (commit.number === 1) clients.runBegan?.();
    effects.committed(run, commit, time.now);
    outcomes.committed(run, commit);
    graphs.committed(run, commit);
    times.committed(run, commit, time.now);
    words.committed(run, commit);
    losses.committed(run, commit, time.now);
    steps.committed(run, commit, checker.stateOf(run.runId));
    still.committed(run, commit, checker.stateOf(run.runId), time.now);
    readers.committed(run);
    meddler?.committed(run, commit);
    rerunner?.committed(run, commit);
    options.onCommit?.(run, commit, time.now);
  };
  const world = new SimulatedPorts(seed, around, functions, seen, {
    ...(firstSnapshotAt === undefined ? {} : { firstSnapshotAt }),
    ...(options.maxPartBytes === undefined ? {} : { maxPartBytes: options.maxPartBytes }),
    ...(slowScripts === 0 ? {} : { shares }),
  });
  const meddler = options.cancelsCalled === true ? new ChildRunCanceller(around, functions) : undefined;
  const rerunner = options.rerunsFrom === undefined ? undefined : new RerunClient(around, functions, checker, options.rerunsFrom);
  const readers = new Readers(seed, time, world.memory);
  world.memory.notices.runEvents = runEvents;
  let expiriesCheckedAt: Instant = time.now;
  const checkExpiries = (): void => {
    if (time.now < expiriesCheckedAt + betweenExpiryChecks || time.now < simulationStart + defaultDeadline) return;
    expiriesCheckedAt = time.now;
    world.memory.deleteExpiredBesideRuns(time.now);
    try {
      expiries.check((run) => world.expiriesOf(run), time.now);
    } catch (thrown) {
      functions.problems.push(thrown);
    }
  };
  const watched: Deps = {
    ...world.deps,
    log: overrideMethods(world.deps.log, {
      head: async (run) => {
        checkExpiries();
        return world.deps.log.head(run);
      },
      heartbeat: async (run, beat, expiresAt) => {
        await world.deps.log.heartbeat(run, beat, expiresAt);
        words.signed(run, beat, time.now);
      },
      replaceHeartbeat: async (run, read, beat, expiresAt) => {
        const isStored = await world.deps.log.replaceHeartbeat(run, read, beat, expiresAt);
        if (isStored) words.signed(run, beat, time.now);
        return isStored;
      },
      saveSnapshot: async (run, ...snapshot) => {
        await world.deps.log.saveSnapshot(run, ...snapshot);
        await folds.compareSnapshot(world.memory, run);
      },
    }),
    notices: overrideMethods(world.deps.notices, {
      runStatusChanged: async (notice) => {
        await world.deps.notices.runStatusChanged(notice);
        words.published(notice);
      },
    }),
  };
  functions.world = options.planted === undefined ? watched : options.planted(watched, time);
  const clients: Workload =
    options.workload?.({ around, world, functions, checker, signals }) ??
    new Clients(
      around,
      functions.world,
      functions,
      { checker, signals, words },
      { runs, isShared, limits, isBrisk, code, codes, long, idempotent, awaited, areBatched },
    );

  const { index } = functions.world;
  // As a deployment does. Other seeds begin without it, and their first sweep covers ten minutes.
  if (areBatched) await beginSweeping(world.memory);
  await clients.begin();
  if (options.withoutSweep !== true && options.workload === undefined)
    time.in(minutes(1), () => sweepEachMinute(time, { world, index, sweep: () => functions.sweep() }));
  if (isCrashStorm) brewStorm(prng.fork(), time, () => (functions.crash(), world.restart()));
  const { problems } = functions;
  // Only the next sweep is pending, and it has no due run: the state does not change any more.
  const isAtRest = (): boolean =>
    options.workload === undefined &&
    time.ahead === 1 &&
    (options.withoutSweep === true || world.lastDueMinute <= world.sweptMinute);
  const isFlooded = (): boolean => time.happened >= mostHappenings;
  const isBroken = (): boolean => problems.length > 0 || isFlooded();
  const end = simulationStart + patienceOf(options);
  do {
    await time.run(end, () => isBroken() || clients.isQuiet || isAtRest());
    await time.run(time.now + aftermathMs, () => isBroken() || isAtRest());
    // A start whose client gave up can write its head in the aftermath, and its run may take longer than that.
  } while (!isBroken() && !isAtRest() && checker.hasOpenStart && time.now < end);
  if (problems.length > 0) throw problems[0];
  runInvariant(5, !isFlooded(), `${time.happened} events in ${time.now - simulationStart} ms, and the simulation has not ended`);
  runInvariant(9, clients.waiting === 0, 'a start got no response although its client repeated it');
  rerunner?.check();
  expiries.check((run) => world.expiriesOf(run), time.now);
  await checker.check(world.memory.log);
  await clients.check?.();
  still.check(time.now);
  words.check();
  losses.check();
  signals.check(time.now, isPlain);
  await readers.check();
  budgets.check();
  await graphs.check((runId) => world.isHurried(runId));
  // The sweep ends a run at its deadline.
  if (options.workload === undefined && options.withoutSweep !== true) deadlines.check(world.deadlines);
  await folds.check(world.memory);
  const given = new NodeInputChecker();
  // The checker knows only the simulated node types, whose policies are part of the version.
  if (options.workload === undefined) await given.check(world.memory, checker.runs, versionOf);
  for (const { address, state } of checker.runs) {
    const code = await functions.codeOf(address);
    if (code === undefined) continue;
    await checkFinalReplay(world.memory, address, state, code, time.now);
    for (const sending of signalsSentByCode(address, code)) signals.sent(sending);
  }
  // The checker cannot predict which signals a fixed workflow sends by itself.
  if (options.workload === undefined) signals.checkSenders();
  await times.check(async (run) => (await world.memory.log.head(run))?.deadlineAt);
  const { counts, calls } = faults;
  effects.check();
  await outcomes.check(
    (run) => functions.codeOf(run),
    {
      mayBeCancelled: (runId) => clients.mayBeCancelled(runId),
      // A parent of an attempt that kills its worker has another result too.
      isHurried: (runId) => poison > 0 || world.isHurried(runId),
    },
    effects,
  );
  return {
    counts,
    calls,
    commits: checker.commits,
    resumptions: checker.resumptions,
    happened: time.happened,
    partialBatches: world.partialBatches,
    woken: clients.woken,
    signalsSent: clients.sent,
    signalsGiven: signals.given,
    waitsUnmet: signals.unmet,
    maxOverlapMs: signals.maxOverlapMs,
    maxStallMs: checker.maxStallMs,
    maxBehindMs: still.maxBehindMs,
    tookMs: time.now - simulationStart,
    outOfTime: functions.outOfTime,
    pastDeadline: deadlines.passed,
    extensions: expiries.extensions,
    eventsRead: readers.events,
    seenAgain: readers.seenAgain,
    seenLive: readers.seenLive,
    lostAttempts: losses.lost,
    overBudget: budgets.ended,
    packed: effects.packed,
    acquiredSlot: slots.acquired,
    awaitedSlot: slots.waited,
    together: slots.together,
    inPasses,
    slicesSpent: functions.slicesSpent,
    provenSlicesSpent: functions.provenSlicesSpent,
    repeatSlicesSpent: functions.repeatSlicesSpent,
    executions: effects.executions,
    repeated: effects.repeated,
    rolledBack: effects.rolledBack,
    foretold: outcomes.foretold,
    answered: given.judged,
    foldsCompared: folds.compared,
    judged: graphs.judged,
    history: checker.history,
    summary: checker.summary,
  };
}
