/** A run's history as a document, built from public events. */
import { describe, expect, test } from 'vitest';
import { type ValueSource, historyDocument } from '../../../lib/engine/durable/history-document.ts';
import { replayVersionKey } from '../../../lib/engine/durable/command-batch.ts';

const run = { id: 'wrun_1', workflowName: 'order', version: '2', createdAt: 'then', deadlineAt: 'later' };
type Event = Parameters<typeof historyDocument>[1][number];

const inPlace = (): never => {
  throw new Error('no value is offloaded');
};
const of = (...events: readonly Event[]) => historyDocument(run, events, inPlace);
const at = (type: string, nodeId: string, payload: object = {}): Event => ({ type, payload: { nodeId, ...payload } });
const asks = (key: string, kind = 'function', type = 'node.queued', target?: string): Event =>
  at(type, `node-${key}`, { step: { kind, key, ...(target === undefined ? {} : { target }) } });
const did = (key: string, output: unknown = key, endedAt = 'soon'): Event =>
  at('node.completed', `node-${key}`, { output: { value: output }, endedAt });
const broke = { cause: 'error', message: 'no' };
const failed = (key: string, type = 'node.failed'): Event => at(type, `node-${key}`, { failure: broke, endedAt: 'soon' });
const scheduled = (key: string, step = 'function') => ({ kind: 'scheduled', key, step });
const settled = (key: string, endedAt = 'soon') => ({
  kind: 'settled',
  key,
  result: { status: 'completed', output: key, endedAt },
});

test('a run without events is open and has no entries', () => {
  expect(of()).toStrictEqual({
    format: 'stepwell.history',
    version: 1,
    replayVersion: 1,
    run,
    input: null,
    attempt: 1,
    priorResults: [],
    entries: [],
    end: { status: 'open' },
  });
});

test('the input and the replay version are included, and other system values are not', () => {
  const set = (key: string, value: unknown): Event => ({ type: 'system.set', payload: { key, value: { value } } });
  const events = [{ type: 'input.set', payload: { input: { value: { order: 7 } } } }, set(replayVersionKey, 3), set('other', 9)];
  expect(of(...events)).toMatchObject({ input: { order: 7 }, replayVersion: 3 });
});

describe('the commands of the code', () => {
  test('are listed once, in order, with kind and target, each before its result', () => {
    const { entries } = of(
      asks('a'),
      asks('nap', 'sleep', 'node.waiting'),
      asks('paid', 'signal-wait', 'signal.awaited', 'paid'),
      asks('sub', 'workflow', 'subflow.called', 'child'),
      // The same node is queued again, which is not a new step.
      at('node.queued', 'node-a', { step: { kind: 'function', key: 'a' } }),
      did('nap'),
      failed('a'),
      did('sub'),
    );
    expect(entries).toStrictEqual([
      scheduled('a'),
      scheduled('nap', 'sleep'),
      { ...scheduled('paid', 'signal-wait'), target: 'paid' },
      { ...scheduled('sub', 'workflow'), target: 'child' },
      settled('nap'),
      { kind: 'settled', key: 'a', result: { status: 'failed', failure: broke, endedAt: 'soon' } },
      settled('sub'),
    ]);
  });

  test.each(['node.failed', 'node.timed_out', 'node.blocked', 'node.invalidated'])('a step has failed by %s', (type) => {
    expect(of(asks('a'), failed('a', type)).entries).toMatchObject([scheduled('a'), { result: { status: 'failed' } }]);
  });

  test('workflow tasks, steps without a key or of an unknown kind, and other nodes are left out', () => {
    const events = [
      asks('1', 'workflow_task'),
      at('node.queued', 'x', { step: { kind: 'function' } }),
      asks('y', 'dance'),
      at('node.queued', 'z'),
      at('node.queued', 'w', { step: null }),
      { type: 'node.queued', payload: { step: { kind: 'function', key: 'v' } } },
      at('node.started', 'u', { step: { kind: 'function', key: 'u' } }),
      at('node.completed', 'unknown', { output: { value: 1 }, endedAt: 'soon' }),
      at('node.retried', 'node-a', {}),
    ];
    expect(of(...events).entries).toEqual([]);
    expect(of(asks('a'), at('node.started', 'node-a', { output: { value: 1 } })).entries).toEqual([scheduled('a')]);
  });

  test('rollback steps are left out', () => {
    const { entries } = of(asks('a'), did('a'), { type: 'rollback.started', payload: {} }, asks('b', 'rollback'), did('b'));
    expect(entries).toEqual([scheduled('a'), settled('a')]);
  });
});

describe('the end', () => {
  test.each<[string, Event, object]>([
    ['completed', { type: 'run.completed', payload: { output: { value: [1] } } }, { status: 'completed', output: [1] }],
    ['failed', { type: 'run.failed', payload: { error: broke } }, { status: 'failed', error: broke }],
    ['timed out', { type: 'run.timed_out', payload: { error: broke } }, { status: 'failed', error: broke }],
    ['cancelled', { type: 'run.cancelled', payload: {} }, { status: 'cancelled' }],
  ])('of a run that has %s is included', (_how, event, end) => {
    expect(of(asks('a'), event).end).toStrictEqual(end);
  });
});

test('a retried workflow has the entries of its last attempt, and the results of all earlier ones', () => {
  const again: Event = { type: 'run.retried', payload: {} };
  const document = of(
    asks('a'),
    asks('nap', 'sleep', 'node.waiting'),
    asks('b'),
    did('a'),
    failed('b'),
    again,
    asks('b'),
    did('b', 'b', 'late'),
    asks('c'),
    again,
    asks('c'),
  );
  expect(document).toMatchObject({ attempt: 3, entries: [scheduled('c')] });
  expect(document.priorResults).toStrictEqual([
    { key: 'a', step: 'function', output: 'a', endedAt: 'soon' },
    { key: 'b', step: 'function', output: 'b', endedAt: 'late' },
  ]);
});

test('an offloaded value is requested by its reference and its source', () => {
  const places: [ValueSource, string][] = [];
  const ref = (name: string) => ({ ref: `item:${name}`, bytes: 9 });
  const { input, entries, end } = historyDocument(
    run,
    [
      { type: 'input.set', payload: { input: ref('input') } },
      asks('a'),
      at('node.completed', 'node-a', { output: ref('a'), endedAt: 'soon' }),
      { type: 'run.completed', payload: { output: ref('output') } },
    ],
    (place, name) => {
      places.push([place, name]);
      return `value of ${name}`;
    },
  );
  expect([input, entries[1], end]).toMatchObject([
    'value of item:input',
    { result: { output: 'value of item:a' } },
    { output: 'value of item:output' },
  ]);
  expect(places).toEqual([
    ['input', 'item:input'],
    [{ nodeId: 'node-a' }, 'item:a'],
    ['output', 'item:output'],
  ]);
});

describe('an impossible event is rejected', () => {
  test.each<[string, Event]>([
    ['an input without a value', { type: 'input.set', payload: {} }],
    ['an input that is null', { type: 'input.set', payload: { input: null } }],
    ['a failure that is empty', { type: 'run.failed', payload: {} }],
    ['a failure without a message', { type: 'run.failed', payload: { error: { cause: 'error' } } }],
    ['a failure without a cause', { type: 'run.failed', payload: { error: { message: 'no' } } }],
  ])('%s', (_what, event) => {
    expect(() => of(event)).toThrow(/neither a value nor a reference|no cause or no message/);
  });
});
