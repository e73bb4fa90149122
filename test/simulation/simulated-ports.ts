/** The ports of a simulation: stores in memory, queues and timers in virtual time, and observers of every commit. */
import {
  type MessageIdentity,
  codeJobIdentity,
  nodeJobIdentity,
  resultIdentity,
  togetherIdentity,
} from '../../lib/aws/message-identity.ts';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunCreation } from '../../lib/engine/log/head.ts';
import { type Instant, days, durationMs, instant } from '../../lib/engine/time.ts';
import type { StoredExpiry } from '../../lib/memory/runs.ts';
import { blobPrefixesOf } from '../../lib/service/run-log/payloads.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import type { Job, Jobs, JobsTogether, ResultMessage } from '../../lib/ports/jobs.ts';
import type { RunIndex, RunPage } from '../../lib/ports/run-index.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type SimulationContext, torn } from './process.ts';
import { Queue, type BatchHandler } from './queue.ts';

export const simulationStart = instant(1_767_225_600_000);
export const simulatedRetention = days(30);
/** Clients of a run that lasts for weeks send a tenth of the requests: by then only long waits are left. */
export const paceOf = (now: Instant): number => (now > simulationStart + days(12) ? 10 : 1);
/** Above the longest time of a function, as the stacks set it. */
const workVisibilityMs = 960_000;
const resultsVisibilityMs = 60_000;
/** EventBridge Scheduler is precise to a minute. */
const timerSpreadMs = 60_000;

export interface MessageHandlers {
  readonly jobs: BatchHandler<Job>;
  /** the first jobs of several runs */
  readonly together: BatchHandler<JobsTogether>;
  /** from the queue of delayed jobs */
  readonly delayed: BatchHandler<Job>;
  readonly drives: BatchHandler<Job>;
  readonly results: BatchHandler<ResultMessage>;
  readonly dead: (message: Job | ResultMessage) => void;
  /** called for each job that a work queue has accepted */
  readonly sent: (job: Job) => void;
}

export type OnCommit = (run: RunAddress, commit: Commit) => void;

export class SimulatedPorts {
  readonly memory: ReturnType<typeof memoryPorts>;
  readonly deps: Deps;
  /** by run: its deadline, as of its creation until an observer moves it */
  readonly deadlines = new Map<string, Instant>();
  readonly creations = new Map<string, RunCreation>();
  /** the latest minute with a scheduled check, and the latest swept minute: after both, nothing is due */
  lastDueMinute = 0;
  sweptMinute = 0;
  readonly #queues: readonly { readonly partial: number; lose(): void; hold(isHeld: boolean): void; restart(): void }[];
  /** minutes after the last swept one in which a run is due */
  readonly dueMinutes = new Set<number>();
  /** incremented when all timers are lost */
  #age = 0;

  /** @param settings that differ from the product's */
  constructor(
    seed: number,
    around: SimulationContext,
    takers: MessageHandlers,
    onCommit: OnCommit,
    settings: Pick<Deps['settings'], 'firstSnapshotAt' | 'maxPartBytes' | 'shares'> = {},
  ) {
    this.memory = memoryPorts({ seed, startAt: simulationStart });
    const work = { isFifo: true, batchSize: 1, visibilityMs: workVisibilityMs };
    const nodes = new Queue<Job>(work, around, takers.jobs, takers.dead);
    const together = new Queue<JobsTogether>(work, around, takers.together, ({ jobs }) => jobs.forEach(takers.dead));
    const code = new Queue<Job>(work, around, takers.drives, takers.dead);
    const delayed = new Queue<Job>({ ...work, isFifo: false }, around, takers.delayed, takers.dead);
    const results = new Queue<ResultMessage>(
      { isFifo: true, batchSize: 10, visibilityMs: resultsVisibilityMs },
      around,
      takers.results,
      takers.dead,
    );
    this.#queues = [nodes, together, code, delayed, results];
    const send: Jobs['send'] = async (jobs) => {
      // A part of a batch may be refused: the sender gets an error that does not say which part.
      const some =
        jobs.length > 1 && around.faults.shouldInject('partlySent') ? jobs.slice(0, around.prng.whole(0, jobs.length - 1)) : jobs;
      for (const job of some) {
        takers.sent(job);
        if (job.kind === 'node') sendTo(nodes, job, nodeJobIdentity(job, settings.shares));
        else if (job.kind === 'workflow_task' || job.kind === 'devkit') sendTo(code, job, codeJobIdentity(job));
        else throw new Error('no run of a deployed bundle is simulated');
      }
      if (some.length < jobs.length) throw new Unavailable('a queue of work');
    };
    this.deps = {
      ...this.memory,
      log: this.#logOf(around, onCommit),
      index: this.#indexOf(around),
      jobs: {
        send,
        sendTogether: async (jobs) => {
          const [first, ...rest] = jobs.flatMap((job) => (job.kind === 'node' ? [job] : []));
          if (first === undefined || rest.length === 0 || settings.shares?.regular !== undefined) return send(jobs);
          const nodeJobs: JobsTogether = { jobs: [first, ...rest] };
          nodeJobs.jobs.forEach(takers.sent);
          sendTo(together, nodeJobs, togetherIdentity(nodeJobs));
          await send(jobs.filter(({ kind }) => kind !== 'node'));
        },
        sendDelayed: async (job, delay) => delayed.send(job, '', undefined, Math.ceil(delay / 1_000) * 1_000),
        sendResult: async (result) => sendTo(results, result, resultIdentity(result)),
        sendFire: () => Promise.reject(new Error('no schedule is simulated')),
      },
      timers: {
        set: async ({ at, job }) => {
          const { time, prng, faults } = around;
          if (faults.shouldInject('lostTimer')) return;
          const earlyMs = faults.shouldInject('earlyTimer') ? prng.whole(0, timerSpreadMs) : 0;
          const lateMs = faults.shouldInject('lateTimer') ? prng.whole(60_000, 3_600_000) : 0;
          const copies = faults.shouldInject('doubleTimer') ? 2 : 1;
          const age = this.#age;
          for (let copy = 0; copy < copies; copy += 1)
            time.at(at - earlyMs + lateMs + prng.whole(0, timerSpreadMs), () =>
              age === this.#age ? delayed.send(job, '', undefined) : undefined,
            );
        },
      },
      settings: {
        retentionMs: simulatedRetention,
        idempotencyMs: durationMs(86_400_000),
        requiresHttps: false,
        ...settings,
      },
    };
  }

