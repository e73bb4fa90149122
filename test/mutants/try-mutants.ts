/** Runs Stryker over some files of the engine, in a copy of the tree outside of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import type { Counts } from './report.ts';

type MutantResult = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

const root = join(import.meta.dirname, '..', '..');

interface Survivor {
  readonly line: number;
  readonly column: number;
  /** Stryker's name of what it does */
  readonly mutator: string;
  readonly replacement: string;
  readonly isCovered: boolean;
}

export interface Tried {
  readonly counts: Counts & { readonly constants: number };
  readonly survivors: readonly Survivor[];
}

/**
 * @param sources paths from the root of the repository
 * @param tests globs of the tests that judge their mutants
 * @returns what became of each file's mutants
 */
export async function tryMutants(
  sources: readonly string[],
  tests: readonly string[],
  concurrency: number,
): Promise<ReadonlyMap<string, Tried>> {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-mutants-'));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  try {
    const results = await new Stryker({
      configFile: 'test/mutants/stryker.config.mjs',
      mutate: [...sources],
      testFiles: [...tests],
      concurrency,
      tempDirName: folder,
    }).runMutationTest();
    return new Map(sources.map((source) => [source, judge(results.filter(({ fileName }) => pathOf(fileName) === source))]));
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
    broken: all('RuntimeError').length + all('CompileError').length,
  };
  return {
    counts: {
      mutants: Object.values(counts).reduce((total, count) => total + count, 0),
      ...counts,
      constants: mutants.filter((mutant) => mutant.static === true && mutant.status === 'Ignored').length,
    },
    survivors: [...all('Survived'), ...all('NoCoverage')].map(({ location, mutatorName, replacement, status }) => ({
      line: location.start.line,
      column: location.start.column,
      mutator: mutatorName,
      replacement: replacement.replaceAll(/\s+/g, ' '),
      isCovered: status === 'Survived',
    })),
  };
}
