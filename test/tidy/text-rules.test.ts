/** One word for one thing, and nothing that is not meant for whoever reads this next (`words.ts`). */
import { expect, test } from 'vitest';
import { type SourceFile, filesBelow } from './source-files.ts';
import { ruleViolations, maxLines, textViolations, textRules } from './text-rules.ts';

const all = filesBelow(
  ['lib', 'functions', 'bin', 'scripts', 'test', 'examples', 'bench', 'docs'],
  ['.ts', '.mts', '.mjs', '.js', '.md', '.json', '.html', '.css'],
);
// These two hold the examples of what is forbidden.
const files = all.filter(({ path }) => !path.startsWith('test/tidy/text-rules'));

test('no file says what is not said in this house', () => {
  expect(textViolations(files)).toEqual([]);
});

test('the check has walked the house', () => {
  expect(all.length).toBeGreaterThan(200);
  expect(all.length - files.length).toBe(2);
  for (const top of ['lib', 'functions', 'bin', 'scripts', 'test', 'docs'])
    expect(files.map(({ path }) => path.split('/')[0])).toContain(top);
});

const held = (path: string, text: string): SourceFile => ({ path, text });

test.each(textRules.map((rule) => [rule.reason, rule] as const))(
  '%s: what is planted is found, and what is innocent is not',
  (_why, rule) => {
    expect(rule.planted.length).toBeGreaterThan(1);
    for (const [examples, count] of [
      [rule.planted, 1],
      [rule.innocent, 0],
    ] as const) {
      for (const example of examples) {
        const place = rule.folders[0] ?? 'lib';
        const file = rule.in === 'path' ? held(example, '') : held(`${place}/x.ts`, `const a = 1;\n${example}\n`);
        expect([example, ruleViolations(rule, file).length]).toEqual([example, count]);
      }
    }
  },
);

test('a fault is told with its file, its line and its reason', () => {
  expect(textViolations([held('lib/x.ts', 'const a = 1;\n\n// TODO: later\n')])).toEqual([
    'lib/x.ts:3 says TODO: what is not built yet is absent',
  ]);
});

test('a rule does not reach into places that are not its own', () => {
  expect(textViolations([held('docs/x.md', 'started_at is how the first document spells it\n')])).toEqual([]);
  expect(textViolations([held('elsewhere/x.ts', 'TODO\n')])).toEqual([]);
});

test(`a file of lib or functions has at most ${maxLines} lines`, () => {
  const lines = (count: number): string => 'const a = 1;\n'.repeat(count);
  expect(textViolations([held('lib/x.ts', lines(maxLines))])).toEqual([]);
  expect(textViolations([held('lib/x.ts', lines(maxLines + 1))])).toHaveLength(1);
  expect(textViolations([held('functions/x/handler.ts', lines(maxLines + 1))])).toHaveLength(1);
  expect(textViolations([held('test/x.ts', lines(maxLines + 1))])).toEqual([]);
});
