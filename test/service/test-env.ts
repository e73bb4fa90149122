/** Test environment of the service: memory ports, scripted node types, and functions that process messages. */
import type { EdgeDefinition, NodeDefinition, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import { type RunAddress, type Scope, environment, nodeId, projectId, topLevel, workflowName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { type Instant, after, days, minutes } from '../../lib/engine/time.ts';
import { type MemoryPorts, memoryPorts } from '../../lib/memory/memory-ports.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { BundleResult, BundleRequest, Bundles } from '../../lib/ports/bundles.ts';
import type { AppCalls } from '../../lib/ports/devkit.ts';
import type { Job, NodeJob } from '../../lib/ports/jobs.ts';
import type { Programs } from '../../lib/ports/programs.ts';
import { type RunResults, byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import { deliverMessage } from '../../lib/service/kinds/bundle/deliver-message.ts';
import { deliverDevKitMessage } from '../../lib/service/kinds/devkit/deliver-message.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { runWorkflowTask } from '../../lib/service/kinds/code/run-workflow-task.ts';
import { Plans, type RunAttempt } from '../../lib/service/commit/plans.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { recheckRun } from '../../lib/service/execution/recheck-run.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { type RunFold, readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { extendRetention } from '../../lib/service/execution/extend-retention.ts';
import { handleSignalJob, handleWaitsJob } from '../../lib/service/runs/handle-signal-job.ts';
import { reconcileChild } from '../../lib/service/execution/reconcile-child.ts';
import { reconcileSlot } from '../../lib/service/execution/reconcile-slot.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { wakeNode } from '../../lib/service/execution/wake-node.ts';
import { type StartResult, type StartRequest, startRun } from '../../lib/service/runs/start-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { simulatedTypes } from '../simulation/random-graph.ts';
import type { JobHandler, Worker } from '../../lib/service/worker.ts';

export const scope: Scope = { projectId: projectId('default'), environment: environment('test') };

/**
 * Builds a workflow from edges `a>b` or `a/handle>b`. The first letter of a node's id selects its type: c condition, z delay, s signal
 * wait, k subflow, l loop, e end; any other letter is a node that runs an attempt.
 */
export function workflow(name: string, drawn: string, configs: Record<string, JsonObject> = {}): WorkflowVersion {
  const edges: EdgeDefinition[] = drawn.split(' ').map((pair) => {
    const [from = '', target = ''] = pair.split('>');
    const [source = '', handle] = from.split('/');
    return { source: nodeId(source), target: nodeId(target), ...(handle === undefined ? {} : { sourceHandle: handle }) };
  });
  const ids = [...new Set(edges.flatMap(({ source, target }) => [source, target]))];
  const types: Record<string, string> = { c: 'choice', z: 'nap', s: 'wait', k: 'call', e: 'end', l: 'loop' };
  const nodes: NodeDefinition[] = ids.map((id) => ({ id, type: types[id.slice(0, 1)] ?? 'work', config: configs[id] ?? {} }));
  return { name: workflowName(name), version: 1, nodes, edges, options: {} };
}

/** `crowd`: `a`, then ten parallel nodes that call the workflow `child`, then `b`. */
export function manyChildRunsWorkflow(): WorkflowVersion {
  const many = Array.from({ length: 10 }, (_, index) => `k${index}`);
  return workflow(
    'crowd',
    many.map((id) => `a>${id} ${id}>b`).join(' '),
    Object.fromEntries(many.map((id) => [id, { calls: 'child' }])),
  );
}

/** The code of a bundle deployment, scripted by the test. */
export type BundleHandler = (
  request: BundleRequest,
  deploymentId: string,
  signal: AbortSignal,
) => BundleResult | Promise<BundleResult>;

export interface TestEnv {
  readonly ports: MemoryPorts;
  readonly deps: Deps;
  readonly worker: JobHandler;
  /** the executed attempts, in order: `node#attempt` */
  readonly attempts: string[];
  /** the requests to the bundles, in order */
  readonly bundleRequests: readonly BundleRequest[];
  publish(version: WorkflowVersion): Promise<void>;
  start(request?: Partial<StartRequest>): Promise<StartResult>;
  /** starts the workflow and returns the run's address */
  begin(name: string): Promise<RunAddress>;
  /** delivers one message to a worker: a new one, or the given warm one */
  take(
    job: Job,
    options?: { isRedelivered?: boolean; isDelayed?: boolean; drainSignal?: AbortSignal; worker?: JobHandler },
  ): Promise<void>;
  collect(results: readonly RunResults[], worker?: Worker): Promise<void>;
  /** processes messages until none remains, and advances the clock to the next delayed one */
  settle(): Promise<void>;
  fold(run: RunAddress): Promise<RunFold>;
}

/** The sweep checks the runs whose due entries ask for a check within two minutes. */
export async function sweepFourMinutesLater({ ports, worker }: TestEnv): Promise<void> {
  ports.clock.advance(minutes(4));
  await sweepRuns(worker, after(ports.clock.now(), minutes(1)));
}

export function createTestEnv(
  options: {
    answer?: (node: string, attempt: number) => Outcome | Promise<Outcome>;
    wrap?: (deps: Deps) => Deps;
    code?: BundleHandler;
    programs?: Programs;
    /** receives the messages of the Workflow DevKit */
    apps?: AppCalls;
  } = {},
): TestEnv {
  const ports = memoryPorts({ seed: 7 });
  const plain: Deps = Object.assign(ports, { settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } });
  const deps = options.wrap?.(plain) ?? plain;
  const attempts: string[] = [];
  const runAttempt: RunAttempt = async (node, _input, attempt) => {
    attempts.push(`${node.id}#${attempt.number}`);
    const outcome = await (options.answer?.(node.id, attempt.number) ?? finished(node.id));
    return { outcome, printed: [] };
  };
  const bundleRequests: BundleRequest[] = [];
  const bundles: Bundles = {
    deliver: async (_scope, manifest, request, { signal }) => {
      bundleRequests.push(request);
      return options.code?.(request, manifest.deploymentId, signal) ?? { kind: 'responded', status: 200, body: {} };
    },
    resumeWebhook: async () => ({ kind: 'no_hook' }),
  };
  const programs: Programs = options.programs ?? {
    start: () => {
      throw new Error('this house has no code that is replayed');
    },
  };
  const apps: AppCalls = options.apps ?? {
    post: async () => ({ kind: 'responded', status: 200, body: {} }),
    forward: async () => ({ kind: 'failed', reason: 'this environment forwards nothing' }),
  };
  const newWorker = (): JobHandler => ({
    deps,
    plans: new Plans(simulatedTypes),
    kinds: runKinds,
    executions: runExecutions,
    by: 'worker',
    foldCache: new FoldCache(),
    runAttempt,
  });
  const worker = newWorker();
  const mustEndAt = (): Instant => after(ports.clock.now(), minutes(15));

  const self: TestEnv = {
    ports,
    deps,
    worker,
    attempts,
    bundleRequests,
    publish: async (version) => {
      await ports.workflows.putVersion(scope, version, ports.clock.now());
      await ports.workflows.advance(scope, version, ports.clock.now());
    },
    start: (request) =>
      startRun(worker, {
        scope,
        idempotencyKey: 'k1',
        bodyHash: 'h1',
        workflowName: workflowName('flow'),
        input: {},
        ...request,
      }),
    begin: async (name) => {
      const answer = await self.start({ workflowName: workflowName(name), idempotencyKey: name });
      if (answer.kind !== 'started') throw new Error(answer.kind);
      return { ...scope, runId: answer.runId };
    },
    take: async (job, { isRedelivered = false, isDelayed = false, drainSignal, worker: taker = newWorker() } = {}) => {
      if (job.kind === 'node') await runNode(taker, job, { isRedelivered, isDelayed, mustEndAt: mustEndAt() });
      else if (job.kind === 'wake') await wakeNode(taker, job, { isRedelivered, mustEndAt: mustEndAt() });
      else if (job.kind === 'recheck') await recheckRun(taker, job);
      else if (job.kind === 'child') await reconcileChild(taker, job);
      else if (job.kind === 'slot') await reconcileSlot(taker, job);
      else if (job.kind === 'signal') await handleSignalJob(taker, job);
      else if (job.kind === 'waits') await handleWaitsJob(taker, job);
      else if (job.kind === 'retention') await extendRetention(taker, job, mustEndAt());
      else if (job.kind === 'workflow_task') {
        const how = { isRedelivered, mustEndAt: mustEndAt(), ...(drainSignal === undefined ? {} : { drainSignal }) };
        await runWorkflowTask({ ...taker, programs }, job, how);
      } else if (job.kind === 'devkit')
        await deliverDevKitMessage({ ...taker, apps, bundles, known: new KnownDeployments() }, job, {
          isRedelivered,
          mustEndAt: mustEndAt(),
        });
      else await deliverMessage({ ...taker, bundles }, job, { isRedelivered, mustEndAt: mustEndAt() });
    },
    collect: async (results, taker = newWorker()) => {
      for (const each of results) await collectResults({ ...taker, deps: { ...taker.deps, clock: unhurried(taker.deps) } }, each);
    },
    settle: async () => {
      for (;;) {
        const jobs: readonly Job[] = [
          ...ports.jobs.takeSent(),
          ...ports.jobs.takeMessages(),
          ...ports.jobs.takeDevKitMessages(),
          ...ports.jobs.takeDue(),
        ];
        for (const job of jobs) await self.take(job, { worker });
        const results = ports.jobs.takeResults();
        await self.collect(byRun(results.map((result) => ({ result, isRedelivered: false }))));
        if (jobs.length > 0 || results.length > 0) continue;
        const next = Math.min(...ports.jobs.delayed.map(({ dueAt }) => dueAt), ...ports.timers.pending().map(({ at }) => at));
        if (!Number.isFinite(next)) return;
        ports.clock.set(next as Instant);
        for (const { job } of ports.timers.takeDue()) await self.take(job, { worker });
      }
    },
    fold: async (run) => {
      const fold = await readRunFold(plain, run);
      if (fold === undefined) throw new Error(`${run.runId} does not exist`);
      return fold;
    },
  };
  return self;
}

/** A collector waits for results to accumulate; here it receives them as they are. */
const unhurried = ({ clock }: Deps): Clock => ({ now: () => clock.now(), sleep: () => Promise.resolve() });

export const finished = (value: string): Outcome => ({ kind: 'finished', output: { value }, handle: 'output' });
export const failing = (cause: 'error' | 'invalid' = 'error'): Outcome => ({
  kind: 'failed',
  failure: { cause, message: 'on purpose' },
});

/** The job of a node of the run, as first sent. */
export const jobFor = (
  run: RunAddress,
  node: string,
  commit: NodeJob['commit'],
  attempt: NodeJob['attempt'],
  resend = 0,
): NodeJob => ({
  kind: 'node',
  run,
  commit,
  nodeId: nodeId(node),
  iteration: topLevel,
  attempt,
  resend,
});
