import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { PayloadsNeeded } from '../../lib/engine/graph/context.ts';
import { templateErrorsOf, parseTemplate, pathsOf, resolveTemplate } from '../../lib/engine/graph/template.ts';
import { contextOf } from '../nodes/given.ts';

const order = { id: 7, open: true, lines: [{ sku: 'a', 'unit price': 2.5 }], note: null, 'a"b': 1, "it's": 2 };
const resolve = (value: JsonValue, context: JsonObject = { order }): JsonValue => resolveTemplate(value, contextOf(context));

describe('a template alone keeps the type of its value', () => {
  it.each<[string, JsonValue]>([
    ['{{ctx.order.id}}', 7],
    ['{{ ctx.order.open }}', true],
    ['{{ctx.order.lines}}', order.lines],
    ['{{ctx.order.lines[0].sku}}', 'a'],
    ['{{ctx.order.lines.0.sku}}', 'a'],
    ['{{ctx.order.lines[ 0 ]["unit price"]}}', 2.5],
    ["{{ctx['order']['lines'][0]['unit price']}}", 2.5],
    [String.raw`{{ctx.order["a\"b"]}}`, 1],
    [String.raw`{{ctx.order['a"b']}}`, 1],
    [String.raw`{{ctx.order['it\'s']}}`, 2],
    [String.raw`{{ctx.order['a\"b']}}`, 1],
    [String.raw`{{ctx.order["it's"]}}`, 2],
    [String.raw`{{ctx.order['l\u0069nes'][0]['sku']}}`, 'a'],
    ['{{ctx}}', { order }],
    ['{{ctx.order.note}}', null],
    ['{{ctx.nothing.at.all}}', null],
  ])('%s', (template, value) => {
    expect(resolve(template)).toEqual(value);
  });
});

describe('a template inside text is text', () => {
  it.each<[string, string]>([
    ['order {{ctx.order.id}}', 'order 7'],
    ['{{ctx.order.id}}{{ctx.order.open}}', '7true'],
    ['lines: {{ctx.order.lines}}', 'lines: [{"sku":"a","unit price":2.5}]'],
    ['[{{ctx.order.note}}{{ctx.missing}}]', '[]'],
    [' {{ctx.order.id}}', ' 7'],
    ['no template', 'no template'],
    ['a } b }} c { d', 'a } b }} c { d'],
  ])('%s', (template, text) => {
    expect(resolve(template)).toBe(text);
  });

  it('looked-up text is never parsed as a pattern or a template', () => {
    const context = { price: '$& $1 $$ $`', sly: '{{ctx.price}}' };
    expect(resolve('cost {{ctx.price}}!', context)).toBe('cost $& $1 $$ $`!');
    expect(resolve('{{ctx.sly}} and {{ctx.sly}}', context)).toBe('{{ctx.price}} and {{ctx.price}}');
  });
});

describe('only values that a node wrote are found', () => {
  it.each([
    '{{ctx.__proto__}}',
    '{{ctx.constructor}}',
    '{{ctx.order.constructor}}',
    '{{ctx.order["__proto__"].polluted}}',
    '{{ctx.order.toString}}',
    '{{ctx.order.lines.length}}',
    '{{ctx.order.lines["length"]}}',
    '{{ctx.order.lines.map}}',
    '{{ctx.text.length}}',
    '{{ctx.text[0]}}',
    '{{ctx.order.lines[1]}}',
    '{{ctx.order.lines["-1"]}}',
  ])('%s finds nothing', (template) => {
    expect(resolve(template, { order, text: 'abc' })).toBeNull();
  });

  it('an own key with such a name is found, and copied without touching a prototype', () => {
    const value: JsonValue = JSON.parse('{"__proto__":{"polluted":"{{ctx.order.id}}"}}');
    const resolved = resolve(value);
    expect(JSON.stringify(resolved)).toBe('{"__proto__":{"polluted":7}}');
    expect(Object.getPrototypeOf(resolved)).toBe(Object.prototype);
    expect(resolve('{{ctx.constructor}}', { constructor: 'mine' })).toBe('mine');
  });

  it('names with two underscores are found by name and left out of the whole context', () => {
    const context = { a: 1, __node_x: { output: 2 } };
    expect(resolve('{{ctx.__node_x.output}}', context)).toBe(2);
    expect(resolve('{{ctx}}', context)).toEqual({ a: 1 });
  });
});

it('templates are resolved through arrays and objects, and keys are not templates', () => {
  expect(resolve({ '{{ctx.order.id}}': ['{{ctx.order.id}}', { deep: 'no {{ctx.order.id}}' }], n: 1 })).toEqual({
    '{{ctx.order.id}}': [7, { deep: 'no 7' }],
    n: 1,
  });
});

