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
  test('are counted by purpose', () => {
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

  test('include the index entry that an update removes', () => {
    const out = update('REMOVE #gs', {});
    expect(bill(put({ sk: 'head', gp: 'p', gs: '1' }), out).writeUnits).toEqual({ head: 1, end: 1, byProject: 2 });
  });

  test('are not counted where DynamoDB failed', () => {
    expect(bill(failing).writeUnits).toEqual({});
  });

  test('of an unknown item are refused', () => {
    expect(() => bill(put({ sk: 'novelty#1' }))).toThrow(/no part of the bill matches the keys .*novelty/);
    expect(() => bill(update('SET status = :s', {}, 'NONE'))).toThrow(/UPDATED_NEW/);
  });
});

describe('queue requests', () => {
  const Messages = [{ Body: JSON.stringify({ runId }), ReceiptHandle: 'h' }];

  test('belong to the run of the message; a deletion is found by its receipt handle', () => {
    const lines = linesOf(
      queue('ReceiveMessage', {}, { Messages }),
      queue('DeleteMessageBatch', { Entries: [{ ReceiptHandle: 'h' }] }),
    );
    expect(lines.map(({ part, runIds }) => [part, [...runIds]])).toEqual([
      ['receive node queue', [runId]],
      ['delete node queue', [runId]],
    ]);
  });

  test('without a message are counted separately', () => {
    expect(bill(queue('ReceiveMessage', {}))).toMatchObject({ queueRequests: {}, emptyReceives: { 'of any queue': 1 } });
  });
});

test('an invocation is counted by its function, with its memory and time', () => {
  expect(bill(invocation, invocation)).toMatchObject({ invocations: { worker: 2 }, gbSeconds: { worker: 1 } });
});
