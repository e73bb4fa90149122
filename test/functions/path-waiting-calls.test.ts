/** The calls of the latency bench's paths that wait for each other (docs/BENCH.md), compared with `bench/golden/path-waiting-calls.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type PathName } from '../../bench/path-latency.ts';
import { chainOfEffects, effectCaller, effectChild, effectWaiter } from '../../bench/workflows.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { handleJob } from '../../lib/service/execution/handle-job.ts';
import type { ReconcileRequest } from '../../lib/ports/jobs.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Programs } from '../../lib/ports/programs.ts';
import { reconcileForCode } from '../../lib/service/execution/reconcile-for-code.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type ScriptStage, ScriptedPrograms, type StepFunction, functionCommand } from '../service/scripted-programs.ts';
import { finished } from '../service/test-env.ts';
import { shippedCode } from './code-api.ts';
import { textIn } from './http.ts';
import { type CountedHttp, countedHttp } from './waiting-calls.ts';

/** A node of the run began in this unit of the request that is counted. */
interface Begun {
  readonly node: string;
  readonly unit: number;
}

interface Paths {
  readonly counted: CountedHttp;
  readonly key: string;
  readonly begun: Begun[];
  /** settles when the node begins */
  readonly begins: (node: string) => Promise<void>;
}

/** The API and workers that have run these workflows before. Each message has another worker, which knows no fold of the run. */
async function warmPaths(): Promise<Paths> {
  const counted = countedHttp();
  // The default of the setting.
  counted.api.world.notices.runEvents = 'failed';
  const begun: Begun[] = [];
  const awaited = new Map<string, () => void>();
  const plans = new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure });
  const known = new KnownDeployments();
  const world = counted.world();
  const began = (id: string): void => {
    begun.push({ node: id, unit: counted.units() });
    awaited.get(id)?.();
  };
  counted.deliverTo(async (job) => {
    const mustEndAt = after(world.clock.now(), minutes(15));
    const worker = {
      deps: { ...world, settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } },
      plans,
      known,
      kinds: runKinds,
      executions: runExecutions,
      by: 'worker',
      foldCache: new FoldCache(),
      runAttempt: async ({ id }: { readonly id: string }) => {
        began(id);
        return { outcome: finished(id), printed: [] };
      },
    };
    const delivery = { isRedelivered: false, mustEndAt };
    const reconciler = counted.port('functions', {
      reconcile: (request: ReconcileRequest) => reconcileForCode({ ...worker, by: 'world' }, request),
    });
    if (job.kind === 'workflow_task')
      await runExecutions.code.execute(
        { ...worker, by: 'code', programs: programsOf(world.clock, began), reconciler },
        job,
        delivery,
      );
    else await handleJob(worker, job, delivery);
  });
  const [, key] = await shippedCode([{ name: 'parent' }, { name: 'child' }], counted.api);
  for (const body of [chainOfEffects(2), effectChild, effectCaller, effectWaiter])
    await counted.api.call('POST', '/v1/workflows', { key, body });
  const begins = (node: string) => new Promise<void>((resolve) => void awaited.set(node, resolve));
  return { counted, key, begun, begins };
}

/** The code of two workflows: `parent` takes a step, calls `child`, which takes a step, and takes another step. */
function programsOf(clock: Clock, began: (step: string) => void): Programs {
  const step: StepFunction = (key) => (began(key), `${key} done`);
  const call: ScriptStage = [{ kind: 'workflow', key: 'call', workflowName: 'child', input: {} }];
  const parent = [[functionCommand('first')], call, [functionCommand('last')]];
  const scripted = (stages: readonly ScriptStage[]) => new ScriptedPrograms(() => clock, stages, step);
  return {
    start: (scope, manifest, task, host) =>
      scripted(task.run.workflowName === 'parent' ? parent : [[functionCommand('of the child')]]).start(
        scope,
        manifest,
        task,
        host,
      ),
  };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

const start = ({ counted, key }: Paths, workflowName: string, name: string) =>
  counted.api.call('POST', '/v1/runs', { key, headers: { 'Idempotency-Key': name }, body: { workflowName, input: {} } });

/** Counts the calls of the request until the node begins, from the beginning of the node `from` or of the request. */
async function path(paths: Paths, request: () => ReturnType<typeof start>, until: string, from?: string) {
  const { counted, begun, begins } = paths;
  begun.length = 0;
  const { rounds } = await counted.waitingCalls(async () => {
    const [answer] = await Promise.all([request(), begins(until)]);
    return answer;
  });
  const unitOf = (node: string): number => begun.find((each) => each.node === node)?.unit ?? Number.NaN;
  return rounds.slice(from === undefined ? 0 : unitOf(from), unitOf(until));
}

const signal = ({ counted, key }: Paths, runId: string) =>
  counted.api.call('POST', '/v1/signals', {
    key,
    headers: { 'Idempotency-Key': runId },
    body: { name: 'go', correlation: runId, payload: {} },
  });

/** A run that waits for its signal. */
async function waiting(paths: Paths, name: string): Promise<string> {
  const answer = await start(paths, effectWaiter.name, name);
  await turns();
  return textIn(answer, 'runId');
}

test('the calls that wait for each other on the measured paths are the golden ones', async () => {
  const paths = await warmPaths();
  const chain = chainOfEffects(2).name;
  await start(paths, chain, 'warm');
  await turns();
  const chained = await path(paths, () => start(paths, chain, 'chain'), 'n1');
  const between = await path(paths, () => start(paths, chain, 'between'), 'n2', 'n1');
  const warm = await waiting(paths, 'warm waiter');
  await signal(paths, warm);
  await turns();
  const runId = await waiting(paths, 'waiter');
  const woken = await path(paths, () => signal(paths, runId), 'after');
  await start(paths, effectCaller.name, 'warm caller');
  await turns();
  const called = await path(paths, () => start(paths, effectCaller.name, 'caller'), 'after', 'before');
  await start(paths, 'parent', 'warm code');
  await turns();
  const ofCode = await path(paths, () => start(paths, 'parent', 'code'), 'last', 'first');
  const counts: Readonly<Record<PathName, unknown>> = {
    'trigger → first node': chained,
    'node → node, with side effects': between,
    'signal → wake': woken,
    'child → parent, graph': called,
    'child → parent, code': ofCode,
  };
  const file = new URL('../../bench/golden/path-waiting-calls.json', import.meta.url);
  if (process.env['STEPWELL_WRITE_GOLDEN'] === '1') writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`);
  expect(counts).toEqual(JSON.parse(readFileSync(file, 'utf8')));
});
