/** Conditions, over HTTP, where an emulator is too well-behaved to show what may happen. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Table, isFree } from '../../lib/aws/table.ts';
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
const asked = () => recorder.requests.map(({ headers }) => String(headers['x-amz-target']).split('.')[1]);
const standing = { pk: { S: 'p' }, sk: { S: 's' }, n: { S: 'theirs' } };

test('a refusal that brings the item along costs no read', async () => {
  answers = [refused(standing)];
  expect(await table.put(key, {}, isFree)).toEqual({ kind: 'refused', standing });
  expect(asked()).toEqual(['PutItem']);
  expect(JSON.parse(recorder.requests[0]?.body ?? '')).toMatchObject({
    ConditionExpression: 'attribute_not_exists(#pk)',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
});

test('a refusal without the item is followed by a strong read', async () => {
  answers = [refused(), ok({ Item: standing })];
  expect(await table.put(key, {}, isFree)).toEqual({ kind: 'refused', standing });
  expect(asked()).toEqual(['PutItem', 'GetItem']);
  expect(JSON.parse(recorder.requests[1]?.body ?? '')).toMatchObject({ ConsistentRead: true });
});

test('where the item in the way is gone when it is read, the same is put again', async () => {
  answers = [refused(), ok(), ok()];
  expect(await table.put(key, { n: { S: 'mine' } }, isFree)).toEqual({ kind: 'stored' });
  expect(asked()).toEqual(['PutItem', 'GetItem', 'PutItem']);
  expect(recorder.requests[2]?.body).toBe(recorder.requests[0]?.body);
});

test('an item that keeps coming and going is trouble', async () => {
  answers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? refused() : ok()));
  await expect(table.put(key, {}, isFree)).rejects.toThrow(Unavailable);
});

test('a put that was lost on its way is repeated as it was', async () => {
  answers = [{ status: 500, body: {} }, ok()];
  expect(await table.put(key, { n: { S: 'mine' } }, isFree)).toEqual({ kind: 'stored' });
  expect(recorder.requests.map(({ body }) => body)).toEqual([recorder.requests[0]?.body, recorder.requests[0]?.body]);
});
