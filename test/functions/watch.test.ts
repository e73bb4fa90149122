/** Watching over HTTP: frames, cursors, who may, and tickets. */
import { describe, expect, test } from 'vitest';
import { attempt, environment, nodeId, nodeKey, nonce, projectId, runId as toRunId, topLevel } from '../../lib/engine/ids.ts';
import { keyId as toKeyId } from '../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type Frame, streamIn } from './event-stream.ts';
import { type CallOptions, type Http, http, openGraph, started, textIn } from './http.ts';

const sse = { Accept: 'text/event-stream' };
const pathOf = (runId: string) => `/v1/runs/${runId}/events`;
const watch = (api: Http, runId: string, { headers = {}, ...options }: CallOptions) =>
  api.call('GET', pathOf(runId), { ...options, headers: { ...sse, ...headers } });
const withRun = async (graph?: object): Promise<{ api: Http; key: string; runId: string }> => {
  const api = http();
  const key = await api.key(['admin']);
  return { api, key, runId: await started(api, key, graph === undefined ? {} : { graph }) };
};
const say = ({ world }: Http, runId: string, text: string) =>
  world.streams.put(
    { projectId: projectId('acme'), environment: environment('test'), runId: toRunId(runId) },
    nodeKey({ nodeId: nodeId('work'), iteration: topLevel }),
    { index: 0, attempt: attempt(1), owner: nonce('a'), text, at: world.clock.now() },
    after(world.clock.now(), seconds(60)),
  );

describe('as many streams as are allowed', () => {
  const opened = async (): Promise<{ api: Http; key: string; runId: string }> => {
    const api = http(undefined, 2);
    const key = await api.key(['admin']);
    return { api, key, runId: await started(api, key, { graph: openGraph }) };
  };

  test('one more stream is refused as unavailable, and pages still work', async () => {
    const { api, key, runId } = await opened();
    const streams = [await watch(api, runId, { key }), await watch(api, runId, { key })];
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const third = await watch(api, runId, { key });
    expect([third.status, third.body['code'], third.headers['retry-after']]).toEqual([503, 'unavailable', '2']);
    expect((await api.call('GET', pathOf(runId), { key })).status).toBe(200);
  });

  test('a stream that ends releases its slot', async () => {
    const { api, key, runId } = await opened();
    await watch(api, runId, { key });
    const ending = streamIn(api.world, await watch(api, runId, { key }));
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    await ending.rest();
    // Of an ended run with nothing more there is no stream; from the beginning there is.
    expect((await watch(api, runId, { key })).status).toBe(200);
    expect((await watch(api, runId, { key })).status).toBe(503);
  });

  test('the slot of a crashed stream is released when its lease expires', async () => {
    const { api, key, runId } = await opened();
    await watch(api, runId, { key });
    await watch(api, runId, { key });
    api.world.clock.advance(minutes(6));
    expect((await watch(api, runId, { key })).status).toBe(200);
  });
});

describe('frames', () => {
  test('each event is the one that the pages have, under its id and name; the last one is the run’s, and the stream ends', async () => {
    const { api, key, runId } = await withRun();
    const answer = await watch(api, runId, { key });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': expect.stringMatching(/no-cache.*no-transform/),
      'x-accel-buffering': 'no',
    });
    const [first, ...frames] = await streamIn(api.world, answer).rest();
    expect(first).toEqual({ retry: '1000' });
    const { body } = await api.call('GET', pathOf(runId), { key });
    expect(frames.map(({ data }) => data)).toEqual(body['data']);
    expect(frames.map(({ id, event }) => [id, event])).toEqual(
      frames.map(({ data }) => [String(data?.['eventId']), data?.['type']]),
    );
    expect(frames.at(-1)).toMatchObject({ event: 'run.completed' });
  });

  test('deltas and heartbeats have no id, so that the cursor does not move', async () => {
    const { api, key, runId } = await withRun(openGraph);
    await say(api, runId, 'a word\nand a line');
    const stream = streamIn(api.world, await watch(api, runId, { key }));
    const seen: Frame[] = [];
    while (!seen.some(({ event }) => event === 'heartbeat')) seen.push((await stream.next()) ?? {});
    stream.close();
    const last = seen.findLast(({ id }) => id !== undefined)?.id;
    expect(seen.find(({ event }) => event === 'node.stream.delta')).toEqual({
      event: 'node.stream.delta',
      data: {
        eventId: Number(last),
        sequence: Number(last),
        type: 'node.stream.delta',
        runId,
        workflowId: 'flow',
        timestamp: expect.any(String),
        correlation: { traceId: expect.stringMatching(/^[0-9a-f]{32}$/) },
        payload: { nodeId: 'work', attempt: 1, deltaIndex: 0, text: 'a word\nand a line' },
      },
    });
    expect(seen.at(-1)).toEqual({ event: 'heartbeat', data: { type: 'heartbeat', runId, timestamp: expect.any(String) } });
  });

  test('a cancellation is the last frame', async () => {
    const { api, key, runId } = await withRun(openGraph);
    const stream = streamIn(api.world, await watch(api, runId, { key }));
    await stream.next();
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    expect((await stream.rest()).at(-1)).toMatchObject({ event: 'run.cancelled' });
  });
});

