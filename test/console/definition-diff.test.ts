/** The differences of two definitions, of two texts, and the input that a start form makes. */
import { describe, expect, test } from 'vitest';
import { definitionDiff } from '../../lib/console/workflows/definition-diff.ts';
import { lineDiff } from '../../lib/console/workflows/line-diff.ts';
import { argumentsOf, inputOf } from '../../lib/console/workflows/arguments.ts';

const definition = (nodes: readonly object[], edges: readonly object[] = [], options: object = {}) =>
  structuredClone({ nodes, edges, options }) as Parameters<typeof definitionDiff>[0];

describe('the differences of two definitions', () => {
  test('a changed setting is one value change, with its pointer', () => {
    const before = definition([{ id: 'call', type: 'http', config: { url: 'https://a.example', retry: { attempts: 3 } } }]);
    const after = definition([{ id: 'call', type: 'http', config: { url: 'https://a.example', retry: { attempts: 5 } } }]);
    expect(definitionDiff(before, after)).toEqual([
      {
        part: 'node',
        name: 'call',
        change: 'changed',
        values: [{ pointer: '/config/retry/attempts', before: 3, after: 5 }],
      },
    ]);
  });

  test('positions, ids of edges, empty configs and the order of keys do not count', () => {
    const before = definition([{ id: 'a', type: 'start', position: { x: 1, y: 2 } }], [{ id: 'e1', source: 'a', target: 'b' }]);
    const after = definition([{ type: 'start', id: 'a', config: {} }], [{ target: 'b', source: 'a' }]);
    expect(definitionDiff(before, after)).toEqual([]);
  });

  test('added and removed nodes, edges and options are named', () => {
    const before = definition([{ id: 'a', type: 'start' }], [{ source: 'a', target: 'b', sourceHandle: 'error' }]);
    const after = definition([{ id: 'b', type: 'end' }], [{ source: 'a', target: 'b' }], { deadlineSeconds: 60 });
    expect(definitionDiff(before, after).map(({ part, name, change }) => `${change} ${part} ${name}`)).toEqual([
      'removed node a',
      'added node b',
      'removed edge a (error) → b',
      'added edge a → b',
      'added option deadlineSeconds',
    ]);
  });

  test('a condition that is added to an edge is a change of that edge', () => {
    const edge = { source: 'a', target: 'b' };
    const found = definitionDiff(definition([], [edge]), definition([], [{ ...edge, condition: { type: 'truthy' } }]));
    expect(found).toEqual([
      {
        part: 'edge',
        name: 'a → b',
        change: 'changed',
        values: [{ pointer: '/condition', before: undefined, after: { type: 'truthy' } }],
      },
    ]);
  });
});

test('the differences of two texts keep the common lines', () => {
  expect(lineDiff('a\nb\nc', 'a\nx\nc').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'same a',
    'removed b',
    'added x',
    'same c',
  ]);
});

test('a start form gives the declared types, and leaves out empty fields', () => {
  const declared = argumentsOf({
    args: [
      { name: 'order', type: 'string', required: true },
      { name: 'pieces', type: 'number', default: 2 },
      { name: 'lines', type: 'array' },
      { name: 'isGift', type: 'boolean' },
      { name: 'note', type: 'string' },
      { name: 'odd', type: 'date' },
    ],
  });
  expect(declared.map(({ name, required, initial }) => [name, required, initial])).toEqual([
    ['order', true, undefined],
    ['pieces', false, 2],
    ['lines', false, undefined],
    ['isGift', false, undefined],
    ['note', false, undefined],
  ]);
  const form = new FormData();
  for (const [name, text] of Object.entries({ order: '17', pieces: '4', lines: '["tea"]', isGift: 'true', note: '' }))
    form.set(name, text);
  expect(inputOf(form, declared)).toEqual({ order: '17', pieces: 4, lines: ['tea'], isGift: true });
  form.set('lines', '[');
  expect(() => inputOf(form, declared)).toThrow('not JSON');
});
