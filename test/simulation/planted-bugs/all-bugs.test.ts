import { expect, it } from 'vitest';
import { editsOf, describeMismatch } from './bug.ts';
import { plantedBugs } from './all-bugs.ts';
import { bugScenarios } from './bug-scenarios.ts';

it('each bug matches the current sources', () => {
  expect(plantedBugs.flatMap((bug) => editsOf(bug).map(describeMismatch)).filter((why) => why !== undefined)).toEqual([]);
});

it('all names are unique', () => {
  expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
});

it('more than fifty bugs exist', () => expect(plantedBugs.length).toBeGreaterThan(50));

it('every failure scenario has a bug that removes the rule against it', () => {
  const names = new Set(plantedBugs.map(({ name }) => name));
  expect(bugScenarios).toHaveLength(12);
  expect(bugScenarios.flatMap(({ bugs }) => bugs).filter((bug) => !names.has(bug))).toEqual([]);
  expect(bugScenarios.every(({ bugs }) => bugs.length > 0)).toBe(true);
});