describe('cursors', () => {
  test.each([
    [{}, {}, 0],
    [{ after: '2' }, {}, 2],
    [{ afterEventId: '2' }, {}, 2],
    [{ after: '1', afterEventId: '3' }, {}, 3],
    [{}, { 'Last-Event-ID': '2' }, 2],
    [{}, { 'Last-Event-ID': '' }, 0],
    [{ afterEventId: '1' }, { 'Last-Event-ID': '3' }, 3],
    [{ afterEventId: '3' }, { 'Last-Event-ID': '1' }, 3],
  ])('of %j and %j the larger counts', async (query, headers, cursor) => {
    const { api, key, runId } = await withRun();
    const [, first] = await streamIn(api.world, await watch(api, runId, { key, query, headers })).rest();
    expect(first?.id).toBe(String(cursor + 1));
  });

  test.each([
    [{ after: 'x' }, {}],
    [{ afterEventId: '-1' }, {}],
    [{}, { 'Last-Event-ID': '1.5' }],
    [{ after: '1' }, { 'Last-Event-ID': 'x' }],
  ])('%j and %j are refused before anything is streamed', async (query, headers) => {
    const { api, key, runId } = await withRun();
    const { status, body, stream } = await watch(api, runId, { key, query, headers });
    expect([status, body['code'], stream]).toEqual([400, 'cursor_invalid', undefined]);
  });

  test('of an ended run without further events returns 204, which stops reconnects', async () => {
    const { api, key, runId } = await withRun();
    const frames = await streamIn(api.world, await watch(api, runId, { key })).rest();
    const { status, stream } = await watch(api, runId, { key, headers: { 'Last-Event-ID': frames.at(-1)?.id ?? '' } });
    expect([status, stream]).toEqual([204, undefined]);
  });

  test('of a page Last-Event-ID says nothing, and afterEventId does', async () => {
    const { api, key, runId } = await withRun();
    const options = { key, query: { afterEventId: '1' }, headers: { 'Last-Event-ID': '3' } };
    expect((await api.call('GET', pathOf(runId), options)).body['data']).toMatchObject([{ eventId: 2 }, {}, {}, {}, {}]);
  });
});

describe('a reader with a name', () => {
  test('a named reader has only its latest stream; a reader of another key with the same name is independent', async () => {
    const { api, key, runId } = await withRun(openGraph);
    const ticket = textIn(await api.call('POST', `/v1/runs/${runId}/tickets`, { key }), 'ticket');
    const query = { reader: 'page 7' };
    const first = streamIn(api.world, await watch(api, runId, { key, query }));
    const other = streamIn(api.world, await watch(api, runId, { key: await api.key(['admin']), query }));
    const last = streamIn(api.world, await watch(api, runId, { query: { ...query, ticket } }));
    const since = api.world.clock.now();
    await first.rest();
    expect(api.world.clock.now() - since).toBeLessThanOrEqual(seconds(6));
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    for (const stream of [other, last]) expect((await stream.rest()).at(-1)).toMatchObject({ event: 'run.cancelled' });
  });

  test.each(['', 'x'.repeat(65)])('is called something of 1 to 64 characters, and not “%s”', async (reader) => {
    const { api, key, runId } = await withRun(openGraph);
    const { status, body } = await watch(api, runId, { key, query: { reader } });
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
  });
});

