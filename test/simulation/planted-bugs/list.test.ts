import { expect, it } from 'vitest';
import { editsOf, misfit } from './bug.ts';
import { plantedBugs } from './list.ts';
import { scenarios } from './scenarios.ts';

it('each bug fits the sources as they are', () => {
  expect(plantedBugs.flatMap((bug) => editsOf(bug).map(misfit)).filter((why) => why !== undefined)).toEqual([]);
});

it('no two have the same name', () => {
  expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
});

it('there are more than fifty', () => expect(plantedBugs.length).toBeGreaterThan(50));

it('every scenario of the protocol has a bug that takes the rule against it away', () => {
  const names = new Set(plantedBugs.map(({ name }) => name));
  expect(scenarios).toHaveLength(12);
  expect(scenarios.flatMap(({ bugs }) => bugs).filter((bug) => !names.has(bug))).toEqual([]);
  expect(scenarios.every(({ bugs }) => bugs.length > 0)).toBe(true);
});
