/**
 * Searches again for each bug that one seed finds, and for some other bugs, which change with the sources. The report of `npm
 * run planted-bugs` must match the list of bugs. The seed that shows a bug must pass without it.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rotatingItem } from '../../tier.ts';
import { seeds } from '../seeds.ts';
import type { PlantedBug } from './bug.ts';
import { type Found, findBug } from './find-bug.ts';
import { plantedBugs } from './all-bugs.ts';
import { trySeeds } from './try-seeds.ts';
import { isOf, readBugReport } from './report.ts';

const report = readBugReport();
const seedOf = ({ name }: PlantedBug): number => report.find((row) => row.name === name)?.seed ?? 0;

describe('the report has a seed that catches it and passes without it:', () => {
  it.each(plantedBugs.map((bug) => [bug.name, bug] as const))('%s', (_name, bug) => {
    expect(report.filter((row) => isOf(bug, row))).toHaveLength(1);
  });

  it('the report has no other bug', () => expect(report).toHaveLength(plantedBugs.length));
});

/** Many bugs share a simulation without the bug. */
const lookedAt = new Map<string, Promise<Found>>();
function withoutBug(bug: PlantedBug, seed: number): Promise<Found> {
  const { faultProfile, options, scenario, kind } = bug;
  const world = JSON.stringify([faultProfile, options, scenario, kind, seed]);
  const looking = lookedAt.get(world) ?? trySeeds(bug, seed, seed);
  lookedAt.set(world, looking);
  return looking;
}

/** The seeds show the bug, and the same seed passes without it. */
async function tellsApart(bug: PlantedBug, from: number, to: number): Promise<void> {
  const came = await findBug(bug, { from, to });
  expect(came).toMatchObject({ kind: 'caught' });
  expect(await withoutBug(bug, came.seed), 'without the bug').toEqual({ kind: 'survived', seed: came.seed });
}

/** Only the command searches further, because it takes long. A seed of the DevKit is quick: there the whole search is repeated. */
const fewSeeds = 1;
const isSearched = (bug: PlantedBug): boolean => bug.kind === 'devkit' || seedOf(bug) <= fewSeeds;

describe('is caught:', () => {
  const quick = plantedBugs.filter((bug) => !(bug.isSlow ?? false) && isSearched(bug));
  const halves = rotatingItem([0, 1]);
  const searched = quick.filter((_bug, at) => halves.includes(at % 2));

  it.each(searched.map((bug) => [bug.name, bug] as const))('%s', (_name, bug) => tellsApart(bug, 1, bug.within));
});

describe('is still caught at the seed of the report:', () => {
  /** A sample of the others, which changes with the sources. */
  const sampled = 8;
  const root = join(import.meta.dirname, '../../..');
  const sources = createHash('sha256');
  for (const file of globSync('lib/{engine,service}/**/*.ts', { cwd: root }).toSorted())
    sources.update(readFileSync(join(root, file)));
  const drawn = sources.digest('hex');
  const lotOf = ({ name }: PlantedBug): string => createHash('sha256').update(drawn).update(name).digest('hex');
  const sample = plantedBugs
    .filter((bug) => !isSearched(bug))
    .toSorted((one, other) => (lotOf(one) < lotOf(other) ? -1 : 1))
    .slice(0, sampled);

  it.each(sample.map((bug) => [bug.name, bug] as const))('%s', (_name, bug) => tellsApart(bug, seedOf(bug), seedOf(bug)));
});

describe('without a bug no violation is reported', () => {
  const worlds = new Map(
    plantedBugs
      .filter(({ scenario }) => scenario === undefined)
      .map((bug) => [JSON.stringify([bug.faultProfile ?? 'chaos', bug.options ?? {}, bug.kind ?? 'graph and code']), bug]),
  );

  it.each([...worlds])('%s', async (_name, bug) => {
    for (const seed of seeds(2)) expect(await withoutBug(bug, seed)).toEqual({ kind: 'survived', seed });
  });
});
