/** Counts the runs of one version of the Workflow DevKit, and compares them with their golden files and with what a step may cost. */
import { expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import * as devkit from '../../bench/devkit/devkit-scenarios.ts';
import { measuredWorkflows } from '../../bench/devkit/measured-app.ts';
import { builtApp } from '../devkit/built-app.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

export function countedDevKit(version: string): void {
  const app = () => builtApp(version, { 'workflows/measured.ts': measuredWorkflows });
  const billFor = countedCloud(async () => devkit.scenariosOf(await app()));
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
    expect(devkit.logUnits(billFor(together))).toBeLessThanOrEqual(devkit.maxTogetherUnits);
  });
}
