import { describe, expect, test } from 'vitest';
import { failedMessages } from '../../lib/local/pollers/poller.ts';

const batch = ['m1', 'm2', 'm3'];
const returned = (payload: string) => ({ kind: 'returned', payload }) as const;
const failures = (...ids: readonly unknown[]) =>
  JSON.stringify({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

describe('the failures that a function reports of its batch', () => {
  test.each([
    ['nothing', 'null', []],
    ['an empty object', '{}', []],
    ['an empty list', failures(), []],
    ['a null list', '{"batchItemFailures":null}', []],
    ['two of them', failures('m1', 'm3'), ['m1', 'm3']],
    ['an unknown id', failures('m1', 'm9'), batch],
    ['an empty id', failures(''), batch],
    ['a null id', failures(null), batch],
    ['another key', '{"batchItemFailures":[{"id":"m1"}]}', batch],
    ['a text', '"done"', batch],
    ['no JSON', 'done', batch],
  ])('%s', (_name, payload, expected) => {
    expect([...failedMessages(returned(payload), batch, true)]).toEqual(expected);
  });

  test('are not read where the mapping reports no failures', () => {
    expect([...failedMessages(returned(failures('m1')), batch, false)]).toEqual([]);
  });

  test('are all messages where the function failed or was refused', () => {
    expect([...failedMessages({ kind: 'failed', error: { errorType: 'E', errorMessage: 'm' } }, batch, true)]).toEqual(batch);
    expect([...failedMessages({ kind: 'refused', code: 'TooManyRequestsException', message: '' }, batch, true)]).toEqual(batch);
  });
});
