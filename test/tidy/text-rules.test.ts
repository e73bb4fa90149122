/** Checks every file against the text rules (`text-rules.ts`), and each rule against its own examples. */
import { expect, test } from 'vitest';
import { type SourceFile, filesBelow } from './source-files.ts';
import { ruleViolations, textViolations, textRules } from './text-rules.ts';

const all = filesBelow(
  ['lib', 'functions', 'bin', 'scripts', 'test', 'examples', 'bench', 'docs'],
  ['.ts', '.tsx', '.mts', '.mjs', '.js', '.md', '.json', '.html', '.css'],
);
// These two files contain the examples of what is forbidden.
const files = all.filter(({ path }) => !path.startsWith('test/tidy/text-rules'));

test('no file breaks a text rule', () => {
  expect(textViolations(files)).toEqual([]);
});

test('the check reads every folder', () => {
  expect(all.length).toBeGreaterThan(200);
  expect(all.length - files.length).toBe(2);
  for (const top of ['lib', 'functions', 'bin', 'scripts', 'test', 'docs'])
    expect(files.map(({ path }) => path.split('/')[0])).toContain(top);
});

const fileAt = (path: string, text: string): SourceFile => ({ path, text });

test.each(textRules.map((rule) => [rule.reason, rule] as const))(
  '%s: the rule finds its planted examples and no innocent one',
  (_reason, rule) => {
    expect(rule.planted.length).toBeGreaterThan(1);
    for (const [examples, count] of [
      [rule.planted, 1],
      [rule.innocent, 0],
    ] as const) {
      for (const example of examples) {
        const folder = rule.folders[0] ?? 'lib';
        const file = rule.in === 'path' ? fileAt(example, '') : fileAt(`${folder}/x.ts`, `const a = 1;\n${example}\n`);
        expect([example, ruleViolations(rule, file).length]).toEqual([example, count]);
      }
    }
  },
);

test('a violation names the file, the line and the reason', () => {
  expect(textViolations([fileAt('lib/x.ts', 'const a = 1;\n\n// TODO: later\n')])).toEqual([
    'lib/x.ts:3 says TODO: no notes about work to do: the code has what exists',
  ]);
});

test('a rule reads only its own folders', () => {
  expect(textViolations([fileAt('docs/x.md', 'started_at is how the first document spells it\n')])).toEqual([]);
  expect(textViolations([fileAt('elsewhere/x.ts', 'TODO\n')])).toEqual([]);
});
