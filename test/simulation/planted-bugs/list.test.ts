import { expect, it } from 'vitest';
import { editsOf, misfit } from './bug.ts';
import { plantedBugs } from './list.ts';

it('each bug fits the sources as they are', () => {
  expect(plantedBugs.flatMap((bug) => editsOf(bug).map(misfit)).filter((why) => why !== undefined)).toEqual([]);
});

it('no two have the same name', () => {
  expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
});

it('there are more than fifty', () => expect(plantedBugs.length).toBeGreaterThan(50));
