/** Watching runs over sockets in the embedded cloud: the gateway, the functions, the queue and the posts, with their own roles. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { askTables } from '../signed-request.ts';
import { streamWriterIn } from '../../bench/stream-writer.ts';
import { StepwellClient } from '../../lib/client/index.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { watchRun } from '../../examples/watch-socket.ts';
import { type Frame, frameShape, openClient } from './socket-client.ts';

let here: InProcessCloud;
let client: StepwellClient;
let url: string;
beforeAll(async () => {
  here = await startInProcessCloud();
  url = here.cloud.socketUrl ?? '';
  client = new StepwellClient({ baseUrl: here.url, apiKey: here.apiKey });
  await here.call('POST', '/v1/lenses', { name: 'tell', template: 'Tell of [[what]]', params: { delayMs: 120 } });
  await client.createWorkflow({
    name: 'told',
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'ask', type: 'lens', config: { lens: 'tell', outputVariable: 'said' } },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { source: 'start', target: 'ask' },
      { source: 'ask', target: 'end' },
    ],
  });
});
afterAll(() => here.stop());

const runWith = async (what: string, options: object = {}): Promise<string> =>
  (await client.trigger({ workflowName: 'told', input: { what }, ...options })).runId;
/** A run that does not start before the test has ended. */
const later = (): Promise<string> => runWith('later', { availableAt: new Date(Date.now() + 3_600_000).toISOString() });
const open = () => openClient(url, here.apiKey);

/** The value of a member that is always text. */
const textOf = (value: unknown): string => z.string().parse(value);
const isStatus =
  (status: string) =>
  ({ type, payload }: Frame): boolean =>
    type === 'workflow_status_update' && payload?.['status'] === status;
const isDelta = ({ type }: Frame): boolean => type === 'node.stream.delta';
const isSaid =
  (text: string) =>
  ({ type, payload }: Frame): boolean =>
    type === 'node.stream.delta' && payload?.['text'] === text;
const updates = (frames: readonly Frame[]): readonly string[] =>
  frames.flatMap(({ type, payload }) =>
    type.startsWith('workflow_') ? [`${textOf(payload?.['nodeID'] ?? 'run')} ${textOf(payload?.['status'])}`] : [],
  );
const textIn = (frames: readonly Frame[]) =>
  frames
    .filter(isDelta)
    .map(({ payload }) => textOf(payload?.['text']))
    .join('');
const ticketShape = z.object({ ticket: z.string() });

describe('a run that is watched', () => {
  test('to its end: each node, each delta of the lens while it streams, and the run, in order', async () => {
    const what = 'a long walk along the river, and of what was seen there';
    // Before the run, because its lens streams for a short time only.
    const socket = await open();
    const runId = await runWith(what);
    socket.send({ action: 'join', runId });
    await socket.until(({ type }) => type === 'left');
    expect(socket.frames[0]).toEqual({ type: 'joined', runId, after: 0 });
    expect(updates(socket.frames)).toEqual([
      'start completed',
      'ask queued',
      'run running',
      'ask running',
      'ask completed',
      'end completed',
      'run completed',
    ]);
    const deltas = socket.frames.filter(isDelta);
    expect(deltas.map(({ payload }) => payload?.['deltaIndex'])).toEqual(deltas.map((_, at) => at));
    expect(deltas.length).toBeGreaterThan(2);
    expect(`Tell of ${what}`.startsWith(textIn(socket.frames))).toBe(true);
    const place = (frame: Frame | undefined) => (frame === undefined ? -1 : socket.frames.indexOf(frame));
    const answered = socket.frames.find(({ payload }) => payload?.['nodeID'] === 'ask' && payload['status'] === 'completed');
    expect(place(deltas.at(-1))).toBeLessThan(place(answered));
    expect(answered?.payload).toMatchObject({ instanceID: runId, output: { output: `Tell of ${what}` }, error: null });
    expect(socket.frames.findLast(isStatus('completed'))?.payload).toMatchObject({
      instanceID: runId,
      contextData: { input: { what }, said: { output: `Tell of ${what}` } },
    });
    await socket.close();
  });

  test('unsubscribing stops the frames; resuming with the last id misses nothing up to the end', async () => {
    const runId = await later();
    const voice = streamWriterIn(here.cloud, runId, 'start');
    const first = await open();
    first.send({ action: 'join', runId });
    await first.until(({ type }) => type === 'workflow_node_update');
    voice.append('Once ');
    await first.until(isSaid('Once '));
    first.send({ action: 'leave', runId });
    expect(await first.until(({ type }) => type === 'left')).toEqual({ type: 'left', runId, reason: 'requested' });
    await wait(1_500);
    const heard = first.frames.length;
    voice.append('upon ');
    await wait(1_500);
    expect(first.frames.length).toBe(heard);

    const last = first.frames.findLast(({ type }) => type.startsWith('workflow_'))?.eventId ?? 0;
    const second = await open();
    second.send({ action: 'join', runId, after: last });
    await second.until(isSaid('upon '));
    voice.append('a time');
    await voice.end();
    await second.until(isSaid('a time'));
    await client.cancelRun(runId);
    await second.until(({ type }) => type === 'left');
    expect(textIn(second.frames)).toBe('Once upon a time');
    expect(updates(second.frames)).toEqual(['start cancelled', 'run cancelled']);
    await Promise.all([first.close(), second.close()]);
  });

  test('several clients watch one run from different events, and a late client gets all of it', async () => {
    const runId = await later();
    const early = await open();
    early.send({ action: 'join', runId });
    await early.until(({ type }) => type === 'workflow_node_update');
    const late = await open();
    late.send({ action: 'workflow_run_join', runId });
    await late.until(({ type }) => type === 'workflow_node_update');
    await client.cancelRun(runId);
    for (const socket of [early, late]) await socket.until(({ type }) => type === 'left');
    expect(late.frames).toEqual(early.frames);
    await Promise.all([early.close(), late.close()]);
  });
});

