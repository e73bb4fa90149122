import { expect, it } from 'vitest';
import { editsOf, describeMismatch } from './bug.ts';
import { plantedBugs } from './all-bugs.ts';
import { bugScenarios } from './bug-scenarios.ts';

it('each bug fits the sources as they are', () => {
  expect(plantedBugs.flatMap((bug) => editsOf(bug).map(describeMismatch)).filter((why) => why !== undefined)).toEqual([]);
});

it('no two have the same name', () => {
  expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
});

it('there are more than fifty', () => expect(plantedBugs.length).toBeGreaterThan(50));

it('every scenario of the protocol has a bug that takes the rule against it away', () => {
  const names = new Set(plantedBugs.map(({ name }) => name));
  expect(bugScenarios).toHaveLength(12);
  expect(bugScenarios.flatMap(({ bugs }) => bugs).filter((bug) => !names.has(bug))).toEqual([]);
  expect(bugScenarios.every(({ bugs }) => bugs.length > 0)).toBe(true);
});
