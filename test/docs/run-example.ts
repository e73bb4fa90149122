/** Runs an example from publishing it to its end: the HTTP functions, real node types, a world in memory whose time is moved by hand. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import * as z from 'zod';
import { queryName } from '../../lib/engine/ids.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { after, days, instant, minutes } from '../../lib/engine/time.ts';
import { ConfiguredModels } from '../../lib/models/configured-models.ts';
import { DeterministicModel } from '../../lib/models/deterministic-model.ts';
import { WordModeration } from '../../lib/models/moderation.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import type { NetworkAccess } from '../../lib/egress/destination.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { ProjectQueries } from '../../lib/service/definitions/project-queries.ts';
import { reconcileChild } from '../../lib/service/execution/reconcile-child.ts';
import { reconcileSlot } from '../../lib/service/execution/reconcile-slot.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { wakeNode } from '../../lib/service/execution/wake-node.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { http } from '../functions/http.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

const folder = new URL('../../examples/', import.meta.url);
const workflowShape = z.looseObject({ name: z.string(), nodes: z.array(z.looseObject({ type: z.string() })) });
const expectedShape = z.strictObject({
  status: z.string(),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
  nodes: z.record(z.string(), z.string()),
});
const runShape = z.looseObject({
  status: z.string(),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
  nodes: z.array(z.looseObject({ nodeId: z.string(), status: z.string() })),
});

const fileOf = (name: string, file: string): unknown => JSON.parse(readFileSync(new URL(`${name}/${file}`, folder), 'utf8'));

export interface Example {
  readonly name: string;
  readonly workflow: z.output<typeof workflowShape>;
  readonly input: object;
  /** the workflows that it calls */
  readonly others: readonly unknown[];
  /** the lenses that it uses */
  readonly lenses: readonly unknown[];
  /** what is sent once the run has started */
  readonly signals: readonly unknown[];
  /** what the owner of a laptop writes into `.stepwell/secrets.json` before */
  readonly secrets: Readonly<Record<string, string>>;
  /** what its `dataQuery` nodes ask, published before */
  readonly query: object | undefined;
  readonly expected: z.output<typeof expectedShape>;
}

export const exampleNames: readonly string[] = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(new URL(`${entry.name}/workflow.json`, folder)))
  .map(({ name }) => name);

const listIn = (name: string, file: string): readonly unknown[] =>
  existsSync(new URL(`${name}/${file}`, folder)) ? z.array(z.unknown()).parse(fileOf(name, file)) : [];

export const example = (name: string): Example => ({
  name,
  workflow: workflowShape.parse(fileOf(name, 'workflow.json')),
  input: z.looseObject({}).parse(fileOf(name, 'input.json')),
  others: listIn(name, 'others.json'),
  lenses: listIn(name, 'lenses.json'),
  signals: listIn(name, 'signals.json'),
  secrets: existsSync(new URL(`${name}/secrets.json`, folder))
    ? z.record(z.string(), z.string()).parse(fileOf(name, 'secrets.json'))
    : {},
  query: existsSync(new URL(`${name}/query.json`, folder)) ? z.looseObject({}).parse(fileOf(name, 'query.json')) : undefined,
  expected: expectedShape.parse(fileOf(name, 'expected.json')),
});

/** The same, and everything that is asked of it is written down. */
const noting = <Port extends object>(port: Port, written: unknown[]): Port =>
  new Proxy(port, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      return (...given: readonly unknown[]): unknown => {
        written.push(given);
        return Reflect.apply(found, target, given);
      };
    },
  });

/** What became of it: what its `expected.json` says, as the run's own answer says it. */
export async function runExample(
  { name, workflow, others, lenses, input, signals, secrets, query }: Example,
  networkAccess?: NetworkAccess,
) {
  const written: unknown[] = [];
  const api = http(({ log, blobs, notices }) => ({
    log: noting(log, written),
    blobs: noting(blobs, written),
    notices: noting(notices, written),
  }));
  const { world } = api;
  const key = await api.key(['admin'], { rateLimitPerMinute: null });
  if (query !== undefined) {
    const stored = await api.call('POST', '/v1/queries', { key, body: query });
    if (stored.status !== 201) throw new Error(JSON.stringify(stored.body));
  }
  for (const lens of lenses) {
    const made = await api.call('POST', '/v1/lenses', { key, body: lens });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }
  for (const body of [...others, workflow]) {
    const published = await api.call('POST', '/v1/workflows', { key, body });
    if (published.status !== 201) throw new Error(JSON.stringify(published.body));
  }
  const headers = { 'Idempotency-Key': name };
  const started = await api.call('POST', '/v1/runs', { key, headers, body: { workflowName: workflow.name, input } });
  if (started.status !== 202) throw new Error(JSON.stringify(started.body));
  for (const signal of signals) {
    const sent = await api.call('POST', '/v1/signals', { key, body: signal });
    if (sent.status !== 202) throw new Error(JSON.stringify(sent.body));
  }

  // As the embedded cloud has them, without the pauses.
  const models = new ConfiguredModels(
    async () => ({ default: { provider: 'deterministic' } }),
    async () => new DeterministicModel({ sleep: async () => {} }),
    world.clock,
  );
  const lens = { lenses: world.lenses, models, moderation: new WordModeration(['forbidden']) };
  const queries = new ProjectQueries(world);
  const runAttempt = createAttemptRunner(createRunners(networkAccess === undefined ? { lens } : { lens, networkAccess }), {
    query: (scope, asked, version) => queries.of(scope, queryName(asked), version),
    secret: async (_scope, secret) => {
      const text = secrets[secret];
      return text === undefined ? { kind: 'not_allowed' } : { kind: 'secret', text };
    },
  });
  const clock: Clock = {
    now: () => world.clock.now(),
    // the wait before another attempt passes at once; what watches a node sleeps until the node is done
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
      if (job.kind === 'child') {
        await reconcileChild(worker, job);
        continue;
      }
      if (job.kind === 'slot') {
        await reconcileSlot(worker, job);
        continue;
      }
      if (job.kind !== 'node' && job.kind !== 'wake') continue;
      await (job.kind === 'node' ? runNode(worker, job, delivery) : wakeNode(worker, job, delivery));
    }
    const next = Math.min(...world.jobs.delayed.map(({ dueAt }) => dueAt), ...world.timers.pending().map(({ at }) => at));
    if (jobs.length === 0 && !Number.isFinite(next)) break;
    if (jobs.length === 0) world.clock.set(instant(next));
  }
  const run = runShape.parse((await api.call('GET', `/v1/runs/${z.string().parse(started.body['runId'])}`, { key })).body);
  return {
    status: run.status,
    ...(run.output === undefined ? {} : { output: run.output }),
    ...(run.error === undefined ? {} : { error: run.error }),
    nodes: Object.fromEntries(run.nodes.map(({ nodeId, status }) => [nodeId, status])),
    /** all that was stored and answered on the way */
    left: JSON.stringify([written, api.logs, run]),
  };
}
