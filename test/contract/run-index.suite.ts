/** Contract of `RunIndex`. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { namespaceOf } from '../../lib/engine/external/namespace.ts';
import { externalRunId } from '../../lib/engine/external/run.ts';
import { type RunAddress, type Scope, commitNo, environment, firstCommit, nodeKey, projectId } from '../../lib/engine/ids.ts';
import type { HeadProjection } from '../../lib/engine/log/head.ts';
import { type Instant, after, durationMs, instant, minutes } from '../../lib/engine/time.ts';
import type { ExternalRuns, Listing } from '../../lib/ports/external-runs.ts';
import { type ListPosition, type RunIndex, type RunPage, maxSharedDueRuns } from '../../lib/ports/run-index.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { creation, bundleNode, freshRun, freshScope, loopNode, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const scopeOf = (project: string, name: string): Scope => ({ projectId: projectId(project), environment: environment(name) });

/** The index reads what the log writes, so both use the same store. */
export interface RunIndexUnderTest {
  readonly index: RunIndex;
  readonly log: RunLog;
  readonly externalRuns: ExternalRuns;
}

export const runIndexSuite = ({ name, open }: Subject<RunIndexUnderTest>) =>
  describe(`run index: ${name}`, () => {
    let opened: Opened<RunIndexUnderTest>;
    let index: RunIndex;
    let log: RunLog;
    let externalRuns: ExternalRuns;
    beforeAll(async () => {
      opened = await open();
      ({ index, log, externalRuns } = opened.port);
    });
    afterAll(() => opened.close());

    const created = async (scope: Scope, createdAt: Instant = noon): Promise<RunAddress> => {
      const address = freshRun(scope, createdAt);
      await log.create(creation(address, { createdAt }));
      return address;
    };
    const idsOf = ({ heads }: RunPage): readonly string[] => heads.map(({ address }) => address.runId);
    const walk = async (page: (after?: ListPosition) => Promise<RunPage>): Promise<readonly (readonly string[])[]> => {
      const pages: (readonly string[])[] = [];
      for (let next: ListPosition | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
        const given: RunPage = await page(next);
        pages.push(idsOf(given));
        next = given.next;
      }
      return pages;
    };

    describe('the list of a scope', () => {
      test('is newest first, and its pages have every run once, also runs of the same millisecond', async () => {
        const scope = freshScope();
        const runs: RunAddress[] = [];
        for (let count = 0; count < 23; count += 1) {
          runs.push(await created(scope, after(noon, durationMs(Math.floor(count / 3)))));
        }
        const all = idsOf(await index.list(scope, { limit: 100 }));
        expect(all.toSorted()).toEqual(runs.map(({ runId }) => runId).toSorted());
        const times = (await index.list(scope, { limit: 100 })).heads.map(({ createdAt }) => createdAt);
        expect(times).toEqual(times.toSorted((one, other) => other - one));

        const pages = await walk((position) => index.list(scope, { limit: 5, ...(position && { after: position }) }));
        expect(pages.map((page) => page.length)).toEqual([5, 5, 5, 5, 3]);
        expect(pages.flat()).toEqual(all);
      });

      test('has no next page after the last run', async () => {
        const scope = freshScope();
        for (let count = 0; count < 4; count += 1) await created(scope);
        expect(await index.list(scope, { limit: 4 })).not.toHaveProperty('next');
        expect(await index.list(scope, { limit: 3 })).toHaveProperty('next');
        expect(await index.list(freshScope(), { limit: 3 })).toEqual({ heads: [] });
      });

      test('has complete and current heads', async () => {
        const scope = freshScope();
        const run = await created(scope);
        await log.project(run, { status: 'completed', asOf: commitNo(7), endedAt: noon });
        const { heads } = await index.list(scope, { limit: 1 });
        expect(heads).toEqual([await log.head(run)]);
        expect(heads[0]?.projection.status).toBe('completed');
      });

      test('has no runs of another project or environment', async () => {
        const scope = freshScope();
        const staging = { ...scope, environment: environment('staging') };
        const mine = await created(scope);
        const theirs = await created(staging);
        expect(idsOf(await index.list(scope, { limit: 9 }))).toEqual([mine.runId]);
        expect(idsOf(await index.list(staging, { limit: 9 }))).toEqual([theirs.runId]);
      });
    });

    describe('external-worker runs', () => {
      const listed = async (namespaceId: string, facts: Partial<Listing> = {}): Promise<Listing> => {
        const listing: Listing = {
          runId: externalRunId(randomUUID()),
          createdAt: noon,
          workflowName: 'any name',
          version: null,
          status: 'running',
          deadlineAt: after(noon, minutes(60)),
          asOf: 2,
          ...facts,
        };
        await externalRuns.putListing(namespaceId, listing, after(noon, minutes(90)));
        return listing;
      };
      const includesExternal = true;

      test('of the namespace of the scope share its pages with the other runs, in the order of creation', async () => {
        const scope = freshScope();
        const all: { readonly id: string; readonly createdAt: Instant }[] = [];
        for (let count = 0; count < 12; count += 1) {
          const createdAt = after(noon, durationMs(count * 7));
          if (count % 3 === 0) all.push({ id: (await created(scope, createdAt)).runId, createdAt });
          else all.push({ id: (await listed(namespaceOf(scope), { createdAt })).runId, createdAt });
        }
        const pages = [];
        for (let after: ListPosition | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const page: RunPage = await index.list(scope, { limit: 5, includesExternal, ...(after && { after }) });
          pages.push([...idsOf(page), ...(page.externalRuns ?? []).map(({ runId }) => runId)]);
          after = page.next;
        }
        const expected = all.toReversed().map(({ id }) => id);
        expect(pages.map((page) => page.toSorted())).toEqual(
          [expected.slice(0, 5), expected.slice(5, 10), expected.slice(10)].map((page) => page.toSorted()),
        );
      });

      test('are in a page only if the request includes them', async () => {
        const scope = freshScope();
        const listing = await listed(namespaceOf(scope));
        expect(await index.list(scope, { limit: 5 })).toEqual({ heads: [] });
        expect(await index.list(scope, { limit: 5, includesExternal })).toEqual({ heads: [], externalRuns: [listing] });
      });

      test('are in the list of their state, and leave it', async () => {
        const scope = freshScope();
        const namespaceId = namespaceOf(scope);
        const error = { code: 'BadError', message: 'no' };
        const retrying = await listed(namespaceId, { status: 'pending', error, availableAt: after(noon, minutes(1)) });
        const failed = await listed(namespaceId, {
          status: 'failed',
          error,
          endedAt: noon,
          parent: 'a step attempt',
          version: '2',
        });
        const cancelled = await listed(namespaceId, { status: 'cancelled', endedAt: noon });
        await listed(namespaceId, { status: 'completed', endedAt: noon });
        const inState = async (state: 'retrying' | 'failed' | 'cancelled' | 'waiting') =>
          (await index.listByState(scope, state, { limit: 5, includesExternal })).externalRuns;
        expect(await inState('retrying')).toEqual([retrying]);
        expect(await inState('failed')).toEqual([failed]);
        expect(await inState('cancelled')).toEqual([cancelled]);
        expect(await inState('waiting')).toBeUndefined();
        await listed(namespaceId, { runId: retrying.runId, status: 'running', asOf: 9 });
        expect(await inState('retrying')).toBeUndefined();
      });

      test.each(['default', 'a/b/c', 'a//b', 'a/B', '/', 'a#b/c', `${'x'.repeat(65)}/prod`])(
        'of the namespace %s belong to no scope',
        async (namespaceId) => {
          const listing = await listed(namespaceId);
          for (const scope of [freshScope(), scopeOf('a', 'b'), scopeOf('default', 'production')])
            expect(JSON.stringify(await index.list(scope, { limit: 100, includesExternal }))).not.toContain(listing.runId);
        },
      );

      test('of another project or environment are not in the list', async () => {
        const scope = freshScope();
        await listed(namespaceOf({ ...scope, environment: environment('staging') }));
        await listed(namespaceOf(freshScope()));
        expect(await index.list(scope, { limit: 9, includesExternal })).toEqual({ heads: [] });
      });
    });

    describe('the list by state', () => {
      const project = (run: RunAddress, asOf: number, facts: Omit<HeadProjection, 'asOf'>) =>
        log.project(run, { asOf: commitNo(asOf), ...facts });

      test('has a run only while it waits or retries', async () => {
        const scope = freshScope();
        const run = await created(scope);
        const found = async () => ({
          waiting: idsOf(await index.listByState(scope, 'waiting', { limit: 9 })),
          retrying: idsOf(await index.listByState(scope, 'retrying', { limit: 9 })),
        });
        expect(await found()).toEqual({ waiting: [], retrying: [] });
        await project(run, 2, { status: 'running', attention: 'waiting' });
        expect(await found()).toEqual({ waiting: [run.runId], retrying: [] });
        await project(run, 3, { status: 'running', attention: 'retrying' });
        expect(await found()).toEqual({ waiting: [], retrying: [run.runId] });
        await project(run, 4, { status: 'running' });
        expect(await found()).toEqual({ waiting: [], retrying: [] });
      });

      test('has a run that was created with a failure, and none that was created with another end', async () => {
        const scope = freshScope();
        const [failed, completed] = [freshRun(scope), freshRun(scope)];
        await log.create(creation(failed), { status: 'failed', asOf: firstCommit, endedAt: noon });
        await log.create(creation(completed), { status: 'completed', asOf: firstCommit, endedAt: noon });
        expect(idsOf(await index.listByState(scope, 'failed', { limit: 9 }))).toEqual([failed.runId]);
        expect(idsOf(await index.list(scope, { limit: 9 })).toSorted()).toEqual([failed.runId, completed.runId].toSorted());
      });

      test('has failed and cancelled runs, and no completed ones', async () => {
        const scope = freshScope();
        const [failed, cancelled, completed] = [await created(scope), await created(scope), await created(scope)];
        await project(failed, 2, { status: 'running', attention: 'waiting' });
        await project(failed, 3, { status: 'failed', endedAt: noon });
        await project(cancelled, 2, { status: 'cancelled', endedAt: noon });
        await project(completed, 2, { status: 'running', attention: 'waiting' });
        await project(completed, 3, { status: 'completed', endedAt: noon });
        expect(idsOf(await index.listByState(scope, 'failed', { limit: 9 }))).toEqual([failed.runId]);
        expect(idsOf(await index.listByState(scope, 'cancelled', { limit: 9 }))).toEqual([cancelled.runId]);
        expect(idsOf(await index.listByState(scope, 'waiting', { limit: 9 }))).toEqual([]);
      });

      test('has each run once, in order, over the pages of all partitions', async () => {
        const scope = freshScope();
        const runs: string[] = [];
        for (let count = 0; count < 40; count += 1) {
          const run = await created(scope, after(noon, minutes(count)));
          await project(run, 2, { status: 'cancelled', endedAt: noon });
          runs.unshift(run.runId);
        }
        const pages = await walk((position) =>
          index.listByState(scope, 'cancelled', { limit: 9, ...(position && { after: position }) }),
        );
        expect(pages.map((page) => page.length)).toEqual([9, 9, 9, 9, 4]);
        expect(pages.flat()).toEqual(runs);
      });

      test('is newest first, page by page, with runs of its scope only', async () => {
        const scope = freshScope();
        const other = freshScope();
        const runs: string[] = [];
        for (let count = 0; count < 7; count += 1) {
          const run = await created(scope, after(noon, minutes(count)));
          await project(run, 2, { status: 'failed' });
          runs.unshift(run.runId);
        }
        await project(await created(other), 2, { status: 'failed' });
        const pages = await walk((position) =>
          index.listByState(scope, 'failed', { limit: 3, ...(position && { after: position }) }),
        );
        expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
        expect(pages.flat()).toEqual(runs);
      });
    });

    describe('due entries', () => {
      test('a run has one entry in a minute, also after repeated writes', async () => {
        const run = freshRun();
        for (let count = 0; count < 3; count += 1) await index.markDue({ run, minute: 29_000_001 });
        expect(await index.dueIn(29_000_001)).toEqual([run]);
      });

      test('an entry of a second check is marked and does not replace another entry', async () => {
        const [run, both, after] = [freshRun(), freshRun(), freshRun()];
        const [minute, isSecondCheck] = [29_000_040, true] as const;
        await index.markDue({ run, minute, isSecondCheck });
        for (const given of [
          { run: both, minute },
          { run: both, minute, isSecondCheck },
        ])
          await index.markDue(given);
        for (const given of [
          { run: after, minute, isSecondCheck },
          { run: after, minute },
        ])
          await index.markDue(given);
        const found = await index.dueIn(minute);
        expect(found).toHaveLength(3);
        expect(found).toEqual(expect.arrayContaining([{ ...run, isSecondCheck }, both, after]));
      });

      test('entries that are recorded on a run are deleted with it, and others are not', async () => {
        const [run, other] = [freshRun(), freshRun()];
        for (const minute of [29_000_030, 29_000_031]) await index.markDue({ run, minute, isRecordedOnRun: true });
        await index.markDue({ run: other, minute: 29_000_030, isRecordedOnRun: true });
        for (let count = 0; count < 2; count += 1) await index.deleteDueEntries(run);
        expect(await index.dueIn(29_000_030)).toEqual([other]);
        expect(await index.dueIn(29_000_031)).toEqual([]);
      });

      test('entries belong to their minute', async () => {
        const run = freshRun();
        await index.markDue({ run, minute: 29_000_010 });
        await index.markDue({ run, minute: 29_000_012 });
        expect(await index.dueIn(29_000_010)).toEqual([run]);
        expect(await index.dueIn(29_000_011)).toEqual([]);
        expect(await index.dueIn(29_000_012)).toEqual([run]);
      });

      test('the first minute with an entry is found, within an hour and across hours', async () => {
        const first = 29_000_100;
        const [run, later] = [freshRun(), freshRun()];
        await index.markDue({ run, minute: first + 7 });
        await index.markDue({ run: later, minute: first + 300 });
        expect(await index.firstDueMinute(first, first + 6)).toBeUndefined();
        expect(await index.firstDueMinute(first, first + 7)).toBe(first + 7);
        expect(await index.firstDueMinute(first + 7, first + 7)).toBe(first + 7);
        expect(await index.firstDueMinute(first + 8, first + 299)).toBeUndefined();
        expect(await index.firstDueMinute(first + 8, first + 2_000)).toBe(first + 300);
        expect(await index.firstDueMinute(first + 2, first + 1)).toBeUndefined();
      });

      test('a shared entry makes each of its runs due, until as many as it can have', async () => {
        const minute = 29_000_050;
        const scope = freshScope();
        const runs = Array.from({ length: maxSharedDueRuns }, () => freshRun(scope));
        const runIds = runs.map(({ runId }) => runId);
        for (const given of [runIds, runIds.toReversed()]) await index.markDueTogether({ scope, runIds: given, minute });
        const found = await index.dueIn(minute);
        expect(found).toHaveLength(runs.length);
        expect(found).toEqual(expect.arrayContaining(runs));
        expect(await index.dueIn(minute - 1)).toEqual([]);
        expect(await index.firstDueMinute(minute - 3, minute + 3)).toBe(minute);
      });

      test('a shared entry replaces no entry of other runs, of the same scope or of another', async () => {
        const minute = 29_000_051;
        const scope = freshScope();
        const other = { ...scope, environment: environment('staging') };
        const [alone, one, two, three] = [freshRun(scope), freshRun(scope), freshRun(scope), freshRun(other)];
        await index.markDue({ run: alone, minute });
        await index.markDueTogether({ scope, runIds: [one.runId], minute });
        await index.markDueTogether({ scope, runIds: [one.runId, two.runId], minute });
        await index.markDueTogether({ scope: other, runIds: [one.runId, three.runId], minute });
        const found = await index.dueIn(minute);
        expect(found).toHaveLength(5);
        expect(found).toEqual(expect.arrayContaining([alone, one, two, three, { ...other, runId: one.runId }]));
      });

      test('a run with several entries in a minute is due once, for its first check', async () => {
        const minute = 29_000_052;
        const scope = freshScope();
        const [one, two, three] = [freshRun(scope), freshRun(scope), freshRun(scope)];
        await index.markDue({ run: one, minute, isSecondCheck: true });
        await index.markDue({ run: two, minute });
        await index.markDueTogether({ scope, runIds: [one.runId, two.runId, three.runId], minute });
        await index.markDue({ run: three, minute, isSecondCheck: true });
        const found = await index.dueIn(minute);
        expect(found).toHaveLength(3);
        expect(found).toEqual(expect.arrayContaining([one, two, three]));
      });

      test('a deletion of a run with recorded entries leaves a shared entry', async () => {
        const minute = 29_000_053;
        const run = freshRun();
        await index.markDueTogether({ scope: run, runIds: [run.runId], minute });
        await index.deleteDueEntries(run);
        expect(await index.dueIn(minute)).toEqual([run]);
      });

      test('a minute has runs of many scopes, also two with the same id', async () => {
        const runs = Array.from({ length: 40 }, () => freshRun());
        const twin = { ...freshScope(), runId: freshRun().runId };
        const due = [...runs, twin, { ...twin, environment: environment('staging') }];
        await Promise.all(due.map((run) => index.markDue({ run, minute: 29_000_020 })));
        const found = await index.dueIn(29_000_020);
        expect(found).toHaveLength(due.length);
        expect(found).toEqual(expect.arrayContaining(due));
      });

      test('the swept minute never decreases', async () => {
        expect(await index.sweptMinute()).toBeUndefined();
        await index.recordSweptMinute(29_000_100);
        expect(await index.sweptMinute()).toBe(29_000_100);
        await index.recordSweptMinute(29_000_099);
        expect(await index.sweptMinute()).toBe(29_000_100);
        await index.recordSweptMinute(29_000_101);
        expect(await index.sweptMinute()).toBe(29_000_101);
      });
    });

    test('worker crashes are found by the time at which they were noticed, in runs of all projects', async () => {
      const [one, other] = [freshRun(freshScope()), freshRun(freshScope())];
      // A separate time, because the table has crashes of other tests.
      const start = instant(noon + Math.floor(Math.random() * 1e9) * 1_000);
      const death = (node: typeof bundleNode, at: Instant) => ({
        node: nodeKey(node),
        begunAt: instant(at - 60_000),
        lastHeartbeatAt: instant(at - 1),
        noticedAt: at,
      });
      const deaths = [
        { runId: one.runId, ...death(bundleNode, start) },
        { runId: one.runId, ...death(loopNode, start) },
        { runId: other.runId, ...death(bundleNode, after(start, minutes(35))) },
      ];
      const addressOf = (runId: string): RunAddress => (runId === one.runId ? one : other);
      for (const { runId, ...noted } of deaths) await index.recordCrash(addressOf(runId), noted);
      await index.recordCrash(one, death(bundleNode, after(start, minutes(36))));
      const found = await index.crashesBetween(start, after(start, minutes(35)));
      expect(found).toHaveLength(3);
      expect(found).toEqual(expect.arrayContaining(deaths));
      expect(await index.crashesBetween(after(start, durationMs(1)), after(start, minutes(34)))).toEqual([]);
    });
  });
