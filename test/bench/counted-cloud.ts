/** An embedded cloud for the tests of one file, and the bills that are counted on it before they start. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import type { Bill } from '../../bench/bill.ts';
import { differences, readGolden } from '../../bench/golden.ts';
import { type Scenario, count } from '../../bench/scenarios.ts';
import { preparedFolder } from '../e2e/local-start.ts';

interface CountingHooks {
  /** of the context; absent: those of the checkout */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly before?: (bench: BenchCloud) => void;
  readonly after?: (bench: BenchCloud) => Promise<void>;
}

/** A function builds what it needs first. */
type Scenarios = readonly Scenario[] | (() => Promise<readonly Scenario[]>);

/** @returns the bill of a scenario, once it is counted */
export function countedCloud(scenarios: Scenarios, { settings, before, after }: CountingHooks = {}): (name: string) => Bill {
  const directory = preparedFolder(mkdtempSync(join(tmpdir(), 'stepwell-golden-')));
  const warnings: string[] = [];
  const bills = new Map<string, Bill>();
  let bench: BenchCloud;

  beforeAll(async () => {
    bench = await startBenchCloud(directory, (line) => void warnings.push(line), settings);
    before?.(bench);
    const counted = typeof scenarios === 'function' ? await scenarios() : scenarios;
    for (const scenario of counted) bills.set(scenario.name, await count(bench, scenario));
    await after?.(bench);
  }, 300_000);
  afterAll(async () => {
    await bench.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('nothing was denied and nothing failed meanwhile', () => {
    expect(warnings).toEqual([]);
  });

  return (name) => {
    const bill = bills.get(name);
    if (bill === undefined) throw new Error(`${name} was not counted`);
    return bill;
  };
}

export const isGolden = (name: string, bill: Bill): void =>
  expect(differences(readGolden(name) ?? {}, bill), 'a change on purpose: npm run bench -- --write-golden').toEqual([]);
