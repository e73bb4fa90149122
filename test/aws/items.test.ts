/** Items of the runs table: parsing, billed size, expiry and index keys. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Item, text } from '../../lib/aws/item-schema.ts';
import { commitItem } from '../../lib/aws/run-items.ts';
import { headAttributes, headIn, projectionUpdate } from '../../lib/aws/head-item.ts';
import { headKey, logKey } from '../../lib/aws/run-keys.ts';
import { keyOf } from '../../lib/aws/table.ts';
import { Unreadable } from '../../lib/codec/unreadable.ts';
import { commitNo, firstAttempt, nodeId, topLevel } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import { firstProjection } from '../../lib/engine/log/head.ts';
import { arbitraryEvent } from '../codec/arbitrary-events.ts';
import { commit, creation, expiresAt, freshRun, noon } from '../contract/samples.ts';

const run = freshRun();
const logItem = (of: ReturnType<typeof commit>): Item => ({
  ...keyOf(logKey(run, 'platform', of.number)),
  ...commitItem.encode(of, expiresAt),
});
const headItem = (of: ReturnType<typeof creation>): Item => ({
  ...keyOf(headKey(of.address)),
  ...headAttributes(of, firstProjection),
});

/** DynamoDB's item size: the bytes of names and values. A number has about one byte for two digits, plus one. */
const sizeOf = (item: Item): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0);
const valueSize = (value: AttributeValue): number => {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1;
  return value.B?.byteLength ?? 0;
};

test('any commit is read back from its item', () => {
  fc.assert(
    fc.property(fc.array(arbitraryEvent, { maxLength: 30 }), fc.integer({ min: 2, max: 99_999_999 }), (events, number) => {
      const written = commit(number, { events });
      expect(commitItem.decode(logItem(written))).toEqual(written);
    }),
    { numRuns: 300 },
  );
});

describe('an invalid item is refused:', () => {
  const good = logItem(commit(2));
  test.for<[string, Item, RegExp]>([
    ['another version', { ...good, v: { N: '2' } }, /the item has version 2, but this program reads only version 1/],
    ['no version', Object.fromEntries(Object.entries(good).filter(([name]) => name !== 'v')), /a commit cannot be read/],
    ['an unknown event', { ...good, e: text('[{"type":"NODE_DREAMT"}]') }, /a commit cannot be read/],
    ['events that are not a list', { ...good, e: text('{}') }, /a commit cannot be read/],
    ['a nonce of another type', { ...good, n: { N: '5' } }, /a commit cannot be read/],
    ['a number in place of text', { ...good, b: { N: '5' } }, /a commit cannot be read/],
  ])('%s', ([, item, message]) => {
    expect(() => commitItem.decode(item)).toThrow(Unreadable);
    expect(() => commitItem.decode(item)).toThrow(message);
  });

  test('a head with an unknown status', () => {
    expect(() => headIn({ ...headItem(creation(run)), status: text('asleep') })).toThrow(Unreadable);
  });
});

describe('billed size', () => {
  const dispatched = {
    type: 'NODE_DISPATCHED',
    nodeId: nodeId('validate-order'),
    iteration: topLevel,
    attempt: firstAttempt,
    via: 'queue',
    wave: 0,
  } as const;

  test('the head of a run with a small input fits in one write unit', () => {
    const input = { orderId: 'ord_0123456789', lines: [{ sku: 'A-1', count: 2 }] };
    const head = creation(run, {
      commit: commit(1, { events: [{ type: 'RUN_STARTED' }, { type: 'INPUT_SET', input: inline(input) }, dispatched] }),
    });
    expect(sizeOf(headItem(head))).toBeLessThanOrEqual(1_024);
  });

  test('a commit of one completion and one dispatch fits in one write unit', () => {
    const completed = {
      type: 'NODE_COMPLETED',
      nodeId: nodeId('validate-order'),
      iteration: topLevel,
      attempt: firstAttempt,
      output: inline({ valid: true }),
      variable: 'validated',
      handle: 'output',
      startedAt: noon,
      endedAt: noon,
    } as const;
    expect(sizeOf(logItem(commit(2, { events: [completed, dispatched] })))).toBeLessThanOrEqual(600);
  });

  test('a thousand dispatches are compressed to less than a tenth', () => {
    const events = Array.from({ length: 1_000 }, (_, index) => ({ ...dispatched, nodeId: nodeId(`node-${index}`) }));
    expect(sizeOf(logItem(commit(2, { events })))).toBeLessThan(JSON.stringify(events).length / 10);
  });
});

describe('expiry and indexes', () => {
  test('every item of a run expires at the run’s expiry, rounded up to whole seconds', () => {
    const seconds = { N: String(Math.ceil(expiresAt / 1_000)) };
    expect(logItem(commit(2))['ttl']).toEqual(seconds);
    expect(headItem(creation(run))['ttl']).toEqual(seconds);
    expect(Number(seconds.N) * 1_000).toBeGreaterThanOrEqual(expiresAt);
  });

  test('only the head is in the index by project, and a new run is not in the index by state', () => {
    const head = headItem(creation(run));
    expect(head['gp']?.S).toMatch(new RegExp(`^${run.projectId}#production#[0-7]$`));
    expect(head['gs']).toEqual(text(`2026-05-01T12:00:00.123Z#${run.runId}`));
    expect(head).not.toHaveProperty('sp');
    expect(logItem(commit(2))).not.toHaveProperty('gp');
  });

  test('a projection writes no key of the index by project, and keys of the index by state only for runs that need attention', () => {
    const change = (status: 'running' | 'failed' | 'completed', attention?: 'waiting') =>
      projectionUpdate(run, { status, asOf: commitNo(2), ...(attention && { attention }) }).expression;
    expect(change('running', 'waiting')).toMatch(/SET .*#sp = :sp, #ss = #gs/);
    expect(change('failed')).toMatch(/SET .*#sp = :sp, #ss = #gs/);
    expect(change('running')).toMatch(/REMOVE .*#sp, #ss$/);
    expect(change('completed')).toMatch(/REMOVE .*#sp, #ss$/);
    expect(change('failed')).not.toMatch(/#gp|#gs =/);
  });
});
