/** Large values of a World: what is uploaded, what is fetched, and what a failed transfer means. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { LargeValues, type TransferTools, maxBytesInRequest } from '../../lib/world/large-values.ts';
import { StoredValue, type TaggedValue } from '../../lib/world/tagged-json.ts';
import { type Answer, FakeTransport, answered } from './fake-transport.ts';

const large = new Uint8Array(maxBytesInRequest + 1).fill(7);
const half = (filling: number) => new Uint8Array(Math.ceil(maxBytesInRequest / 2)).fill(filling);
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const storedOf = (bytes: Uint8Array) => new StoredValue({ sha256: digestOf(bytes), bytes: bytes.byteLength });

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

/** @param responses the last one answers all further requests */
function worldWith(answer: TaggedValue = null, responses: readonly (() => Response)[] = [() => new Response()]) {
  const sent: Sent[] = [];
  const answerOf: Answer = ({ method, body }) =>
    answered(
      method === 'uploads.create'
        ? { upload: { method: 'PUT', url: `https://bucket/${String(body['sha256'])}`, headers: { 'x-digest': 'd' } } }
        : answer,
    );
  const transport = new FakeTransport(answerOf);
  const tools: TransferTools = {
    fetch: async (url, init) => {
      sent.push({ url, init });
      return (responses[sent.length - 1] ?? responses.at(-1) ?? (() => new Response()))();
    },
    sleep: async () => {},
    random: () => 0,
  };
  return { transport, sent, values: new LargeValues(transport, tools) };
}

const creation = (input: unknown) => ({ runId: 'wrun_1', data: { eventType: 'run_created', eventData: { input } } });

describe('a request', () => {
  test('with a value that fits is sent as it is', async () => {
    const { values, transport, sent } = worldWith();
    const body = creation(large.subarray(1));
    await values.call('events.create', body);
    expect(transport.calls).toEqual([{ method: 'events.create', body }]);
    expect(sent).toEqual([]);
  });

  test('names a value that does not fit by its digest, after its upload', async () => {
    const { values, transport, sent } = worldWith();
    await values.call('events.create', creation(large));
    const content = { sha256: digestOf(large), bytes: large.byteLength };
    expect(transport.calls).toEqual([
      { method: 'uploads.create', body: { runId: 'wrun_1', ...content } },
      { method: 'events.create', body: creation(storedOf(large)) },
    ]);
    const [{ url, init } = { url: '', init: {} }] = sent;
    expect([url, init.method, init.headers]).toEqual([`https://bucket/${content.sha256}`, 'PUT', { 'x-digest': 'd' }]);
    expect(init.body instanceof Uint8Array && digestOf(init.body)).toBe(content.sha256);
  });

  test('with several values uploads the largest, until the others fit', async () => {
    const { values, transport } = worldWith();
    const [one, two, small] = [half(1), half(2).subarray(1), new Uint8Array(10)];
    await values.call('streams.write', { runId: 'wrun_1', name: 's', chunks: [small, two, one] });
    expect(transport.calls.at(-1)?.body['chunks']).toEqual([small, two, storedOf(one)]);
    expect(transport.calls).toHaveLength(2);
  });

  test('of a message has the run of the message', async () => {
    const { values, transport } = worldWith();
    await values.call('queue.publish', { queueName: 'q', message: { runId: 'wrun_7', runInput: { input: large } } });
    expect(transport.calls[0]).toMatchObject({ method: 'uploads.create', body: { runId: 'wrun_7' } });
    expect(transport.calls[1]?.body).toMatchObject({ message: { runInput: { input: storedOf(large) } } });
  });

  test('without a run is refused', async () => {
    const { values, transport } = worldWith();
    expect(await values.call('events.create', { ...creation(large), runId: null })).toMatchObject({
      kind: 'refused',
      status: 413,
      code: 'payload_too_large',
    });
    expect(transport.calls).toEqual([]);
  });
});

describe('an answer', () => {
  const address = (format: string) => new StoredValue({ url: 'https://bucket/v', format });

  test('has the bytes of an address', async () => {
    const { values, sent } = worldWith({ data: [{ output: address('bytes'), n: 1 }] }, [() => new Response('abc')]);
    expect(await values.call('events.list', { runId: 'r' })).toEqual(
      answered({ data: [{ output: new Uint8Array(Buffer.from('abc')), n: 1 }] }),
    );
    expect(sent.map(({ url, init }) => [url, init.method])).toEqual([['https://bucket/v', 'GET']]);
  });

  test('has the value of an address with JSON', async () => {
    const { values } = worldWith({ run: { input: address('json') } }, [() => new Response('{"$bytes":"AP8="}')]);
    expect(await values.call('runs.get', { runId: 'r' })).toEqual(answered({ run: { input: new Uint8Array([0, 255]) } }));
  });

  test('with a value without an address is not readable', async () => {
    const { values } = worldWith({ input: new StoredValue({ bytes: 1 }) });
    expect(await values.call('runs.get', { runId: 'r' })).toMatchObject({ kind: 'refused', code: 'UNREADABLE_ANSWER' });
  });
});

describe('a transfer', () => {
  const refusedBy = (status: number) => () =>
    new Response('<Error><Code>AccessDenied</Code><Secret>signature</Secret></Error>', { status });

  test('is repeated after an error of the store, and after a lost connection', async () => {
    const lost = (): Response => {
      throw new TypeError('fetch failed');
    };
    const { values, sent, transport } = worldWith(null, [refusedBy(503), lost, () => new Response()]);
    expect(await values.call('events.create', creation(large))).toEqual(answered(null));
    expect([sent.length, transport.calls.length]).toEqual([3, 2]);
  });

  test('that the store refuses fails the call as one that can be repeated, without the signed request', async () => {
    const { values, sent, transport } = worldWith(null, [refusedBy(403)]);
    const result = await values.call('events.create', creation(large));
    const message = 'the upload of a large value failed: status 403 AccessDenied';
    expect(result).toMatchObject({ kind: 'failed', reason: 'transport', message });
    expect([sent.length, transport.calls.length]).toEqual([1, 1]);
  });

  test('ends after four attempts', async () => {
    const { values, sent } = worldWith({ input: new StoredValue({ url: 'https://bucket/v', format: 'bytes' }) }, [
      refusedBy(500),
    ]);
    expect(await values.call('runs.get', { runId: 'r' })).toMatchObject({ kind: 'failed', reason: 'transport' });
    expect(sent).toHaveLength(4);
  });
});