it('a value that is not loaded yet is requested', () => {
  const context = contextOf({});
  const needs = {
    ...context,
    get: () => {
      throw new PayloadsNeeded(['item:a']);
    },
  };
  expect(() => resolveTemplate({ deep: ['x {{ctx.a}}'] }, needs)).toThrow(PayloadsNeeded);
});

describe('an invalid path is rejected with its location', () => {
  it.each([
    ['{{', 'found the end'],
    ['{{}}', 'begins with ctx'],
    ['{{ctx.a', 'found the end'],
    ['{{ctx.a}', 'found "}"'],
    ['{{input.a}}', 'not with input'],
    ['{{ctxs.a}}', 'not with ctxs'],
    ['{{ctx.a + 1}}', 'found "+ 1}}"'],
    ['{{ctx.a()}}', 'found "()}}"'],
    ['{{ctx.a || ctx.b}}', 'templates support neither calls nor arithmetic'],
    ['{{ctx.a.}}', 'found ".}}"'],
    ['{{ctx..a}}', 'found'],
    ['{{ctx.a-b}}', 'found "-b}}"'],
    ['{{ctx[a]}}', 'found "[a]}}"'],
    ['{{ctx[-1]}}', 'found'],
    ['{{ctx[0}}', 'found'],
    ['{{ctx["a]}}', 'found'],
    ['{{ctx.items[0].map(x => x)}}', 'found'],
    ['{{{ctx.a}}}', 'begins with ctx'],
    ['{{#if ctx.a}}', 'begins with ctx'],
  ])('%s', (template, words) => {
    const [fault, ...others] = templateErrorsOf({ list: ['fine {{ctx.a}}', { 'a/b': `x ${template}` }] });
    expect(others).toEqual([]);
    expect(fault?.pointer).toBe('/list/1/a~1b');
    expect(fault?.message).toContain(words);
  });

  it('each location once', () => {
    expect(templateErrorsOf(['{{x}}', 'fine', { b: '{{ctx.a' }]).map(({ pointer }) => pointer)).toEqual(['/0', '/2/b']);
  });
});

it('the paths of a value are known before it is resolved', () => {
  expect(pathsOf({ a: '{{ctx.b.c}} {{ctx["d"][2]}}', e: [1, '{{ctx}}', '{{bad}}'] })).toEqual([['b', 'c'], ['d', 2], []]);
});

describe('for all values', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value): JsonValue => JSON.parse(JSON.stringify(value)));
  const key = fc.string({ minLength: 1 });

  it('text without braces resolves to itself', () => {
    fc.assert(
      fc.property(json, (value) => {
        fc.pre(!JSON.stringify(value).includes('{{'));
        expect(resolve(value)).toEqual(value);
      }),
    );
  });

  it('a double-quoted path finds exactly what was written under those keys', () => {
    fc.assert(
      fc.property(key, key, json, (first, second, value) => {
        const context: JsonObject = Object.fromEntries([[first, Object.fromEntries([[second, value]])]]);
        expect(resolve(`{{ctx[${JSON.stringify(first)}][${JSON.stringify(second)}]}}`, context)).toEqual(value);
      }),
    );
  });

  it('a single-quoted path does so too, with the same escapes', () => {
    const inSingle = (name: string): string =>
      `'${JSON.stringify(name)
        .slice(1, -1)
        .replaceAll("'", String.raw`\'`)}'`;
    fc.assert(
      fc.property(fc.oneof(key, fc.string({ unit: fc.constantFrom('"', "'", '\\', 'n', '\n') })), json, (name, value) => {
        expect(resolve(`{{ctx[${inSingle(name)}]}}`, Object.fromEntries([[name, value]]))).toEqual(value);
      }),
    );
  });

  it('text around a template stays unchanged', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (before, after, value) => {
        fc.pre(!before.includes('{') && !after.includes('{{') && !(before + after === ''));
        expect(resolve(`${before}{{ctx.v}}${after}`, { v: value })).toBe(`${before}${value}${after}`);
      }),
    );
  });

  it('parsing a template ends, with parts or one error', () => {
    const piece = fc.constantFrom('{{', '}}', 'ctx', '.', '[', ']', '"', "'", '\\', '0', 'a', ' ', '{', '}');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const parsed = parseTemplate(pieces.join(''));
        expect('parts' in parsed !== 'error' in parsed).toBe(true);
      }),
    );
  });
});
