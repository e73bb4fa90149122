/**
 * The exact commits of scripts that share them, and their write units. Real node types and stored items, but a virtual clock and fixed
 * outputs: a real clock cuts packs where it likes. The files of `bench/golden` have the counts; `STEPWELL_WRITE_GOLDEN=1` writes them.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { defined } from '../../lib/base/defined.ts';
import { type Bill, billOf } from '../../bench/bill.ts';
import { writeUnits } from '../../bench/capacity.ts';
import { goldenOf, writeGolden } from '../../bench/golden.ts';
import { type WireItem, itemBytes } from '../../bench/item-size.ts';
import { type Workflow, chain, chainOfEffects, looped } from '../../bench/workflows.ts';
import { headAttributes } from '../../lib/aws/head-item.ts';
import { commitItem, secondCommitPart } from '../../lib/aws/run-items.ts';
import { headKey, logKey } from '../../lib/aws/run-keys.ts';
import { keyOf } from '../../lib/aws/table.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { type RunAddress, correlationId, firstCommit, nodeId, workflowName } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type Head, isHeldByHead } from '../../lib/engine/log/head.ts';
import { type Instant, after, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { traceparent } from '../../lib/engine/trace.ts';
import type { JobCalls } from '../../lib/ports/jobs.ts';
import { handleCalledJob } from '../../lib/service/execution/handle-job.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { startAndWait } from '../../lib/service/runs/start-and-wait.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { defineWorkflow } from '../../lib/sdk/index.ts';
import type { JobHandler } from '../../lib/service/worker.ts';
import { DrivenRun } from '../program/driven-run.ts';
import { VirtualClock } from '../program/virtual-clock.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type TestEnv, createTestEnv, scope } from '../service/test-env.ts';
import { isGolden } from './counted-cloud.ts';

/** A script that returns at once takes about this long in a warm sandbox. */
const nodeMs = durationMs(2);
/** Of a run besides its commits and its end: idempotency, audit, due, head and byProject. */
const unitsBesideCommits = 5;

/** Publishes the workflow, and makes a worker of real node types whose nodes take `nodeMs`. */
async function prepare(workflow: Workflow): Promise<{ readonly env: TestEnv; readonly worker: JobHandler }> {
  const env = createTestEnv();
  await env.publish({
    name: workflowName(workflow.name),
    version: 1,
    nodes: workflow.nodes.map(({ id, type, ...rest }) => ({ id: nodeId(id), type, config: 'config' in rest ? rest.config : {} })),
    edges: workflow.edges.map((edge) => ({ ...edge, source: nodeId(edge.source), target: nodeId(edge.target) })),
    options: {},
  });
  const worker: JobHandler = {
    ...env.worker,
    plans: new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure }),
    runAttempt: async ({ id }) => {
      env.ports.clock.advance(nodeMs);
      const value = id === 'items' ? Array.from({ length: Number(workflow.name.split('-')[1]) }, (_one, at) => at) : 1;
      return { outcome: { kind: 'finished', output: { value }, handle: 'output' }, printed: [] };
    },
  };
  return { env, worker };
}