test('the example watches a run to its end', async () => {
  const runId = await runWith('an example');
  const frames: Frame[] = [];
  const watched = { apiUrl: here.url, socketUrl: url, apiKey: here.apiKey, runId };
  await watchRun(watched, (frame) => void frames.push(frameShape.parse(frame)));
  expect(updates(frames).at(-1)).toBe('run completed');
  expect(new Set(updates(frames)).size).toBe(updates(frames).length);
});

describe('authentication', () => {
  test('a ticket opens one socket for its run, without a key', async () => {
    const runId = await later();
    const { ticket } = ticketShape.parse(await client.createTicket(runId));
    const address = `${url}?runId=${runId}&ticket=${ticket}`;
    const socket = await openClient(address);
    await expect(openClient(address)).rejects.toThrow('refused');
    socket.send({ action: 'join', runId: await later() });
    expect(await socket.until(({ type }) => type === 'error')).toMatchObject({ code: 'not_found' });
    socket.send({ action: 'join', runId });
    await socket.until(({ type }) => type === 'joined');
    await client.cancelRun(runId);
    await socket.until(isStatus('cancelled'));
    await socket.close();
  });

  test.each(['', 'sw_local_no'])('%j is refused as a key', async (key) => {
    await expect(openClient(url, key)).rejects.toThrow('refused');
  });

  test('a key in the URL is refused', async () => {
    await expect(openClient(`${url}?authorization=${here.apiKey}`)).rejects.toThrow('refused');
  });
});

describe('errors', () => {
  test('an invalid message gets an error, and the socket stays open; a message above the gateway’s limit closes it', async () => {
    const socket = await open();
    for (const [said, code] of [
      ['{', 'invalid_request'],
      [{ action: 'shout' }, 'invalid_request'],
      [{ action: 'join', runId: 'no' }, 'invalid_request'],
      [{ action: 'ping', text: 'x'.repeat(10_000) }, 'payload_too_large'],
    ] as const) {
      const before = socket.frames.length;
      socket.send(said);
      await expect.poll(() => socket.frames[before]).toMatchObject({ type: 'error', code, correlationId: expect.any(String) });
    }
    socket.send({ action: 'ping' });
    await socket.until(({ type }) => type === 'pong');
    socket.send('x'.repeat(131_073));
    expect(await socket.closed).toBe(1_009);
  });

  test('a closed socket is deleted from all records', async () => {
    const runId = await later();
    const socket = await open();
    socket.send({ action: 'join', runId });
    await socket.until(({ type }) => type === 'joined');
    await socket.close();
    await expect.poll(() => recordsIn(here), { timeout: 15_000 }).toEqual([]);
  });

  test('a socket that reads nothing is closed, and delays no other', async () => {
    await client.createWorkflow({
      name: 'much',
      nodes: [
        { id: 'start', type: 'start' },
        ...Array.from({ length: 120 }, (_, at) => ({
          id: `n${at}`,
          type: 'javascript',
          config: { code: 'return "x".repeat(90000)' },
        })),
      ],
      edges: Array.from({ length: 120 }, (_, at) => ({ source: 'start', target: `n${at}` })),
    });
    const { runId } = await client.trigger({ workflowName: 'much', input: {} });
    const { hostname, port, pathname } = new URL(url);
    const unreading = connect({ host: hostname, port: Number(port) });
    unreading.on('error', () => undefined);
    await once(unreading, 'connect');
    unreading.write(
      [
        `GET ${pathname} HTTP/1.1`,
        `Host: ${hostname}:${port}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        `Authorization: Bearer ${here.apiKey}`,
        '\r\n',
      ].join('\r\n'),
    );
    await once(unreading, 'readable');
    unreading.pause();
    unreading.write(masked(JSON.stringify({ action: 'join', runId })));
    const reader = await open();
    reader.send({ action: 'join', runId });
    await reader.until(isStatus('completed'), 60_000);
    expect(reader.frames.filter(({ payload }) => typeof payload?.['output'] === 'string')).toHaveLength(120);
    await reader.close();
    await expect.poll(() => recordsIn(here), { timeout: 60_000 }).toEqual([]);
    unreading.destroy();
  }, 120_000);
});

/** A client's text frame. */
function masked(text: string): Buffer {
  const [payload, mask] = [Buffer.from(text), randomBytes(4)];
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

const scanned = z.object({ Items: z.array(z.object({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) })) });

/** The keys of sockets and watchers in the control table. */
async function recordsIn({ cloud }: InProcessCloud): Promise<readonly string[]> {
  const table = cloud.template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes('ControlTable'))?.name;
  const found = await askTables(cloud.tables, 'Scan', { TableName: table, ConsistentRead: true });
  const keys = scanned.parse(found).Items.map(({ pk, sk }) => `${pk.S} ${sk.S}`);
  return keys.filter((key) => /^(socket|watch)#/.test(key));
}
