/** One seed, one world: the real engine and service over simulated ports, random workflows, faults, and the checker. */
import type { WorkflowOptions, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { type RunAddress, type Scope, environment, projectId, signalId, topLevel, workflowName } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { after, durationMs, hours, instant, minutes, seconds } from '../../lib/engine/time.ts';
import { memoryWorld } from '../../lib/memory/memory-world.ts';
import type { Job, NodeJob, ResultMessage } from '../../lib/ports/jobs.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { cancelRun } from '../../lib/service/cancel-run.ts';
import { byRun, collectResults } from '../../lib/service/collect-results.ts';
import type { Decider } from '../../lib/service/decide-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { failLostNode } from '../../lib/service/fail-lost-node.ts';
import { Plans, type RunAttempt } from '../../lib/service/graph.ts';
import { nudgeRun } from '../../lib/service/nudge-run.ts';
import { recoverRuns } from '../../lib/service/recover-runs.ts';
import { runNode, wakeNode } from '../../lib/service/run-node.ts';
import { sendSignal } from '../../lib/service/send-signal.ts';
import { startRun } from '../../lib/service/start-run.ts';
import { tendPlace } from '../../lib/service/tend-place.ts';
import { wakeRun } from '../../lib/service/wake-run.ts';
import { WarmFolds } from '../../lib/service/warm-folds.ts';
import { replaced } from '../service/replaced.ts';
import { BudgetWatch } from './budget-watch.ts';
import { Checker } from './checker.ts';
import { type FaultKind, type FaultRates, Faults } from './faults.ts';
import { Prng } from './prng.ts';
import { PlaceWatch } from './place-watch.ts';
import { Process } from './process.ts';
import { Queue, type Received } from './queue.ts';
import { Readers } from './readers.ts';
import { randomVersion, simulatedPlaces, simulatedTypes } from './random-graph.ts';
import { SignalWatch } from './signal-watch.ts';
import { runInvariant } from './violation.ts';
import { VirtualTime } from './virtual-time.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly rates: FaultRates;
  readonly runs?: number;
  /** all runs are of one workflow */
  readonly isShared?: boolean;
  /** of every workflow */
  readonly limits?: WorkflowOptions;
  /** a crash at one port call of the whole simulation */
  readonly aim?: { readonly call: number; readonly kind: 'crashBefore' | 'crashAfter' };
  /** wraps the world with a bug on purpose, to see it caught */
  readonly planted?: (world: Deps) => Deps;
  /** sees the calls of each process as the process makes them */
  readonly observed?: (by: string, reached: Deps) => Deps;
  readonly withoutSweep?: boolean;
  /** nodes that sleep are drawn as nodes that work, and no queue is ever behind: what stands still then stands still by a fault */
  readonly isBrisk?: boolean;
}

export interface SimulationReport {
  readonly counts: Record<FaultKind, number>;
  readonly calls: number;
  readonly commits: number;
  readonly happened: number;
  /** nodes that clients woke before their time */
  readonly woken: number;
  readonly signalsSent: number;
  readonly signalsGiven: number;
  /** waits for a signal that ended without one */
  readonly waitsUnmet: number;
  /** the longest time that an acknowledged signal and a wait that it fits were both there */
  readonly longestOverlapMs: number;
  /** the longest time that an open run stood still between two commits */
  readonly longestStillMs: number;
  /** virtual time from start to quiet */
  /** by readers who come and go */
  readonly eventsRead: number;
  /** runs that were ended by their budget */
  readonly overBudget: number;
  /** runs that got one of the places of their workflow, and the most that had one at the same time */
  readonly letIn: number;
  readonly hadToWait: number;
  readonly together: number;
  /** events of nodes in passes of loops */
  readonly inPasses: number;
  readonly tookMs: number;
  /** the same for the same seed, byte for byte */
  readonly summary: readonly string[];
}

const scope: Scope = { projectId: projectId('default'), environment: environment('simulated') };
const birth = instant(1_767_225_600_000);
const workerVisibilityMs = 960_000;
/** Every run must have ended by then: the longest nap, the dead letters of a poisoned node, and patience on top. */
const patience = durationMs(3 * 86_400_000);

