/** Lenses in the embedded cloud: the worker gets the models and the permissions that it needs, and logs events. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { root } from './local-start.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud({
    'stepwell:models': {
      default: { provider: 'deterministic' },
      near: { provider: 'openai', baseUrl: 'https://localhost/v1', model: 'm' },
      bedrock: {
        provider: 'bedrock',
        modelId: 'some.model-v1:0',
        modelArns: ['arn:aws:bedrock:eu-west-1::foundation-model/some.model-v1:0'],
      },
    },
  });
});
afterAll(() => cloud.stop());

const file = (name: string, part: string): unknown => JSON.parse(readFileSync(join(root, 'examples', name, part), 'utf8'));
const runShape = z.looseObject({
  status: z.string(),
  output: z.unknown().optional(),
  nodes: z.array(z.looseObject({ nodeId: z.string() })),
});
const eventsShape = z.looseObject({ data: z.array(z.looseObject({ type: z.string(), timestamp: z.string() })) });

const run = async (name: string, input: unknown) => {
  const headers = { 'idempotency-key': name };
  const { body } = await cloud.call('POST', '/v1/runs', { workflowName: name, input }, headers);
  const { runId } = z.looseObject({ runId: z.string() }).parse(body);
  const see = async () => runShape.parse((await cloud.call('GET', `/v1/runs/${runId}`)).body);
  await expect.poll(async () => (await see()).status, { timeout: 60_000, interval: 100 }).not.toMatch(/pending|running/);
  const events = eventsShape.parse((await cloud.call('GET', `/v1/runs/${runId}/events`)).body).data;
  return { ...(await see()), events: events.map(({ type }) => type) };
};
const example = async (name: string) => {
  for (const lens of z.array(z.unknown()).parse(file(name, 'lenses.json')))
    expect((await cloud.call('POST', '/v1/lenses', lens)).status).toBe(201);
  expect((await cloud.call('POST', '/v1/workflows', file(name, 'workflow.json'))).status).toBe(201);
  return run(name, file(name, 'input.json'));
};

test('a lens is rendered, and the deterministic model responds', async () => {
  expect(await example('product-blurb')).toMatchObject({
    status: 'completed',
    output: { text: 'Write two sentences about a folding bicycle for commuters.' },
  });
});

test('a violated contract has its own event, in addition to its node’s end', async () => {
  const { status, nodes, events } = await example('ticket-triage');
  expect(status).toBe('completed');
  expect(nodes.find(({ nodeId }) => nodeId === 'answer')).toMatchObject({
    status: 'invalidated',
    error: { code: 'output_contract_violation', cause: 'contract_violated' },
  });
  expect(events.slice(events.indexOf('contract.violated')).slice(0, 2)).toEqual(['contract.violated', 'node.invalidated']);
});

test('moderation blocks its configured words', async () => {
  const { status, events } = await example('moderated-reply');
  expect(status).toBe('completed');
  expect(events.slice(events.indexOf('moderation.flagged')).slice(0, 2)).toEqual(['moderation.flagged', 'node.failed']);
});

test.each([
  ['near', 'address_forbidden'],
  ['bedrock', 'provider_error'],
  ['unknown', 'model_unknown'],
])('the model %s fails its node with %s', async (model, code) => {
  await cloud.call('POST', '/v1/lenses', { name: `ask-${model}`, template: 'Say [[what]]' });
  const nodes = [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'lens', config: { lens: `ask-${model}`, model } },
  ];
  await cloud.call('POST', '/v1/workflows', { name: `ask-${model}`, nodes, edges: [{ source: 'start', target: 'ask' }] });
  const { status, nodes: shown } = await run(`ask-${model}`, { what: 'hello' });
  expect(status).toBe('failed');
  expect(shown.find(({ nodeId }) => nodeId === 'ask')).toMatchObject({ error: { code } });
});
