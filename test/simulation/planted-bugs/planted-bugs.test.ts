/** Each bug is looked for anew where that is quick; of the others the report of `npm run planted-bugs` is held to the list. */
import { describe, expect, it } from 'vitest';
import { simulate } from '../simulation.ts';
import { seeds } from '../seeds.ts';
import { findBug } from './find-bug.ts';
import { plantedBugs } from './list.ts';
import { knownReport } from './report.ts';
import { weathers } from './weathers.ts';

const report = knownReport();

it('the report says of each bug by which seed it was caught', () => {
  const caught = new Map(report.map((entry) => [entry.name, entry]));
  for (const { name, within } of plantedBugs) expect(caught.get(name)?.seed, name).toBeLessThanOrEqual(within);
  expect(report).toHaveLength(plantedBugs.length);
});

/** Beyond this a search takes so long that only the command makes it. */
const fewSeeds = 1;

describe('is caught:', () => {
  const seedOf = (bug: string): number => report.find(({ name }) => name === bug)?.seed ?? 0;
  const quick = plantedBugs.filter(({ name, isSlow = false }) => !isSlow && seedOf(name) <= fewSeeds);

  it.each(quick.map((bug) => [bug.name, bug] as const))('%s', async (_name, bug) => {
    expect(await findBug(bug)).toMatchObject({ kind: 'caught' });
  });
});

describe('without a bug nothing is seen', () => {
  const ways = new Map(
    plantedBugs.flatMap(({ weather = 'rough', options = {} }) =>
      weather === 'rough' ? [] : [[JSON.stringify([weather, options]), { rates: weathers[weather], ...options }] as const],
    ),
  );

  it.each([...ways])('%s', async (_name, options) => {
    for (const seed of seeds(4)) expect((await simulate({ ...options, seed })).commits).toBeGreaterThan(0);
  });
});
