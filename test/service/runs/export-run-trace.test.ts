/** The exported trace of a run: one tree from the request to the end, identical in every export. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, correlationId, environment, firstCommit } from '../../../lib/engine/ids.ts';
import { hours, minutes } from '../../../lib/engine/time.ts';
import { type Trace, traceparent, withSpan } from '../../../lib/engine/trace.ts';
import type { Span, Spans } from '../../../lib/ports/spans.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import {
  type ExportResult,
  exportRunTrace,
  maxSpansPerRequest,
  maxSpansPerRun,
} from '../../../lib/service/runs/export-run-trace.ts';
import { callerSpanId, requestSpanId } from '../../../lib/service/runs/span-ids.ts';
import type { RunAttempt } from '../../../lib/service/commit/plans.ts';
import { startCodeRun } from '../code-test-env.ts';
import { type TestEnv, failing, finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { functionCommand } from '../scripted-programs.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpan = 'b7ad6b7169203331';
const correlation = correlationId('order 17');
const requestSpan = requestSpanId(traceId, correlation, callerSpan);
const secret = 'what-a-user-brought';
/** What the HTTP pipeline makes of a caller's `traceparent`. */
const traced = (flags = '01', span = requestSpan): Trace => ({
  correlationId: correlation,
  traceparent: traceparent(`00-${traceId}-${span}-${flags}`),
});

/** Stores each export request. */
class KeptSpans implements Spans {
  readonly requests: (readonly Span[])[] = [];
  async send(spans: readonly Span[]): Promise<void> {
    this.requests.push(spans);
  }
  get all(): readonly Span[] {
    return this.requests.flat();
  }
}

const exported = async (
  env: TestEnv,
  run: RunAddress,
  samplePercent = 100,
): Promise<{ readonly spans: KeptSpans; readonly outcome: ExportResult }> => {
  const spans = new KeptSpans();
  return { spans, outcome: await exportRunTrace(env.deps, spans, run, { samplePercent }) };
};

/** `name (status)` under its parent, indented by two spaces per level; spans without a parent are at the left. */
function treeOf(spans: readonly Span[]): readonly string[] {
  const below = (parent: string | undefined, depth: number): readonly string[] =>
    spans
      .filter((span) => (depth === 0 ? !spans.some(({ spanId }) => spanId === span.parentSpanId) : span.parentSpanId === parent))
      .toSorted((one, other) => one.startedAt - other.startedAt || one.name.localeCompare(other.name))
      .flatMap((span) => [
        `${'  '.repeat(depth)}${span.name} #${span.attributes['stepwell.attempt'] ?? ''} ${span.attributes['stepwell.status']}`.replace(
          ' # ',
          ' ',
        ),
        ...below(span.spanId, depth + 1),
      ]);
  return below(undefined, 0);
}

const startedAs = async (env: TestEnv, trace: Trace | undefined): Promise<RunAddress> => {
  const answer = await env.start({ ...(trace === undefined ? {} : { trace }), input: { secret } });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
};

