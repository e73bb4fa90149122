/** Watching in the embedded cloud: the gateway streams, the function follows the run, and no URL contains a key. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { streamWriterIn } from '../../bench/stream-writer.ts';
import { type RunUpdate, StepwellClient, isDelta } from '../../lib/client/index.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { orderTotal } from './workflows.ts';

let here: InProcessCloud;
let client: StepwellClient;
beforeAll(async () => {
  here = await startInProcessCloud();
  client = new StepwellClient({ baseUrl: here.url, apiKey: here.apiKey });
  await client.createWorkflow(orderTotal);
});
afterAll(() => here.stop());

const input = { items: [{ qty: 3, price: 50 }] };
const ticketShape = z.object({ ticket: z.string() });
/** A run that does not start before the test has ended. */
const later = async (): Promise<string> =>
  (await client.trigger({ workflowName: 'order-total', input, availableAt: new Date(Date.now() + 3_600_000).toISOString() }))
    .runId;
const said = (news: RunUpdate): string => (isDelta(news) ? news.payload.text : '');

test('a run is watched from its start to its end, with each event once', async () => {
  const { runId } = await client.trigger({ workflowName: 'order-total', input });
  const seen: RunUpdate[] = [];
  for await (const news of client.watchRun(runId)) seen.push(news);
  expect(seen.map(({ eventId }) => eventId)).toEqual(seen.map((_, at) => at + 1));
  expect(seen.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: { value: { due: 135 } } } });
  const again: RunUpdate[] = [];
  for await (const news of client.watchRun(runId, { after: seen.length - 2 })) again.push(news);
  expect(again).toEqual(seen.slice(-2));
  for await (const news of client.watchRun(runId, { after: seen.length })) expect(news).toBeUndefined();
});

test('a node’s deltas arrive while it streams, again after a reconnect, and a cancellation ends them', async () => {
  const runId = await later();
  const voice = streamWriterIn(here.cloud, runId, 'start');
  const heard: RunUpdate[] = [];
  for await (const news of client.watchRun(runId)) {
    if (heard.length === 0) voice.append('Once ');
    heard.push(news);
    if (said(news) === 'Once ') voice.append('upon ');
    if (said(news) === 'upon ') break;
  }
  voice.append('a time');
  await voice.end();
  const last = heard.findLast(({ type }) => type !== 'node.stream.delta')?.eventId ?? 0;
  const rest: RunUpdate[] = [];
  for await (const news of client.watchRun(runId, { after: last })) {
    rest.push(news);
    if (said(news) === 'a time') await client.cancelRun(runId);
  }
  expect(rest.map(said).join('')).toBe('Once upon a time');
  expect(rest.at(-1)).toMatchObject({ type: 'run.cancelled' });
});

test('a ticket opens one stream without a key', async () => {
  const runId = await later();
  const { ticket } = ticketShape.parse(await client.createTicket(runId));
  const address = `${here.url}/v1/runs/${runId}/events?ticket=${ticket}`;
  const open = () => fetch(address, { headers: { accept: 'text/event-stream' } });
  const first = await open();
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  expect((await open()).status).toBe(401);
  await client.cancelRun(runId);
  expect(await first.text()).toMatch(/event: run\.cancelled\ndata: .*\n\n$/);
});
