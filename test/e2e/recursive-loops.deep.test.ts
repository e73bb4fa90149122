/**
 * Ordinary workflows are long chains of messages. With the template's `RecursiveLoop: Allow` they complete, and without it Lambda's
 * recursive loop detection terminates them.
 */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { chain } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder } from './local-start.ts';

/** The assembly without RecursiveLoop: Allow. */
async function withoutAllow(assembly: string): Promise<string> {
  const folder = join(freshFolder(), 'assembly');
  cpSync(assembly, folder, { recursive: true, dereference: true });
  let removed = 0;
  for (const file of globSync('*.template.json', { cwd: folder })) {
    const template: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'), (key, value: unknown) => {
      if (key !== 'RecursiveLoop') return value;
      removed += 1;
      return undefined;
    });
    writeFileSync(join(folder, file), JSON.stringify(template));
  }
  expect(removed).toBe(6);
  return folder;
}

/** Thirty iterations with collected results: each sends one message to the collector and ten to the worker. */
const inRounds = {
  name: 'in-rounds',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.items}}', concurrency: 10 } },
    { id: 'double', type: 'javascript', config: { code: 'return ctx.item * 2' } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'all', sourceVariable: '{{ctx.loopResults}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'each' },
    { source: 'each', target: 'double', sourceHandle: 'loop' },
    { source: 'each', target: 'end', sourceHandle: 'done' },
  ],
};
const items = Array.from({ length: 300 }, (_, index) => index);

/** Twenty short sleeps, each a message to the worker. */
const naps = chain(
  'naps',
  Array.from({ length: 20 }, (_, at) => ({ id: `nap-${at}`, type: 'delay', config: { delayMs: 1 } })),
);

const runShape = z.looseObject({ status: z.string(), output: z.unknown().optional() });

async function begin(cloud: InProcessCloud, definition: { readonly name: string }, input: unknown = {}) {
  expect((await cloud.call('POST', '/v1/workflows', definition)).status).toBe(201);
  const start = { workflowName: definition.name, input };
  const { body } = await cloud.call('POST', '/v1/runs', start, { 'idempotency-key': definition.name });
  const { runId } = z.looseObject({ runId: z.string() }).parse(body);
  return async () => runShape.parse((await cloud.call('GET', `/v1/runs/${runId}`)).body);
}

async function ended(cloud: InProcessCloud, definition: { readonly name: string }, input: unknown = {}) {
  const see = await begin(cloud, definition, input);
  await expect.poll(async () => (await see()).status, { timeout: 120_000, interval: 200 }).not.toMatch(/pending|running/);
  return see();
}

test('chains of more than 16 messages continue to the end of the run', async () => {
  const cloud = await startInProcessCloud();
  let mostHops = 0;
  cloud.cloud.recorder.listen(({ service, operation, input }) => {
    if (service !== 'sqs' || !operation.startsWith('SendMessage')) return;
    for (const [, count] of JSON.stringify(input).matchAll(/"hops":\{"DataType":"Number","StringValue":"(\d+)"/g))
      mostHops = Math.max(mostHops, Number(count));
  });
  const [rounds, slept] = await Promise.all([ended(cloud, inRounds, { items }), ended(cloud, naps)]);
  expect(rounds).toMatchObject({ status: 'completed', output: { all: items.map((item) => item * 2) } });
  expect(slept.status).toBe('completed');
  // An attempt's result counts as one hop, and the product's own limit is not reached.
  expect(mostHops).toBe(1);
  await cloud.stop();
});

const visibility = z.looseObject({ QueueUrl: z.string() });

test('without RecursiveLoop in the template, the 17th invocation’s message goes to the dead-letter queue', async () => {
  const cloud = await startInProcessCloud(undefined, withoutAllow);
  const refused: string[] = [];
  cloud.cloud.recorder.listen(({ caller, operation, input }) => {
    if (caller === 'pollers' && operation === 'ChangeMessageVisibility') refused.push(visibility.parse(input).QueueUrl);
  });
  const refusals = (queue: string): number => refused.filter((url) => url.includes(queue)).length;
  const seeRounds = await begin(cloud, inRounds, { items });
  const seeNaps = await begin(cloud, naps);
  await expect
    .poll(() => [refusals('NodeQueue'), refusals('DelayQueue')].every((count) => count >= 5), { timeout: 90_000 })
    .toBe(true);
  expect([(await seeRounds()).status, (await seeNaps()).status]).toEqual(['running', 'running']);
  const complaints = await cloud.stop().then(
    () => '',
    (error: unknown) => String(error),
  );
  const lost = (queue: string): RegExp =>
    new RegExp(
      `${queue}\\S*: message [0-9a-f-]+ goes to the dead-letter queue\\. \\S*WorkerFunction\\S*: this would be invocation 17 in one chain of requests, and RecursiveLoop of the function is Terminate`,
    );
  for (const queue of ['DelayQueue', 'NodeQueue']) expect(complaints).toMatch(lost(queue));
});
