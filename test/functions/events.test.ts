import { Writable } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { commitNo, environment, eventId, projectId, runId as runIdOf } from '../../lib/engine/ids.ts';
import { eventIdAfter } from '../../lib/engine/log/commit.ts';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import { eventOf, http, openGraph, started } from './http.ts';

const page = z.object({
  data: z.array(z.object({ eventId: z.number(), type: z.string() })),
  cursor: z.string(),
  hasMore: z.boolean(),
});

/** Two more commits behind the first: one that recovers, one that cancels. */
const startAndCancel = async ({ log, clock, ids }: MemoryPorts, id: string): Promise<void> => {
  const run = { projectId: projectId('acme'), environment: environment('test'), runId: runIdOf(id) };
  const head = await log.head(run);
  if (head === undefined) throw new Error('no such run');
  const first = eventIdAfter(head.commit);
  const shared = { at: clock.now(), by: 'test' };
  const recovered = { type: 'RUN_RECOVERED', nodes: [] } as const;
  await log.put(
    run,
    { ...shared, number: commitNo(2), firstEventId: first, events: [recovered], nonce: ids.nonce() },
    head.expiresAt,
  );
  const cancelled = { type: 'RUN_CANCELLED' } as const;
  const last = eventId(first + 1);
  await log.put(
    run,
    { ...shared, number: commitNo(3), firstEventId: last, events: [cancelled], nonce: ids.nonce() },
    head.expiresAt,
  );
};

describe('pages', () => {
  test('every event once, in order, however the pages fall', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    const read = async (query: Record<string, string>) =>
      page.parse((await api.call('GET', `/v1/runs/${runId}/events`, { key, query })).body);
    const all = await read({});
    const derived = all.data.filter(({ type }) => type === 'node.cancelled');
    const inLog = all.data.filter(({ type }) => type !== 'node.cancelled');
    expect(inLog.map(({ eventId }) => eventId)).toEqual(inLog.map((_, index) => index + 1));
    expect(all.data.at(0)).toMatchObject({ type: 'input.set' });
    expect(all.data.at(-1)).toMatchObject({ type: 'run.cancelled' });
    expect(derived).toEqual([{ type: 'node.cancelled', eventId: inLog.length - 1 }]);
    expect(all).toMatchObject({ hasMore: false, cursor: String(inLog.length) });
    for (let limit = 1; limit <= all.data.length; limit += 1) {
      const seen: unknown[] = [];
      let after = '0';
      for (let more = true; more;) {
        const next = await read({ after, limit: String(limit) });
        seen.push(...next.data);
        [after, more] = [next.cursor, next.hasMore];
      }
      expect(seen).toEqual(all.data);
    }
    // Nothing new: the cursor stays where it is, and a cursor beyond the end waits for what comes.
    expect(await read({ after: all.cursor })).toEqual({ data: [], cursor: all.cursor, hasMore: false });
    expect(await read({ after: '999' })).toEqual({ data: [], cursor: '999', hasMore: false });
  });

  test('a reader stops at a gap in the log and continues when it is filled', async () => {
    let isTorn = false;
    const api = http((world) => ({
      log: new Proxy(world.log, {
        get: (target, name) => {
          const held: unknown = Reflect.get(target, name);
          const bound: unknown = typeof held === 'function' ? held.bind(target) : held;
          if (name !== 'commitsAfter' || !isTorn) return bound;
          const tear: typeof target.commitsAfter = async (run, after) => (await target.commitsAfter(run, after)).slice(1);
          return tear;
        },
      }),
    }));
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    await startAndCancel(api.world, runId);
    const read = async (after: string) =>
      page.parse((await api.call('GET', `/v1/runs/${runId}/events`, { key, query: { after } })).body);
    const whole = await read('0');
    isTorn = true;
    const torn = await read('0');
    expect(torn.data.length).toBeLessThan(whole.data.length);
    expect(torn.data).toEqual(whole.data.slice(0, torn.data.length));
    isTorn = false;
    expect([...torn.data, ...(await read(torn.cursor)).data]).toEqual(whole.data);
  });

  test.each(['-1', '01', '1.5', 'x', '1e3', '9999999999999999'])('%s is no cursor', async (after) => {
    const api = http();
    const key = await api.key(['admin']);
    const { body } = await api.call('GET', `/v1/runs/${await started(api, key)}/events`, { key, query: { after } });
    expect(body).toMatchObject({ code: 'cursor_invalid' });
  });

  test.each([
    ['text/html', 406],
    ['text/event-stream;q=0', 406],
    ['text/event-stream;q=0.5, application/json', 200],
    ['*/*', 200],
    ['application/*', 200],
  ])('Accept: %s is answered %i', async (accept, status) => {
    const api = http();
    const key = await api.key(['admin']);
    const options = { key, headers: { accept } };
    expect((await api.call('GET', `/v1/runs/${await started(api, key)}/events`, options)).status).toBe(status);
  });
});

describe('the function', () => {
  afterEach(() => void vi.unstubAllGlobals());

  test('streams its answer with the head the gateway needs', async () => {
    const heads: unknown[] = [];
    vi.stubGlobal('awslambda', {
      streamifyResponse: (handler: unknown) => handler,
      HttpResponseStream: { from: (stream: Writable, head: unknown) => (heads.push(head), stream) },
    });
    vi.resetModules();
    const { handler } = await import('../../functions/events/handler.ts');
    const written: string[] = [];
    const stream = new Writable({ write: (chunk: unknown, _encoding, done) => (written.push(String(chunk)), done()) });
    const stub = z.custom<(event: unknown, stream: Writable, context: object) => Promise<void>>(
      (held) => typeof held === 'function',
    );
    await stub.parse(handler)(eventOf('GET', '/v1/nothing'), stream, {});
    expect(heads).toMatchObject([{ statusCode: 404, headers: { 'content-type': expect.stringContaining('json') } }]);
    expect(JSON.parse(written.join(''))).toMatchObject({ code: 'not_found' });
  });
});
