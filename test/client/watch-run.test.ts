/** Watching a run: consecutive streams yield every event once, without gaps. */
import { describe, expect, test } from 'vitest';
import { type RunUpdate, TransportComputeClientError, isDelta } from '../../lib/client/index.ts';
import { attempt, environment, nodeId, nodeKey, nonce, projectId, runId as toRunId, topLevel } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import { openGraph, started } from '../functions/http.ts';
import { createInProcessApi } from './in-process.ts';
import { networkError, createTestClient, errorResponse } from './test-client.ts';

const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
const event = (eventId: number, type = 'node.started', payload: object = {}) => {
  const data = { eventId, sequence: eventId, type, runId, timestamp: '2026-01-01T00:00:00.000Z', payload };
  return `id: ${eventId}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
};
const last = (eventId: number) => event(eventId, 'run.completed');
const delta = (deltaIndex: number, eventId = 1, nodeName = 'a') => {
  const payload = { nodeId: nodeName, attempt: 1, deltaIndex, text: `${deltaIndex}` };
  const data = { eventId, sequence: eventId, type: 'node.stream.delta', runId, timestamp: '2026-01-01T00:00:00.000Z', payload };
  return `event: node.stream.delta\ndata: ${JSON.stringify(data)}\n\n`;
};
/** Derived events have no id of their own. */
const derived = (eventId: number, type: string, payload: object) => event(eventId, type, payload).replace(/^id: .*\n/, '');
const heartbeat = `event: heartbeat\ndata: {"type":"heartbeat"}\n\n`;

interface Streamed {
  /** closed: without an error; broken: with an error; stalled: no more data */
  readonly ends?: 'closed' | 'broken' | 'stalled';
  /** the size of the chunks in bytes */
  readonly chunkBytes?: number;
}
const streaming =
  (text: string, { ends = 'closed', chunkBytes = 1_000_000 }: Streamed = {}) =>
  (): Response => {
    const bytes = new TextEncoder().encode(text);
    let from = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (from < bytes.length) controller.enqueue(bytes.slice(from, (from += chunkBytes)));
        else if (ends === 'closed') controller.close();
        else if (ends === 'broken') controller.error(new TypeError('terminated'));
        else await new Promise(() => undefined);
      },
    });
    return new Response(body, { status: 200, headers: { 'content-type': 'text/event-stream' } });
  };
const all = async (updates: AsyncIterable<RunUpdate>): Promise<readonly string[]> => {
  const seen: string[] = [];
  for await (const one of updates) seen.push(isDelta(one) ? `${one.payload.text}'` : String(one.eventId));
  return seen;
};
const cursors = (sent: readonly { readonly path: string }[]) =>
  sent.map(({ path }) => new URL(path, 'https://x').searchParams.get('afterEventId'));

