/** An example is a document and a test: each is published, run to its end, and comes to what stands beside it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeTypes } from '../../lib/nodes/catalogue.ts';
import { OtherSide, reachOf } from '../nodes/other-side.ts';
import { type Example, example, exampleNames, runExample } from './run-example.ts';

const rates = new OtherSide();
beforeAll(async () => {
  await rates.start();
  rates.answers((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ currency: 'EUR', rate: 1.08 }));
  });
});
afterAll(() => rates.stop());

/** The service of the example is out in the world; here its name leads to a server on this machine. */
const reach = reachOf({ 'rates.example.com': [['127.0.0.1']] });
const atHand = (given: Example): Example =>
  given.name === 'exchange-rate' ? { ...given, input: { service: rates.url('', 'rates.example.com'), currency: 'EUR' } } : given;

describe.each(exampleNames)('%s', (name) => {
  test('comes to what its expected.json says', async () => {
    const { expected } = example(name);
    expect(await runExample(atHand(example(name)), reach)).toMatchObject(expected);
  });

  test('has the name of its folder', () => {
    expect(example(name).workflow.name).toBe(name);
  });

  test('is shown in docs/NODES.md', () => {
    expect(readFileSync(new URL('../../docs/NODES.md', import.meta.url), 'utf8')).toContain(`examples/${name}/workflow.json`);
  });
});

test('every node type has an example', () => {
  const shown = new Set(exampleNames.flatMap((name) => example(name).workflow.nodes.map(({ type }) => type)));
  expect([...shown].toSorted()).toEqual([...nodeTypes.keys()].toSorted());
});

test('the request of exchange-rate carried its query', async () => {
  await runExample(atHand(example('exchange-rate')), reach);
  expect(rates.seen.at(-1)?.url).toBe('/rates?currency=EUR');
});
