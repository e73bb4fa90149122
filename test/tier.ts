/**
 * The two tiers of tests. `npm test` runs the quick tier: what a change can break at first order. `npm run test:deep` runs the deep tier:
 * files named `*.deep.test.ts`, and the files of `inBothTiers`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

type Tier = 'quick' | 'deep';

/** Set by `vitest.config.ts` for the processes of a run. */
export const tierVariable = 'STEPWELL_TEST_TIER';

export const tier: Tier = process.env[tierVariable] === 'deep' ? 'deep' : 'quick';

/** The files that the deep tier runs too, by project: with more seeds (`inTier`), or on other emulators. */
export const inBothTiers: Readonly<Record<string, readonly string[]>> = {
  conformance: ['test/conformance/topologies.test.ts'],
  simulation: [
    'test/simulation/batches.test.ts',
    'test/simulation/short-chains.test.ts',
    'test/simulation/concurrency-slots.test.ts',
    'test/simulation/corpus-chaos.test.ts',
    'test/simulation/long-waits.test.ts',
    'test/simulation/parts.test.ts',
    'test/simulation/regression-seeds.test.ts',
    'test/simulation/simulation.test.ts',
    'test/simulation/slow-scripts.test.ts',
    'test/simulation/worker-crashes.test.ts',
  ],
  unit: [
    'test/aws/code-runs.test.ts',
    'test/aws/all-run-items.test.ts',
    'test/aws/second-commit.test.ts',
    'test/service/long-waits.test.ts',
    'test/service/many-child-runs.test.ts',
    'test/service/many-code-calls.test.ts',
    'test/service/resumed-watch.test.ts',
    'test/service/wide-joins.test.ts',
  ],
  model: ['test/model/histories.test.ts'],
  docs: ['test/docs/create-key.test.ts'],
  bench: ['test/bench/golden-extensions.test.ts'],
  infra: ['test/infra/forged-runs.test.ts'],
  hostile: [
    'test/hostile/comparisons.test.ts',
    'test/hostile/external-runs.test.ts',
    'test/hostile/graphs.test.ts',
    'test/hostile/templates.test.ts',
  ],
  contract: [
    'test/contract/dynamo.test.ts',
    'test/contract/loops.test.ts',
    'test/contract/openworkflow-backend.test.ts',
    'test/contract/openworkflow-published.test.ts',
  ],
};

export const inTier = <Value>(values: Readonly<Record<Tier, Value>>): Value => values[tier];

/** Seeds below this are the same in every run; `npm run simulate -- --seed` replays any. */
const firstRotating = 1_000_000;
const rotatingRows = 100_000;

/**
 * The first seed of a row of `count` that is another one on each day (UTC) and for each commit, so that runs of the deep tier look
 * at new seeds. `STEPWELL_TEST_SEED` replays a row by its first seed.
 */
export function firstRotatingSeed(count: number): number {
  const given = process.env['STEPWELL_TEST_SEED'];
  if (given !== undefined) return Number(given);
  return firstRotating + (turn() % rotatingRows) * count;
}

/**
 * Whether the deep tier runs whole. `.ci/run` sets `STEPWELL_TEST_SHARE=rotating`: of the searches that repeat one thing with many seeds,
 * rounds or versions, it then runs a share, another one on each day (UTC) and for each commit. Of the files that run the whole product it
 * runs a fifth (`leftOut`).
 */
const isWhole = process.env['STEPWELL_TEST_SHARE'] !== 'rotating';

/** `STEPWELL_TEST_PART` chooses a part, from 0 on, also without `STEPWELL_TEST_SHARE`. */
const chosenPart = process.env['STEPWELL_TEST_PART'];

const partOf = (parts: number): number => Number(chosenPart ?? turn()) % parts;

/** The seeds from 1 to `total`, or one of `parts` equal parts of them, which together cover all. */
export function rotatingPart(total: number, parts: number): { readonly from: number; readonly count: number } {
  if (isWhole && chosenPart === undefined) return { from: 1, count: total };
  const part = partOf(parts);
  const count = Math.ceil(total / parts);
  return { from: 1 + part * count, count: Math.min(count, total - part * count) };
}

/** All items, or one of them. */
export const rotatingItem = <Item>(items: readonly Item[]): readonly Item[] =>
  isWhole && chosenPart === undefined ? items : items.slice(partOf(items.length)).slice(0, 1);

const fileParts = 5;

/**
 * The files that a share leaves out: four of five, others on each day and for each commit. None where the tier runs whole.
 * @param files the longest first
 */
export function leftOut(files: readonly string[]): readonly string[] {
  if (isWhole && chosenPart === undefined) return [];
  const part = partOf(fileParts);
  return files.filter((_file, index) => filePart(index) !== part);
}

/** The part of a file by its place. Every second row of five is reversed, so that the parts take about as long. */
export function filePart(index: number): number {
  const column = index % fileParts;
  return Math.floor(index / fileParts) % 2 === 0 ? column : fileParts - 1 - column;
}

/** A number of the day and the commit. */
function turn(): number {
  const day = new Date().toISOString().slice(0, 10);
  return createHash('sha256').update(`${day} ${commit()}`).digest().readUInt32BE(0);
}

/** Of a checkout without git, the day alone rotates the seeds. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}