export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const prng = new Prng(options.seed);
  const time = new VirtualTime(birth);
  const faults = new Faults(options.rates, prng, options.aim);
  const around = { time, prng, faults, isBrisk: options.isBrisk === true };
  const checker = new Checker();
  const memory = memoryWorld({ seed: options.seed, startAt: birth });

  const nodeQueue = new Queue<NodeJob>(
    { isFifo: true, batchSize: 1, visibilityMs: workerVisibilityMs },
    around,
    takeJobs,
    deadJob,
  );
  const delayQueue = new Queue<Job>({ isFifo: false, batchSize: 1, visibilityMs: workerVisibilityMs }, around, takeJobs, deadJob);
  const resultsQueue = new Queue<ResultMessage>(
    { isFifo: true, batchSize: 10, visibilityMs: 60_000 },
    around,
    takeResults,
    deadJob,
  );

  const watch = new SignalWatch();
  const places = new PlaceWatch(options.limits?.maxConcurrentRuns);
  const budgets = new BudgetWatch(options.limits?.budget);
  const readers = new Readers(options.seed, time, memory);
  let inPasses = 0;
  const committed = (run: RunAddress, commit: Commit): void => {
    inPasses += commit.events.filter((event) => 'iteration' in event && event.iteration !== topLevel).length;
    checker.committed(run, commit, time.now);
    watch.committed(run, commit, time.now);
    budgets.committed(run, commit);
    places.committed(run, commit);
    readers.committed(run);
  };
  const log: RunLog = {
    ...bound(memory.log),
    create: async (run) => {
      const result = await memory.log.create(run);
      if (result.kind === 'stored') committed(run.address, run.commit);
      return result;
    },
    put: async (run, commit, expiresAt) => {
      const result = await memory.log.put(run, commit, expiresAt);
      if (result.kind === 'stored') committed(run, commit);
      return result;
    },
    commitsAfter: async (run, from) => {
      const commits = await memory.log.commitsAfter(run, from);
      // Not the last: then nothing would be torn, only late, and the read is strong.
      return commits.length > 1 && faults.strikes('torn') ? commits.toSpliced(prng.whole(0, commits.length - 2), 1) : commits;
    },
  };
  let [lastDueMinute, sweptMinute] = [0, 0];
  const index = replaced(memory.index, {
    passMinute: async (minute) => {
      sweptMinute = Math.max(sweptMinute, minute);
      await memory.index.passMinute(minute);
    },
    markDue: async (entry) => {
      lastDueMinute = Math.max(lastDueMinute, entry.minute);
      await memory.index.markDue(entry);
    },
  });
  const plain: Deps = {
    ...memory,
    log,
    index,
    jobs: {
      send: async (jobs) => {
        for (const job of jobs) {
          if (job.kind !== 'node') throw new Error('no run of a deployment is simulated here');
          const node = `${job.run.runId}#${job.nodeId}@${job.iteration}`;
          nodeQueue.send(job, job.resend === 0 ? node : `${node}#r${job.resend}`, `${node}#${job.attempt}#${job.resend}`);
        }
      },
      sendLater: async (job, delay) => delayQueue.send(job, '', undefined, Math.ceil(delay / 1_000) * 1_000),
      sendResult: async (result) =>
        resultsQueue.send(result, result.run.runId, `${result.run.runId}#${result.nodeId}@${result.iteration}#${result.attempt}`),
    },
    timers: {
      set: async ({ at, job }) => {
        if (faults.strikes('lostTimer')) return;
        time.at(at + prng.whole(0, 60_000), () => delayQueue.send(job, '', undefined));
      },
    },
    settings: { retentionMs: durationMs(30 * 86_400_000), idempotencyMs: durationMs(86_400_000), requiresHttps: false },
  };
  const world = options.planted === undefined ? plain : options.planted(plain);

  interface Warm {
    readonly folds: WarmFolds;
    readonly plans: Plans;
  }
  const idle: Warm[] = [];

  /** Runs one invocation in a warm or a new environment. A crash loses the environment and says nothing. */
  function invoke(by: string, work: (decider: Decider & Warm) => Promise<void>, done: (isDone: boolean) => void): void {
    const warm = idle.pop() ?? { folds: new WarmFolds(), plans: new Plans(simulatedTypes) };
    const process = new Process(around, () => undefined);
    const reached = process.deps(world);
    work({ deps: options.observed?.(by, reached) ?? reached, by, ...warm }).then(
      () => {
        if (!process.isAlive) return;
        idle.push(warm);
        done(true);
      },
      (trouble: unknown) => {
        if (!process.isAlive) return;
        if (!isExpected(trouble)) problems.push(trouble);
        idle.push(warm);
        done(false);
      },
    );
  }
  const problems: unknown[] = [];

  const runAttempt: RunAttempt = async (node, _input, attempt) => {
    const ms = Number(node.config['ms'] ?? 5);
    const isBad = prng.isLucky(Number(node.config['fails'] ?? 0));
    await new Promise<void>((resolve) => {
      attempt.signal.addEventListener('abort', () => resolve(), { once: true });
      time.in(prng.whole(1, ms * 2), () => resolve());
    });
    const tokens = { tokens: { input: ms % 7, output: attempt.number } };
    return isBad
      ? { outcome: { kind: 'failed', failure: { cause: 'error', message: 'drawn from the seed' }, ...tokens }, printed: [] }
      : { outcome: { kind: 'finished', output: { value: prng.whole(0, 99) }, handle: 'output', ...tokens }, printed: [] };
  };

  function takeJobs(batch: readonly Received<Job>[], done: (isDone: boolean) => void): void {
    const [received] = batch;
    if (received === undefined) return done(true);
    const { body: job, isRedelivered } = received;
    const delivery = { isRedelivered, mustEndAt: after(time.now, minutes(15)) };
    invoke(
      'worker',
      async (decider) => {
        const worker = { ...decider, runAttempt };
        if (job.kind === 'node') await runNode(worker, job, delivery);
        else if (job.kind === 'wake') await wakeNode(worker, job, delivery);
        else if (job.kind === 'nudge') await nudgeRun(worker, job);
        else if (job.kind === 'place') await tendPlace(worker, job);
        else throw new Error('no run of a deployment is simulated here');
      },
      done,
    );
  }

  function takeResults(batch: readonly Received<ResultMessage>[], done: (isDone: boolean) => void): void {
    invoke(
      'collect',
      async (decider) => {
        const received = batch.map(({ body, isRedelivered }) => ({ result: body, isRedelivered }));
        for (const results of byRun(received)) await collectResults(decider, results);
      },
      done,
    );
  }

  function deadJob(message: Job | ResultMessage): void {
    const retry = (): void =>
      invoke(
        'dead-letter',
        (decider) => failLostNode(decider, message),
        (isDone) => void (isDone || time.in(60_000, retry)),
      );
    retry();
  }

  function sweepEachMinute(): void {
    if (options.withoutSweep !== true) {
      invoke(
        'sweep',
        async (decider) => void (await recoverRuns(decider, after(time.now, seconds55))),
        () => undefined,
      );
    }
    time.in(60_000, sweepEachMinute);
  }
  const seconds55 = durationMs(55_000);

  let waiting = options.runs ?? 4;
  let hasWaits = false;
  const clients = Array.from({ length: waiting }, (_, index) => index);
  let shared: WorkflowVersion | undefined;
  for (const client of clients) {
    const own = (): WorkflowVersion => randomVersion(prng, `flow-${client}`, options.isBrisk === true);
    const version = { ...(shared ?? own()), options: options.limits ?? {} };
    if (options.isShared === true) shared ??= version;
    hasWaits ||= version.nodes.some(({ type }) => type === 'wait');
    await memory.workflows.putVersion(scope, version, birth);
    await memory.workflows.advance(scope, version, birth);
    const start = (): void => {
      invoke(
        'api',
        async (decider) => {
          const answer = await startRun(decider, {
            scope,
            idempotencyKey: `key-${client}`,
            bodyHash: `hash-${client}`,
            workflowName: workflowName(version.name),
            input: { client },
          });
          runInvariant(9, answer.kind === 'started', `start ${client} was answered ${answer.kind}`);
          if (!acknowledged.has(client)) waiting -= 1;
          const address: RunAddress = { ...scope, runId: answer.runId };
          runInvariant(9, (acknowledged.get(client) ?? answer.runId) === answer.runId, `start ${client} made two runs`);
          acknowledged.set(client, answer.runId);
          checker.acknowledge(address);
          if (prng.isLucky(0.15)) time.in(prng.whole(0, 60_000), () => cancel(address));
          if (prng.isLucky(0.4)) time.in(prng.whole(0, 1_200_000), () => wake(address));
        },
        () => undefined,
      );
      // A client that heard nothing asks again with the same key; one that did, sometimes too.
      time.in(prng.whole(5_000, 40_000), () => (acknowledged.has(client) && !prng.isLucky(0.1) ? undefined : start()));
    };
    time.in(prng.whole(0, 30_000), start);
  }
  const acknowledged = new Map<number, string>();
  const cancel = (address: RunAddress): void =>
    invoke(
      'api',
      async (decider) => void (await cancelRun(decider, address, 'asked')),
      () => undefined,
    );
  let woken = 0;
  /** A client that wakes a run does so at any moment, and some more than once. */
  const wake = (address: RunAddress): void => {
    invoke(
      'api',
      async (decider) => {
        const answer = await wakeRun(decider, address);
        if (answer.kind === 'woken') woken += answer.nodeIds.length;
      },
      () => undefined,
    );
    if (prng.isLucky(0.3)) time.in(prng.whole(0, 600_000), () => wake(address));
  };

  /** A sender sends again, under the same name, until it is answered; and then the next one, for as long as anything runs. */
  const send = (place: (typeof simulatedPlaces)[number], pauseMs: number): void => {
    const id = signalId(`sig-${(sent += 1)}`);
    const request = { ...place, payload: { sent }, bodyHash: id, ...(prng.isLucky(0.5) ? { idempotencyKey: id } : {}) };
    const expiresIn = prng.pick([seconds(30), minutes(10), hours(24), hours(24)]);
    const keptUntil = after(time.now, expiresIn);
    let answer: boolean | undefined;
    const attempt = (): void => {
      invoke(
        'api',
        async (decider) => {
          const sending = await sendSignal(decider, scope, { ...request, signalId: id, expiresIn });
          runInvariant(9, sending.kind === 'sent', `signal ${id} was answered ${sending.kind}`);
          runInvariant(9, (answer ?? sending.isDelivered) === sending.isDelivered, `signal ${id} was answered in two ways`);
          answer = sending.isDelivered;
          watch.acknowledged({ ...place, signalId: id, keptUntil }, answer, time.now);
        },
        () => undefined,
      );
      time.in(prng.whole(5_000, 40_000), () => (answer !== undefined && !prng.isLucky(0.1) ? undefined : attempt()));
    };
    attempt();
    // A sender has the less to say the longer it goes on: a run that never ends would bury its places in signals.
    const nextPauseMs = Math.min(Math.ceil(pauseMs * 1.02), 10_800_000);
    time.in(prng.whole(1, pauseMs), () => (isQuiet() ? undefined : send(place, nextPauseMs)));
  };
  let sent = 0;
  for (const place of hasWaits ? simulatedPlaces : []) {
    const pauseMs = prng.pick([60_000, 1_200_000, 10_800_000]);
    time.in(prng.whole(0, pauseMs), () => send(place, pauseMs));
  }

  time.in(60_000, sweepEachMinute);
  const isQuiet = (): boolean => waiting === 0 && checker.isQuiet;
  // Only the next sweep is ahead, and it has nothing to look at: it can go on like this for ever.
  const isAtRest = (): boolean => time.ahead === 1 && (options.withoutSweep === true || lastDueMinute <= sweptMinute);
  let happened = await time.run(birth + patience, () => problems.length > 0 || isQuiet() || isAtRest());
  // Let the last duties of the last run be done, and every late message come.
  happened += await time.run(time.now + 3_600_000 * 4, () => problems.length > 0 || isAtRest());
  if (problems.length > 0) throw problems[0];
  runInvariant(9, waiting === 0, 'a start was never answered, however often it was asked');
  await checker.judge(memory.log);
  watch.judge(time.now);
  await readers.judge();
  budgets.judge();
  const { counts, calls } = faults;
  return {
    counts,
    calls,
    commits: checker.commits,
    happened,
    woken,
    signalsSent: sent,
    signalsGiven: watch.given,
    waitsUnmet: watch.unmet,
    longestOverlapMs: watch.longestOverlapMs,
    longestStillMs: checker.longestStillMs,
    tookMs: time.now - birth,
    eventsRead: readers.events,
    overBudget: budgets.ended,
    letIn: places.let,
    hadToWait: places.waited,
    together: places.together,
    inPasses,
    summary: checker.summary,
  };
}

const isExpected = (trouble: unknown): boolean => trouble instanceof Error && trouble.name === 'Unavailable';

/** The methods of a port, each bound to it, so that some of them can be replaced. */
const bound = (log: RunLog): RunLog => ({
  create: (run) => log.create(run),
  put: (run, commit, expiresAt) => log.put(run, commit, expiresAt),
  head: (run) => log.head(run),
  commitsAfter: (run, from) => log.commitsAfter(run, from),
  project: (run, projection) => log.project(run, projection),
  attach: (run, name, value, expiresAt) => log.attach(run, name, value, expiresAt),
  attached: (run, name) => log.attached(run, name),
  beat: (run, beat, expiresAt) => log.beat(run, beat, expiresAt),
  beats: (run) => log.beats(run),
  saveSnapshot: (run, snapshot, expiresAt) => log.saveSnapshot(run, snapshot, expiresAt),
  snapshot: (run) => log.snapshot(run),
  forget: (run, expiresAt) => log.forget(run, expiresAt),
});
