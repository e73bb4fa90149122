/**
 * Runs one hostile workflow from its publication to its end, with the HTTP functions, the service, the real node types and the sandbox. The
 * stores are in memory, time is virtual, and the log refuses a commit above the size limit.
 */
import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import { compile } from '../../lib/engine/graph/compile.ts';
import { environment, projectId, runId } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { type Instant, after, days, minutes } from '../../lib/engine/time.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { type RunnerOptions, createRunners } from '../../lib/nodes/runners.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import { byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import { Plans, type RunAttempt } from '../../lib/service/commit/plans.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { maxCommitBytes } from '../../lib/service/run-log/payloads.ts';
import { recheckRun } from '../../lib/service/execution/recheck-run.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { wakeNode } from '../../lib/service/execution/wake-node.ts';
import { reconcileChild } from '../../lib/service/execution/reconcile-child.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type Http, http } from '../functions/http.ts';
import { reachOf } from '../nodes/other-side.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

const storedBytes = (events: readonly RunEvent[]): number => {
  const text = JSON.stringify(events);
  return text.length < maxCommitBytes / 3 ? text.length : gzipSync(text, { level: 1 }).length;
};

/** The log, which refuses commits that the table could refuse. */
const strict = (log: RunLog): RunLog =>
  new Proxy(log, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        const [first, second] = given;
        const written = name === 'create' ? commitOf(first) : name === 'put' ? eventsOf(second) : [];
        const bytes = storedBytes(written);
        if (bytes > maxCommitBytes) throw new Error(`a commit of ${bytes} bytes exceeds the limit`);
        return Reflect.apply(member, target, given);
      };
    },
  });

const carriesCommit = z.looseObject({ commit: z.unknown() });
const carriesEvents = z.looseObject({ events: z.custom<readonly RunEvent[]>((value) => Array.isArray(value)) });
const commitOf = (creation: unknown): readonly RunEvent[] => eventsOf(carriesCommit.parse(creation).commit);
const eventsOf = (commit: unknown): readonly RunEvent[] => carriesEvents.parse(commit).events;

const runShape = z.looseObject({
  status: z.string(),
  output: z.unknown().optional(),
  error: z.looseObject({ cause: z.string(), code: z.string().optional(), message: z.string() }).nullish(),
});
const refusalShape = z.looseObject({ code: z.string(), message: z.string() });
const startedShape = z.looseObject({ runId: z.string() });

export interface Outcome {
  /** `ended`: the run ended; otherwise the request that the API refused */
  readonly at: 'ended' | 'publish' | 'start';
  /** of the refusal, or 200 */
  readonly httpStatus: number;
  /** of the run, or the code of the refusal */
  readonly status: string;
  readonly code: string | undefined;
  readonly cause: string | undefined;
  readonly message: string;
  readonly output: unknown;
  /** all events, in order */
  readonly events: readonly RunEvent[];
  /** of a refusal */
  readonly body: JsonObject;
  readonly tookMs: number;
}

export interface WorkflowRunner {
  run(workflow: HostileWorkflow): Promise<Outcome>;
}

export interface HostileWorkflow {
  readonly workflow: JsonObject;
  /** workflows that it calls */
  readonly others?: readonly JsonObject[];
  readonly input?: JsonObject;
  /** signals sent after the start, as bodies of `POST /v1/signals` */
  readonly signals?: readonly JsonObject[];
}

/** All workflows share one set of runners, as in a worker, so that a script could affect the next one. */
export function createRunner(options: RunnerOptions = {}): WorkflowRunner {
  const runAttempt = createAttemptRunner(createRunners({ networkAccess: reachOf(), ...options }), {
    secret: async (_scope, name) => (name === 'token' ? { kind: 'secret', text: 'a-secret-value' } : { kind: 'not_allowed' }),
  });
  return { run: (workflow) => runWorkflow(workflow, runAttempt) };
}

