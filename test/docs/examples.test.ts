/** An example is a document and a test: each is published, run to its end, and comes to what stands beside it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeTypes } from '../../lib/nodes/node-types.ts';
import { type Database, startDatabase } from '../nodes/data-query/database.ts';
import { OtherSide, type Seen, reachOf } from '../nodes/other-side.ts';
import { CodeExamples, codeRuns, codeWorkflows } from './code-examples.ts';
import { type Example, example, exampleNames, runExample } from './run-example.ts';

const rates = new OtherSide();
beforeAll(async () => {
  await rates.start();
  rates.answers((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answerTo(request)));
  });
});
let database: Database;
beforeAll(async () => {
  database = await startDatabase();
  await database.db.exec(readFileSync(new URL('../../examples/recent-orders/tables.sql', import.meta.url), 'utf8'));
}, 60_000);
afterAll(async () => void (await Promise.all([rates.stop(), database.stop()])));

/** The service of the example is out in the world; here its name leads to a server on this machine. */
const hosts: Readonly<Record<string, string>> = { 'exchange-rate': 'rates.example.com', 'send-message': 'chat.example.com' };
const reach = reachOf(Object.fromEntries(Object.values(hosts).map((host) => [host, [['127.0.0.1']]])));
const atHand = (given: Example): Example => {
  if (given.name === 'recent-orders') return { ...given, secrets: { 'orders-db': database.connection } };
  const host = hosts[given.name];
  return host === undefined ? given : { ...given, input: { ...given.input, service: rates.url('', host) } };
};

/** A chat that answers with all that it was sent, as some services do. */
const answerTo = ({ url, headers: { authorization = '' }, body }: Seen): object =>
  url === '/messages' ? { id: 'm-1', authorization, sent: body } : { currency: 'EUR', rate: 1.08 };

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

test('the secret of send-message reaches the chat, which sends it back, and nothing that is kept or shown', async () => {
  const given = atHand(example('send-message'));
  const secret = given.secrets['chat-token'] ?? '';
  const { left, status } = await runExample(given, reach);
  expect([status, rates.seen.at(-1)?.headers.authorization]).toEqual(['completed', `Bearer ${secret}`]);
  expect(left).toContain('Bearer [secret:chat-token]');
  expect(left).not.toContain(secret);
});

test('the request of exchange-rate carried its query', async () => {
  await runExample(atHand(example('exchange-rate')), reach);
  expect(rates.seen.at(-1)?.url).toBe('/rates?currency=EUR');
});

describe('code-workflows', () => {
  const examples = new CodeExamples();

  test.each(codeRuns.map((each) => [`${each.workflow} ${JSON.stringify(each.input)}`, each] as const))(
    '%s comes to what runs.json says',
    async (_name, given) => {
      const { workflow, output, error } = given;
      expect(await examples.play(given)).toMatchObject({ workflow, ...(error === undefined ? { output } : { error }) });
    },
  );

  test('every workflow of the folder has a run', () => {
    const run = new Set(codeRuns.map(({ workflow }) => workflow));
    expect([...run].toSorted()).toEqual(codeWorkflows.map(({ spec }) => spec.name).toSorted());
  });
});