describe('who may', () => {
  test.each(['runs:read', 'admin'] as const)(
    'a key that is revoked while it streams is seen within half a minute: %s',
    async (scope) => {
      const { api, runId } = await withRun(openGraph);
      const key = await api.key([scope]);
      const stream = streamIn(api.world, await watch(api, runId, { key }));
      await stream.next();
      const since = api.world.clock.now();
      const scopeOf = { projectId: projectId('acme'), environment: environment('test') };
      await api.world.keys.revokeKey(scopeOf, toKeyId(key.split('_')[2] ?? ''), since);
      const frames = await stream.rest();
      expect(api.world.clock.now() - since).toBeLessThanOrEqual(seconds(30));
      expect(frames.at(-1)?.event).not.toBe('run.cancelled');
    },
  );

  test('a stream ends when its key loses the scope, or cannot be checked', async () => {
    for (const lose of [
      async (api: Http, id: string) => {
        const scopeOf = { projectId: projectId('acme'), environment: environment('test') };
        await api.world.keys.updateKey(scopeOf, toKeyId(id), { scopes: ['trigger:write'] });
      },
      async (api: Http) => {
        Object.assign(api.world.keys, { key: () => Promise.reject(new Unavailable('the table')) });
      },
    ]) {
      const { api, runId } = await withRun(openGraph);
      const key = await api.key(['runs:read']);
      const stream = streamIn(api.world, await watch(api, runId, { key }));
      await stream.next();
      const since = api.world.clock.now();
      await lose(api, key.split('_')[2] ?? '');
      await stream.rest();
      expect(api.world.clock.now() - since).toBeLessThanOrEqual(seconds(30));
    }
  });

  test('a run of another project is not found on any route', async () => {
    const { api, runId } = await withRun(openGraph);
    const { status, body } = await watch(api, runId, { key: await api.key(['admin'], { project: 'rival' }) });
    expect([status, body['code']]).toEqual([404, 'not_found']);
  });

  test.each(['key', 'access_token', 'ticket'])('a key in the query, as %s, is refused and not looked at', async (name) => {
    const { api, key, runId } = await withRun();
    for (const value of [key, `Bearer ${key}`]) {
      const { status, body } = await watch(api, runId, { query: { [name]: value } });
      expect([status, body['code']]).toEqual([400, 'key_in_query']);
      expect(JSON.stringify([body, api.logs])).not.toContain(key);
    }
  });
});

describe('tickets', () => {
  const ticketFor = async ({ api, key, runId }: { api: Http; key: string; runId: string }) =>
    textIn(await api.call('POST', `/v1/runs/${runId}/tickets`, { key }), 'ticket');
  const codeOf = async (api: Http, runId: string, ticket: string) =>
    (await watch(api, runId, { query: { ticket } })).body['code'];

  test('a ticket opens its run once, for pages of any origin, and is stored only as a digest', async () => {
    const given = await withRun();
    const { api, runId } = given;
    const ticket = await ticketFor(given);
    const answer = await watch(api, runId, { query: { ticket } });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, '*']);
    expect((await streamIn(api.world, answer).rest()).at(-1)).toMatchObject({ event: 'run.completed' });
    expect(await codeOf(api, runId, ticket)).toBe('ticket_invalid');
    const kept = JSON.stringify([api.logs, [...api.world.audit.entries.values()], answer.headers]);
    expect(kept).toContain('tickets.create');
    expect(kept).not.toContain(ticket);
  });

  test('two concurrent requests with one ticket: one succeeds', async () => {
    const given = await withRun();
    const ticket = await ticketFor(given);
    const answers = await Promise.all([1, 2, 3].map(() => watch(given.api, given.runId, { query: { ticket } })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(2);
  });

  test('a ticket is valid for one minute', async () => {
    const given = await withRun();
    const [early, late] = [await ticketFor(given), await ticketFor(given)];
    given.api.world.clock.advance(seconds(59));
    expect((await watch(given.api, given.runId, { query: { ticket: early } })).status).toBe(200);
    given.api.world.clock.advance(seconds(1));
    expect(await codeOf(given.api, given.runId, late)).toBe('ticket_invalid');
  });

  test('a ticket opens no other run, and the attempt does not consume it', async () => {
    const given = await withRun();
    const other = await started(given.api, given.key, { name: 'other' });
    const ticket = await ticketFor(given);
    expect(await codeOf(given.api, other, ticket)).toBe('ticket_invalid');
    expect((await watch(given.api, given.runId, { query: { ticket } })).status).toBe(200);
  });

  test('a ticket of a revoked key is invalid, and its open stream ends', async () => {
    const { api, runId } = await withRun(openGraph);
    const key = await api.key(['runs:read']);
    const [one, other] = [await ticketFor({ api, key, runId }), await ticketFor({ api, key, runId })];
    const stream = streamIn(api.world, await watch(api, runId, { query: { ticket: one } }));
    await stream.next();
    const scopeOf = { projectId: projectId('acme'), environment: environment('test') };
    await api.world.keys.revokeKey(scopeOf, toKeyId(key.split('_')[2] ?? ''), api.world.clock.now());
    const since = api.world.clock.now();
    await stream.rest();
    expect(api.world.clock.now() - since).toBeLessThanOrEqual(seconds(30));
    expect(await codeOf(api, runId, other)).toBe('ticket_invalid');
  });

  test('a ticket opens only event streams; a malformed ticket is refused without a lookup', async () => {
    const given = await withRun();
    const ticket = await ticketFor(given);
    const { status, body } = await given.api.call('GET', `/v1/runs/${given.runId}`, { query: { ticket } });
    expect([status, body['code']]).toEqual([401, 'unauthorized']);
    expect(await codeOf(given.api, given.runId, 'st_short')).toBe('ticket_invalid');
    const failures = [...given.api.world.audit.entries.values()].filter(({ action }) => action === 'auth.failure');
    expect(failures.at(-1)?.metadata).toMatchObject({ why: 'ticket_malformed' });
  });
});
