/** `explain` summarises each state and each end of a run. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Run, RunEvent } from '../../lib/client/index.ts';
import { explain } from '../../lib/cli/actions/explain.ts';
import { days, hours, minutes } from '../../lib/engine/time.ts';
import { instantGraph, openGraph, started } from '../functions/http.ts';
import { createCliEnvironment, dataIn } from './test-cli.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
const now = Date.parse(at(0));
const runId = 'wrun_01M7XSDTEE14XW69VBQD8BT3DC';

type Node = Run['nodes'][number];
const node = (given: Partial<Node>): Node => ({ nodeId: 'work', type: 'http', status: 'queued', attempt: 1, ...given });
const run = (given: Partial<Run>): Run => ({
  runId,
  status: 'running',
  workflowName: 'flow',
  workflowVersion: 1,
  deploymentId: null,
  specVersion: 1,
  createdAt: at(-60),
  deadlineAt: at(600),
  nodes: [],
  lastEventId: 1,
  ...given,
});
const event = (type: RunEvent['type'], minute: number, payload: RunEvent['payload'] = {}): RunEvent => ({
  eventId: 1,
  sequence: 1,
  type,
  runId,
  timestamp: at(minute),
  payload: { nodeId: 'work', ...payload },
});
const failure = { cause: 'provider_error', code: 'http_503', message: 'it answered 503' };

describe('an open run', () => {
  test.each([
    [
      'queued',
      run({ nodes: [node({})] }),
      [event('node.queued', -3, { attempt: 1 })],
      `Node work (http) is in the queue since ${at(-3)} (3 min ago); no worker has recorded a start yet.`,
      { state: 'queued', attempt: 1, since: at(-3) },
    ],
    [
      'running',
      run({ nodes: [node({ status: 'running', startedAt: at(-2) })] }),
      [event('node.queued', -3), event('node.started', -2)],
      `Node work (http) is running since ${at(-2)} (2 min ago).`,
      { state: 'running', attempt: 1, since: at(-2) },
    ],
    [
      'with a message of a deployment',
      run({ nodes: [node({ type: 'message' })] }),
      [event('node.retried', -9, { attempt: 1, failure, retryAt: at(4) })],
      `Message work is retried at ${at(4)} (in 4 min). The previous attempt failed: http_503: it answered 503.`,
      { state: 'retrying', attempt: 1, since: at(-9), until: at(4), lastFailure: 'http_503: it answered 503' },
    ],
    [
      'with a step that is retried, at the line of its code',
      run({ nodes: [node({ type: 'function', attempt: 2 })] }),
      [
        event('node.retried', -9, {
          attempt: 1,
          failure: { ...failure, details: { name: 'RangeError', at: 'workflows/order.ts:12:7' } },
          retryAt: at(4),
        }),
      ],
      `Node work (function) is retried, attempt 2 at ${at(4)} (in 4 min). The previous attempt failed: http_503: it answered 503, at workflows/order.ts:12:7.`,
      {
        state: 'retrying',
        attempt: 2,
        since: at(-9),
        until: at(4),
        lastFailure: 'http_503: it answered 503',
        lastAttempt: { at: 'workflows/order.ts:12:7' },
      },
    ],
    [
      'running a second attempt',
      run({ nodes: [node({ status: 'running', startedAt: at(-2), attempt: 2 })] }),
      [event('node.retried', -9, { attempt: 1, failure, retryAt: at(-4) })],
      `Node work (http) is running, attempt 2 since ${at(-2)} (2 min ago). The previous attempt failed: http_503: it answered 503.`,
      { state: 'running', attempt: 2, since: at(-2), lastFailure: 'http_503: it answered 503' },
    ],
    [
      'sleeping',
      run({ nodes: [node({ status: 'waiting', type: 'delay', wakeAt: at(125) })] }),
      [event('node.waiting', -5, { wakeAt: at(125) })],
      `Node work (delay) sleeps until ${at(125)} (in 2 h 5 min); stepwell runs wake ends the sleep early.`,
      { state: 'sleeping', attempt: 1, since: at(-5), until: at(125) },
    ],
    [
      'waiting for a signal',
      run({
        nodes: [
          node({ status: 'waiting', type: 'signal', waitingFor: { signal: 'paid', correlation: 'order-7', until: at(125) } }),
        ],
      }),
      [event('signal.awaited', -5, { name: 'paid', correlation: 'order-7', expiresAt: at(125) })],
      `Node work (signal) waits for the signal paid with correlation order-7 since ${at(-5)} (5 min ago), until ${at(125)} (in 2 h 5 min).`,
      { state: 'awaiting', attempt: 1, since: at(-5), until: at(125) },
    ],
    [
      'sleeping past its wake-up time',
      run({ nodes: [node({ status: 'waiting', type: 'delay', wakeAt: at(-1) })] }),
      [event('node.waiting', -5, { wakeAt: at(-1) })],
      `Node work (delay) sleeps; its wake-up was due at ${at(-1)} (1 min ago) and follows shortly; stepwell runs wake ends the sleep early.`,
      { state: 'sleeping', attempt: 1, since: at(-5), until: at(-1) },
    ],
    [
      'waiting for a retry',
      run({ nodes: [node({ attempt: 3 })] }),
      [event('node.queued', -9), event('node.retried', -1, { attempt: 2, failure, retryAt: at(4) })],
      `Node work (http) is retried, attempt 3 at ${at(4)} (in 4 min). The previous attempt failed: http_503: it answered 503.`,
      { state: 'retrying', attempt: 3, since: at(-1), until: at(4), lastFailure: 'http_503: it answered 503' },
    ],
    [
      'with an overdue retry',
      run({ nodes: [node({ attempt: 3 })] }),
      [event('node.retried', -5, { attempt: 2, failure, retryAt: at(-2) })],
      `Node work (http) is retried, attempt 3: the retry was due at ${at(-2)} (2 min ago) and follows shortly. The previous attempt failed: http_503: it answered 503.`,
      { state: 'retrying', attempt: 3, since: at(-5), until: at(-2), lastFailure: 'http_503: it answered 503' },
    ],
    [
      'waiting for a child run',
      run({ nodes: [node({ status: 'waiting', type: 'subflow', childRunId: runId, wakeAt: at(125) })] }),
      [event('subflow.called', -5, {})],
      `Node work (subflow) waits for the child run ${runId} since ${at(-5)} (5 min ago), until ${at(125)} (in 2 h 5 min); stepwell explain ${runId} explains that run.`,
      { state: 'calling', attempt: 1, since: at(-5), until: at(125) },
    ],
    [
      'with a delayed node',
      run({ nodes: [node({})] }),
      [event('node.queued', -1, { notBefore: at(30) })],
      `Node work (http) does not start before ${at(30)} (in 30 min).`,
      { state: 'delayed', attempt: 1, since: at(-1), until: at(30) },
    ],
  ])('%s', (_what, given, events, sentence, only) => {
    const { summary: first, nodes } = explain(given, events, now);
    expect(first).toBe(`${sentence} It fails if it has not ended by ${at(600)} (in 10 h).`);
    expect(nodes).toEqual([{ nodeId: 'work', summary: sentence, ...only }]);
  });

  test('that waits for a concurrency slot names the limit', () => {
    const { summary, nodes } = explain(run({ status: 'pending', waitingFor: { kind: 'slot', slots: 2 } }), [], now);
    expect(summary).toMatch(
      /^It waits for a concurrency slot: 2 runs are active, .* It starts when one of them ends, in the order of the starts\. It fails/,
    );
    expect(nodes).toEqual([]);
  });

  test('that starts later prints the time', () => {
    const { summary } = explain(run({ status: 'pending', availableAt: at(45), nodes: [node({})] }), [], now);
    expect(summary).toMatch(/^It has not started: its start is set to .* \(in 45 min\)\./);
  });
  test('with many open nodes counts them and prints the next due time', () => {
    const nodes = [
      node({ nodeId: 'a', status: 'running' }),
      node({ nodeId: 'b', status: 'waiting', wakeAt: at(9) }),
      node({ nodeId: 'c', status: 'waiting', wakeAt: at(5) }),
      node({ nodeId: 'd', status: 'completed' }),
    ];
    const explained = explain(run({ nodes }), [], now);
    expect(explained.summary).toMatch(
      /^It waits for 3 nodes: 1 running, 2 sleeping\. The next one is due at .*:05:00.000Z \(in 5 min\)\./,
    );
    expect(explained.nodes.map(({ nodeId }) => nodeId)).toEqual(['a', 'b', 'c']);
  });
  test('of bundle code without messages in flight waits for the next message', () => {
    const nodes = [node({ type: 'message', status: 'completed' })];
    const explained = explain(run({ deploymentId: 'orders-42', nodes }), [], now);
    expect(explained.summary).toMatch(/^Its code has processed every message/);
    expect(explained.nodes).toEqual([]);
  });
  test('without an active node names the sweep', () => {
    expect(explain(run({ nodes: [node({ status: 'completed' })] }), [], now).summary).toContain('the sweep checks the run');
  });
});

describe('a run that has ended', () => {
  const completedAt = at(-10);
  test.each([
    ['completed', run({ status: 'completed', completedAt }), /^It completed at .* \(10 min ago\)\.$/],
    [
      'cancelled',
      run({ status: 'cancelled', completedAt, cancelReason: 'not needed' }),
      /^It was cancelled at .*: not needed\.$/,
    ],
    ['cancelled without a reason', run({ status: 'cancelled', completedAt }), /^It was cancelled at .*, without a reason\.$/],
    [
      'failed in a node',
      run({ status: 'failed', completedAt, error: failure, nodes: [node({ status: 'failed', attempt: 3, error: failure })] }),
      /^It failed at .*: it answered 503 \(http_503\)\.$/,
    ],
    [
      'failed by its deadline',
      run({ status: 'failed', completedAt, error: { cause: 'deadline', code: 'deadline_exceeded', message: 'too late' } }),
      /^It failed at .*: too late \(deadline_exceeded\)\.$/,
    ],
  ])('%s', (_what, given, sentence) => {
    const explained = explain(given, [], now);
    expect(explained.summary).toMatch(sentence);
    expect(explained.nodes).toEqual([]);
  });
});

describe('on the command line', () => {
  const shape = z.strictObject({
    runId: z.string(),
    status: z.string(),
    summary: z.string(),
    rootCause: z.looseObject({ code: z.string() }).exactOptional(),
    nodes: z.array(
      z.strictObject({
        nodeId: z.string(),
        state: z.enum(['queued', 'retrying', 'delayed', 'running', 'sleeping']),
        attempt: z.int(),
        since: z.string().exactOptional(),
        until: z.string().exactOptional(),
        lastFailure: z.string().exactOptional(),
        summary: z.string(),
      }),
    ),
  });
  const sleepGraph = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'night', type: 'delay', config: { delayMinutes: 480 } },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { source: 'start', target: 'night' },
      { source: 'night', target: 'end' },
    ],
  };

  test('the summary is printed first', async () => {
    const { api, cliWithScopes } = createCliEnvironment();
    const run = await started(api, await api.key(['admin']), { graph: openGraph });
    api.world.clock.advance(minutes(7));
    const { type } = await cliWithScopes(['runs:read']);
    const { exitCode, out } = await type('explain', run);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^Node work \(javascript\) is in the queue since .* \(7 min ago\)/);
  });
  test('a sleep is explained with its wake-up time', async () => {
    const { api, cliWithScopes } = createCliEnvironment();
    const run = await started(api, await api.key(['admin']), { graph: sleepGraph });
    api.world.clock.advance(hours(2));
    const { type } = await cliWithScopes(['runs:read']);
    const { nodes } = dataIn(await type('explain', run, '--json'), shape);
    expect(nodes).toMatchObject([{ nodeId: 'night', state: 'sleeping' }]);
    expect(nodes[0]?.summary).toContain('(in 6 h)');
  });
  test('the end of a run is explained', async () => {
    const { api, cliWithScopes } = createCliEnvironment();
    const run = await started(api, await api.key(['admin']), { graph: instantGraph('error') });
    api.world.clock.advance(days(1));
    const { type } = await cliWithScopes(['runs:read']);
    const { summary, nodes } = dataIn(await type('explain', run, '--json'), shape);
    expect(summary).toMatch(/^It failed at .* \(1 d ago\).*ended_in_error/);
    expect(nodes).toEqual([]);
  });
});
