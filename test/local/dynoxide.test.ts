/** DynamoDB by dynoxide over a pipe: what its tools omit, and requests that they would not respond to. */
import { afterAll, describe, expect, test } from 'vitest';
import { findDynoxide, startDynoxide } from '../../lib/local/emulators/dynoxide.ts';
import { createDynamodbCaller } from '../../lib/local/emulators/forward.ts';
import { listeningOf, processTree } from '../e2e/listening.ts';
import { freshFolder } from './stacks.ts';

const binary = findDynoxide();

// The binary exists for some platforms only.
describe.runIf(binary !== undefined)('dynoxide', async () => {
  const emulator = await startDynoxide(binary ?? '', freshFolder(), () => {});
  afterAll(() => emulator.stop());
  const call = createDynamodbCaller(emulator.forward);
  const TableName = 'Things';
  const string = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' });
  const keys = (hash: string, range: string) => [
    { AttributeName: hash, KeyType: 'HASH' },
    { AttributeName: range, KeyType: 'RANGE' },
  ];
  await call('CreateTable', {
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'sk', 'owner1'].map(string),
    KeySchema: keys('pk', 'sk'),
    GlobalSecondaryIndexes: [
      { IndexName: 'byOther', KeySchema: keys('owner1', 'sk'), Projection: { ProjectionType: 'KEYS_ONLY' } },
    ],
  });
  const item = (pk: string, more: object = {}) => ({ pk: { S: pk }, sk: { S: 'x' }, ...more });
  const typeOf = ({ output }: { output: unknown }): string =>
    typeof output === 'object' && output !== null && '__type' in output ? String(output.__type).replace(/.*#/, '') : '';

  test('listens on no port', () => {
    const { tcp, unix } = listeningOf(processTree(process.pid));
    expect([tcp, unix.filter((path) => path.includes('dyno'))]).toEqual([[], []]);
  });

  test('a write with a failed condition returns the existing item only on request', async () => {
    await call('PutItem', { TableName, Item: item('met', { n: { N: '12345678901234567890.5' } }) });
    const again = { TableName, Item: item('met'), ConditionExpression: 'attribute_not_exists(pk)' };
    const told = await call('PutItem', { ...again, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
    expect([told.status, typeOf(told)]).toEqual([400, 'ConditionalCheckFailedException']);
    expect(told.output).toMatchObject({ Item: item('met', { n: { N: '12345678901234567890.5' } }) });
    expect((await call('PutItem', again)).output).not.toHaveProperty('Item');
    const absent = await call('DeleteItem', {
      TableName,
      Key: item('absent'),
      ConditionExpression: 'attribute_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    expect([typeOf(absent), absent.output]).toEqual([
      'ConditionalCheckFailedException',
      expect.not.objectContaining({ Item: expect.anything() }),
    ]);
  });

  test('each failing writer of one item gets the item that won', async () => {
    const writers = Array.from({ length: 50 }, (_, at) =>
      call('PutItem', {
        TableName,
        Item: item('one', { by: { N: `${at}` } }),
        ConditionExpression: 'attribute_not_exists(pk)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
    const answers = await Promise.all(writers);
    const [winner, ...others] = answers.flatMap(({ status }, at) => (status === 200 ? [at] : []));
    expect(others).toEqual([]);
    const met = answers.filter(({ status }) => status === 400).map(({ output }) => output);
    for (const output of met) expect(output).toMatchObject({ Item: { by: { N: `${winner}` } } });
    expect(met).toHaveLength(49);
  });

  test('a failed transaction has a reason for each of its items', async () => {
    await call('PutItem', { TableName, Item: item('there') });
    const put = (pk: string) => ({ Put: { TableName, Item: item(pk), ConditionExpression: 'attribute_not_exists(pk)' } });
    const failed = await call('TransactWriteItems', { TransactItems: [put('there'), put('new')] });
    expect([typeOf(failed), failed.output]).toEqual([
      'TransactionCanceledException',
      expect.objectContaining({ CancellationReasons: [{ Code: 'ConditionalCheckFailed' }, { Code: 'None' }] }),
    ]);
  });

  test('a consistent read of a global index is refused, as in AWS', async () => {
    const query = {
      TableName,
      IndexName: 'byOther',
      KeyConditionExpression: 'owner1 = :o',
      ExpressionAttributeValues: { ':o': { S: 'a' } },
    };
    expect((await call('Query', query)).status).toBe(200);
    expect(typeOf(await call('Query', { ...query, ConsistentRead: true }))).toBe('ValidationException');
  });

  const nested = (levels: number): object => (levels === 0 ? { S: 'x' } : { M: { a: nested(levels - 1) } });
  test.each<readonly [string, object, string]>([
    ['a lone surrogate', { TableName, Item: item('\uD800') }, 'SerializationException'],
    ['a lone surrogate in a key', { TableName, Item: item('a', { '\uDC00': { S: 'x' } }) }, 'SerializationException'],
    ['500 levels', { TableName, Item: item('deep', { a: nested(250) }) }, 'SerializationException'],
    ['a number for a name', { TableName: 7, Item: item('a') }, 'SerializationException'],
    ['an unknown parameter', { TableName, Item: item('a'), Bogus: 1 }, 'ValidationException'],
    ['an item that is too large', { TableName, Item: item('big', { a: { S: 'x'.repeat(410_000) } }) }, 'ValidationException'],
    ['a table that does not exist', { TableName: 'Absent', Item: item('a') }, 'ResourceNotFoundException'],
  ])('%s is refused at once', async (_what, input, type) => {
    const refused = await call('PutItem', input);
    expect([refused.status, typeOf(refused)]).toEqual([400, type]);
    expect((await call('GetItem', { TableName, Key: item('absent') })).status).toBe(200);
  });

  test('an unknown operation is refused', async () => {
    expect(typeOf(await call('SubmitToTheMoon', {}))).toBe('UnknownOperationException');
  });
});
