/**
 * The functions of a simulation: which environment receives a message, and what happens to the message when its process
 * crashes.
 */
import { defined } from '../../lib/base/defined.ts';
import { stepNodeId } from '../../lib/engine/durable/step.ts';
import { type DeploymentId, type RunAddress, nodeKey, runId as asRunId, topLevel } from '../../lib/engine/ids.ts';
import type { Head } from '../../lib/engine/log/head.ts';
import { callerOf } from '../../lib/engine/log/lineage.ts';
import { functionShapes } from '../../lib/constructs/function-shapes.ts';
import { TimeSliceExceeded, provenTimeSlice, repeatTimeSlice } from '../../lib/engine/fair-shares.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import type { RunEnd } from '../../lib/engine/log/fold.ts';
import { after, durationMs, seconds } from '../../lib/engine/time.ts';
import type {
  ChildReconciler,
  DevKitJob,
  Job,
  JobCallResult,
  JobCalls,
  JobsTogether,
  ReconciledChild,
  ResultMessage,
} from '../../lib/ports/jobs.ts';
import { byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import type { Decider } from '../../lib/service/decider.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import { type GraphTypes, Plans, type RunAttempt } from '../../lib/service/commit/plans.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { reconcileForCode } from '../../lib/service/execution/reconcile-for-code.ts';
import { handleCalledJob, handleJob } from '../../lib/service/execution/handle-job.ts';
import { handleJobsTogether } from '../../lib/service/execution/handle-jobs-together.ts';
import type { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import type { Delivery, JobHandler } from '../../lib/service/worker.ts';
import type { EffectChecker } from './effect-checker.ts';
import { type FoldChecker, CheckedFolds } from './fold-checker.ts';
import { nodeInputDigest } from './node-input-digest.ts';
import { Process, type SimulationContext } from './process.ts';
import { simulatedPrograms } from './programs.ts';
import type { WorkerLossChecker } from './worker-loss-checker.ts';
import type { Received } from './queue.ts';
import { type StepEffects, type CodeWorkflow, workflowOf } from './random-code.ts';
import { simulatedTypes, simulatedTypesWith } from './random-graph.ts';
import type { StepChecker } from './step-checker.ts';
import type { TimingChecker } from './timing-checker.ts';
import { runInvariant } from './violation.ts';
import type { NotificationChecker } from './notification-checker.ts';
import type { MessageHandlers } from './simulated-ports.ts';

interface Warm {
  readonly foldCache: FoldCache;
  readonly plans: Plans;
  readonly known: KnownDeployments;
}

interface Watches {
  readonly folds: FoldChecker;
  readonly steps: StepChecker;
  readonly times: TimingChecker;
  readonly words: NotificationChecker;
  readonly losses: WorkerLossChecker;
}

export type Invocation = Decider & Warm & { readonly process: Process };

/** wraps the calls of each process */
type Observed = (by: string, reached: Deps) => Deps;

interface Given {
  /** no faults and no planted delays */
  readonly isPlain?: boolean;
  readonly observed?: Observed | undefined;
  readonly workings?: FunctionOverrides | undefined;
  /** whether a node, or a step of this key, kills the worker that begins it */
  readonly kills?: ((name: string) => boolean) | undefined;
  /** whether an attempt takes longer than a time slice, each time it is begun */
  readonly isSlow?: ((attempt: string) => boolean) | undefined;
  /** the CPU time in ms that an attempt reports when it ends; undefined: none */
  readonly cpuMs?: ((attempt: string) => number | undefined) | undefined;
  /** whether the node of a graph, named by its workflow and its id, is idempotent */
  readonly isIdempotent?: ((node: string) => boolean) | undefined;
}

type Failed = readonly Received<Job>[];

/** As the stacks set them (lib/constructs/function-shapes.ts). */
const timeoutMs = {
  api: seconds(functionShapes.api.timeoutSeconds),
  worker: seconds(functionShapes.worker.timeoutSeconds),
  code: seconds(functionShapes.code.timeoutSeconds),
  world: seconds(functionShapes.world.timeoutSeconds),
  collect: seconds(functionShapes.collect.timeoutSeconds),
  sweep: seconds(functionShapes.sweep.timeoutSeconds),
  'dead-letter': seconds(functionShapes['dead-letter'].timeoutSeconds),
} as const;

type FunctionKind = keyof typeof timeoutMs;

/** The time before its limit at which a sweep starts no further minute. */
const sweepMs = durationMs(55_000);

/** The time beyond an attempt's limit: grace, the interval of two checks with their calls, and the clock jump. */
const mostPatienceMs = 240_000;

/** The node types and modules of a workload, if they differ from the simulation's. */
export interface FunctionOverrides {
  readonly types?: GraphTypes;
  /** @param deps the ports of the process */
  readonly attempts?: (process: Process, deps: Deps) => RunAttempt;
  /** the exports of a deployment's module */
  readonly modules?: ReadonlyMap<DeploymentId, unknown>;
}

/**
 * The calls that a message requires: those that commit, send jobs, or record what the sweep reads. A step function that outlives its
 * workflow task may still send a signal through the delay queue.
 */
const requiredCalls: ReadonlySet<string> = new Set([
  'log.put',
  'log.create',
  'log.project',
  'index.markDue',
  'jobs.send',
  'timers.set',
  'deployments.unpin',
]);

export class Functions implements MessageHandlers {
  /** processes that were ended by the time limits of their functions */
  outOfTime = 0;
  /** time slices that attempts have spent, and among them those of proven nodes and of nodes that had spent one before */
  slicesSpent = 0;
  provenSlicesSpent = 0;
  repeatSlicesSpent = 0;
  /** errors that no fault explains */
  readonly problems: unknown[] = [];
  /** running processes */
  readonly #running = new Set<Process>();
  readonly #kills: (name: string) => boolean;
  readonly #isSlow: (attempt: string) => boolean;
  readonly #cpuMs: (attempt: string) => number | undefined;
  /** the exports of the modules of deployments */
  readonly deployed = new Map<DeploymentId, readonly CodeWorkflow[]>();
  world: Deps | undefined;
  /** delivers a message of the Workflow DevKit to its application */
  deliverDevKit: ((invocation: Invocation, job: DevKitJob, delivery: Delivery) => Promise<void>) | undefined;
  readonly #around: SimulationContext;
  readonly #effects: EffectChecker;
  readonly #watches: Watches;
  readonly #observed: Observed;
  readonly #idle: Warm[] = [];
  readonly #workings: FunctionOverrides;
  readonly #isCalm: boolean;
  readonly #types: GraphTypes;

  constructor(around: SimulationContext, effects: EffectChecker, watches: Watches, given: Given = {}) {
    const {
      observed,
      workings,
      isPlain = false,
      kills = () => false,
      isSlow = () => false,
      cpuMs = () => undefined,
      isIdempotent,
    } = given;
    this.#kills = kills;
    this.#isSlow = isSlow;
    this.#cpuMs = cpuMs;
    this.#isCalm = isPlain;
    this.#types = isIdempotent === undefined ? simulatedTypes : simulatedTypesWith(isIdempotent);
    this.#workings = workings ?? {};
    this.#around = around;
    this.#effects = effects;
    this.#watches = watches;
    this.#observed = observed ?? ((_by, reached) => reached);
  }

  /** Runs one invocation in a warm or a new environment. A crash destroys the environment and returns no response. */
  invoke(by: FunctionKind, work: (invocation: Invocation) => Promise<void>, done: (isDone: boolean) => void = () => {}): void {
    const { world } = this;
    if (world === undefined) throw new Error('the simulation is not set up yet');
    if (this.#around.faults.shouldInject('deployed')) this.#idle.length = 0;
    const warm = this.#idle.pop() ?? {
      foldCache: new CheckedFolds(this.#watches.folds),
      plans: new Plans(this.#workings.types ?? this.#types),
      known: new KnownDeployments(),
    };
    const process = new Process(this.#around);
    process.endsAt = after(this.#around.time.now, timeoutMs[by]);
    process.onTimeout = () => this.#outOfTime(by);
    this.#running.add(process);
    process.onDeath = () => this.#running.delete(process);
    if (by === 'code') process.onNonce = (nonce) => this.#watches.steps.writes(nonce, process);
    work({ deps: this.#withWatchedRecords(this.#observed(by, process.deps(world))), kinds: runKinds, by, ...warm, process }).then(
      () => {
        if (!process.isAlive) return;
        this.#running.delete(process);
        process.endsAt = Infinity;
        // Its message is deleted: after a crash now, no process would know of its remaining work. Reads are allowed.
        process.onCall = (name) =>
          this.#noting(() =>
            runInvariant(12, !requiredCalls.has(name), `a ${by} calls ${name} after it acknowledged its message`),
          );
        this.#idle.push(warm);
        done(true);
      },
      (cause: unknown) => {
        if (!process.isAlive) return;
        this.#running.delete(process);
        process.endsAt = Infinity;
        this.recordError(cause);
        this.#idle.push(warm);
        done(false);
      },
    );
  }

  /** All processes crash, as when their one machine restarts. */
  crash(): void {
    for (const process of this.#running) process.die();
    this.#idle.length = 0;
  }

  #withWatchedRecords(deps: Deps): Deps {
    const { log } = deps;
    const watches = (...[run, heartbeat]: Parameters<Deps['log']['heartbeat']>): void =>
      this.#noting(() => this.#watches.losses.recorded(run, heartbeat));
    return {
      ...deps,
      log: overrideMethods(log, {
        heartbeat: (...record) => {
          watches(...record);
          return log.heartbeat(...record);
        },
        replaceHeartbeat: (run, known, heartbeat, expiresAt) => {
          watches(run, heartbeat, expiresAt);
          return log.replaceHeartbeat(run, known, heartbeat, expiresAt);
        },
      }),
    };
  }

  #outOfTime(by: FunctionKind): void {
    this.outOfTime += 1;
    this.#noting(() => runInvariant(12, !this.#isCalm, `a ${by} reached its time limit although no fault delayed it`));
  }

  readonly jobs = ([received]: readonly Received<Job>[], done: (failed: Failed) => void): void =>
    this.#handles(received, false, done);

  readonly delayed = ([received]: readonly Received<Job>[], done: (failed: Failed) => void): void =>
    this.#handles(received, true, done);

  readonly together = (
    [received]: readonly Received<JobsTogether>[],
    done: (failed: readonly Received<JobsTogether>[]) => void,
  ): void => {
    if (received === undefined) return done([]);
    const { body, isRedelivered } = received;
    const delivery = { isRedelivered, mustEndAt: after(this.#around.time.now, timeoutMs.worker) };
    this.invoke(
      'worker',
      (invocation) =>
        handleJobsTogether(invocation.deps, body, delivery, async (job) => {
          this.#effects.delivered(job);
          try {
            await handleJob(this.#workerFor(invocation, { body: job, isRedelivered, receives: 1 }), job, delivery);
          } catch (error) {
            this.#effects.failed(invocation.process);
            throw error;
          }
        }),
      (isDone) => done(isDone ? [] : [received]),
    );
  };

  #handles(received: Received<Job> | undefined, isDelayed: boolean, done: (failed: Failed) => void): void {
    if (received === undefined) return done([]);
    const { body: job, isRedelivered } = received;
    const delivery = { isRedelivered, isDelayed, mustEndAt: after(this.#around.time.now, timeoutMs.worker) };
    this.#effects.delivered(job);
    this.invoke(
      'worker',
      (invocation) => handleJob(this.#workerFor(invocation, received), job, delivery),
      (isDone) => done(isDone ? [] : [received]),
    );
  }

  #workerFor(invocation: Invocation, received: Received<Job>): JobHandler {
    const { body: job, isRedelivered } = received;
    // A wake-up that was sent again says nothing about the nodes after it.
    const isPackable = !isRedelivered && !(job.kind === 'node' && job.resend > 0);
    return {
      ...this.#begun(invocation, received),
      executions: runExecutions,
      runAttempt: this.#attemptsFor(job, this.#attempts(invocation, isPackable)),
    };
  }

  readonly drives = ([received]: readonly Received<Job>[], done: (failed: Failed) => void): void => {
    if (received === undefined) return done([]);
    const { body: job, isRedelivered } = received;
    if (job.kind === 'devkit') return this.#delivers(received, job, done);
    if (job.kind !== 'workflow_task') throw new Error(`the code queue holds a job of kind ${job.kind}`);
    const delivery = { isRedelivered, mustEndAt: after(this.#around.time.now, timeoutMs.code) };
    this.#effects.delivered(job);
    this.invoke(
      'code',
      async (invocation) => {
        const { process } = this.#begun(invocation, received);
        const world = this.#stepEffects(process);
        const programs = simulatedPrograms(
          process,
          (id) => this.#workings.modules?.get(id) ?? this.deployed.get(id)?.map((each) => workflowOf(each, world)) ?? [],
        );
        await runExecutions.code.execute({ ...invocation, programs, reconciler: this.#reconciler }, job, delivery);
      },
      (isDone) => done(isDone ? [] : [received]),
    );
  };

  /** The function of a job is called in place of its queue. If its process crashes, the caller gets no answer. */
  readonly calls: JobCalls = {
    call: (call) =>
      new Promise((resolve) => {
        const { time, prng, faults } = this.#around;
        time.in(prng.whole(1, 12), () => {
          // Lambda is throttled, or its answer is lost while the function runs.
          if (faults.shouldInject('refused')) return resolve({ kind: 'refused' });
          if (faults.shouldInject('lostAnswer')) resolve({ kind: 'unknown' });
          const received = { body: call.job, isRedelivered: false, receives: 1 };
          if (call.job.kind !== 'workflow_task') return this.#answers(received, call, resolve);
          this.drives([received], (failed) => resolve({ kind: failed.length === 0 ? 'ended' : 'unknown' }));
        });
      }),
  };

  /** The function of the World is called in place of a message. If its process crashes, the caller gets no answer. */
  readonly #reconciler: ChildReconciler = {
    reconcile: (request) =>
      new Promise((resolve) => {
        const { time, prng, faults } = this.#around;
        time.in(prng.whole(1, 12), () => {
          const unknown: ReconciledChild = { kind: 'needs_message' };
          if (faults.shouldInject('refused')) return resolve(unknown);
          if (faults.shouldInject('lostAnswer')) resolve(unknown);
          let reconciled: ReconciledChild | undefined;
          this.invoke(
            'world',
            async (invocation) => {
              reconciled = await reconcileForCode(invocation, request);
              if (reconciled.kind === 'reconciled') for (const { job } of reconciled.tasks) this.#effects.delivered(job);
            },
            (isDone) => resolve((isDone ? reconciled : undefined) ?? unknown),
          );
        });
      }),
  };

  /** The worker's answer has the end of the run, if its fold has one. */
  #answers(received: Received<Job>, call: Parameters<typeof handleCalledJob>[1], resolve: (result: JobCallResult) => void): void {
    const delivery = { isRedelivered: false, mustEndAt: after(this.#around.time.now, timeoutMs.worker) };
    let end: RunEnd | undefined;
    this.#effects.delivered(call.job);
    if (call.isUnwritten === true) this.#effects.calledUnwritten(call.job.run);
    this.invoke(
      'worker',
      async (invocation) => {
        end = await handleCalledJob(this.#workerFor(invocation, received), call, delivery);
      },
      (isDone) => resolve(isDone ? defined({ kind: 'ended', end }) : { kind: 'unknown' }),
    );
  }

  #delivers(received: Received<Job>, job: DevKitJob, done: (failed: Failed) => void): void {
    const { deliverDevKit } = this;
    if (deliverDevKit === undefined) throw new Error('no application of the Workflow DevKit is simulated');
    const { isRedelivered, receives } = received;
    const delivery = { isRedelivered, receives, mustEndAt: after(this.#around.time.now, timeoutMs.code) };
    this.invoke(
      'code',
      (invocation) => deliverDevKit(invocation, job, delivery),
      (isDone) => done(isDone ? [] : [received]),
    );
  }

  readonly results = (
    batch: readonly Received<ResultMessage>[],
    done: (failed: readonly Received<ResultMessage>[]) => void,
  ): void => {
    const failed: Received<ResultMessage>[] = [];
    this.invoke(
      'collect',
      async (decider) => {
        const received = batch.map(({ body, isRedelivered }) => ({ result: body, isRedelivered }));
        for (const results of byRun(received)) {
          try {
            await collectResults(decider, results);
          } catch (cause) {
            this.recordError(cause);
            failed.push(...batch.filter(({ body }) => body.run.runId === results.run.runId));
          }
        }
      },
      (isDone) => done(isDone ? failed : batch),
    );
  };

  readonly dead = (message: Job | ResultMessage): void => {
    this.invoke(
      'dead-letter',
      (decider) => handleDeadLetter(decider, message),
      (isDone) => (isDone ? undefined : this.#around.time.in(60_000, () => this.dead(message))),
    );
  };

  readonly sent = (job: Job): void => this.#noting(() => this.#watches.words.sent(job, this.#around.time.now));

  sweep(done?: (isDone: boolean) => void): void {
    const { time } = this.#around;
    this.invoke(
      'sweep',
      async (decider) => {
        const { failed } = await sweepRuns(decider, after(time.now, sweepMs));
        for (const { error } of failed) this.recordError(error);
      },
      done,
    );
  }

  /** The code of a run during its workflow task. */
  async codeOf(run: RunAddress): Promise<CodeWorkflow | undefined> {
    const head = await this.world?.log.head(run);
    if (head?.kind !== 'code') return undefined;
    return this.deployed.get(head.deploymentId)?.find(({ name }) => name === head.workflow.name);
  }

  /** A worker received the job. */
  #begun(invocation: Invocation, { body: job, isRedelivered }: Received<Job>): Invocation {
    this.#watches.losses.delivered(job, invocation.process, this.#around.time.now);
    this.#watches.words.delivered(job, isRedelivered);
    return invocation;
  }

  /** @returns whether the process has crashed */
  #dies(process: Process, node: string, attempt: string): boolean {
    if (!this.#kills(node)) return false;
    this.#watches.losses.kills(attempt, this.#around.time.now);
    process.die();
    return true;
  }

  /**
   * The attempt of the job itself starts first, or an attempt of a run that the job's node called. Later attempts of the same invocation
   * follow from it.
   */
  #attemptsFor(job: Job, runAttempt: RunAttempt): RunAttempt {
    let isFirst = job.kind === 'node';
    return (node, input, attempt) => {
      const [runId = ''] = attempt.token.split('/');
      if (isFirst && job.kind === 'node' && runId !== job.run.runId) this.#notesCall(job.run, runId);
      else if (isFirst && job.kind === 'node')
        this.#noting(() => {
          const isAsked = attempt.number === job.attempt && attempt.token === `${job.run.runId}/${nodeKey(job)}`;
          runInvariant(
            12,
            isAsked,
            `attempt ${attempt.number} of ${attempt.token} was executed for a job of attempt ${job.attempt}`,
          );
        });
      isFirst = false;
      return runAttempt(node, input, attempt);
    };
  }

  /** Records a problem unless the run was called by the caller, or by a run that it called. */
  #notesCall(caller: RunAddress, runId: string): void {
    const check = async (): Promise<void> => {
      let called: string | undefined = runId;
      while (called !== undefined && called !== caller.runId) {
        const head: Head | undefined = await this.world?.log.head({ ...caller, runId: asRunId(called) });
        called = head === undefined ? undefined : callerOf(head)?.runId;
      }
      runInvariant(
        12,
        called !== undefined,
        `an attempt of ${runId} was executed for a job of ${caller.runId}, which did not call it`,
      );
    };
    check().catch((cause: unknown) => this.problems.push(cause));
  }

  /** @param isPackable the message and its job were sent once */
  #attempts({ process, deps }: Invocation, isPackable: boolean): RunAttempt {
    const { prng } = this.#around;
    const others = this.#workings.attempts?.(process, deps);
    if (others !== undefined)
      return async (node, input, attempt) => {
        // An offloaded value is loaded before the attempt, and then the attempt starts again.
        void input.inputs;
        this.#noting(() =>
          this.#effects.begins(attempt.token, attempt.number, process, isPackable && node.policy.isIdempotent === true),
        );
        try {
          return await others(node, input, attempt);
        } catch (thrown) {
          if (thrown instanceof TimeSliceExceeded) this.#effects.interrupts(attempt.token, attempt.number, process);
          throw thrown;
        }
      };
    return async (node, input, attempt) => {
      // Offloaded values are loaded before the attempt, and then the attempt starts again.
      const answer = nodeInputDigest(input);
      const ms = Number(node.config['ms'] ?? 5);
      const lastsMs = prng.whole(1, ms * 2);
      const isBad = prng.isLucky(Number(node.config['fails'] ?? 0));
      this.#noting(() => this.#watches.times.begins(`${attempt.token}#${attempt.number}`, this.#around.time.now));
      // An interrupted script has had no effect.
      if (attempt.timeSlice !== undefined && this.#isSlow(`${attempt.token}#${attempt.number}`)) {
        this.slicesSpent += 1;
        if (attempt.timeSlice === provenTimeSlice) this.provenSlicesSpent += 1;
        if (attempt.timeSlice === repeatTimeSlice) this.repeatSlicesSpent += 1;
        await process.sleep(attempt.timeSlice, attempt.signal);
        throw new TimeSliceExceeded();
      }
      this.#noting(() =>
        this.#effects.begins(attempt.token, attempt.number, process, isPackable && node.policy.isIdempotent === true),
      );
      if (this.#dies(process, node.id, `${attempt.token}#${attempt.number}`)) return new Promise(() => {});
      await process.sleep(durationMs(lastsMs), attempt.signal);
      this.#effects.ends(attempt.token, attempt.number, process, {
        now: this.#around.time.now,
        isIdempotent: node.policy.isIdempotent === true,
      });
      const isLate = lastsMs > node.policy.timeoutMs + mostPatienceMs && !attempt.signal.aborted && !process.hasStood;
      this.#noting(() => runInvariant(12, !isLate, `${attempt.token} ran for ${lastsMs} ms, beyond its time limit`));
      const tokens = { tokens: { input: ms % 7, output: attempt.number } };
      const cpuMs = this.#cpuMs(`${attempt.token}#${attempt.number}`);
      const outcome: Outcome = isBad
        ? { kind: 'failed', failure: { cause: 'error', message: 'drawn from the seed' }, ...tokens }
        : { kind: 'finished', output: { value: answer }, handle: 'output', ...tokens };
      return defined({ outcome, printed: [], cpuMs });
    };
  }

  /** Faults cause expected errors; any other error is a violation. */
  recordError(cause: unknown): void {
    if (!isExpected(cause)) this.problems.push(cause);
  }

  #noting(watch: () => void): void {
    try {
      watch();
    } catch (cause) {
      this.problems.push(cause);
    }
  }

  #stepEffects(process: Process): StepEffects {
    return {
      began: (runId, { key, attempt }, mayOverlap, mayShare) =>
        // The code would treat an error thrown here as its own failure.
        this.#noting(() => {
          if (!process.isAlive) return;
          const node = nodeKey({ nodeId: stepNodeId(key), iteration: topLevel });
          this.#watches.times.begins(`${runId}/${node}#${attempt}`, this.#around.time.now);
          this.#effects.beginsStep(runId, key, attempt, { by: process, mayOverlap, mayShare });
          this.#dies(process, key, `${runId}/${node}#${attempt}`);
        }),
      ended: (runId, { key, attempt }) => {
        if (process.isAlive) this.#effects.endsStep(runId, key, attempt, this.#around.time.now);
      },
      undone: (runId, { key, attempt }) => this.#noting(() => this.#effects.undoes(runId, key, attempt, process)),
      sleep: (ms, signal) => process.sleep(ms, signal),
    };
  }
}

const isExpected = (cause: unknown): boolean => cause instanceof Error && cause.name === 'Unavailable';