describe('the tree', () => {
  test('starts with the request, below the span of its caller, and contains every attempt, every wait and the end', async () => {
    const env = createTestEnv({ answer: (node, attempt) => (node === 'a' && attempt === 1 ? failing() : finished(secret)) });
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: minutes(10) } }));
    const run = await startedAs(env, traced());
    await env.settle();
    const { spans, outcome } = await exported(env, run);
    expect(outcome).toEqual({ kind: 'sent', spans: 6, dropped: 0 });
    expect(treeOf(spans.all)).toEqual([
      'start flow completed',
      '  run flow completed',
      '    node a #1 retried',
      '    node a #2 completed',
      '    node z #1 completed',
      '    node b #1 completed',
    ]);
    expect(new Set(spans.all.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(spans.all.at(-1)).toMatchObject({ name: 'run flow', parentSpanId: requestSpan, status: 'ok' });
    const head = await env.ports.log.head(run);
    expect(spans.all.at(-2)).toMatchObject({
      name: 'start flow',
      spanId: requestSpan,
      parentSpanId: callerSpan,
      startedAt: head?.createdAt,
      endedAt: head?.commit.at,
      attributes: { 'stepwell.run.id': run.runId, 'stepwell.function': head?.commit.by },
    });
    const nap = spans.all.find(({ name }) => name === 'node z');
    expect((nap?.endedAt ?? 0) - (nap?.startedAt ?? 0)).toBeGreaterThanOrEqual(minutes(10));
    expect(nap?.attributes).toMatchObject({ 'stepwell.waits_for': 'time' });
    expect(spans.all.find(({ status }) => status === 'error')?.attributes).toMatchObject({ 'error.type': 'error' });
  });

  test('a request without a trace of its caller is the root', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await startedAs(env, traced('01', requestSpanId(traceId, correlation)));
    await env.settle();
    const { spans } = await exported(env, run);
    expect(spans.all.at(-2)).toMatchObject({ name: 'start flow', spanId: requestSpanId(traceId, correlation) });
    expect(spans.all.at(-2)).not.toHaveProperty('parentSpanId');
  });

  test.each([callerSpan, 'ffffffffffffffff', '0000000000000001'])(
    'the span id of a request contains that of its caller, %s',
    (span) => {
      const requested = requestSpanId(traceId, correlation, span);
      expect(requested).toMatch(/^[0-9a-f]{16}$/);
      expect(requested).not.toBe(span);
      expect(callerSpanId(traced('01', requested))).toBe(span);
      expect(requestSpanId(traceId, correlationId('another'), span)).not.toBe(requested);
    },
  );

  test('a caller whose span id would give the request no id has no parent in the trace', () => {
    const unlucky = requestSpanId(traceId, correlation);
    expect(requestSpanId(traceId, correlation, unlucky)).toBe(unlucky);
    expect(callerSpanId(traced('01', unlucky))).toBeUndefined();
  });

  test('an attempt’s span id is the parent id in its outgoing requests', async () => {
    const env = createTestEnv();
    const parents: string[] = [];
    const noting: RunAttempt = async (node, _input, attempt) => {
      parents.push(attempt.trace?.traceparent ?? '');
      return { outcome: finished(node.id), printed: [] };
    };
    await env.publish(workflow('flow', 'a>b'));
    const run = await startedAs(env, traced());
    Object.assign(env.worker, { runAttempt: noting });
    await env.settle();
    const { spans } = await exported(env, run);
    const sent = spans.all.filter(({ name }) => name.startsWith('node'));
    expect(parents.toSorted()).toEqual(sent.map(({ spanId }) => withSpan(traced().traceparent, spanId)).toSorted());
    expect(parents).toHaveLength(2);
  });

  test('an iteration is below its loop', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items: 2 } }));
    const run = await startedAs(env, traced());
    await env.settle();
    const { spans } = await exported(env, run);
    expect(treeOf(spans.all)).toEqual([
      'start flow completed',
      '  run flow completed',
      '    node a #1 completed',
      '    node d #1 completed',
      '    node l #1 completed',
      '      node b #1 completed',
      '      node b #1 completed',
    ]);
    expect(new Set(spans.all.map(({ spanId }) => spanId)).size).toBe(7);
  });

  test('a child run is below the attempt that called it, in the same trace', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>k k>b', { k: { calls: 'child' } }));
    await env.publish(workflow('child', 'x>y'));
    const run = await startedAs(env, traced());
    await env.settle();
    const caller = await exported(env, run);
    const runId = caller.spans.all.find(({ name }) => name === 'node k')?.attributes['stepwell.child_run.id'];
    const child = (await env.ports.index.list(scope, { limit: 5 })).heads.find(({ address }) => address.runId === runId);
    if (child === undefined) throw new Error('no child run was started');
    const called = await exported(env, child.address);
    expect(treeOf([...caller.spans.all, ...called.spans.all])).toEqual([
      'start flow completed',
      '  run flow completed',
      '    node a #1 completed',
      '    node b #1 completed',
      '    node k #1 completed',
      '      run child completed',
      '        node x #1 completed',
      '        node y #1 completed',
    ]);
    expect(called.spans.all.every((span) => span.traceId === traceId)).toBe(true);
  });

  test('a run without a request has its own trace, which includes its child runs', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>k k>b', { k: { calls: 'child' } }));
    await env.publish(workflow('child', 'x>y'));
    const run = await startedAs(env, undefined);
    await env.settle();
    const heads = (await env.ports.index.list(scope, { limit: 5 })).heads;
    const all = (await Promise.all(heads.map(({ address }) => exported(env, address)))).flatMap(({ spans }) => spans.all);
    expect(new Set(all.map((span) => span.traceId)).size).toBe(1);
    expect(treeOf(all)).toHaveLength(7);
    expect(
      all.find(({ attributes }) => attributes['stepwell.run.id'] === run.runId && attributes['stepwell.workflow.name']),
    ).not.toHaveProperty('parentSpanId');
  });

  test('steps of code and its workflow tasks are below their run', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]]);
    await env.settle();
    const { spans } = await exported(env, run);
    expect(treeOf(spans.all).toSorted()).toEqual(
      ['run order completed', '  step a #1 completed', '  step b #1 completed', '  workflow task #1 completed'].toSorted(),
    );
  });

  test('the open attempts of a cancelled run end with it', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: hours(1) } }));
    const run = await startedAs(env, traced());
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    await cancelRun(env.worker, run, secret);
    const { spans } = await exported(env, run);
    expect(treeOf(spans.all)).toEqual([
      'start flow completed',
      '  run flow cancelled',
      '    node a #1 completed',
      '    node z #1 cancelled',
    ]);
    expect(spans.all.filter(({ status }) => status === undefined)).toHaveLength(2);
  });

  test('a failed run has its error code', async () => {
    const env = createTestEnv({ answer: () => failing() });
    await env.publish(workflow('flow', 'a>b', { a: { policy: { errorHandling: 'fail_workflow' } } }));
    const run = await startedAs(env, traced());
    await env.settle();
    const root = (await exported(env, run)).spans.all.at(-1);
    expect(root).toMatchObject({
      status: 'error',
      attributes: { 'stepwell.status': 'failed', 'stepwell.failure.cause': 'error' },
    });
  });
});

