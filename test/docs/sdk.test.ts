/** docs/SDK.md shows code that the tests run, and says numbers, words and codes that the code has. */
import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { maxStepAttempts } from '../../lib/engine/durable/apply-command-batch.ts';
import { stepRetryDefaults, workflowRetryDefaults } from '../../lib/engine/durable/step.ts';
import { parseDuration } from '../../lib/sdk/duration.ts';
import { defineWorkflow } from '../../lib/sdk/index.ts';
import { defaultStepAttempts } from '../../lib/program/find-workflow.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const page = read('docs/SDK.md');
const rows = rowsIn(page);
const tableOf = (section: string) => rows.filter((row) => row.section === section).map(({ cells }) => cells);

interface Shown {
  readonly source: string;
  readonly code: string;
}

/** Each block of TypeScript, and the link that stands before it. */
const shownIn = (text: string): readonly Shown[] =>
  [...text.matchAll(/```ts\n(.*?)```/gs)].map(({ index, 1: code = '' }) => ({
    source: [...text.slice(0, index).matchAll(/\]\(\.\.\/(examples\/[^)#]+\.ts)\)/g)].at(-1)?.[1] ?? '',
    code,
  }));
/** Those that do not stand in the file that they are said to be of. */
const strayIn = (text: string): readonly Shown[] =>
  shownIn(text).filter(
    ({ source, code }) =>
      source === '' || !existsSync(new URL(`../../${source}`, import.meta.url)) || !read(source).includes(code),
  );

const workflows = 'examples/code-workflows/workflows';

describe('each block of code', () => {
  test('is a part of the file that is linked before it', () => {
    expect(strayIn(page)).toEqual([]);
    expect(shownIn(page).length).toBeGreaterThanOrEqual(8);
  });
  test('that is not is found', () => {
    const changed = page.replace('step.run(', 'step.runs(');
    expect(strayIn(changed)).toHaveLength(1);
  });
  test('and each example is shown, or named', () => {
    const named = readdirSync(new URL(`../../${workflows}`, import.meta.url)).filter(
      (file) => !page.includes(`${workflows}/${file}`),
    );
    expect(named).toEqual([]);
  });
  test('of the shell is one that TUTORIAL.md or CLI.md has, where a test runs it', () => {
    const run = `${read('docs/TUTORIAL.md')}\n${read('docs/CLI.md')}`;
    const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, lines = '']) => lines.trim());
    expect(blocks.flatMap((block) => block.split('\n')).filter((line) => !run.includes(line))).toEqual([]);
    expect(blocks.length).toBeGreaterThan(0);
  });
});

test('the defaults of retries are those of the code', () => {
  const spelled = (ms: number): string => `${ms / 1_000} s`;
  const { maximumAttempts, initialIntervalMs, backoffCoefficient, maximumIntervalMs } = stepRetryDefaults;
  expect(tableOf('Retries').map((cells) => cells.slice(0, 3))).toEqual([
    ['`maximumAttempts`', String(maximumAttempts), String(workflowRetryDefaults.maximumAttempts)],
    ['`initialInterval`', spelled(initialIntervalMs), spelled(workflowRetryDefaults.initialIntervalMs)],
    ['`backoffCoefficient`', String(backoffCoefficient), String(workflowRetryDefaults.backoffCoefficient)],
    ['`maximumInterval`', spelled(maximumIntervalMs), spelled(workflowRetryDefaults.maximumIntervalMs)],
  ]);
});

test('every length of time is as long as it says', () => {
  const lengths = tableOf('Lengths of time');
  expect(lengths.length).toBeGreaterThanOrEqual(8);
  for (const [words = '', ms = ''] of lengths)
    for (const word of quotedIn(words))
      expect([word, parseDuration(`1 ${word}`)]).toEqual([word, Number(ms.replaceAll(',', ''))]);
});

/** the file that gives each code its meaning, by a text in it */
const codes = tableOf('Codes').flatMap(([code = '', , , file = '']) =>
  quotedIn(code).map((one) => ({ code: one, file: quotedIn(file)[0] ?? '' })),
);
test('every code stands in the file that is named for it', () => {
  expect(codes.length).toBeGreaterThanOrEqual(15);
  for (const { code, file } of codes) {
    const [stem = code] = code.split(/_(?=not_serialisable|too_large)/);
    const looked = stem === code ? `'${code}'` : code.slice(stem.length);
    expect([code, file, read(file).includes(looked)]).toEqual([code, file, true]);
  }
});

test('every code that the code says is in the table', () => {
  const files = [
    ...['execute-workflow-task.ts', 'failures.ts', 'step-api.ts', 'stored-value.ts', 'command-batch-draft.ts'].map(
      (file) => `lib/program/${file}`,
    ),
    ...['decide.ts', 'apply-command-batch.ts', 'step.ts'].map((file) => `lib/engine/durable/${file}`),
    'lib/service/kinds/code/run-workflow-task.ts',
  ];
  const said = files.flatMap((file) => [
    ...[...read(file).matchAll(/\bcode: '([a-z_]+)'/g)].map(([, code]) => code),
    ...(file.endsWith('run-workflow-task.ts') ? [...read(file).matchAll(/deferred\('([a-z_]+)'/g)].map(([, code]) => code) : []),
  ]);
  const known = new Set(codes.map(({ code }) => code));
  expect(said.filter((code) => code !== undefined && !known.has(code))).toEqual([]);
});

test('what the page says of limits is so', () => {
  expect(page).toContain(`at most ${defaultStepAttempts.toLocaleString('en')} attempts of steps`);
  expect(page).toContain(`up to ${maxStepAttempts.toLocaleString('en')}`);
  expect(() => defineWorkflow({ name: 'a', maxStepAttempts: maxStepAttempts + 1 }, () => null)).toThrow(TypeError);
});
