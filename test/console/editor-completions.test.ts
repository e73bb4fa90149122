/** What a script and a template complete, and how a value is shown and read as text. */
import { describe, expect, test } from 'vitest';
import { acceptsSecrets } from '../../lib/console/editor/catalogue.ts';
import { completionsAt } from '../../lib/console/editor/completions.ts';
import { looseText, looseValue } from '../../lib/console/editor/loose-value.ts';
import { pinsFrom } from '../../lib/console/editor/pins.ts';
import { readDefinition } from '../../lib/console/editor/read-definition.ts';
import type { RunNode } from '../../lib/console/api.ts';
import { workflowName } from '../../lib/engine/ids.ts';

const names = [
  { name: 'input', by: undefined, value: { order: { lines: [{ sku: 'tea', price: 3 }] }, 'two words': 1 } },
  { name: 'total', by: 'price', value: undefined },
];
const labels = (before: string, isTemplate = false) =>
  completionsAt(before, names, isTemplate)?.options.map(({ label }) => label);

describe('a script', () => {
  test('completes the names under ctx, and says which node writes them', () => {
    expect(completionsAt('return ctx.to', names, false)).toEqual({
      from: 11,
      options: [
        { label: 'input', detail: 'the input of the run, object' },
        { label: 'total', detail: 'of price' },
      ],
    });
  });

  test.each([
    ['ctx.input.', ['order']],
    ['ctx.input.order.lines[0].', ['sku', 'price']],
    ['ctx.total.', undefined],
    ['ctx.constructor.', undefined],
    ['const context = my.ctx.', undefined],
    ['in', ['ctx', 'inputs']],
    ['c', ['ctx', 'inputs']],
    ['', undefined],
    ['const x', undefined],
  ])('after %j: %j', (before, expected) => {
    expect(labels(before)).toEqual(expected);
  });
});

test('a template completes inside its braces only', () => {
  expect(labels('{{', true)).toEqual(['ctx']);
  expect(labels('{{ctx.', true)).toEqual(['input', 'total']);
  expect(labels('{{ctx.total}} and ctx.', true)).toBeUndefined();
  expect(labels('ctx.', true)).toBeUndefined();
});

test('a template that accepts secrets completes their names, and another one does not', () => {
  const secrets = ['stripe', 'mail.api-key'];
  const offered = (before: string) => completionsAt(before, names, true, secrets);
  expect(offered('Bearer {{')?.options.map(({ label }) => label)).toEqual(['ctx', 'secret:stripe', 'secret:mail.api-key']);
  expect(offered('Bearer {{ secret:mail.a')).toMatchObject({ from: 10 });
  expect(offered('{{ctx.')?.options.map(({ label }) => label)).toEqual(['input', 'total']);
  expect(offered('{{secret:stripe}} secret:')).toBeUndefined();
  expect(offered('{{x')).toBeUndefined();
  expect(labels('{{secret:', true)).toBeUndefined();
  expect(labels('secret:')).toBeUndefined();
});

test('the fields that are only sent to the server of a request accept secrets', () => {
  expect(
    [
      ['http', 'headers'],
      ['http', 'headers', 'authorization'],
      ['http', 'body'],
    ].map(acceptsSecrets),
  ).toEqual([true, true, true]);
  expect([['http', 'url'], ['javascript', 'code'], ['constructor', 'name'], ['lens', 'params'], []].map(acceptsSecrets)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

describe('a value as text', () => {
  test.each([
    ['hello', 'hello'],
    ['{{ctx.total}}', '{{ctx.total}}'],
    ['5', '"5"'],
    ['', '""'],
    ['"', String.raw`"\""`],
    [5, '5'],
    [null, 'null'],
    [[1], '[\n  1\n]'],
  ] as const)('%j is shown as %j, and read back', (value, text) => {
    expect(looseText(value)).toBe(text);
    expect(looseValue(text)).toEqual(value);
  });

  test('what begins like JSON and is none yet is no value', () => {
    expect(looseValue('{"a": ')).toBeUndefined();
    expect(looseValue('[1,')).toBeUndefined();
    expect(looseValue('{{ctx.a')).toBe('{{ctx.a');
  });
});

test('the outputs of a run are pinned for nodes that the definition still has, and that do work', () => {
  const definition = readDefinition(workflowName('order'), {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'price', type: 'javascript' },
      { id: 'call', type: 'http' },
    ],
  });
  const ran = (nodeId: string, type: string, more: Partial<RunNode> = {}): RunNode => ({
    nodeId,
    type,
    status: 'completed',
    attempt: 1,
    output: nodeId,
    ...more,
  });
  expect(
    pinsFrom(definition, [
      ran('start', 'start'),
      ran('price', 'javascript'),
      ran('call', 'javascript'),
      ran('gone', 'http'),
      ran('call', 'http', { status: 'failed' }),
    ]),
  ).toEqual({ price: { output: 'price' } });
});
