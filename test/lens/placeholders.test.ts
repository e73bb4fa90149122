import { describe, expect, test } from 'vitest';
import { parseTemplate, placeholdersIn } from '../../lib/lens/placeholders.ts';
import { byKey, render } from '../../lib/lens/render.ts';
import type { JsonObject } from '../../lib/engine/json.ts';

const filled = (template: string, values: JsonObject, optional: readonly string[] = [], most = 1_000) =>
  render(parseTemplate(template).parts, byKey(values), (key) => optional.includes(key), most);

describe('placeholders', () => {
  test.each(['[[topic]]', '{{topic}}', '[ topic ]', '[[ Topic ]]', '{{ TOPIC }}', '[[ to pic ]]'])(
    '%s is a placeholder',
    (form) => {
      expect(filled(`About ${form}.`, { 'To Pic': 'rain' })).toEqual({ text: 'About rain.' });
    },
  );

  test.each([
    '[topic]',
    '[ ]',
    '[x](https://example.com)',
    '[[1, 2], [3]]',
    '[[]]',
    '{{}}',
    '{"a": {"b": 1}}',
    '[[a',
    '{{ctx.a[0]}}',
  ])('%s is text', (text) => {
    expect(filled(text, { topic: 'rain', a: 1 })).toEqual({ text });
  });

  test('a backslash escapes the brackets, and is text elsewhere', () => {
    expect(filled(String.raw`\[[topic]] \{{topic}} \[ topic ] C:\dir\[x] [[topic]]`, { topic: 'rain' })).toEqual({
      text: String.raw`[[topic]] {{topic}} [ topic ] C:\dir\[x] rain`,
    });
  });

  test('values that are not strings are inserted as JSON', () => {
    expect(filled('[[a]] [[b]] [[c]] [[d]]', { a: 1.5, b: [1, 'x'], c: { k: null }, d: false })).toEqual({
      text: '1.5 [1,"x"] {"k":null} false',
    });
  });

  test('a placeholder without a value is unbound; null is no value, an empty string is one', () => {
    expect(filled('[[a]] [[ B c ]] [[a]]', {})).toEqual({ unbound: ['a', 'B c'] });
    expect(filled('[[a]][[b]]', { a: null, b: '' })).toEqual({ unbound: ['a'] });
  });

  test('an optional placeholder may be absent, by its mark or by the contract', () => {
    expect(filled('<[[a!]]><[[b]]>', {}, ['b'])).toEqual({ text: '<><>' });
    expect(filled('<[[a!]]>', { a: 1 })).toEqual({ text: '<1>' });
  });

  test('a text beyond the limit is not built, however often it repeats a value', () => {
    let looks = 0;
    const value = new Proxy<JsonObject>(
      { word: 'x'.repeat(1_000) },
      {
        ownKeys: (target) => {
          looks += 1;
          return Reflect.ownKeys(target);
        },
      },
    );
    expect(filled('[[a]]'.repeat(1_000), { a: value }, [], 10_000)).toEqual({ exceededLength: 10 * 1_011 });
    expect(looks).toBe(10);
    expect(filled(`${'[[a]]'.repeat(1_000)}[[b]]`, { a: value }, [], 10_000)).toEqual({ unbound: ['b'] });
    expect(filled('[[a]]', { a: 'x'.repeat(10) }, [], 10)).toEqual({ text: 'x'.repeat(10) });
  });

  test('of two labels that differ only in case, the later value wins', () => {
    expect(filled('[[a]]', { A: 1, a: 2 })).toEqual({ text: '2' });
  });

  test('are listed once, with their type, and optional only if all occurrences are', () => {
    const { parts, unknownTypes } = parseTemplate('[[Age:integer]] [[age!]] [[note!:string]] {{when:date}}');
    expect(placeholdersIn(parts)).toEqual([
      { label: 'Age', key: 'age', isOptional: false, type: 'integer' },
      { label: 'note', key: 'note', isOptional: true, type: 'string' },
      { label: 'when', key: 'when', isOptional: false },
    ]);
    expect(unknownTypes).toEqual([{ label: 'when', type: 'date' }]);
  });

  test('a template of brackets is parsed in linear time', () => {
    for (const piece of ['[[', '{{ a', '[ a ', '[[a ', '\\[']) {
      const template = piece.repeat(40_000);
      const { parts } = parseTemplate(template);
      expect(parts.length).toBeGreaterThan(0);
    }
  });
});
