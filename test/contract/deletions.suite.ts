/** Contract of `Deletions`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunId, type Scope, environment, keyId, workflowName } from '../../lib/engine/ids.ts';
import { after, days, hours, minutes } from '../../lib/engine/time.ts';
import type { Deletions, FoundRun, WorkflowDeletion } from '../../lib/ports/deletions.ts';
import { freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const deletionOf = (scope: Scope, facts: Partial<WorkflowDeletion> = {}): WorkflowDeletion => ({
  ...scope,
  name: workflowName('order.v2'),
  throughVersion: 3,
  requestedAt: noon,
  requestedBy: keyId('key1abcd'),
  phase: 'closing',
  runsFound: 0,
  runsDeleted: 0,
  revision: 1,
  ...facts,
});
const found = (isRecent: boolean): FoundRun => ({ runId: freshRun().runId, expiresAt: after(noon, days(40)), isRecent });
const byId = (one: FoundRun, other: FoundRun): number => (one.runId < other.runId ? -1 : 1);

export const deletionsSuite = ({ name, open }: Subject<Deletions>) =>
  describe(`deletions: ${name}`, () => {
    let opened: Opened<Deletions>;
    let deletions: Deletions;
    beforeAll(async () => {
      opened = await open();
      deletions = opened.port;
    });
    afterAll(() => opened.close());

    test('a deletion is read as it was written, and only under its key', async () => {
      const begun = deletionOf(freshScope());
      expect(await deletions.deletion(begun)).toBeUndefined();
      expect(await deletions.begin(begun)).toBe('stored');
      expect(await deletions.begin({ ...begun, requestedBy: null })).toBe('occupied');
      expect(await deletions.deletion(begun)).toEqual(begun);
      for (const other of [
        { ...begun, throughVersion: 4 },
        { ...begun, name: workflowName('order') },
        { ...begun, environment: environment('staging') },
      ])
        expect(await deletions.deletion(other)).toBeUndefined();
    });

    test('only the next revision replaces a deletion', async () => {
      const begun = deletionOf(freshScope());
      await deletions.begin(begun);
      const { runId } = freshRun();
      const next: WorkflowDeletion = {
        ...begun,
        phase: 'settling',
        position: { createdAt: noon, runId },
        after: runId,
        runsFound: 12,
        runsDeleted: 7,
        freedAt: after(noon, hours(1)),
        settledAt: after(noon, hours(2)),
        revision: 2,
      };
      expect(await deletions.replace({ ...next, revision: 3 })).toBe(false);
      expect(await deletions.replace(next)).toBe(true);
      expect(await deletions.deletion(begun)).toEqual(next);
      expect(await deletions.replace({ ...begun, revision: 2 })).toBe(false);
      const bare = { ...begun, phase: 'clearing', requestedBy: null, revision: 3 } as const;
      expect(await deletions.replace(bare)).toBe(true);
      expect(await deletions.deletion(begun)).toEqual(bare);
      expect(await deletions.replace(deletionOf(freshScope(), { revision: 2 }))).toBe(false);
    });

    test('the deletions of all scopes are listed until they are removed', async () => {
      const some = [deletionOf(freshScope()), deletionOf(freshScope(), { throughVersion: 1 })];
      for (const each of some) await deletions.begin(each);
      expect(await deletions.all()).toEqual(expect.arrayContaining(some));
      for (const each of some) await deletions.remove({ ...each, revision: each.revision + 1 });
      expect(await deletions.all()).toEqual(expect.arrayContaining(some));
      for (const each of some) await deletions.remove(each);
      for (const each of some) await deletions.remove(each);
      const left = await deletions.all();
      for (const each of some) expect(left).not.toContainEqual(each);
    });

    test('the runs of a deletion are listed by id, page by page, each once', async () => {
      const one = deletionOf(freshScope());
      const other = { ...one, throughVersion: 4 };
      const runs = Array.from({ length: 45 }, (_, index) => found(index % 2 === 0)).toSorted(byId);
      await deletions.addRuns(one, runs);
      await deletions.addRuns(one, runs.slice(3, 9));
      await deletions.addRuns(other, [found(true)]);
      await deletions.addRuns(one, []);
      const pages: FoundRun[][] = [];
      for (let from: RunId | undefined; pages.at(-1)?.length !== 0; from = pages.at(-1)?.at(-1)?.runId)
        pages.push([...(await deletions.runs(one, { limit: 20, ...(from === undefined ? {} : { after: from }) }))]);
      expect(pages.map(({ length }) => length)).toEqual([20, 20, 5, 0]);
      expect(pages.flat()).toEqual(runs);
    });

    test('a run is removed from one deletion and can be recorded again', async () => {
      const one = deletionOf(freshScope());
      const runs = [found(true), found(false), found(true)].toSorted(byId);
      const [first, second, third] = runs;
      if (first === undefined || second === undefined || third === undefined) throw new Error('three runs');
      await deletions.addRuns(one, runs);
      await deletions.removeRuns(one, [first.runId, third.runId, freshRun().runId]);
      await deletions.removeRuns(one, []);
      expect(await deletions.runs(one, { limit: 9 })).toEqual([second]);
      const later = { ...second, isRecent: !second.isRecent, expiresAt: after(second.expiresAt, minutes(1)) };
      await deletions.addRuns(one, [later]);
      expect(await deletions.runs(one, { limit: 9 })).toEqual([later]);
    });
  });
