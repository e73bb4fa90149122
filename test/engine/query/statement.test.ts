import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillPath, argumentNamesIn } from '../../../lib/engine/query/arguments.ts';
import { hasSeveralStatements, parseStatement } from '../../../lib/engine/query/statement.ts';

describe('a parameter', () => {
  test.each([
    ['select :a, :b, :a', 'select $1, $2, $1', ['a', 'b']],
    ['where x=:a_1::text and y = 1::int', 'where x=$1::text and y = 1::int', ['a_1']],
    ["select ':a', 'it''s :b', :c", "select ':a', 'it''s :b', $1", ['c']],
    [String.raw`select E'\':a', e'x\\', :b`, String.raw`select E'\':a', e'x\\', $1`, ['b']],
    [String.raw`select '\', :a, '\'`, String.raw`select '\', $1, '\'`, ['a']],
    ['select ":a""" , :b', 'select ":a""" , $1', ['b']],
    ['-- :a\nselect :b', '-- :a\nselect $1', ['b']],
    ['/* :a /* :b */ :c */ :d', '/* :a /* :b */ :c */ $1', ['d']],
    ['select $$ :a $$, $t$ :b $$ $t$, :c', 'select $$ :a $$, $t$ :b $$ $t$, $1', ['c']],
    ['call f(x := :a)', 'call f(x := $1)', ['a']],
    ['select a[1 : 2], b$1, t$x$ from c$', 'select a[1 : 2], b$1, t$x$ from c$', []],
    ['select name::varchar(3)', 'select name::varchar(3)', []],
  ])('%s', (sql, text, names) => {
    expect(parseStatement(sql)).toEqual({ text, names });
  });

  test.each(["select 'x", 'select "x', '/* /* */', 'select $a$ x $b$', "select E'\\'", 'select $1', 'select :a + $2'])(
    'is not parsed in %s, which is invalid',
    (sql) => {
      expect(parseStatement(sql)).toHaveProperty('error');
    },
  );

  test('is the only change: a text without colons and dollars stays unchanged, or is rejected', () => {
    fc.assert(
      fc.property(fc.string(), (sql) => {
        fc.pre(!/[:$]/.test(sql));
        const read = parseStatement(sql);
        if ('text' in read) expect(read).toEqual({ text: sql, names: [] });
      }),
    );
  });
});

describe('a path', () => {
  test('inserts arguments as whole segments, encoded', () => {
    expect(argumentNamesIn('/orders/:id/x:no/:other')).toEqual(['id', 'other']);
    expect(fillPath('/orders/:id/notes', () => 'a/../b?c#d%')).toBe('/orders/a%2F..%2Fb%3Fc%23d%25/notes');
  });

  test.each(['', '.', '..'])('an argument "%s", which would change the path, is rejected', (text) => {
    expect(fillPath('/orders/:id', () => text)).toBeUndefined();
  });
});

describe('more than one statement', () => {
  test.each([
    'commit; delete from t',
    'select 1;;select 2',
    'select 1; -- :a\n/* ; */ x',
    "select 1; 'x'",
    ';select 1',
    "select E'\\'';';a",
  ])('is found in %s', (sql) => {
    expect(hasSeveralStatements(sql)).toBe(true);
  });

  test.each([
    'select 1',
    'select 1;',
    'select 1 ; ; ',
    'select 1; -- two\n /* three; */ ',
    "select ';a', $$;b$$, ';'';c'",
    'select ";a" /* ;b */',
    "select ';",
  ])('is not found in %s', (sql) => {
    expect(hasSeveralStatements(sql)).toBe(false);
  });
});
