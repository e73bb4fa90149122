/** Runs Stryker over some files of the engine, in a copy of the tree outside of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import type { Counts } from './report.ts';
import { sampleVariable } from './sample-checker.ts';

type MutantResult = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

const root = join(import.meta.dirname, '..', '..');

type Location = MutantResult['location'];

export interface Survivor {
  readonly location: Location;
  /** Stryker's name of what it does */
  readonly mutator: string;
  readonly replacement: string;
  readonly isCovered: boolean;
}

export interface TryOptions {
  readonly concurrency: number;
  /** absent: all mutants */
  readonly sample?: { readonly seed: number; /** of all mutants, from 0 to 1 */ readonly part: number };
}

export interface Tried {
  readonly counts: Counts & { readonly constants: number };
  /** mutants outside the sample, which were not tried */
  readonly outside: number;
  readonly survivors: readonly Survivor[];
}

/** One that was tried, and is to be tried again. */
interface Left {
  readonly source: string;
  readonly survivor: Survivor;
}

/**
 * Asks other tests for what is left. Other mutants within the same lines are tried again with it, and not counted again.
 * @returns those that are left still, by their sources
 */
export async function tryAgain(
  left: readonly Left[],
  tests: readonly string[],
  options: TryOptions,
): Promise<ReadonlyMap<string, readonly Survivor[]>> {
  const sources = [...new Set(left.map(({ source }) => source))];
  const ranges = left.map(({ source, survivor: { location } }) => `${source}:${rangeOf(location)}`);
  const tried = await tryMutants([...new Set(ranges)], tests, options, sources);
  return new Map(
    sources.map((source) => {
      const asked = new Set(left.filter((each) => each.source === source).map(({ survivor }) => nameOf(survivor)));
      return [source, (tried.get(source)?.survivors ?? []).filter((survivor) => asked.has(nameOf(survivor)))];
    }),
  );
}

/** Stryker counts columns from 0 where it is told which to try, and from 1 where it says which it tried. */
const rangeOf = ({ start, end }: Location): string => `${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`;

/** Such as `74:13 ConditionalExpression -> true`. */
export const nameOf = ({ location: { start }, mutator, replacement }: Survivor): string =>
  `${start.line}:${start.column} ${mutator} -> ${replacement}`;

/**
 * @param sources paths from the root of the repository, or such with a range behind them
 * @param tests globs of the tests that judge their mutants
 * @returns what became of each file's mutants
 */
export async function tryMutants(
  sources: readonly string[],
  tests: readonly string[],
  { concurrency, sample }: TryOptions,
  files = sources,
): Promise<ReadonlyMap<string, Tried>> {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-mutants-'));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  if (sample !== undefined) process.env[sampleVariable] = `${sample.seed} ${sample.part}`;
  try {
    const results = await new Stryker({
      configFile: 'test/mutants/stryker.config.mjs',
      mutate: [...sources],
      testFiles: [...tests],
      concurrency,
      tempDirName: folder,
      ...(sample === undefined
        ? {}
        : { checkers: ['sample'], plugins: ['@stryker-mutator/vitest-runner', './test/mutants/sample-checker.ts'] }),
    }).runMutationTest();
    return new Map(files.map((source) => [source, judge(results.filter(({ fileName }) => pathOf(fileName) === source))]));
  } finally {
    clear();
    process.off('exit', clear);
  }
}

const pathOf = (fileName: string): string => relative(root, fileName).replaceAll('\\', '/');

function judge(mutants: readonly MutantResult[]): Tried {
  const all = (status: MutantResult['status']) => mutants.filter((mutant) => mutant.status === status);
  const counts = {
    killed: all('Killed').length,
    timedOut: all('Timeout').length,
    survived: all('Survived').length,
    noCoverage: all('NoCoverage').length,
    broken: all('RuntimeError').length,
  };
  return {
    counts: {
      mutants: Object.values(counts).reduce((total, count) => total + count, 0),
      ...counts,
      constants: mutants.filter((mutant) => mutant.static === true && mutant.status === 'Ignored').length,
    },
    // No check compiles the mutants, so only the sample's checker gives this status.
    outside: all('CompileError').length,
    survivors: [...all('Survived'), ...all('NoCoverage')].map(({ location, mutatorName, replacement, status }) => ({
      location,
      mutator: mutatorName,
      replacement: replacement.replaceAll(/\s+/g, ' '),
      isCovered: status === 'Survived',
    })),
  };
}