describe('a run that is watched', () => {
  test('is requested as a stream with the key only in a header, and ends after its last event', async () => {
    const { client, sent, runToEnd } = createTestClient([
      streaming(`retry: 9\n\n${event(1)}${heartbeat}${delta(0)}${last(2)}${event(3)}`),
    ]);
    expect(await runToEnd(all(client.watchRun(runId)))).toEqual(['1', "0'", '2']);
    const [request] = sent;
    expect([request?.method, request?.path]).toEqual(['GET', `/v1/runs/${runId}/events?afterEventId=0&reader=id-1`]);
    expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
      accept: 'text/event-stream',
      authorization: 'Bearer sw_test_key',
    });
  });

  test('yields a derived event once, although the next stream repeats it', async () => {
    const printed = derived(1, 'node.log', { nodeId: 'a', attempt: 1, lines: ['packed'] });
    const { client, runToEnd } = createTestClient([
      streaming(`${event(1)}${printed}`, { ends: 'broken' }),
      streaming(`${printed}${event(2, 'node.completed')}${derived(2, 'node.cancelled', { nodeId: 'b', attempt: 1 })}${last(3)}`),
    ]);
    const updates: RunUpdate[] = [];
    const watch = async (): Promise<void> => {
      for await (const update of client.watchRun(runId)) updates.push(update);
    };
    await runToEnd(watch());
    expect(updates.map(({ eventId, type }) => [eventId, type])).toEqual([
      [1, 'node.started'],
      [1, 'node.log'],
      [2, 'node.completed'],
      [2, 'node.cancelled'],
      [3, 'run.completed'],
    ]);
  });

  test.each([1, 2, 7])('is read in chunks of %i bytes', async (chunkBytes) => {
    const text = event(1, 'node.started', { said: 'é😀\r\n"' }) + heartbeat + last(2);
    const { client, runToEnd } = createTestClient([streaming(text.replaceAll('\n\n', '\r\n\r\n'), { chunkBytes })]);
    const updates: RunUpdate[] = [];
    const watch = async (): Promise<void> => {
      for await (const update of client.watchRun(runId)) updates.push(update);
    };
    await runToEnd(watch());
    expect(updates).toMatchObject([{ eventId: 1, payload: { said: 'é😀\r\n"' } }, { eventId: 2 }]);
  });

  test('fails after an event that is too long, without another request', async () => {
    const { client, sent, expectError } = createTestClient([streaming(`${event(1)}data: ${'x'.repeat(17_000_000)}`)]);
    expect(await expectError(all(client.watchRun(runId)))).toMatchObject({
      kind: 'response',
      message: 'listRunEvents: an event of the stream is longer than 16777216 characters',
    });
    expect(sent).toHaveLength(1);
  });

  test.each(['closed', 'broken'] as const)('continues after a stream that is %s', async (ends) => {
    const { client, sent, runToEnd } = createTestClient([
      streaming(event(1) + delta(0) + delta(1), { ends }),
      streaming(delta(0) + delta(1) + delta(2) + event(2), { ends }),
      streaming(event(2) + last(3)),
    ]);
    expect(await runToEnd(all(client.watchRun(runId)))).toEqual(['1', "0'", "1'", "2'", '2', '3']);
    expect(cursors(sent)).toEqual(['0', '1', '2']);
  });

  test('waits for the retry delay of the stream', async () => {
    const { client, sent, runToEnd } = createTestClient([streaming(`retry: 2500\n\n${event(1)}`), streaming(last(2))]);
    await runToEnd(all(client.watchRun(runId)));
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 2_500]);
  });

  test('reconnects if a delta is missing', async () => {
    const { client, sent, runToEnd } = createTestClient([
      streaming(event(1) + delta(0) + delta(2)),
      streaming(delta(0) + delta(1) + last(2)),
    ]);
    expect(await runToEnd(all(client.watchRun(runId)))).toEqual(['1', "0'", "1'", '2']);
    expect(sent).toHaveLength(2);
  });

  test('reconnects after a heartbeat timeout', async () => {
    const { client, sent, runToEnd } = createTestClient([streaming(event(1), { ends: 'stalled' }), streaming(last(2))]);
    expect(await runToEnd(all(client.watchRun(runId)))).toEqual(['1', '2']);
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(45_000);
  });

  test('that has ended and has no more events yields nothing', async () => {
    const { client, runToEnd } = createTestClient([() => new Response(null, { status: 204 })]);
    expect(await runToEnd(all(client.watchRun(runId, { after: 7 })))).toEqual([]);
  });

  test('skips unreadable frames', async () => {
    const { client, runToEnd } = createTestClient([
      streaming(`id: 1\nevent: x\ndata: {\n\nid: 1\ndata: {"a":1}\n\nevent: new\ndata: {}\n\n${last(1)}`),
    ]);
    expect(await runToEnd(all(client.watchRun(runId)))).toEqual(['1']);
  });

  test('is not retried after a refusal, and a limited number of times after errors', async () => {
    const missingDelta = createTestClient([errorResponse(404, 'not_found')]);
    expect(await missingDelta.expectError(all(missingDelta.client.watchRun(runId)))).toMatchObject({
      code: 'not_found',
      status: 404,
    });
    expect(missingDelta.sent).toHaveLength(1);
    const stopWatching = createTestClient([networkError]);
    expect(await stopWatching.expectError(all(stopWatching.client.watchRun(runId)))).toBeInstanceOf(TransportComputeClientError);
    expect(stopWatching.sent).toHaveLength(3);
    const busy = createTestClient([
      errorResponse(503, 'unavailable'),
      errorResponse(429, 'rate_limited', { 'retry-after': '1' }),
      streaming(last(1)),
    ]);
    expect(await busy.runToEnd(all(busy.client.watchRun(runId)))).toEqual(['1']);
  });

  test('is closed when the caller stops or aborts', async () => {
    const enough = createTestClient([streaming(event(1), { ends: 'stalled' })]);
    const first = async (): Promise<number> => {
      for await (const updates of enough.client.watchRun(runId)) return updates.eventId;
      return 0;
    };
    expect(await enough.runToEnd(first())).toBe(1);
    const stop = new AbortController();
    const stopped = createTestClient([streaming(event(1), { ends: 'stalled' })]);
    const watching = all(stopped.client.watchRun(runId, {}, { signal: stop.signal }));
    stop.abort(new Error('enough'));
    expect(await stopped.expectError(watching)).toMatchObject({ message: 'enough' });
  });
});

test('the real functions stream events and deltas of a run', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const key = await api.key(['admin']);
  const id = await started(api, key, { graph: openGraph });
  const run = { projectId: projectId('acme'), environment: environment('test'), runId: toRunId(id) };
  await api.world.streams.put(
    run,
    nodeKey({ nodeId: nodeId('work'), iteration: topLevel }),
    { index: 0, attempt: attempt(1), owner: nonce('a'), text: 'hello', at: api.world.clock.now() },
    after(api.world.clock.now(), minutes(1)),
  );
  const jobs = api.world.jobs.takeSent();
  const client = clientOf(key);
  const seen: RunUpdate[] = [];
  const watching = (async () => {
    for await (const updates of client.watchRun(id)) {
      seen.push(updates);
      if (updates.type === 'node.stream.delta') await api.world.jobs.send(jobs);
    }
  })();
  await runToEnd(watching);
  expect(seen.filter(({ type }) => type === 'node.stream.delta')).toMatchObject([{ payload: { nodeId: 'work', text: 'hello' } }]);
  const events = seen.filter(({ type }) => type !== 'node.stream.delta');
  expect(events.map(({ eventId }) => eventId)).toEqual(events.map((_, at) => at + 1));
  expect(seen.at(-1)).toMatchObject({ type: 'run.completed' });
});
