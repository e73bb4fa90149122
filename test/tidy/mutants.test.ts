/** The committed counts of mutants have the right shape, order and sums. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { areas } from '../mutants/areas.ts';
import { intervalOf, reportOf, reportSchema } from '../mutants/report.ts';
import { reportText } from '../simulation/reports.ts';
import { filesBelow } from './source-files.ts';

const text = readFileSync(join(import.meta.dirname, '../simulation/proof/mutants.json'), 'utf8');
const report = reportSchema.parse(JSON.parse(text));

test('the counts of each file add up to its mutants', () => {
  expect(Object.keys(report.files)).not.toEqual([]);
  for (const [path, { mutants, killed, timedOut, survived, noCoverage, broken }] of Object.entries(report.files)) {
    expect(killed + timedOut + survived + noCoverage + broken, path).toBe(mutants);
  }
});

test('the totals are those of the files, and the text is what would be written', () => {
  expect(text).toBe(reportText(reportOf(report, report.files)));
});

test('every counted file exists, and every file of the engine has tests that check it', () => {
  const sources = filesBelow(['lib/engine'], ['.ts']).map(({ path }) => path);
  expect(Object.keys(report.files).filter((path) => !sources.includes(path))).toEqual([]);
  expect(sources.filter((path) => !areas.some((area) => path.startsWith(area.path)))).toEqual([]);
  for (const area of areas) expect(area.tests, area.path).not.toEqual([]);
});

test('a sample has no more mutants than its files, and its interval is that of Wilson', () => {
  const { killed = 0, mutants = 0, population = 0 } = report.sample ?? {};
  expect(killed).toBeLessThanOrEqual(mutants);
  expect(mutants).toBeLessThanOrEqual(population);
  const [low, high] = intervalOf({ killed: 81, mutants: 90 });
  expect([low.toFixed(3), high.toFixed(3)]).toEqual(['0.821', '0.946']);
  expect(intervalOf({ killed: 0, mutants: 0 })).toEqual([0, 1]);
});
