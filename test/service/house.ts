/** A small house for the service's tests: the memory world, scripted node types, and hands that take messages. */
import type { EdgeDefinition, NodeDefinition, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import { type RunAddress, type Scope, environment, nodeId, projectId, topLevel, workflowName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { type Instant, after, days, minutes } from '../../lib/engine/time.ts';
import { type MemoryWorld, memoryWorld } from '../../lib/memory/memory-world.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { BundleAnswer, BundleRequest, Bundles } from '../../lib/ports/bundles.ts';
import type { Job, NodeJob } from '../../lib/ports/jobs.ts';
import type { Programs } from '../../lib/ports/programs.ts';
import { type RunResults, byRun, collectResults } from '../../lib/service/collect-results.ts';
import { deliverMessage } from '../../lib/service/deliver-message.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { driveCodeRun } from '../../lib/service/drive-code-run.ts';
import { Plans, type RunAttempt } from '../../lib/service/graph.ts';
import { nudgeRun } from '../../lib/service/nudge-run.ts';
import { type RunFold, readRun } from '../../lib/service/read-log.ts';
import { takeSignal, takeWaits } from '../../lib/service/take-signal.ts';
import { tendChild } from '../../lib/service/tend-child.ts';
import { tendPlace } from '../../lib/service/tend-place.ts';
import { type Worker, runNode, wakeNode } from '../../lib/service/run-node.ts';
import { type StartAnswer, type StartRequest, startRun } from '../../lib/service/start-run.ts';
import { WarmFolds } from '../../lib/service/warm-folds.ts';
import { simulatedTypes } from '../simulation/random-graph.ts';

export const scope: Scope = { projectId: projectId('default'), environment: environment('test') };

/**
 * `a>b` edges, or `a/handle>b`; a node is work unless its id begins with a letter that says otherwise: c choice, z nap,
 * s wait for a signal, k call of a workflow, l loop, e end.
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

/** `crowd`: `a` is followed by ten nodes, each of which calls the workflow `child`, and all of them by `b`. */
export function crowdOfCalls(): WorkflowVersion {
  const many = Array.from({ length: 10 }, (_, index) => `k${index}`);
  return workflow(
    'crowd',
    many.map((id) => `a>${id} ${id}>b`).join(' '),
    Object.fromEntries(many.map((id) => [id, { calls: 'child' }])),
  );
}

/** The code of the deployments, as a test plays it. */
export type Code = (request: BundleRequest, deploymentId: string, signal: AbortSignal) => BundleAnswer | Promise<BundleAnswer>;

export interface House {
  readonly world: MemoryWorld;
  readonly deps: Deps;
  readonly worker: Worker;
  /** the attempts that were run, in order: `node#attempt` */
  readonly attempts: string[];
  /** what the code of deployments was given, in order */
  readonly asked: readonly BundleRequest[];
  publish(version: WorkflowVersion): Promise<void>;
  start(request?: Partial<StartRequest>): Promise<StartAnswer>;
  /** starts the workflow and gives the run's address */
  begin(name: string): Promise<RunAddress>;
  /** gives one message to a worker; a new environment unless it is told to be warm */
  take(job: Job, options?: { isRedelivered?: boolean; isToRest?: AbortSignal; worker?: Worker }): Promise<void>;
  collect(results: readonly RunResults[], worker?: Worker): Promise<void>;
  /** takes messages until none is left, moving the clock to the next delayed one */
  settle(): Promise<void>;
  fold(run: RunAddress): Promise<RunFold>;
}

export function house(
  options: {
    answer?: (node: string, attempt: number) => Outcome | Promise<Outcome>;
    wrap?: (deps: Deps) => Deps;
    code?: Code;
    programs?: Programs;
  } = {},
): House {
  const world = memoryWorld({ seed: 7 });
  const plain: Deps = Object.assign(world, { settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } });
  const deps = options.wrap?.(plain) ?? plain;
  const attempts: string[] = [];
  const runAttempt: RunAttempt = async (node, _input, attempt) => {
    attempts.push(`${node.id}#${attempt.number}`);
    const outcome = await (options.answer?.(node.id, attempt.number) ?? finished(node.id));
    return { outcome, printed: [] };
  };
  const asked: BundleRequest[] = [];
  const bundles: Bundles = {
    deliver: async (_scope, manifest, request, { signal }) => {
      asked.push(request);
      return options.code?.(request, manifest.deploymentId, signal) ?? { kind: 'answered', status: 200, body: {} };
    },
  };
  const programs: Programs = options.programs ?? {
    begin: () => {
      throw new Error('this house has no code that is replayed');
    },
  };
  const newWorker = (): Worker => ({ deps, plans: new Plans(simulatedTypes), by: 'worker', folds: new WarmFolds(), runAttempt });
  const worker = newWorker();
  const mustEndAt = (): Instant => after(world.clock.now(), minutes(15));

  const self: House = {
    world,
    deps,
    worker,
    attempts,
    asked,
    publish: async (version) => {
      await world.workflows.putVersion(scope, version, world.clock.now());
      await world.workflows.advance(scope, version, world.clock.now());
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
    take: async (job, { isRedelivered = false, isToRest, worker: taker = newWorker() } = {}) => {
      if (job.kind === 'node') await runNode(taker, job, { isRedelivered, mustEndAt: mustEndAt() });
      else if (job.kind === 'wake') await wakeNode(taker, job, { isRedelivered, mustEndAt: mustEndAt() });
      else if (job.kind === 'nudge') await nudgeRun(taker, job);
      else if (job.kind === 'child') await tendChild(taker, job);
      else if (job.kind === 'place') await tendPlace(taker, job);
      else if (job.kind === 'signal') await takeSignal(taker, job);
      else if (job.kind === 'waits') await takeWaits(taker, job);
      else if (job.kind === 'drive') {
        const how = { isRedelivered, mustEndAt: mustEndAt(), ...(isToRest === undefined ? {} : { isToRest }) };
        await driveCodeRun({ ...taker, programs }, job, how);
      } else await deliverMessage({ ...taker, bundles }, job, { isRedelivered, mustEndAt: mustEndAt() });
    },
    collect: async (results, taker = newWorker()) => {
      for (const each of results) await collectResults({ ...taker, deps: { ...taker.deps, clock: unhurried(taker.deps) } }, each);
    },
    settle: async () => {
      for (;;) {
        const jobs: readonly Job[] = [...world.jobs.takeSent(), ...world.jobs.takeMessages(), ...world.jobs.takeDue()];
        for (const job of jobs) await self.take(job, { worker });
        const results = world.jobs.takeResults();
        await self.collect(byRun(results.map((result) => ({ result, isRedelivered: false }))));
        if (jobs.length > 0 || results.length > 0) continue;
        const next = Math.min(...world.jobs.delayed.map(({ dueAt }) => dueAt), ...world.timers.pending().map(({ at }) => at));
        if (!Number.isFinite(next)) return;
        world.clock.set(next as Instant);
        for (const { job } of world.timers.takeDue()) await self.take(job, { worker });
      }
    },
    fold: async (run) => {
      const fold = await readRun(plain, run);
      if (fold === undefined) throw new Error(`${run.runId} does not exist`);
      return fold;
    },
  };
  return self;
}

/** A collector lingers for results to gather; here they are given to it as they come. */
const unhurried = ({ clock }: Deps): Clock => ({ now: () => clock.now(), sleep: () => Promise.resolve() });

export const finished = (value: string): Outcome => ({ kind: 'finished', output: { value }, handle: 'output' });
export const failing = (cause: 'error' | 'invalid' = 'error'): Outcome => ({
  kind: 'failed',
  failure: { cause, message: 'on purpose' },
});

/** The run's own job of a node, as it was first sent. */
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
