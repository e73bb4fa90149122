/**
 * A reader of a live run that loses its stream after each event, over and over: nobody is told that it has gone away. That it
 * misses nothing in five hundred times is held by `test/service/resumed-watch.deep.test.ts`; here it must not use up the slots.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { StepwellClient, type RunUpdate } from '../../lib/client/index.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const slots = 10;
const resumptions = 10 * slots;
/** A pass begins, is queued, ends and is over: more events than there are resumptions. */
const passes = 50;

let here: InProcessCloud;
let client: StepwellClient;
beforeAll(async () => {
  here = await startInProcessCloud({ 'stepwell:watchers': slots });
  // While all slots are taken it is refused, and asks again.
  client = new StepwellClient({ baseUrl: here.url, apiKey: here.apiKey, retries: 10 });
});
afterAll(() => here.stop());

/** A loop, and behind it a wait that outlasts the test: its streams never end by themselves. */
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

test('comes back each time, misses nothing and sees nothing twice', async () => {
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

test('no more streams are open than there are slots, and one over them is told to come again', async () => {
  const { runId } = await client.trigger({ workflowName: 'loop-and-wait', input: { items: [] } });
  const open = () =>
    fetch(`${here.url}/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${here.apiKey}`, accept: 'text/event-stream' },
    });
  const streams: Response[] = [];
  // Those of the test before end within a second or so.
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
