/**
 * A reader of a live run loses its stream after each event, repeatedly, and the service does not notice the disconnect at once.
 * `test/service/resumed-watch.deep.test.ts` tests that no event is missed; this test checks that the stream slots suffice.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { StepwellClient, type RunUpdate } from '../../lib/client/index.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const slots = 10;
const resumptions = 10 * slots;
/** An iteration has several events, so there are more events than resumptions. */
const passes = 50;

let here: InProcessCloud;
let client: StepwellClient;
beforeAll(async () => {
  here = await startInProcessCloud({ 'stepwell:watchers': slots });
  // While all slots are taken the reader is refused, and retries.
  client = new StepwellClient({ baseUrl: here.url, apiKey: here.apiKey, retries: 10 });
});
afterAll(() => here.stop());

/** A loop, then a wait that is longer than the test: its streams do not end. */
const loopAndWait = {
  name: 'loop-and-wait',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.items}}', concurrency: 10 } },
    { id: 'one', type: 'javascript', config: { code: 'return ctx.item' } },
    { id: 'wait', type: 'delay', config: { delayType: 'fixed', delayMinutes: 60 } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'each' },
    { source: 'each', target: 'one', sourceHandle: 'loop' },
    { source: 'one', target: 'each' },
    { source: 'each', target: 'wait', sourceHandle: 'done' },
    { source: 'wait', target: 'end' },
  ],
};

test('resumes each time, without missing or repeated events', async () => {
  await client.createWorkflow(loopAndWait);
  const items = Array.from({ length: passes }, (_, at) => at);
  const { runId } = await client.trigger({ workflowName: 'loop-and-wait', input: { items } });
  const seen: number[] = [];
  const goOn = async (): Promise<RunUpdate | undefined> => {
    for await (const news of client.watchRun(runId, { after: seen.at(-1) ?? 0, reader: 'one that comes back' })) return news;
    return undefined;
  };
  while (seen.length < resumptions) seen.push((await goOn())?.eventId ?? 0);
  expect(seen).toEqual(Array.from({ length: resumptions }, (_, at) => at + 1));
  await client.cancelRun(runId);
});

test('at most as many streams as slots are open, and the next one is told to retry', async () => {
  const { runId } = await client.trigger({ workflowName: 'loop-and-wait', input: { items: [] } });
  const open = () =>
    fetch(`${here.url}/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${here.apiKey}`, accept: 'text/event-stream' },
    });
  const streams: Response[] = [];
  // The streams of the previous test end within about a second.
  await vi.waitFor(
    async () => {
      while (streams.length < slots) {
        const stream = await open();
        expect(stream.status).toBe(200);
        streams.push(stream);
      }
    },
    { timeout: 20_000, interval: 500 },
  );
  const over = await open();
  expect([over.status, over.headers.get('retry-after'), await over.json()]).toEqual([
    503,
    '2',
    expect.objectContaining({ code: 'unavailable' }),
  ]);
  await client.cancelRun(runId);
  await Promise.all(streams.map((stream) => stream.text()));
});