test('a repeated export sends the same spans', async () => {
  const env = createTestEnv({ answer: (_node, attempt) => (attempt === 1 ? failing() : finished('x')) });
  await env.publish(workflow('flow', 'a>l l/loop>b l/done>z', { l: { items: 3 }, z: { ms: minutes(1) } }));
  const run = await startedAs(env, traced());
  await env.settle();
  const [first, second] = [await exported(env, run), await exported(env, run)];
  expect(second.spans.requests).toEqual(first.spans.requests);
  expect(new Set(first.spans.all.map(({ spanId }) => spanId)).size).toBe(first.spans.all.length);
});

test('it contains no user data: no inputs, outputs, error messages or reasons', async () => {
  const env = createTestEnv({
    answer: (node) =>
      node === 'b'
        ? { kind: 'failed', failure: { cause: 'error', message: secret, details: { secret } } }
        : { kind: 'finished', output: { value: secret }, handle: 'output' },
  });
  await env.publish(workflow('flow', 'a>b'));
  const run = await startedAs(env, traced());
  await env.settle();
  const { spans } = await exported(env, run);
  expect(spans.all.length).toBeGreaterThan(3);
  expect(JSON.stringify(spans.all)).not.toContain(secret);
  expect(JSON.stringify(spans.all)).not.toContain('order 17');
});

describe('a long run', () => {
  test('is sent in requests of limited size, and dropped spans are counted', async () => {
    const env = createTestEnv();
    const items = maxSpansPerRun + 50;
    await env.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items, concurrency: 250 } }));
    const run = await startedAs(env, traced());
    await env.settle();
    const { spans, outcome } = await exported(env, run);
    expect(Math.max(...spans.requests.map((request) => request.length))).toBe(maxSpansPerRequest);
    expect(spans.all).toHaveLength(maxSpansPerRun);
    // The request, the run, its loop and the two nodes beside the loop are also spans.
    const dropped = items + 5 - maxSpansPerRun;
    expect(spans.all.at(-2)).toMatchObject({ name: 'start flow' });
    expect(outcome).toEqual({ kind: 'sent', spans: maxSpansPerRun, dropped });
    expect(spans.all.at(-1)).toMatchObject({ name: 'run flow', attributes: { 'stepwell.spans_dropped': dropped } });
  });
});

describe('what is not sent', () => {
  const ended = async (trace: Trace | undefined): Promise<{ readonly env: TestEnv; readonly run: RunAddress }> => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await startedAs(env, trace);
    await env.settle();
    return { env, run };
  };

  test('an open run: the export is unavailable and is retried', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await startedAs(env, traced());
    await expect(exported(env, run)).rejects.toThrow(Unavailable);
  });

  test('a missing run', async () => {
    const { env, run } = await ended(traced());
    const { outcome } = await exported(env, { ...run, environment: environment('elsewhere') });
    expect(outcome).toEqual({ kind: 'skipped' });
  });

  test('a share of the unsampled traces, each completely or not at all', async () => {
    const { env, run } = await ended(traced('00'));
    // The last 56 bits of the id are 0x48eb211c80319c, 28.4 percent of their maximum.
    expect((await exported(env, run, 28)).outcome).toEqual({ kind: 'skipped' });
    expect((await exported(env, run, 29)).outcome).toMatchObject({ kind: 'sent' });
    const sampled = await ended(traced('01'));
    expect((await exported(sampled.env, sampled.run, 1)).outcome).toMatchObject({ kind: 'sent' });
  });

  test('a failing collector does not change the run', async () => {
    const { env, run } = await ended(traced());
    const before = JSON.stringify([...(await env.ports.log.commitsAfter(run, firstCommit))]);
    const failingSpans: Spans = { send: () => Promise.reject(new Unavailable('the collector')) };
    await expect(exportRunTrace(env.deps, failingSpans, run, { samplePercent: 100 })).rejects.toThrow(Unavailable);
    expect(JSON.stringify([...(await env.ports.log.commitsAfter(run, firstCommit))])).toBe(before);
  });
});
