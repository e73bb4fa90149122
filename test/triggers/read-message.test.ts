/** What a trigger makes of a message. */
import { describe, expect, it, test } from 'vitest';
import { environment, projectId, workflowName } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { instant } from '../../lib/engine/time.ts';
import { type ReceivedMessage, readMessage } from '../../lib/triggers/read-message.ts';
import { type StoredTrigger, type TriggerKind, storedTriggers } from '../../lib/triggers/setting.ts';

const trigger = (kind: TriggerKind, terms: Partial<StoredTrigger> = {}): StoredTrigger => ({
  name: 'orders',
  kind,
  queueArn: 'arn:aws:sqs:eu-west-1:111122223333:orders',
  deadLetterUrl: 'https://sqs.example.com/dead',
  projectId: projectId('default'),
  environment: environment('test'),
  workflowName: workflowName('ship'),
  ...terms,
});

const message = (body: unknown, more: Partial<ReceivedMessage> = {}): ReceivedMessage => ({
  id: 'm-1',
  body: typeof body === 'string' ? body : JSON.stringify(body),
  sentAt: instant(1_767_225_600_000),
  attributes: {},
  ...more,
});

const event = (detail: JsonValue, more = {}) => ({
  version: '0',
  id: '6a7e8feb-b491-4cf7-a9f1-bf3703467718',
  'detail-type': 'Order Placed',
  source: 'shop',
  detail,
  ...more,
});

describe('without a mapping', () => {
  test.each([
    ['queue', message({ order: 17 }), { order: 17 }, 'm-1'],
    ['queue', message('[1,2]'), [1, 2], 'm-1'],
    ['event', message(event({ order: 17 })), event({ order: 17 }), event({}).id],
    [
      'object',
      message(event({ bucket: { name: 'in' }, object: { key: 'a b/ü.csv', size: 5, etag: 'e' } })),
      { bucket: 'in', key: 'a b/ü.csv', size: 5, etag: 'e' },
      event({}).id,
    ],
  ] as const)(
    'a trigger of the kind %s takes the whole of it, and its id as the key',
    (kind, received, input, idempotencyKey) => {
      expect(readMessage(trigger(kind), received)).toEqual({ kind: 'read', input, idempotencyKey });
    },
  );
});

test('two events of one write of an object have one key, and another write has another one', () => {
  const keyOf = (sequencer: string, id: string) => {
    const read = readMessage(
      trigger('object'),
      message(event({ bucket: { name: 'in' }, object: { key: 'a b.csv', sequencer } }, { id })),
    );
    return read.kind === 'read' ? read.idempotencyKey : read.code;
  };
  expect([keyOf('0A', 'one'), keyOf('0A', 'two'), keyOf('0B', 'three')]).toEqual([
    'in/a b.csv@0A',
    'in/a b.csv@0A',
    'in/a b.csv@0B',
  ]);
});

