/** docs/CLI.md documents every command, its options, the exit codes and the error codes. */
import { Command } from 'commander';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { exitCodes } from '../../lib/cli/command.ts';
import { addCommands } from '../../lib/cli/commands/all.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/CLI.md');
const root = fileURLToPath(new URL('../..', import.meta.url));

const program = new Command('stepwell');
addCommands(program, () => async () => undefined);
const leaves = (command: Command, path: readonly string[]): readonly { path: string; command: Command }[] =>
  command.commands.length === 0
    ? [{ path: path.join(' '), command }]
    : command.commands.flatMap((each) => leaves(each, [...path, each.name()]));
const commands = leaves(program, []);

/** The commands of the table, without arguments and options. */
const named = (document: string): readonly string[] =>
  rowsIn(document)
    .filter(({ section }) => section === 'Commands')
    .flatMap(({ cells: [first = ''] }) => quotedIn(first))
    .map((quoted) => quoted.replaceAll(/ [<[].*$/g, ''));

describe('commands', () => {
  test('are those of the program', () => {
    expect(commands.length).toBeGreaterThan(25);
    expect(named(text).toSorted()).toEqual(commands.map(({ path }) => path).toSorted());
  });
  test('an unknown command is detected', () => {
    expect(named(`${text}\n## Commands\n\n| command | what |\n| --- | --- |\n| \`walk <dog>\` | walks |\n`)).toContain('walk');
  });
  test('each has a description', () => {
    expect(commands.filter(({ command }) => command.description() === '').map(({ path }) => path)).toEqual([]);
  });
  test('the table names only existing options', () => {
    const rows = rowsIn(text).filter(({ section }) => section === 'Commands');
    const wrong = rows.flatMap(({ cells: [first = '', what = ''] }) => {
      const paths = quotedIn(first).map((quoted) => quoted.replaceAll(/ [<[].*$/g, ''));
      const options = commands
        .filter(({ path }) => paths.includes(path))
        .flatMap(({ command }) => command.options.map(({ long }) => long));
      return quotedIn(what).filter((quoted) => quoted.startsWith('--') && !options.includes(quoted));
    });
    expect(wrong).toEqual([]);
  });
});

test('exit codes are those of the program', () => {
  const rows = rowsIn(text).filter(({ cells: [first = ''] }) => /^\d+$/.test(first));
  expect(rows.map(({ cells }) => Number(cells[0])).toSorted((one, other) => one - other)).toEqual(Object.values(exitCodes));
});

test('error codes are those of the program', () => {
  const given = globSync('lib/cli/**/*.ts', { cwd: root }).flatMap((path) => [
    ...read(path).matchAll(/(?:new CliError\(\s*|\bcode: |code \?\? )'([a-z_]+)'/g),
  ]);
  const codes = [...new Set(given.map(([, code = '']) => code))];
  const line = /Codes of the command line's own: ([^.]+)\./.exec(text)?.[1] ?? '';
  expect(codes.length).toBeGreaterThan(8);
  expect(quotedIn(line.replaceAll('\n', ' ')).toSorted()).toEqual(codes.toSorted());
});
