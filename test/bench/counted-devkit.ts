/** Counts the runs of one version of the Workflow DevKit, and compares them with their golden files and with what a step may cost. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import * as devkit from '../../bench/devkit/devkit-scenarios.ts';
import { buildMeasuredApp } from '../../bench/devkit/measured-app.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

export function countedDevKit(version: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-devkit-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const billFor = countedCloud(async () => devkit.scenariosOf(await buildMeasuredApp(folder, version)));
  const inSequence = devkit.scenarioName(version, 'sequence');

  test('the bill of steps in sequence is the golden one', () => {
    isGolden(inSequence, billFor(inSequence));
  });

  test('the log of steps in sequence costs its units for each step, and three for the run', () => {
    const bill = billFor(inSequence);
    expect(devkit.logUnits(bill)).toBe(devkit.expectedLogUnits(version, devkit.countedSteps));
    expect(total(bill.commits)).toBe(devkit.expectedLogUnits(version, devkit.countedSteps) - 1);
  });

  test('the bill of parallel steps is within its golden bounds', () => {
    const together = devkit.scenarioName(version, 'together');
    isGolden(together, billFor(together));
    if (version === devkit.devkitVersions.newest)
      expect(devkit.logUnits(billFor(together))).toBeLessThanOrEqual(devkit.maxTogetherUnits);
  });
}
