/** Conditional writes and batches over HTTP, with responses that emulators do not produce. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Table, ifNotExists } from '../../lib/aws/table.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { type Answer, type Recorder, startRecorder } from '../contract/emulators/recorder.ts';

let recorder: Recorder;
let answers: Answer[] = [];
let table: Table;
beforeEach(async () => {
  recorder = await startRecorder(() => answers.shift() ?? refused());
  table = new Table(dynamoAt(recorder.endpoint), 'runs');
});
afterEach(() => recorder.close());

const refused = (Item?: object): Answer => ({
  status: 400,
  body: { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', message: 'no', ...(Item && { Item }) },
});
const ok = (body: object = {}): Answer => ({ status: 200, body });
const key = { pk: 'p', sk: 's' };
const operations = () => recorder.requests.map(({ headers }) => String(headers['x-amz-target']).split('.')[1]);
const standing = { pk: { S: 'p' }, sk: { S: 's' }, n: { S: 'theirs' } };

test('a condition failure with the existing item costs no read', async () => {
  answers = [refused(standing)];
  expect(await table.put(key, {}, ifNotExists)).toEqual({ kind: 'refused', existing: standing });
  expect(operations()).toEqual(['PutItem']);
  expect(JSON.parse(recorder.requests[0]?.body ?? '')).toMatchObject({
    ConditionExpression: 'attribute_not_exists(#pk)',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
});

test('a condition failure without the item is followed by a strongly consistent read', async () => {
  answers = [refused(), ok({ Item: standing })];
  expect(await table.put(key, {}, ifNotExists)).toEqual({ kind: 'refused', existing: standing });
  expect(operations()).toEqual(['PutItem', 'GetItem']);
  expect(JSON.parse(recorder.requests[1]?.body ?? '')).toMatchObject({ ConsistentRead: true });
});

test('a put is repeated if the conflicting item has disappeared', async () => {
  answers = [refused(), ok(), ok()];
  expect(await table.put(key, { n: { S: 'mine' } }, ifNotExists)).toEqual({ kind: 'stored' });
  expect(operations()).toEqual(['PutItem', 'GetItem', 'PutItem']);
  expect(recorder.requests[2]?.body).toBe(recorder.requests[0]?.body);
});

test('a conflicting item that keeps disappearing is Unavailable', async () => {
  answers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? refused() : ok()));
  await expect(table.put(key, {}, ifNotExists)).rejects.toThrow(Unavailable);
});

const keys = (count: number) => Array.from({ length: count }, (_, index) => ({ pk: `p${index}`, sk: 's' }));
const itemOf = ({ pk, sk }: { readonly pk: string; readonly sk: string }) => ({ pk: { S: pk }, sk: { S: sk } });
const batch = (found: readonly object[], left: readonly object[] = []): Answer =>
  ok({ Responses: { runs: found }, UnprocessedKeys: left.length === 0 ? {} : { runs: { Keys: left, ConsistentRead: true } } });
const asksFor = (request: number): readonly unknown[] =>
  JSON.parse(recorder.requests[request]?.body ?? '').RequestItems.runs.Keys;

test('batch reads are strongly consistent, have at most a hundred distinct keys, and return items in the order of the keys', async () => {
  const all = keys(101);
  const [first, second] = [all.slice(0, 100), all.slice(100)];
  answers = [batch(first.map(itemOf).toReversed()), batch(second.map(itemOf))];
  const items = await table.getAll([...all, ...all.slice(0, 1)]);
  expect(items).toEqual([...all, ...all.slice(0, 1)].map(itemOf));
  expect(operations()).toEqual(['BatchGetItem', 'BatchGetItem']);
  expect(asksFor(0)).toHaveLength(100);
  expect(asksFor(1)).toHaveLength(1);
  expect(JSON.parse(recorder.requests[0]?.body ?? '')).toMatchObject({ RequestItems: { runs: { ConsistentRead: true } } });
});

test('only the unprocessed keys of a batch are requested again', async () => {
  const all = keys(3);
  const [one, two, three] = all.map(itemOf);
  answers = [batch([{ ...one }], [{ ...two }, { ...three }]), batch([], [{ ...two }, { ...three }]), batch([{ ...three }])];
  expect(await table.getAll(all)).toEqual([one, undefined, three]);
  expect([0, 1, 2].map((request) => asksFor(request).length)).toEqual([3, 2, 2]);
});

test('a batch without progress is Unavailable after the maximum number of attempts', async () => {
  const all = keys(2);
  answers = Array.from({ length: 9 }, () => batch([], all.map(itemOf)));
  const retrying = new Table(dynamoAt(recorder.endpoint, { maxAttempts: 3 }), 'runs');
  await expect(retrying.getAll(all)).rejects.toThrow(Unavailable);
  expect(operations()).toEqual(['BatchGetItem', 'BatchGetItem', 'BatchGetItem']);
});

test('an empty batch read sends no request', async () => {
  expect(await table.getAll([])).toEqual([]);
  expect(operations()).toEqual([]);
});

test('a failed put is repeated unchanged', async () => {
  answers = [{ status: 500, body: {} }, ok()];
  expect(await table.put(key, { n: { S: 'mine' } }, ifNotExists)).toEqual({ kind: 'stored' });
  expect(recorder.requests.map(({ body }) => body)).toEqual([recorder.requests[0]?.body, recorder.requests[0]?.body]);
});
