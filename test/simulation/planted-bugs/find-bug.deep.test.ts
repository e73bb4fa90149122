/** The search for a planted bug catches that bug only, and one search does not affect the next. */
import { expect, it } from 'vitest';
import { editsOf, describeMismatch } from './bug.ts';
import { findBug } from './find-bug.ts';
import { findBugByName } from './all-bugs.ts';
import { processExitEdit, simulatorErrorEdit, harmlessEdits, commentOnlyEdit } from './harmless-edits.ts';

const bug = findBugByName('a start does not compare the request of a reused idempotency key');
const uncaught = { kind: 'survived', seed: commentOnlyEdit.within };

it('harmless edits match the current sources', () => {
  expect(harmlessEdits.flatMap((each) => editsOf(each).map(describeMismatch)).filter((why) => why !== undefined)).toEqual([]);
});

it('an edit that changes nothing is not caught', async () => {
  expect(await findBug(commentOnlyEdit)).toEqual(uncaught);
});

it('a bug is planted only in its own search, although one process runs several searches', async () => {
  const found = await findBug(bug);
  expect(found).toMatchObject({ kind: 'caught' });
  expect(await findBug(commentOnlyEdit)).toEqual(uncaught);
  expect(await findBug(bug, { planted: 'nothing', to: found.seed })).toEqual({ kind: 'survived', seed: found.seed });
  expect(await findBug(bug)).toEqual(found);
});

it('an edit that breaks the simulation does not count as caught', async () => {
  expect(await findBug(simulatorErrorEdit)).toMatchObject({ kind: 'broke', by: expect.stringContaining('by no rule') });
});

it('an edit that ends its process does not affect other searches', async () => {
  expect(await findBug(processExitEdit)).toMatchObject({ kind: 'broke', by: 'its process ended with 3' });
  expect(await findBug(commentOnlyEdit)).toEqual(uncaught);
});
