/** The trace of a run is read from its log: one tree from the request to the end, the same however often it is sent. */
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
import type { RunAttempt } from '../../../lib/service/commit/plans.ts';
import { startCodeRun } from '../code-test-env.ts';
import { type TestEnv, failing, finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { functionCommand } from '../scripted-programs.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const requestSpan = 'b7ad6b7169203331';
const secret = 'what-a-user-brought';
const traced = (flags = '01'): Trace => ({
  correlationId: correlationId('order 17'),
  traceparent: traceparent(`00-${traceId}-${requestSpan}-${flags}`),
});

/** Keeps each request. */
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
  home: TestEnv,
  run: RunAddress,
  samplePercent = 100,
): Promise<{ readonly spans: KeptSpans; readonly outcome: ExportResult }> => {
  const spans = new KeptSpans();
  return { spans, outcome: await exportRunTrace(home.deps, spans, run, { samplePercent }) };
};

/** `name (status)` under its parent, two spaces for each level; what has no parent here stands at the left. */
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

const startedAs = async (home: TestEnv, trace: Trace | undefined): Promise<RunAddress> => {
  const answer = await home.start({ ...(trace === undefined ? {} : { trace }), input: { secret } });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
};

describe('the tree', () => {
  test('begins below the span of the request, and has each attempt, each wait and the end', async () => {
    const home = createTestEnv({ answer: (node, attempt) => (node === 'a' && attempt === 1 ? failing() : finished(secret)) });
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: minutes(10) } }));
    const run = await startedAs(home, traced());
    await home.settle();
    const { spans, outcome } = await exported(home, run);
    expect(outcome).toEqual({ kind: 'sent', spans: 5, dropped: 0 });
    expect(treeOf(spans.all)).toEqual([
      'run flow completed',
      '  node a #1 retried',
      '  node a #2 completed',
      '  node z #1 completed',
      '  node b #1 completed',
    ]);
    expect(new Set(spans.all.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const root = spans.all.at(-1);
    expect(root).toMatchObject({ name: 'run flow', parentSpanId: requestSpan, status: 'ok' });
    const nap = spans.all.find(({ name }) => name === 'node z');
    expect((nap?.endedAt ?? 0) - (nap?.startedAt ?? 0)).toBeGreaterThanOrEqual(minutes(10));
    expect(nap?.attributes).toMatchObject({ 'stepwell.waits_for': 'time' });
    expect(spans.all.find(({ status }) => status === 'error')?.attributes).toMatchObject({ 'error.type': 'error' });
  });

  test('the span of an attempt is the one that its requests to others name as their parent', async () => {
    const home = createTestEnv();
    const parents: string[] = [];
    const noting: RunAttempt = async (node, _input, attempt) => {
      parents.push(attempt.trace?.traceparent ?? '');
      return { outcome: finished(node.id), printed: [] };
    };
    await home.publish(workflow('flow', 'a>b'));
    const run = await startedAs(home, traced());
    Object.assign(home.worker, { runAttempt: noting });
    await home.settle();
    const { spans } = await exported(home, run);
    const sent = spans.all.filter(({ name }) => name.startsWith('node'));
    expect(parents.toSorted()).toEqual(sent.map(({ spanId }) => withSpan(traced().traceparent, spanId)).toSorted());
    expect(parents).toHaveLength(2);
  });

  test('an iteration is below its loop', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items: 2 } }));
    const run = await startedAs(home, traced());
    await home.settle();
    const { spans } = await exported(home, run);
    expect(treeOf(spans.all)).toEqual([
      'run flow completed',
      '  node a #1 completed',
      '  node d #1 completed',
      '  node l #1 completed',
      '    node b #1 completed',
      '    node b #1 completed',
    ]);
    expect(new Set(spans.all.map(({ spanId }) => spanId)).size).toBe(6);
  });

  test('a run that was called is below the attempt that called it, in the same trace', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>k k>b', { k: { calls: 'child' } }));
    await home.publish(workflow('child', 'x>y'));
    const run = await startedAs(home, traced());
    await home.settle();
    const caller = await exported(home, run);
    const runId = caller.spans.all.find(({ name }) => name === 'node k')?.attributes['stepwell.child_run.id'];
    const child = (await home.ports.index.list(scope, { limit: 5 })).heads.find(({ address }) => address.runId === runId);
    if (child === undefined) throw new Error('nobody was called');
    const called = await exported(home, child.address);
    expect(treeOf([...caller.spans.all, ...called.spans.all])).toEqual([
      'run flow completed',
      '  node a #1 completed',
      '  node b #1 completed',
      '  node k #1 completed',
      '    run child completed',
      '      node x #1 completed',
      '      node y #1 completed',
    ]);
    expect(called.spans.all.every((span) => span.traceId === traceId)).toBe(true);
  });

  test('without a request there is a trace all the same, and those who are called are in it', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>k k>b', { k: { calls: 'child' } }));
    await home.publish(workflow('child', 'x>y'));
    const run = await startedAs(home, undefined);
    await home.settle();
    const heads = (await home.ports.index.list(scope, { limit: 5 })).heads;
    const all = (await Promise.all(heads.map(({ address }) => exported(home, address)))).flatMap(({ spans }) => spans.all);
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

  test('what was under way when a run was cancelled ends with it', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: hours(1) } }));
    const run = await startedAs(home, traced());
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    await cancelRun(home.worker, run, secret);
    const { spans } = await exported(home, run);
    expect(treeOf(spans.all)).toEqual(['run flow cancelled', '  node a #1 completed', '  node z #1 cancelled']);
    expect(spans.all.filter(({ status }) => status === undefined)).toHaveLength(2);
  });

  test('a run that failed says by which code', async () => {
    const home = createTestEnv({ answer: () => failing() });
    await home.publish(workflow('flow', 'a>b', { a: { policy: { errorHandling: 'fail_workflow' } } }));
    const run = await startedAs(home, traced());
    await home.settle();
    const root = (await exported(home, run)).spans.all.at(-1);
    expect(root).toMatchObject({
      status: 'error',
      attributes: { 'stepwell.status': 'failed', 'stepwell.failure.cause': 'error' },
    });
  });
});

