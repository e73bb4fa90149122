/** Messages and attempts of a run carry the trace of the request that started it. */
import { expect, test } from 'vitest';
import { correlationId } from '../../lib/engine/ids.ts';
import { minutes } from '../../lib/engine/time.ts';
import { type Trace, traceparent } from '../../lib/engine/trace.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { failing, finished, createTestEnv, workflow } from './test-env.ts';

const trace: Trace = {
  correlationId: correlationId('order 17'),
  traceparent: traceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
};
const traceIdIn = (one: Trace | undefined) => one?.traceparent.split('-')[1];

test('every message of a run carries the trace of its start: first sends, retries, wake-ups, results and resends', async () => {
  const own = createTestEnv({ answer: (node, attempt) => (node === 'a' && attempt === 1 ? failing() : finished(node)) });
  const many = Array.from({ length: 12 }, (_, at) => `z>w${at}`).join(' ');
  await own.publish(workflow('flow', `a>z ${many}`, { z: { ms: minutes(10) } }));
  const answer = await own.start({ trace });
  expect(answer.kind).toBe('started');
  const seen: unknown[] = [...own.ports.jobs.sent];
  const { jobs } = own.ports;
  const [send, sendLater, sendResult] = [jobs.send.bind(jobs), jobs.sendDelayed.bind(jobs), jobs.sendResult.bind(jobs)];
  Object.assign(jobs, {
    send: (sent: Parameters<typeof send>[0]) => {
      seen.push(...sent);
      return send(sent);
    },
    sendLater: (...asked: Parameters<typeof sendLater>) => {
      seen.push(asked[0]);
      return sendLater(...asked);
    },
    sendResult: (result: Parameters<typeof sendResult>[0]) => {
      seen.push(result);
      return sendResult(result);
    },
  });
  await own.settle();
  expect(seen.length).toBeGreaterThan(24);
  for (const message of seen) expect(message).toMatchObject({ trace });
  expect(own.ports.notices.statusNotices).toMatchObject([{ correlationId: 'order 17' }]);
});

test('each attempt is a separate span in the trace of its run, and a repeated attempt is the same span', async () => {
  const spans: (Trace | undefined)[] = [];
  const own = createTestEnv();
  const noting: RunAttempt = async (node, _input, attempt) => {
    spans.push(attempt.trace);
    const outcome = node.id === 'a' && attempt.number === 1 ? failing() : finished(node.id);
    return { outcome, printed: [] };
  };
  await own.publish(workflow('flow', 'a>b'));
  await own.start({ trace });
  Object.assign(own.worker, { runAttempt: noting });
  await own.settle();
  expect(spans.map(traceIdIn)).toEqual(spans.map(() => '0af7651916cd43dd8448eb211c80319c'));
  expect(new Set(spans.map((one) => one?.traceparent)).size).toBe(spans.length);
  expect(spans.length).toBeGreaterThan(1);
  const first = spans.map((one) => one?.traceparent);
  spans.length = 0;
  const again = createTestEnv();
  await again.publish(workflow('flow', 'a>b'));
  await again.start({ trace });
  Object.assign(again.worker, { runAttempt: noting });
  await again.settle();
  expect(spans.map((one) => one?.traceparent)).toEqual(first);
});

test('a run started without a trace has none', async () => {
  const own = createTestEnv();
  await own.publish(workflow('flow', 'a>b'));
  await own.start();
  expect(own.ports.jobs.sent).toHaveLength(1);
  expect(own.ports.jobs.sent[0]).not.toHaveProperty('trace');
});