describe('a mapping', () => {
  it('keeps the types of values, and makes texts around templates', () => {
    const read = readMessage(
      trigger('queue', {
        input: {
          id: '{{ctx.body.order.id}}',
          note: 'from {{ctx.message.attributes.shop}} at {{ctx.message.sentAt}}',
          fixed: [1],
        },
        idempotencyKey: 'order-{{ctx.body.order.id}}',
      }),
      message({ order: { id: 17 } }, { attributes: { shop: 'berlin' } }),
    );
    expect(read).toEqual({
      kind: 'read',
      input: { id: 17, note: 'from berlin at 2026-01-01T00:00:00.000Z', fixed: [1] },
      idempotencyKey: 'order-17',
    });
  });

  it('reads null, false and an empty list as values', () => {
    const mapped = trigger('queue', { input: { a: '{{ctx.body.a}}', b: '{{ctx.body.b}}', c: '{{ctx.body.c}}' } });
    expect(readMessage(mapped, message({ a: null, b: false, c: [] }))).toMatchObject({ input: { a: null, b: false, c: [] } });
  });

  it('has the group of a message of a FIFO queue', () => {
    const mapped = trigger('queue', { input: '{{ctx.message.groupId}}' });
    expect(readMessage(mapped, message({}, { groupId: 'g' }))).toMatchObject({ input: 'g' });
  });

  it('does not resolve templates in values of the message', () => {
    const read = readMessage(trigger('queue', { input: { text: '{{ctx.body.text}}' } }), message({ text: '{{ctx.message.id}}' }));
    expect(read).toMatchObject({ input: { text: '{{ctx.message.id}}' } });
  });

  it('replaces a key that cannot be stored by its digest, the same each time', () => {
    const mapped = trigger('queue', { idempotencyKey: '{{ctx.body.name}}' });
    const keyOf = (name: string) => {
      const read = readMessage(mapped, message({ name }));
      return read.kind === 'read' ? read.idempotencyKey : read.code;
    };
    expect(keyOf('Größe')).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(keyOf('Größe')).toBe(keyOf('Größe'));
    expect(keyOf('Größe')).not.toBe(keyOf('Grösse'));
    expect(keyOf('x'.repeat(256))).toMatch(/^sha256:/);
    expect(keyOf('x'.repeat(255))).toBe('x'.repeat(255));
  });
});

describe('a message is refused', () => {
  const deep = `${'['.repeat(102)}${']'.repeat(102)}`;
  test.each([
    ['text that is not JSON', trigger('queue'), message('hello'), 'not_json', 'the body of the message is not JSON'],
    ['an empty body', trigger('queue'), message(' '), 'not_json', 'not JSON'],
    ['a body that is nested too deeply', trigger('queue'), message(deep), 'not_json', 'the body'],
    ['a number that is infinite', trigger('queue'), message('{"a":1e999}'), 'not_json', '/a: the body contains a number'],
    ['a key that changes prototypes', trigger('queue'), message('{"__proto__":{}}'), 'not_json', 'cannot be stored'],
    ['a body that is no event', trigger('event'), message({ order: 1 }), 'not_an_event', 'has no id'],
    ['an event without an id', trigger('event'), message(event({}, { id: '' })), 'not_an_event', 'has no id'],
    ['an event of another service', trigger('object'), message(event({ order: 1 })), 'not_an_object', 'bucket and an object'],
    [
      'a missing value of the input',
      trigger('queue', { input: { order: { id: '{{ctx.body.order.id}}' } } }),
      message({ order: {} }),
      'value_missing',
      '/input/order/id: the message has no ctx.body.order.id',
    ],
    [
      'a missing value of the key',
      trigger('queue', { idempotencyKey: 'k-{{ctx.body.id}}' }),
      message({}),
      'value_missing',
      '/idempotencyKey: the message has no ctx.body.id',
    ],
    [
      'an empty key',
      trigger('queue', { idempotencyKey: '{{ctx.body.id}}' }),
      message({ id: '' }),
      'value_missing',
      'the template gives an empty text',
    ],
    [
      'an inherited property',
      trigger('queue', { input: '{{ctx.body.constructor}}' }),
      message({}),
      'value_missing',
      'ctx.body.constructor',
    ],
    [
      'a text that grows beyond the limit',
      trigger('queue', { input: Array.from({ length: 40 }, () => 'x{{ctx.body.text}}') }),
      message({ text: 'y'.repeat(1_000_000) }),
      'value_too_large',
      '/input',
    ],
  ])('for %s', (_what, of, received, code, part) => {
    expect(readMessage(of, received)).toEqual({ kind: 'refused', code, message: expect.stringContaining(part) });
  });
});

test('what synthesis writes is what the function reads', () => {
  const written = JSON.stringify([trigger('queue', { maxReceives: 20, version: 3, input: { a: 1 } })]);
  expect(storedTriggers.parse(JSON.parse(written))).toHaveLength(1);
});
