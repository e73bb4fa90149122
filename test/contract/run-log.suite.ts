/** Contract of `RunLog`: which concurrent write wins, and that no acknowledged write is lost. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defined } from '../../lib/base/defined.ts';
import { environment, firstAttempt, firstCommit, nodeKey, projectId, secondCommit } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import { tombstoneNonce, isTombstone } from '../../lib/engine/log/commit.ts';
import { firstProjection, terminalStatuses } from '../../lib/engine/log/head.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { deploymentId, commitNo } from '../../lib/engine/ids.ts';
import {
  allEvents,
  commit,
  codeCreation,
  creation,
  expiresAt,
  bundleNode,
  freshRun,
  freshScope,
  loopNode,
  noon,
  numbersOf,
} from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const runLogSuite = ({ name, open }: Subject<RunLog>) =>
  describe(`run log: ${name}`, () => {
    let opened: Opened<RunLog>;
    let log: RunLog;
    beforeAll(async () => {
      opened = await open();
      log = opened.port;
    });
    afterAll(() => opened.close());

    describe('commits', () => {
      test('one of fifty concurrent puts wins a commit number, and the others see its nonce', async () => {
        const run = freshRun();
        const rivals = Array.from({ length: 50 }, () => commit(2));
        const results = await Promise.all(rivals.map((rival) => log.put(run, rival, expiresAt)));
        const winners = rivals.filter((_, index) => results[index]?.kind === 'stored');
        expect(winners).toHaveLength(1);
        const seen = results.flatMap((result) => (result.kind === 'occupied' ? [result.nonce] : []));
        expect(seen).toHaveLength(49);
        expect(new Set(seen)).toEqual(new Set([winners[0]?.nonce]));
        expect(await log.commitsAfter(run, firstCommit)).toEqual(winners);
      });

      test('a repeated put finds its own nonce', async () => {
        const run = freshRun();
        const mine = commit(2);
        expect(await log.put(run, mine, expiresAt)).toEqual({ kind: 'stored' });
        expect(await log.put(run, mine, expiresAt)).toEqual({ kind: 'occupied', nonce: mine.nonce });
        expect(await log.commitsAfter(run, firstCommit)).toEqual([mine]);
      });

      test('a run that its writer has told about takes commits and projections as any other', async () => {
        const run = freshRun();
        const created = creation(run);
        await log.create(created);
        log.recognize(created);
        const next = commit(2);
        expect(await log.put(run, next, expiresAt)).toEqual({ kind: 'stored' });
        await log.project(run, { status: 'completed', asOf: commitNo(2), endedAt: noon });
        expect(await log.head(run)).toMatchObject({ ...created, projection: { status: 'completed' } });
        expect(await log.commitsAfter(run, firstCommit)).toEqual([next]);
      });

      test.for(['graph', 'code', 'devkit', 'bundle'] as const)(
        'a guess that a run is of kind %s changes nothing',
        async (kind) => {
          const created = [creation(freshRun()), codeCreation(freshRun())];
          for (const each of created) {
            await log.create(each);
            const next = commit(2);
            await log.put(each.address, next, expiresAt);
            await log.project(each.address, { status: 'running', asOf: commitNo(2), attention: 'waiting' });
            log.guess(each.address, kind);
            expect(await log.head(each.address)).toMatchObject({ ...each, projection: { asOf: 2, attention: 'waiting' } });
            expect(await log.commitsAfter(each.address, firstCommit)).toEqual([next]);
          }
          const unknown = freshRun();
          log.guess(unknown, kind);
          expect(await log.head(unknown)).toBeUndefined();
          expect(await log.commitsAfter(unknown, firstCommit)).toEqual([]);
        },
      );

      test('a losing put does not change the stored commit', async () => {
        const run = freshRun();
        const first = commit(2, { by: 'first' });
        await log.put(run, first, expiresAt);
        await log.put(run, commit(2, { by: 'second', events: [{ type: 'RUN_STARTED' }] }), expiresAt);
        expect(await log.commitsAfter(run, firstCommit)).toEqual([first]);
      });

      test('an acknowledged commit is readable at once', async () => {
        const run = freshRun();
        for (let number = 2; number <= 12; number += 1) {
          await log.put(run, commit(number), expiresAt);
          expect(numbersOf(await log.commitsAfter(run, commitNo(number - 1)))).toEqual([number]);
        }
      });

      test('commits are ordered by number, and a missing number is not filled', async () => {
        const run = freshRun();
        for (const number of [11, 2, 10, 100, 3]) await log.put(run, commit(number), expiresAt);
        expect(numbersOf(await log.commitsAfter(run, firstCommit))).toEqual([2, 3, 10, 11, 100]);
        expect(numbersOf(await log.commitsAfter(run, commitNo(3)))).toEqual([10, 11, 100]);
        expect(await log.commitsAfter(run, commitNo(100))).toEqual([]);
        expect(numbersOf(await log.commitsAfter(run, commitNo(2), commitNo(10)))).toEqual([3, 10]);
        expect(await log.commitsAfter(run, commitNo(11), commitNo(99))).toEqual([]);
      });

      test('a commit without events takes its number and is read', async () => {
        const run = freshRun();
        const [empty, next] = [commit(2, { events: [] }), commit(3)];
        for (const each of [empty, next]) expect(await log.put(run, each, expiresAt)).toEqual({ kind: 'stored' });
        expect(await log.commitsAfter(run, firstCommit)).toEqual([empty, next]);
      });

      test('every kind of event is read as it was written', async () => {
        const run = freshRun();
        const all = commit(2, { events: allEvents });
        await log.put(run, all, expiresAt);
        expect(await log.commitsAfter(run, firstCommit)).toEqual([all]);
      });

      test('a commit of 250 KB and a log of several pages are read completely', async () => {
        const run = freshRun();
        const large = (number: number) => {
          const value = randomBytes(187_500).toString('base64');
          return commit(number, { events: [{ type: 'SYSTEM_SET', key: 'bytes', value: inline(value) }] });
        };
        const commits = Array.from({ length: 8 }, (_, index) => large(index + 2));
        await Promise.all(commits.map((each) => log.put(run, each, expiresAt)));
        expect(await log.commitsAfter(run, firstCommit)).toEqual(commits);
      });

      test('text of every script, unusual keys and unpaired surrogates are preserved', async () => {
        const run = freshRun();
        const value = JSON.parse(
          String.raw`{"__proto__":"kept","":"\u0000","naïve":"東京 🚄 \ud83d","שלום":["\u202e","\u2028",-0.1,1e300]}`,
        );
        const odd = commit(2, { by: 'wörker', events: [{ type: 'INPUT_SET', input: inline(value) }] });
        await log.put(run, odd, expiresAt);
        const [read] = await log.commitsAfter(run, firstCommit);
        expect(JSON.stringify(read)).toBe(JSON.stringify(odd));
      });
    });

    describe('the head', () => {
      test('a run is created once, and a later creation sees the nonce of the first', async () => {
        const address = freshRun();
        const rivals = Array.from({ length: 20 }, () => creation(address));
        const results = await Promise.all(rivals.map((rival) => log.create(rival)));
        const winners = rivals.filter((_, index) => results[index]?.kind === 'stored');
        expect(winners).toHaveLength(1);
        const nonce = winners[0]?.commit.nonce;
        expect(results.filter(({ kind }) => kind === 'occupied')).toEqual(
          Array.from({ length: 19 }, () => ({ kind: 'occupied', nonce })),
        );
        expect((await log.head(address))?.commit.nonce).toBe(nonce);
      });

      test('the head of an acknowledged run is readable at once, complete and pending as of commit 1', async () => {
        const plain = creation(freshRun());
        const full = creation(freshRun(), {
          availableAt: after(noon, minutes(5)),
          commit: commit(1, { events: allEvents }),
        });
        const { trace: _trace, ...untraced } = creation(freshRun());
        const { workflow, deploymentId: _none, ...terms } = creation(freshRun());
        const code = {
          ...terms,
          kind: 'bundle' as const,
          workflow: { name: workflow.name },
          deploymentId: deploymentId('dep_1'),
        };
        const replayed = { ...code, address: freshRun(), kind: 'code' as const };
        const named = { ...replayed, address: freshRun(), workflow: { name: workflow.name, version: '2026-05' } };
        const test = creation(freshRun(), { workflow: { name: 'unsaved', version: 0 }, isTest: true });
        for (const run of [plain, full, untraced, code, replayed, named, test]) {
          await log.create(run);
          expect(await log.head(run.address)).toEqual({ ...run, projection: { status: 'pending', asOf: 1 } });
        }
      });

      test('commit 1 is part of the head and not among the later commits', async () => {
        const run = creation(freshRun());
        await log.create(run);
        await log.put(run.address, commit(2), expiresAt);
        expect(numbersOf(await log.commitsAfter(run.address, firstCommit))).toEqual([2]);
      });

      test('many heads are read in the order of their runs, and a missing one is undefined', async () => {
        const runs = Array.from({ length: 120 }, () => creation(freshRun()));
        for (const run of runs) await log.create(run);
        await log.deleteRun(runs[7]?.address ?? freshRun(), expiresAt);
        const addresses = [...runs.map(({ address }) => address), freshRun()].toReversed();
        expect(await log.heads(addresses)).toEqual(await Promise.all(addresses.map((address) => log.head(address))));
        expect((await log.heads(addresses)).filter((head) => head === undefined)).toHaveLength(2);
        expect(await log.heads([])).toEqual([]);
      });

      test('commits of many runs are read in the order of their keys, and a free number is undefined', async () => {
        const [long, short, none] = [creation(freshRun()), creation(freshRun()), creation(freshRun())];
        for (const run of [long, short, none]) await log.create(run);
        for (const number of [2, 3, 4]) await log.put(long.address, commit(number), expiresAt);
        await log.put(short.address, commit(2), expiresAt);
        const keys = [long, none, short].flatMap(({ address }) =>
          [4, 2, 7].map((number) => ({ run: address, number: commitNo(number) })),
        );
        const found = await log.commits(keys);
        expect(found.map((one) => one?.number)).toEqual([
          4,
          2,
          undefined,
          undefined,
          undefined,
          undefined,
          undefined,
          2,
          undefined,
        ]);
        expect([found[1], found[0]]).toEqual(
          (await log.commitsAfter(long.address, firstCommit)).filter(({ number }) => number !== 3),
        );
        expect(await log.commits([])).toEqual([]);
      });

      test('a missing run has no head, and a projection does not create one', async () => {
        const run = freshRun();
        await log.project(run, { status: 'running', asOf: commitNo(2) });
        expect(await log.head(run)).toBeUndefined();
        expect(await log.create(creation(run))).toEqual({ kind: 'stored' });
      });
    });

    describe('the projection', () => {
      const projected = async () => {
        const run = creation(freshRun());
        await log.create(run);
        return { run, address: run.address, now: async () => (await log.head(run.address))?.projection };
      };

      test('accepts newer commits and its own commit', async () => {
        const { address, now } = await projected();
        const waiting = { status: 'running', asOf: commitNo(4), attention: 'waiting' } as const;
        await log.project(address, waiting);
        expect(await now()).toEqual(waiting);
        const retrying = { status: 'running', asOf: commitNo(4), attention: 'retrying' } as const;
        await log.project(address, retrying);
        expect(await now()).toEqual(retrying);
      });

      test('refuses older commits', async () => {
        const { address, now } = await projected();
        const newer = { status: 'running', asOf: commitNo(9) } as const;
        await log.project(address, newer);
        await log.project(address, { status: 'pending', asOf: commitNo(8), attention: 'waiting' });
        await log.project(address, { status: 'completed', asOf: commitNo(8), endedAt: noon });
        expect(await now()).toEqual(newer);
      });

      test.for(terminalStatuses)('does not change after %s', async (status) => {
        const { address, now } = await projected();
        const ended = { status, asOf: commitNo(5), endedAt: noon, hasExtendedDeadline: true } as const;
        await log.project(address, ended);
        for (const other of ['pending', 'running', ...terminalStatuses] as const) {
          await log.project(address, { status: other, asOf: commitNo(6), attention: 'waiting' });
        }
        expect(await now()).toEqual(ended);
      });

      test.for(terminalStatuses)(
        'is that of the creation if its commit ends the run as %s, and does not change after that',
        async (status) => {
          const run = creation(freshRun());
          const error = { cause: 'invalid', code: 'node.failed', message: 'no' } as const;
          const ended = defined({ status, asOf: firstCommit, endedAt: noon, error: status === 'failed' ? error : undefined });
          expect(await log.create(run, ended)).toEqual({ kind: 'stored' });
          await log.project(run.address, { status: 'running', asOf: commitNo(6), attention: 'waiting' });
          expect((await log.head(run.address))?.projection).toEqual(ended);
          expect(await log.isFinalized(run.address)).toBe(true);
          expect(await log.create(run)).toEqual({ kind: 'occupied', nonce: run.commit.nonce });
        },
      );

      test('shows whether the run is finalized', async () => {
        const { address } = await projected();
        const code = codeCreation(freshRun());
        await log.create(code);
        for (const run of [address, code.address]) {
          expect(await log.isFinalized(run)).toBe(false);
          await log.project(run, { status: 'running', asOf: commitNo(2) });
          expect(await log.isFinalized(run)).toBe(false);
          await log.project(run, { status: 'failed', asOf: commitNo(3), endedAt: noon });
          expect(await log.isFinalized(run)).toBe(true);
        }
        expect(await log.isFinalized(freshRun())).toBe(false);
      });

      test('loses the fields that a newer one omits', async () => {
        const { address, now } = await projected();
        const error = { cause: 'error', message: 'no', details: { of: ['many', 'things'] } } as const;
        await log.project(address, { status: 'running', asOf: commitNo(2), attention: 'retrying', error });
        expect(await now()).toEqual({ status: 'running', asOf: 2, attention: 'retrying', error });
        await log.project(address, { status: 'running', asOf: commitNo(3) });
        expect(await now()).toEqual({ status: 'running', asOf: 3 });
      });

      test('has the newest of many concurrent updates, and the rest of the head does not change', async () => {
        const { run, address, now } = await projected();
        const numbers = [7, 3, 15, 2, 9, 11, 4, 13];
        await Promise.all(numbers.map((asOf) => log.project(address, { status: 'running', asOf: commitNo(asOf) })));
        expect(await now()).toEqual({ status: 'running', asOf: 15 });
        expect(await log.head(address)).toEqual({ ...run, projection: { status: 'running', asOf: 15 } });
      });
    });

    describe('before the run exists', () => {
      test('a prepared commit is there once the run exists, and is prepared once', async () => {
        const run = creation(freshRun());
        const [second, third] = [commit(2), commit(3)];
        expect(await log.prepare(run.address, second, run)).toEqual({ kind: 'stored' });
        expect(await log.prepare(run.address, commit(2), run)).toEqual({ kind: 'occupied', nonce: second.nonce });
        expect(await log.prepare(run.address, third, run)).toEqual({ kind: 'stored' });
        expect(await log.head(run.address)).toBeUndefined();
        await log.create(run);
        expect(await log.commitsAfter(run.address, firstCommit)).toEqual([second, third]);
      });
    });

    describe('the expiry', () => {
      const later = { deadlineAt: after(noon, days(14)), expiresAt: after(noon, days(44)) };

      test('of the head moves with its deadline, never back, and a missing run is not created', async () => {
        const run = creation(freshRun());
        await log.create(run);
        await log.extendHead(run.address, later);
        await log.extendHead(run.address, run);
        expect(await log.head(run.address)).toMatchObject({ ...later, createdAt: run.createdAt, commit: run.commit });
        const missing = freshRun();
        await log.extendHead(missing, later);
        await log.extendItems(missing, later.expiresAt, { limit: 10 });
        expect(await log.head(missing)).toBeUndefined();
      });

      test('of the other items moves in several calls: the head has the position until it is extended itself', async () => {
        const run = creation(freshRun());
        await log.create(run);
        const progress = { expiresAt: later.expiresAt, part: 'items', after: 'platform log#00000002' } as const;
        await log.saveRetentionProgress(run.address, progress);
        expect(await log.head(run.address)).toEqual({ ...run, projection: firstProjection, retention: progress });
        await log.project(run.address, { status: 'running', asOf: commitNo(2) });
        const further = { ...progress, part: 'payloads', after: 'a/b' } as const;
        await log.saveRetentionProgress(run.address, further);
        expect(await log.head(run.address)).toMatchObject({ expiresAt: run.expiresAt, retention: further });
        await log.extendHead(run.address, later);
        await log.saveRetentionProgress(run.address, progress);
        expect(await log.head(run.address)).toEqual({ ...run, ...later, projection: { status: 'running', asOf: 2 } });
        const missing = freshRun();
        await log.saveRetentionProgress(missing, progress);
        expect(await log.head(missing)).toBeUndefined();
      });

      test.each([
        ['graph', creation],
        ['code', codeCreation],
      ] as const)('of all items of a %s run moves page by page, and the items stay as they are', async (_kind, created) => {
        const run = created(freshRun());
        const { address } = run;
        await log.create(run);
        const commits = [2, 3, 4, 5].map((number) => commit(number));
        for (const each of commits) await log.put(address, each, expiresAt);
        await log.attach(address, 'input', 'large', run);
        await log.saveSnapshot(address, { asOf: commitNo(3), schema: 1, state: 'x' }, expiresAt);
        const pages: string[] = [];
        for (let position: string | undefined, isFirst = true; isFirst || position !== undefined; isFirst = false) {
          position = await log.extendItems(address, later.expiresAt, {
            limit: 2,
            ...(position === undefined ? {} : { after: position }),
          });
          if (position !== undefined) pages.push(position);
        }
        expect(pages.length).toBeGreaterThan(1);
        expect(new Set(pages).size).toBe(pages.length);
        expect(await log.commitsAfter(address, firstCommit)).toEqual(commits);
        expect(await log.attached(address, 'input')).toBe('large');
        expect(await log.snapshot(address)).toMatchObject({ asOf: 3 });
      });
    });

    describe('commit 2 of a run whose head holds it', () => {
      const end = { status: 'completed', asOf: secondCommit, endedAt: noon } as const;
      const held = async () => {
        const run = creation(freshRun(), { holdsSecondCommit: true });
        await log.create(run);
        return run;
      };

      test('one of fifty concurrent puts wins it, and the others see its nonce', async () => {
        const { address } = await held();
        const rivals = Array.from({ length: 50 }, () => commit(2));
        const results = await Promise.all(rivals.map((rival) => log.put(address, rival, expiresAt, end)));
        const winners = rivals.filter((_, index) => results[index]?.kind === 'stored');
        expect(winners).toHaveLength(1);
        const seen = results.flatMap((result) => (result.kind === 'occupied' ? [result.nonce] : []));
        expect(new Set(seen)).toEqual(new Set([winners[0]?.nonce]));
        expect(await log.commitsAfter(address, firstCommit)).toEqual(winners);
      });

      test('is written together with the end of the run', async () => {
        const run = await held();
        const mine = commit(2, { events: allEvents });
        expect(await log.put(run.address, mine, expiresAt, end)).toEqual({ kind: 'stored' });
        expect(await log.put(run.address, mine, expiresAt, end)).toEqual({ kind: 'occupied', nonce: mine.nonce });
        expect(await log.head(run.address)).toEqual({ ...run, projection: end });
        expect(await log.isFinalized(run.address)).toBe(true);
        expect(await log.commitsAfter(run.address, firstCommit)).toEqual([mine]);
      });

      test('of a failed run is written with its error', async () => {
        const run = await held();
        const failed = { ...end, status: 'failed', error: { cause: 'error', message: 'no stock' } } as const;
        await log.put(run.address, commit(2), expiresAt, failed);
        expect((await log.head(run.address))?.projection).toEqual(failed);
      });

      test('that loses changes neither the commit nor the projection', async () => {
        const run = await held();
        const first = commit(2, { by: 'first' });
        await log.put(run.address, first, expiresAt);
        expect(await log.put(run.address, commit(2), expiresAt, end)).toEqual({ kind: 'occupied', nonce: first.nonce });
        expect(await log.head(run.address)).toEqual({ ...run, projection: firstProjection });
        expect(await log.commitsAfter(run.address, firstCommit)).toEqual([first]);
      });

      test('is followed by commits and projections as any other', async () => {
        const { address } = await held();
        const commits = [commit(2), commit(3), commit(4)];
        for (const each of commits) expect(await log.put(address, each, expiresAt)).toEqual({ kind: 'stored' });
        expect(await log.commitsAfter(address, firstCommit)).toEqual(commits);
        expect(numbersOf(await log.commitsAfter(address, secondCommit))).toEqual([3, 4]);
        expect(numbersOf(await log.commitsAfter(address, firstCommit, secondCommit))).toEqual([2]);
        expect(numbersOf(await log.commitsAfter(address, firstCommit, commitNo(3)))).toEqual([2, 3]);
        await log.project(address, { status: 'completed', asOf: commitNo(4), endedAt: noon });
        expect((await log.head(address))?.projection).toMatchObject({ status: 'completed', asOf: 4 });
        expect(await log.commitsAfter(address, firstCommit)).toEqual(commits);
      });

      test('is one of many commits of many runs', async () => {
        const [{ address: one }, { address: free }] = [await held(), await held()];
        const other = freshRun();
        await log.create(creation(other));
        const commits = [commit(2), commit(3), commit(2)];
        for (const [index, run] of [one, one, other].entries()) await log.put(run, commits[index] ?? commit(9), expiresAt);
        const keys = [
          { run: one, number: secondCommit },
          { run: one, number: commitNo(3) },
          { run: other, number: secondCommit },
          { run: free, number: secondCommit },
        ];
        expect(await log.commits(keys)).toEqual([...commits, undefined]);
      });

      test('keeps its place when the run is extended', async () => {
        const { address, deadlineAt } = await held();
        const mine = commit(2);
        await log.put(address, mine, expiresAt);
        const later = { deadlineAt: after(deadlineAt, days(3)), expiresAt: after(expiresAt, days(3)) };
        await log.extendItems(address, later.expiresAt, { limit: 10 });
        await log.extendHead(address, later);
        expect(await log.head(address)).toMatchObject(later);
        expect(await log.commitsAfter(address, firstCommit)).toEqual([mine]);
      });

      test('is a tombstone after the deletion of the run', async () => {
        const { address } = await held();
        for (const number of [2, 3]) await log.put(address, commit(number), expiresAt);
        for (const _time of ['once', 'again']) {
          await log.deleteRun(address, expiresAt);
          expect(await log.head(address)).toBeUndefined();
          const left = await log.commitsAfter(address, firstCommit);
          expect(left.map(({ number, firstEventId }) => [number, firstEventId])).toEqual([
            [2, 20],
            [3, 30],
          ]);
          expect(left.every(isTombstone)).toBe(true);
          expect(await log.put(address, commit(2), expiresAt, end)).toEqual({ kind: 'occupied', nonce: tombstoneNonce });
          expect(await log.head(address)).toBeUndefined();
        }
      });
    });

    describe('beside the log', () => {
      test('a value is attached once, also before the run exists, and has a reference', async () => {
        const run = freshRun();
        const value = { text: 'x'.repeat(20_000), list: [1, null, 'three'] };
        expect(await log.attach(run, 'input', value, { expiresAt, kind: 'graph' })).toBe('item:input');
        expect(await log.attach(run, 'input', 'another', { expiresAt, kind: 'graph' })).toBe('item:input');
        expect(await log.attach(run, 'nothing', null, { expiresAt, kind: 'graph' })).toBe('item:nothing');
        expect(await log.attached(run, 'input')).toEqual(value);
        expect(await log.attached(run, 'nothing')).toBeNull();
        expect(await log.attached(run, 'other')).toBeUndefined();
        expect(await log.head(run)).toBeUndefined();
      });

      test('each node has its last heartbeat', async () => {
        const run = freshRun();
        const one = { node: nodeKey(bundleNode), at: noon, resends: 0 };
        const other = { node: nodeKey(loopNode), at: noon, resends: 2 };
        const later = { ...one, at: after(noon, minutes(1)), resends: 1 };
        expect(await log.heartbeats(run)).toEqual([]);
        for (const heartbeat of [one, other, later]) await log.heartbeat(run, heartbeat, expiresAt);
        const heartbeats = await log.heartbeats(run);
        expect(heartbeats).toHaveLength(2);
        expect(heartbeats).toEqual(expect.arrayContaining([other, later]));
      });

      test('a heartbeat replaces only the one that was read', async () => {
        const run = freshRun();
        const one = { node: nodeKey(bundleNode), at: noon, resends: 0 };
        const later = { ...one, at: after(noon, minutes(1)) };
        const resent = { ...later, resends: 1 };
        expect(await log.replaceHeartbeat(run, one, later, expiresAt)).toBe(false);
        expect(await log.heartbeats(run)).toEqual([]);
        expect(await log.replaceHeartbeat(run, undefined, one, expiresAt)).toBe(true);
        expect(await log.replaceHeartbeat(run, undefined, later, expiresAt)).toBe(false);
        expect(await log.heartbeats(run)).toEqual([one]);
        expect(await log.replaceHeartbeat(run, one, later, expiresAt)).toBe(true);
        expect(await log.replaceHeartbeat(run, later, resent, expiresAt)).toBe(true);
        expect(await log.replaceHeartbeat(run, later, one, expiresAt)).toBe(false);
        expect(await log.heartbeats(run)).toEqual([resent]);
      });

      test('a heartbeat has the deliveries of its attempt', async () => {
        const run = freshRun();
        const later = after(noon, minutes(2));
        const deliveries = {
          begun: { at: later, lastHeartbeatAt: later, endedSteps: 2, resends: 3 },
          lost: [
            { lastHeartbeatAt: noon, noticedAt: noon },
            {
              begunAt: noon,
              lastHeartbeatAt: noon,
              noticedAt: later,
              hasProgressed: true as const,
              reason: 'Error: ä'.repeat(60),
            },
          ],
        };
        const heartbeat = { node: nodeKey(bundleNode), at: later, resends: 3, deliveries, attempt: firstAttempt };
        await log.heartbeat(run, heartbeat, expiresAt);
        expect(await log.heartbeats(run)).toEqual([heartbeat]);
        const { begun: _begun, ...others } = deliveries;
        const released = { ...heartbeat, deliveries: { ...others, isReleased: true as const } };
        await log.heartbeat(run, released, expiresAt);
        expect(await log.heartbeats(run)).toEqual([released]);
      });

      test('only a newer snapshot replaces a snapshot', async () => {
        const run = freshRun();
        expect(await log.snapshot(run)).toBeUndefined();
        const snapshot = (asOf: number, state: string) => ({
          asOf: commitNo(asOf),
          schema: 2,
          state: { state, attempt: firstAttempt },
        });
        await log.saveSnapshot(run, snapshot(20, 'first'), expiresAt);
        await log.saveSnapshot(run, snapshot(10, 'older'), expiresAt);
        await log.saveSnapshot(run, snapshot(20, 'as old'), expiresAt);
        expect(await log.snapshot(run)).toEqual(snapshot(20, 'first'));
        await log.saveSnapshot(run, snapshot(21, 'newer'), expiresAt);
        expect(await log.snapshot(run)).toEqual(snapshot(21, 'newer'));
        // The schema of an offloaded fold is negative.
        const offloaded = { ...snapshot(22, 'its name'), schema: -6 };
        await log.saveSnapshot(run, offloaded, expiresAt);
        expect(await log.snapshot(run)).toEqual(offloaded);
      });

      test('items beside the log are not read as commits', async () => {
        const run = creation(freshRun());
        await log.create(run);
        await log.attach(run.address, 'input', 1, { expiresAt, kind: 'graph' });
        await log.heartbeat(run.address, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);
        await log.saveSnapshot(run.address, { asOf: commitNo(1), schema: 1, state: null }, expiresAt);
        expect(await log.commitsAfter(run.address, firstCommit)).toEqual([]);
      });
    });

    describe('a deleted run', () => {
      const forgotten = async () => {
        const run = creation(freshRun(), { isTest: true });
        const { address } = run;
        await log.create(run);
        for (const number of [2, 3, 10, 11]) await log.put(address, commit(number), expiresAt);
        await log.attach(address, 'graph', { nodes: [] }, { expiresAt, kind: 'graph' });
        await log.heartbeat(address, { node: nodeKey(loopNode), at: noon, resends: 0 }, expiresAt);
        await log.saveSnapshot(address, { asOf: commitNo(3), schema: 1, state: null }, expiresAt);
        await log.deleteRun(address, expiresAt);
        return run;
      };

      test('has no head and no items beside its log', async () => {
        const { address } = await forgotten();
        expect(await log.head(address)).toBeUndefined();
        expect(await log.attached(address, 'graph')).toBeUndefined();
        expect(await log.heartbeats(address)).toEqual([]);
        expect(await log.snapshot(address)).toBeUndefined();
      });

      test('keeps its commit numbers occupied by tombstones', async () => {
        const { address } = await forgotten();
        const left = await log.commitsAfter(address, firstCommit);
        expect(left.map(({ number, firstEventId, events }) => [number, firstEventId, events])).toEqual(
          [2, 3, 10, 11].map((number) => [number, number * 10, [{ type: 'RUN_CANCELLED' }]]),
        );
        expect(left.every(isTombstone)).toBe(true);
        const late = commit(3);
        expect(await log.put(address, late, expiresAt)).toEqual({ kind: 'occupied', nonce: tombstoneNonce });
      });

      test('cannot be created again, also not by its creator, and has no projection', async () => {
        const run = await forgotten();
        expect(await log.create(run)).toEqual({ kind: 'occupied', nonce: tombstoneNonce });
        await log.project(run.address, { status: 'failed', asOf: commitNo(12) });
        expect(await log.head(run.address)).toBeUndefined();
      });

      test('can be deleted again, with late writes', async () => {
        const { address } = await forgotten();
        await log.heartbeat(address, { node: nodeKey(loopNode), at: noon, resends: 0 }, expiresAt);
        await log.deleteRun(address, expiresAt);
        expect(await log.heartbeats(address)).toEqual([]);
        expect(await log.commitsAfter(address, firstCommit)).toHaveLength(4);
      });

      test('does not affect other runs', async () => {
        const other = creation(freshRun());
        await log.create(other);
        await log.put(other.address, commit(2), expiresAt);
        await forgotten();
        expect((await log.head(other.address))?.commit).toEqual(other.commit);
        expect((await log.commitsAfter(other.address, firstCommit)).some(isTombstone)).toBe(false);
      });
    });

    test('another project or environment cannot read or change a run, also with the same run id', async () => {
      const mine = freshRun();
      await log.create(creation(mine));
      const theirs = commit(2);
      await log.put(mine, theirs, expiresAt);
      await log.attach(mine, 'input', 'mine', { expiresAt, kind: 'graph' });
      await log.heartbeat(mine, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);
      await log.saveSnapshot(mine, { asOf: commitNo(2), schema: 1, state: 'mine' }, expiresAt);

      const elsewhere = [
        { ...mine, projectId: freshScope().projectId },
        { ...mine, environment: environment('staging') },
        { ...mine, projectId: projectId(`${mine.projectId}_`) },
      ];
      for (const run of elsewhere) {
        expect(await log.head(run)).toBeUndefined();
        expect(await log.commitsAfter(run, firstCommit)).toEqual([]);
        expect(await log.attached(run, 'input')).toBeUndefined();
        expect(await log.heartbeats(run)).toEqual([]);
        expect(await log.snapshot(run)).toBeUndefined();
        expect(await log.create(creation(run))).toEqual({ kind: 'stored' });
        expect(await log.put(run, commit(2), expiresAt)).toEqual({ kind: 'stored' });
        await log.project(run, { status: 'failed', asOf: commitNo(2) });
      }
      expect(await log.commitsAfter(mine, firstCommit)).toEqual([theirs]);
      expect((await log.head(mine))?.projection).toEqual({ status: 'pending', asOf: 1 });
    });

    test('changes of an argument or a result do not change the stored data', async () => {
      const run = freshRun();
      const value = { list: [1] };
      const mutable = commit(2, { events: [{ type: 'INPUT_SET', input: { value } }] });
      const before = JSON.stringify(mutable);
      await log.put(run, mutable, expiresAt);
      value.list.push(2);
      const [read] = await log.commitsAfter(run, firstCommit);
      expect(JSON.stringify(read)).toBe(before);
      const given = read?.events[0];
      if (given?.type !== 'INPUT_SET' || !('value' in given.input)) throw new Error('another event was read');
      const inside = given.input.value;
      try {
        Object.assign(inside ?? {}, { list: 'changed' });
      } catch {
        // A frozen object is as safe as a copy.
      }
      expect(JSON.stringify((await log.commitsAfter(run, firstCommit))[0])).toBe(before);
    });
  });
