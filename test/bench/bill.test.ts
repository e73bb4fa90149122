import { describe, expect, test } from 'vitest';
import type { RecordedCall } from '../../lib/local/recorder.ts';
import { billOf, Meter } from '../../bench/bill.ts';
import { failing, invocation, partition, put, queue, runId, template, update } from './calls.ts';

const linesOf = (...calls: readonly RecordedCall[]) => {
  const meter = new Meter(template);
  return calls.flatMap((call) => meter.read(call));
};
const bill = (...calls: readonly RecordedCall[]) => billOf(linesOf(...calls));
const large = 'x'.repeat(1_500);

describe('the write units of a run', () => {
  test('are told apart by what they are for', () => {
    expect(
      bill(put({ sk: 'head', gp: 'p', gs: '1' }), put({ sk: 'log#00000002' }), put({ pk: 'due#1#2', sk: partition })),
    ).toMatchObject({
      writeUnits: { head: 1, byProject: 1, commits: 1, due: 1 },
      commits: { won: 1 },
    });
  });

  test('of a lost put are those of the larger of both items, and no commit', () => {
    const lost = bill(
      put({ sk: 'log#00000002', e: large }),
      put({ sk: 'log#00000002' }, true),
      put({ sk: 'log#00000003' }, true),
    );
    expect(lost).toMatchObject({ writeUnits: { commits: 2, 'lost puts': 2 + 1 }, commits: { won: 1 } });
  });

  test('of an update are those of the whole item, before or after', () => {
    const head = put({ sk: 'head', big: large });
    expect(bill(head, update('SET status = :s', { status: { S: 'completed' } })).writeUnits).toEqual({ head: 2, end: 2 });
    const removed = update('SET status = :s REMOVE #big', { status: { S: 'completed' } });
    expect(bill(head, removed, update('SET status = :s', { status: { S: 'failed' } })).writeUnits).toEqual({
      head: 2,
      end: 2 + 1,
    });
  });

  test('include the index that an update leaves', () => {
    const out = update('REMOVE #gs', {});
    expect(bill(put({ sk: 'head', gp: 'p', gs: '1' }), out).writeUnits).toEqual({ head: 1, end: 1, byProject: 2 });
  });

  test('are not counted where DynamoDB failed', () => {
    expect(bill(failing).writeUnits).toEqual({});
  });

  test('of an item that nobody has named are refused', () => {
    expect(() => bill(put({ sk: 'novelty#1' }))).toThrow(/no part of the bill matches the keys .*novelty/);
    expect(() => bill(update('SET status = :s', {}, 'NONE'))).toThrow(/UPDATED_NEW/);
  });
});

describe('queue requests', () => {
  const Messages = [{ Body: JSON.stringify({ runId }), ReceiptHandle: 'h' }];

  test('belong to the run that the message names, the deletion by its handle too', () => {
    const lines = linesOf(
      queue('ReceiveMessage', {}, { Messages }),
      queue('DeleteMessageBatch', { Entries: [{ ReceiptHandle: 'h' }] }),
    );
    expect(lines.map(({ part, runIds }) => [part, [...runIds]])).toEqual([
      ['receive node queue', [runId]],
      ['delete node queue', [runId]],
    ]);
  });

  test('that found nothing are counted apart', () => {
    expect(bill(queue('ReceiveMessage', {}))).toMatchObject({ queueRequests: {}, emptyReceives: { 'of any queue': 1 } });
  });
});

test('an invocation is counted by its function, with its memory and time', () => {
  expect(bill(invocation, invocation)).toMatchObject({ invocations: { worker: 2 }, gbSeconds: { worker: 1 } });
});
