/** The committed counts of mutants have the right shape, order and sums. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { areas } from '../mutants/areas.ts';
import { reportOf, reportSchema } from '../mutants/report.ts';
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