async function runWorkflow(
  { workflow, others = [], input = {}, signals = [] }: HostileWorkflow,
  runAttempt: RunAttempt,
): Promise<Outcome> {
  const startedAt = performance.now();
  const api = http(({ log }) => ({ log: strict(log) }));
  const key = await api.key(['admin'], { rateLimitPerMinute: null });
  const ended = (more: Pick<Outcome, 'at' | 'httpStatus' | 'status'> & Partial<Outcome>): Outcome => ({
    code: undefined,
    cause: undefined,
    message: '',
    output: undefined,
    events: [],
    body: {},
    ...more,
    tookMs: performance.now() - startedAt,
  });
  const refused = (
    at: 'publish' | 'start',
    { status, body }: { readonly status: number; readonly body: JsonObject },
  ): Outcome => {
    const { code, message } = refusalShape.parse(body);
    return ended({ at, httpStatus: status, status: code, code, message, body });
  };

  for (const body of [...others, workflow]) {
    const published = await api.call('POST', '/v1/workflows', { key, body });
    if (published.status !== 201) return refused('publish', published);
  }
  const startBody = { workflowName: workflow['name'] ?? '', input };
  const started = await api.call('POST', '/v1/runs', { key, headers: { 'Idempotency-Key': 'k' }, body: startBody });
  if (started.status !== 202) return refused('start', started);
  const { runId: id } = startedShape.parse(started.body);
  for (const body of signals) {
    const sent = await api.call('POST', `/v1/runs/${id}/signals`, { key, body });
    if (sent.status !== 202) return refused('start', sent);
  }
  await processMessages(api, runAttempt);
  const { body } = await api.call('GET', `/v1/runs/${id}`, { key });
  const run = runShape.parse(body);
  return ended({
    at: 'ended',
    httpStatus: 200,
    status: run.status,
    code: run.error?.code,
    cause: run.error?.cause,
    message: run.error?.message ?? '',
    output: run.output,
    events: await eventsIn(api, id),
  });
}

async function eventsIn({ world }: Http, id: string): Promise<readonly RunEvent[]> {
  const address = { projectId: projectId('acme'), environment: environment('test'), runId: runId(id) };
  const head = await world.log.head(address);
  if (head === undefined) return [];
  const later = await world.log.commitsAfter(address, head.commit.number);
  return [...head.commit.events, ...later.flatMap(({ events }) => events)];
}

/** Processes messages until none is left, and moves the clock to the next one. */
async function processMessages({ world }: Http, runAttempt: RunAttempt): Promise<void> {
  const clock: Clock = {
    now: () => world.clock.now(),
    // A wait before another attempt ends at once. The watcher of a node sleeps until the node has ended.
    sleep: async (wait, signal) => (signal === undefined ? world.clock.advance(wait) : world.clock.sleep(wait, signal)),
  };
  const worker: JobHandler = {
    deps: { ...world, clock, settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } },
    plans: new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure }),
    kinds: runKinds,
    executions: runExecutions,
    by: 'worker',
    foldCache: new FoldCache(),
    runAttempt,
  };
  for (;;) {
    const delivery = { isRedelivered: false, mustEndAt: after(world.clock.now(), minutes(15)) };
    const jobs = [...world.jobs.takeSent(), ...world.jobs.takeDue(), ...world.timers.takeDue().map(({ job }) => job)];
    for (const job of jobs) {
      if (job.kind === 'child') await reconcileChild(worker, job);
      else if (job.kind === 'recheck') await recheckRun(worker, job);
      else if (job.kind === 'node') await runNode(worker, job, delivery);
      else if (job.kind === 'wake') await wakeNode(worker, job, delivery);
    }
    const results = world.jobs.takeResults();
    for (const each of byRun(results.map((result) => ({ result, isRedelivered: false })))) await collectResults(worker, each);
    if (jobs.length > 0 || results.length > 0) continue;
    const next = Math.min(...world.jobs.delayed.map(({ dueAt }) => dueAt), ...world.timers.pending().map(({ at }) => at));
    if (!Number.isFinite(next)) return;
    world.clock.set(next as Instant);
  }
}