test('sent again it is the same, span for span', async () => {
  const home = createTestEnv({ answer: (_node, attempt) => (attempt === 1 ? failing() : finished('x')) });
  await home.publish(workflow('flow', 'a>l l/loop>b l/done>z', { l: { items: 3 }, z: { ms: minutes(1) } }));
  const run = await startedAs(home, traced());
  await home.settle();
  const [first, second] = [await exported(home, run), await exported(home, run)];
  expect(second.spans.requests).toEqual(first.spans.requests);
  expect(new Set(first.spans.all.map(({ spanId }) => spanId)).size).toBe(first.spans.all.length);
});

test('nothing that a user brought is in it: inputs, outputs, messages of errors, reasons', async () => {
  const home = createTestEnv({
    answer: (node) =>
      node === 'b'
        ? { kind: 'failed', failure: { cause: 'error', message: secret, details: { secret } } }
        : { kind: 'finished', output: { value: secret }, handle: 'output' },
  });
  await home.publish(workflow('flow', 'a>b'));
  const run = await startedAs(home, traced());
  await home.settle();
  const { spans } = await exported(home, run);
  expect(spans.all.length).toBeGreaterThan(3);
  expect(JSON.stringify(spans.all)).not.toContain(secret);
  expect(JSON.stringify(spans.all)).not.toContain('order 17');
});

describe('a long run', () => {
  test('is sent in requests of bounded size, and what is over the bound is counted', async () => {
    const home = createTestEnv();
    const items = maxSpansPerRun + 50;
    await home.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items, concurrency: 250 } }));
    const run = await startedAs(home, traced());
    await home.settle();
    const { spans, outcome } = await exported(home, run);
    expect(Math.max(...spans.requests.map((request) => request.length))).toBe(maxSpansPerRequest);
    expect(spans.all).toHaveLength(maxSpansPerRun);
    // The run, its loop, and the two nodes beside it are spans, too.
    const dropped = items + 4 - maxSpansPerRun;
    expect(outcome).toEqual({ kind: 'sent', spans: maxSpansPerRun, dropped });
    expect(spans.all.at(-1)).toMatchObject({ name: 'run flow', attributes: { 'stepwell.spans_dropped': dropped } });
  });
});

describe('what is not sent', () => {
  const ended = async (trace: Trace | undefined): Promise<{ readonly home: TestEnv; readonly run: RunAddress }> => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await startedAs(home, trace);
    await home.settle();
    return { home, run };
  };

  test('a run that goes on: it is asked for again', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await startedAs(home, traced());
    await expect(exported(home, run)).rejects.toThrow(Unavailable);
  });

  test('a run that is gone', async () => {
    const { home, run } = await ended(traced());
    const { outcome } = await exported(home, { ...run, environment: environment('elsewhere') });
    expect(outcome).toEqual({ kind: 'skipped' });
  });

  test('a part of the traces nobody asked for, each whole or not at all', async () => {
    const { home, run } = await ended(traced('00'));
    // The last 56 bits of the id are 0x48eb211c80319c, 28.4 percent of what they can be.
    expect((await exported(home, run, 28)).outcome).toEqual({ kind: 'skipped' });
    expect((await exported(home, run, 29)).outcome).toMatchObject({ kind: 'sent' });
    const asked = await ended(traced('01'));
    expect((await exported(asked.home, asked.run, 1)).outcome).toMatchObject({ kind: 'sent' });
  });

  test('a collector that does not take it leaves the run as it was', async () => {
    const { home, run } = await ended(traced());
    const before = JSON.stringify([...(await home.ports.log.commitsAfter(run, firstCommit))]);
    const failingSpans: Spans = { send: () => Promise.reject(new Unavailable('the collector')) };
    await expect(exportRunTrace(home.deps, failingSpans, run, { samplePercent: 100 })).rejects.toThrow(Unavailable);
    expect(JSON.stringify([...(await home.ports.log.commitsAfter(run, firstCommit))])).toBe(before);
  });
});
