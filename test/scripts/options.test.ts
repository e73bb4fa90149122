/** What is typed behind a script is read as a whole, or answered with what is wrong with it. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { readOptions, wholeNumber } from '../../scripts/options.ts';

const asked = {
  usage: 'usage: …',
  options: { seed: { type: 'string' }, calm: { type: 'boolean', default: false } },
  shape: z.object({ seed: wholeNumber.exactOptional(), calm: z.boolean(), positionals: z.array(z.string()) }),
} as const;
const read = (...typed: readonly string[]) => readOptions(asked, typed);

test('numbers are parsed, and missing options have their defaults', () => {
  expect(read('--seed', '42')).toEqual({ kind: 'read', values: { seed: 42, calm: false, positionals: [] } });
  expect(read('--calm')).toEqual({ kind: 'read', values: { calm: true, positionals: [] } });
  expect(readOptions({ ...asked, allowPositionals: true }, ['one', 'two'])).toMatchObject({
    values: { positionals: ['one', 'two'] },
  });
});

test.each([
  ['a text instead of a number', ['--seed', 'many'], '✖ must be a whole number\n  → at seed'],
  ['a fraction', ['--seed', '1.5'], '✖ must be a whole number\n  → at seed'],
  ['a number beyond the safe range', ['--seed', '1234567890123456'], '✖ must be a whole number\n  → at seed'],
  ['an option without its value', ['--seed'], 'argument missing'],
  ['an unknown option', ['--seeed', '1'], "Unknown option '--seeed'"],
  ['an unexpected argument', ['42'], "Unexpected argument '42'"],
])('%s is invalid, and the message names the option', (_what, typed, message) => {
  expect(read(...typed)).toEqual({ kind: 'invalid', message: expect.stringContaining(message) });
});

test('--help and -h show the usage', () => {
  expect([read('--help'), read('-h')]).toEqual([{ kind: 'help' }, { kind: 'help' }]);
});

describe('a script', () => {
  const root = join(import.meta.dirname, '..', '..');
  const run = (...typed: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, typed, { cwd: root, encoding: 'utf8' });
    return { status, stdout, stderr };
  };

  test.each(['scripts/create-key.ts', 'scripts/verify.ts'])(
    '%s does nothing with an invalid option and prints its usage',
    (script) => {
      expect(run(script, '--bogus')).toEqual({
        status: 2,
        stdout: '',
        stderr: expect.stringMatching(/^Unknown option '--bogus'.*\n\nusage: npm run /s),
      });
      expect(run(script, '--help')).toEqual({ status: 0, stdout: expect.stringMatching(/^usage: npm run /), stderr: '' });
    },
  );
});
