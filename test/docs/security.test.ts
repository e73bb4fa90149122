/** docs/SECURITY.md speaks of every function and every scope, and says of roles what the shapes of the functions say. */
import { expect, test } from 'vitest';
import { functionNames } from '../../lib/contract/environment.ts';
import { keyScopes } from '../../lib/ports/control.ts';
import { keyCacheTtlMs } from '../../lib/service/access/authenticator.ts';
import { auditRetention } from '../../lib/service/access/record-audit.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/SECURITY.md');

test('every function has its row among the roles', () => {
  const named = rowsIn(text)
    .filter(({ section }) => section === 'Roles')
    .flatMap(({ cells: [name = ''] }) => quotedIn(name));
  expect(named.toSorted()).toEqual([...functionNames].toSorted());
});

/** A page with a row for each kind of record, and columns for functions. */
const matrix = read('test/infra/privilege.txt')
  .split('\n')
  .map((line) => line.split(/ {2,}/));
const functionsOf = (letter: string, row: string): string => {
  const cells = matrix.find(([what]) => what === row)?.slice(1) ?? [];
  return functionNames
    .filter((_, column) => cells[column]?.includes(letter))
    .map((name) => `\`${name}\``)
    .join(', ');
};

test('who may delete what, and who matches signals', () => {
  expect(functionsOf('d', 'runs: run')).toBe('`test-runs`, `sweep`');
  for (const who of [functionsOf('d', 'control: pin'), functionsOf('u', 'control: signal')]) {
    expect(who.split(', ').length).toBeGreaterThan(3);
    expect(text).toContain(`(${who})`);
  }
});

test('what code may write and read of the tables', () => {
  const of = (letters: string) =>
    matrix.filter((cells) => letters.split('').some((letter) => cells[functionNames.indexOf('code') + 1]?.includes(letter)));
  const kinds = (rows: typeof matrix) =>
    rows.flatMap(([what = '']) => (/^(runs|control): /.test(what) ? [what.replace(/.*: /, '')] : []));
  const said = (word: string): readonly string[] =>
    quotedIn(new RegExp(`- It \\*\\*${word}\\*\\* records of the kinds ([^.]*)\\.`).exec(text)?.[1] ?? '');
  expect(said('writes')).toEqual(kinds(of('pud')));
  expect(said('reads')).toEqual(kinds(of('gbq')));
});

test('every scope', () => {
  for (const scope of keyScopes) expect(text).toContain(`\`${scope}\``);
});

test('how long a revoked key works, and the audit trail is kept', () => {
  expect(text).toContain(`at most ${keyCacheTtlMs / 1_000} more seconds`);
  expect(text).toContain(`for ${auditRetention / 86_400_000} days`);
});