const requestOf = (workflow: Workflow) => ({
  scope,
  idempotencyKey: 'k',
  bodyHash: 'h'.repeat(64),
  trace: { correlationId: correlationId('c'.repeat(26)), traceparent: traceparent(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`) },
  workflowName: workflowName(workflow.name),
  input: {},
});

/** The units of the head, of its update with the end, and of the commits after the first, of a run that is answered in one request. */
async function countAnswered(workflow: Workflow): Promise<readonly [head: number, end: number, commits: number]> {
  const { env, worker } = await prepare(workflow);
  env.ports.notices.runEvents = 'failed';
  const updates: number[] = [];
  const log = overrideMethods(env.ports.log, {
    project: async (run, projection) => {
      await env.ports.log.project(run, projection);
      const head = await env.ports.log.head(run);
      if (head !== undefined) updates.push(headUnits(head));
    },
  });
  const called = { ...worker, deps: { ...worker.deps, log } };
  const call: JobCalls['call'] = async (job) => {
    const mustEndAt = after(env.ports.clock.now(), minutes(15));
    return defined({ kind: 'ended', end: await handleCalledJob(called, job, { isRedelivered: false, mustEndAt }) });
  };
  const started = await startAndWait(worker, { call }, requestOf(workflow), seconds(20));
  if (started.kind !== 'started') throw new Error(started.kind);
  const run = { ...scope, runId: started.runId };
  const head = await env.ports.log.head(run);
  if (head === undefined) throw new Error('no head');
  expect(head.projection.status).toBe('completed');
  const commits = await env.ports.log.commitsAfter(run, firstCommit);
  const units = commits.reduce((sum, commit) => sum + writeUnits(bytesOf(run, commit, head.expiresAt)), 0);
  return [headUnits(head), updates.reduce((sum, each) => sum + each, 0), units];
}

/** @param second commit 2, if the head has it */
const headUnits = (head: Head, second?: Commit): number =>
  writeUnits(
    itemBytes(
      wired({
        ...keyOf(headKey(head.address)),
        ...headAttributes(head, head.projection),
        ...(second === undefined ? {} : secondCommitPart.encode(second)),
      }),
    ),
  );

async function count(workflow: Workflow): Promise<Bill> {
  const { env, worker } = await prepare(workflow);
  env.ports.notices.runEvents = 'failed';
  const writeUnitsOf = { commits: 0, end: 0 };
  let second: Commit | undefined;
  const updateUnits = async (run: RunAddress): Promise<number> => {
    const head = await env.ports.log.head(run);
    return head === undefined ? 0 : headUnits(head, second);
  };
  const { log } = env.ports;
  const counting = overrideMethods(log, {
    put: async (run, commit, expiresAt, ended) => {
      const result = await log.put(run, commit, expiresAt, ended);
      const head = await log.head(run);
      const isInHead = head !== undefined && isHeldByHead(head, commit);
      if (isInHead) second = commit;
      writeUnitsOf[ended === undefined ? 'commits' : 'end'] += isInHead
        ? await updateUnits(run)
        : writeUnits(bytesOf(run, commit, expiresAt));
      return result;
    },
    project: async (run, projection) => {
      await log.project(run, projection);
      writeUnitsOf.end += await updateUnits(run);
    },
  });
  const started = await startRun(worker, requestOf(workflow));
  if (started.kind !== 'started') throw new Error(started.kind);
  const run = { ...scope, runId: started.runId };
  for (const job of env.ports.jobs.takeSent())
    await env.take(job, { worker: { ...worker, deps: { ...worker.deps, log: counting } } });
  const { state } = await env.fold(run);
  expect(state.progress.status).toBe('completed');
  const commits = await env.ports.log.commitsAfter(run, firstCommit);
  const units = Object.fromEntries(Object.entries(writeUnitsOf).filter(([, amount]) => amount > 0));
  return { ...billOf([]), writeUnits: units, commits: { won: commits.length } };
}

/** The same for idempotent steps of code. A snapshot is not counted. */
async function countCode(steps: number): Promise<Bill> {
  const clock = new VirtualClock();
  const code = defineWorkflow({ name: 'test' }, async ({ step }) => {
    for (let at = 0; at < steps; at += 1)
      await step.run({ name: 'step', idempotent: true }, () => clock.sleep(nodeMs).then(() => at));
  });
  const run = await new DrivenRun([code], {}, clock).toTheEnd();
  expect(run.state.progress.status).toBe('completed');
  const address = { ...scope, runId: run.facts.runId };
  const commits = run.commits.filter(({ number }) => number > firstCommit);
  const units = commits.reduce((sum, commit) => sum + writeUnits(bytesOf(address, commit, run.facts.deadlineAt)), 0);
  return { ...billOf([]), writeUnits: { commits: units }, commits: { won: commits.length } };
}

const bytesOf = (run: RunAddress, commit: Commit, expiresAt: Instant): number =>
  itemBytes(wired({ ...keyOf(logKey(run, 'platform', commit.number)), ...commitItem.encode(commit, expiresAt) }));

/** The SDK has bytes where the wire has base64. */
const wired = (item: Readonly<Record<string, AttributeValue>>): WireItem =>
  Object.fromEntries(
    Object.entries(item).map(([name, { S, N, B }]) => {
      if (B !== undefined) return [name, { B: Buffer.from(B).toString('base64') }];
      return [name, S === undefined ? { N: N ?? '' } : { S }];
    }),
  );

/** Four units are besides these: idempotency, audit, due and byProject. */
test.each([
  { length: 10, units: [1, 0, 0] },
  { length: 100, units: [3, 0, 0] },
  { length: 1_000, units: [1, 1, 25] },
])('$length scripts that are answered in one request take $units units for head, end and commits', async ({ length, units }) => {
  expect(await countAnswered(chain(length))).toEqual(units);
});

test.each([
  { name: 'packed-chain-10', workflow: chain(10), mostUnits: 6, mostCommits: 1 },
  { name: 'packed-chain-100', workflow: chain(100), mostUnits: 12, mostCommits: 1 },
  { name: 'packed-chain-1000', workflow: chain(1_000), mostUnits: 70, mostCommits: 8 },
  { name: 'packed-loop-100', workflow: looped(100), mostUnits: 12, mostCommits: 1 },
  { name: 'packed-loop-1000', workflow: looped(1_000), mostUnits: 45, mostCommits: 12 },
])('$name: the run takes at most $mostUnits write units and $mostCommits commits', async (expected) => {
  const { name, workflow, mostUnits, mostCommits } = expected;
  const bill = await count(workflow);
  if (process.env['STEPWELL_WRITE_GOLDEN'] === '1') writeGolden(name, goldenOf(bill, {}));
  isGolden(name, bill);
  expect(unitsBesideCommits + (bill.writeUnits['commits'] ?? 0) + (bill.writeUnits['end'] ?? 0)).toBeLessThanOrEqual(mostUnits);
  expect(bill.commits['won']).toBeLessThanOrEqual(mostCommits);
});

test.each([
  { steps: 10, mostUnits: 2, mostCommits: 2 },
  { steps: 100, mostUnits: 6, mostCommits: 2 },
  { steps: 1_000, mostUnits: 60, mostCommits: 10 },
])('$steps idempotent steps of code take at most $mostCommits commits and $mostUnits units for them', async (expected) => {
  const { steps, mostUnits, mostCommits } = expected;
  const name = `packed-code-${steps}`;
  const bill = await countCode(steps);
  if (process.env['STEPWELL_WRITE_GOLDEN'] === '1') writeGolden(name, goldenOf(bill, {}));
  isGolden(name, bill);
  expect(bill.writeUnits['commits']).toBeLessThanOrEqual(mostUnits);
  expect(bill.commits['won']).toBeLessThanOrEqual(mostCommits);
});

test.each([10, 100])('a chain of %s nodes with side effects has a commit for each', async (nodes) => {
  const { writeUnits: units, commits } = await count(chainOfEffects(nodes));
  expect([units, commits]).toEqual([{ commits: nodes, end: 1 }, { won: nodes }]);
});