  /** The deadline is within the time of this simulation, so the result depends on timing. */
  isHurried(runId: string): boolean {
    return (this.deadlines.get(runId) ?? Infinity) < simulationStart + days(6);
  }

  expiriesOf(run: RunAddress): readonly StoredExpiry[] {
    return this.memory.expiriesOf(run, blobPrefixesOf(run));
  }

  /** Loses all messages and timers. */
  lose(): void {
    this.#age += 1;
    for (const queue of this.#queues) queue.lose();
  }

  /** All messages in flight become visible at once: their receivers no longer exist. */
  restart(): void {
    for (const queue of this.#queues) queue.restart();
  }

  /** All queues deliver nothing while they are held. */
  hold(isHeld: boolean): void {
    for (const queue of this.#queues) queue.hold(isHeld);
  }

  /** batches of which a part failed */
  get partialBatches(): number {
    return this.#queues.reduce((sum, { partial }) => sum + partial, 0);
  }

  #logOf({ faults, prng }: SimulationContext, onCommit: OnCommit): RunLog {
    const { log } = this.memory;
    return overrideMethods(log, {
      create: async (run, ended) => {
        const result = await log.create(run, ended);
        if (result.kind === 'stored') {
          this.deadlines.set(run.address.runId, run.deadlineAt);
          this.creations.set(run.address.runId, run);
          onCommit(run.address, run.commit);
          for (const prepared of await log.commitsAfter(run.address, run.commit.number)) onCommit(run.address, prepared);
        }
        return result;
      },
      put: async (run, commit, expiresAt, ended) => {
        const result = await log.put(run, commit, expiresAt, ended);
        if (result.kind === 'stored') onCommit(run, commit);
        return result;
      },
      commitsAfter: async (run, ...range) => {
        const commits = await log.commitsAfter(run, ...range);
        // Not the last commit: the read would only be stale, not incomplete, and the read is strongly consistent.
        if (commits.length < 2 || !faults.shouldInject('torn')) return commits;
        return Object.assign(commits.toSpliced(prng.whole(0, commits.length - 2), 1), { [torn]: true });
      },
    });
  }

  #indexOf({ faults }: SimulationContext): RunIndex {
    const { index } = this.memory;
    const old = new Map<string, RunPage>();
    const listed = async (name: string, list: () => Promise<RunPage>): Promise<RunPage> => {
      const before = old.get(name);
      if (before !== undefined && faults.shouldInject('stale')) return before;
      const page = await list();
      old.set(name, page);
      return page;
    };
    const isDue = (minute: number): void => {
      this.lastDueMinute = Math.max(this.lastDueMinute, minute);
      this.dueMinutes.add(minute);
    };
    return overrideMethods(index, {
      list: (scope, options) => listed(JSON.stringify([scope, options]), () => index.list(scope, options)),
      listByState: (scope, state, options) =>
        listed(JSON.stringify([scope, state, options]), () => index.listByState(scope, state, options)),
      recordSweptMinute: async (minute) => {
        this.sweptMinute = Math.max(this.sweptMinute, minute);
        for (const due of this.dueMinutes) if (due <= minute) this.dueMinutes.delete(due);
        await index.recordSweptMinute(minute);
      },
      markDue: async (entry) => {
        isDue(entry.minute);
        await index.markDue(entry);
      },
      markDueTogether: async (entry) => {
        isDue(entry.minute);
        await index.markDueTogether(entry);
      },
    });
  }
}

const sendTo = <Body>(queue: Queue<Body>, body: Body, { group, deduplication }: MessageIdentity): void =>
  queue.send(body, group, deduplication);
