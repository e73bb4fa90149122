/** The stored format of published versions. It must not change, because old items must stay readable. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dynamoLenses, dynamoQueries, dynamoWorkflows } from '../../lib/aws/published.ts';
import { Table } from '../../lib/aws/table.ts';
import { environment, lensName, projectId, queryName, workflowName } from '../../lib/engine/ids.ts';
import { seconds } from '../../lib/engine/time.ts';
import { noon } from '../contract/samples.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { type Recorder, startRecorder } from '../contract/emulators/recorder.ts';

const scope = { projectId: projectId('acme'), environment: environment('live') };
const at = { N: String(noon) };

const workflow = { name: workflowName('order'), version: 7, nodes: [], edges: [], options: {} };
const lens = { name: lensName('tone'), version: 7, kind: 'text', template: 'Say it' } as const;
const query = {
  name: queryName('find'),
  version: 7,
  kind: 'postgres',
  parameters: [],
  maxBytes: 1_000,
  timeoutMs: seconds(1),
  connection: 'db',
  statement: 'select 1',
  readOnly: true,
  maxRows: 1,
} as const;

const stored = [
  { ...place('workflow', 'order'), v: { N: '1' }, definition: { S: JSON.stringify(workflow) }, publishedAt: at },
  { ...place('lens', 'tone'), v: { N: '1' }, lens: { S: JSON.stringify(lens) }, publishedAt: at },
  { ...place('query', 'find'), v: { N: '1' }, definition: { S: JSON.stringify(query) }, publishedAt: at },
];
function place(kind: string, name: string) {
  return { pk: { S: `${kind}#acme#live#${name}` }, sk: { S: 'version#00000007' } };
}
const facts = { v: { N: '1' }, latestVersion: { N: '7' }, createdAt: at, updatedAt: at };
const summaries = [
  { pk: { S: 'workflows#acme#live' }, sk: { S: 'order' }, ...facts },
  { pk: { S: 'lenses#acme#live' }, sk: { S: 'tone' }, ...facts, archivedAt: at },
  { pk: { S: 'queries#acme#live' }, sk: { S: 'find' }, kind: { S: 'postgres' }, ...facts },
];

let recorder: Recorder;
let item: object | undefined;
let table: Table;
beforeAll(async () => {
  recorder = await startRecorder(() => ({ status: 200, body: { ...(item && { Item: item }) } }));
  table = new Table(dynamoAt(recorder.endpoint), 'control');
});
afterAll(() => recorder.close());

/** The body of the only request that the call sends. */
const requestOf = async (call: () => Promise<unknown>): Promise<unknown> => {
  const before = recorder.requests.length;
  await call();
  expect(recorder.requests).toHaveLength(before + 1);
  return JSON.parse(String(recorder.requests[before]?.body));
};

test('a version is written under its number, in the attribute of its kind', async () => {
  const puts = [
    () => dynamoWorkflows(table).putVersion(scope, workflow, noon),
    () => dynamoLenses(table).putVersion(scope, lens, noon),
    () => dynamoQueries(table).putVersion(scope, query, noon),
  ];
  for (const [index, put] of puts.entries()) expect(await requestOf(put)).toMatchObject({ Item: stored[index] });
});

test('one update moves a summary, with the kind of a query', async () => {
  const set = 'latestVersion = :version, updatedAt = :at, createdAt = if_not_exists(createdAt, :at)';
  const values = { ':v': { N: '1' }, ':version': { N: '7' }, ':at': at };
  expect(await requestOf(() => dynamoWorkflows(table).advance(scope, workflow, noon))).toMatchObject({
    Key: { pk: { S: 'workflows#acme#live' }, sk: { S: 'order' } },
    UpdateExpression: `SET v = :v, ${set}`,
    ExpressionAttributeValues: values,
  });
  expect(await requestOf(() => dynamoQueries(table).advance(scope, query, noon))).toMatchObject({
    Key: { pk: { S: 'queries#acme#live' }, sk: { S: 'find' } },
    UpdateExpression: `SET v = :v, kind = :kind, ${set}`,
    ExpressionAttributeValues: { ...values, ':kind': { S: 'postgres' } },
  });
});

test('stored items are read', async () => {
  const summary = { latestVersion: 7, createdAt: noon, updatedAt: noon };
  const [workflows, lenses, queries] = [dynamoWorkflows(table), dynamoLenses(table), dynamoQueries(table)];
  [item] = stored;
  expect(await workflows.version(scope, workflow.name, 7)).toEqual(workflow);
  [, item] = stored;
  expect(await lenses.version(scope, lens.name, 7)).toEqual(lens);
  [, , item] = stored;
  expect(await queries.version(scope, query.name, 7)).toEqual(query);
  [item] = summaries;
  expect(await workflows.summary(scope, workflow.name)).toEqual({ name: 'order', ...summary });
  [, item] = summaries;
  expect(await lenses.summary(scope, lens.name)).toEqual({ name: 'tone', ...summary, archivedAt: noon });
  [, , item] = summaries;
  expect(await queries.summary(scope, query.name)).toEqual({ name: 'find', ...summary, kind: 'postgres' });
});

test('an item of another version, or without the attributes of its kind, is refused', async () => {
  item = { ...stored[0], v: { N: '2' } };
  await expect(dynamoWorkflows(table).version(scope, workflow.name, 7)).rejects.toThrow('the item has version 2');
  [, item] = stored;
  await expect(dynamoWorkflows(table).version(scope, workflow.name, 7)).rejects.toThrow('a workflow version cannot be read');
  item = { ...summaries[2], kind: { S: 'carrier pigeon' } };
  await expect(dynamoQueries(table).summary(scope, query.name)).rejects.toThrow('a query cannot be read');
});
