/** Contract of `ExternalRuns`. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nonce } from '../../lib/engine/ids.ts';
import type { ExternalEntry, ExternalFact } from '../../lib/engine/external/entry.ts';
import { externalRunId, stepAttemptId } from '../../lib/engine/external/run.ts';
import { type Instant, after, days, minutes, seconds } from '../../lib/engine/time.ts';
import type { Listing, ExternalRuns, Reminder } from '../../lib/ports/external-runs.ts';
import { noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const forget = after(noon, days(400));
const freshId = () => externalRunId(randomUUID());
const freshNonce = () => nonce(randomUUID());
const namespace = (): string => `team #1/${randomUUID()}`;
const entry = (number: number, fact: ExternalFact = { type: 'completed', output: { number } }): ExternalEntry => ({
  number,
  nonce: freshNonce(),
  at: noon,
  facts: [fact],
});
const reminderAt = (at: Instant, facts: Partial<Reminder> = {}): Reminder => ({
  runId: freshId(),
  at,
  nonce: freshNonce(),
  number: 1,
  isPending: true,
  availableAt: at,
  endOfLife: forget,
  createdAt: noon,
  deferrals: 0,
  ...facts,
});
const listing = (createdAt: Instant, facts: Partial<Listing> = {}): Listing => ({
  runId: freshId(),
  createdAt,
  workflowName: 'orders',
  version: null,
  status: 'pending',
  deadlineAt: forget,
  asOf: 1,
  ...facts,
});

export const externalRunsSuite = ({ name, open }: Subject<ExternalRuns>) =>
  describe(`external-worker runs: ${name}`, () => {
    let opened: Opened<ExternalRuns>;
    let store: ExternalRuns;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
    });
    afterAll(() => opened.close());

    test('one of twenty concurrent entries wins a number, and a repeated append returns written', async () => {
      const run = { namespaceId: namespace(), runId: freshId() };
      const entries = Array.from({ length: 20 }, () => entry(1));
      const done = await Promise.all(entries.map((each) => store.append(run, each, forget)));
      expect(done.filter((each) => each === 'written')).toHaveLength(1);
      const winner = entries[done.indexOf('written')];
      expect(await store.entries(run, 0)).toEqual([winner]);
      if (winner !== undefined) expect(await store.append(run, winner, forget)).toBe('written');
    });

    test('entries are read as they were written, in order from a number on', async () => {
      const run = { namespaceId: namespace(), runId: freshId() };
      const step = stepAttemptId(run.runId, 2);
      const link = { namespaceId: 'other', runId: freshId() };
      const facts: readonly ExternalFact[] = [
        {
          type: 'created',
          workflowName: 'orders',
          version: null,
          idempotencyKey: 'k',
          config: {},
          context: null,
          input: { text: 'long '.repeat(500) },
          parent: { namespaceId: 'other', stepAttemptId: step },
          deadlineAt: forget,
          availableAt: noon,
        },
        { type: 'claimed', workerId: 'w', leaseUntil: noon },
        { type: 'lease-extended', leaseUntil: noon },
        { type: 'step-begun', stepName: 's', kind: 'sleep', config: {}, context: { kind: 'sleep', resumeAt: 'then' } },
        { type: 'step-begun', stepName: 's', kind: 'workflow', config: {}, context: { kind: 'workflow', timeoutAt: null } },
        {
          type: 'step-begun',
          stepName: 's',
          kind: 'signal-wait',
          config: {},
          context: { kind: 'signal-wait', signal: 'go', timeoutAt: 'then' },
        },
        { type: 'step-completed', stepAttemptId: step, output: [1, null] },
        { type: 'step-failed', stepAttemptId: step, error: { message: 'no', name: 'Bad', more: [true] } },
        { type: 'child-linked', stepAttemptId: step, child: link },
        { type: 'child-ended', stepAttemptId: step, child: link },
        { type: 'signal-delivered', waits: [step], data: null, sendId: 'x' },
        { type: 'suspended', availableAt: noon },
        { type: 'rescheduled', error: { message: 'again' }, availableAt: noon },
        { type: 'failed', error: { message: 'no' } },
        { type: 'expired' },
        { type: 'cancelled' },
        { type: 'completed', output: 'x' },
      ];
      const entries = facts.map((fact, index) => entry(index + 1, fact));
      for (const each of entries) await store.append(run, each, forget);
      expect(await store.entries(run, 0)).toEqual(entries);
      expect(await store.entries(run, 14)).toEqual(entries.slice(14));
      expect(await store.entries({ ...run, namespaceId: namespace() }, 0)).toEqual([]);
    });

    test('an entry of several facts is one put, and the next entry has the number after its last fact', async () => {
      const run = { namespaceId: namespace(), runId: freshId() };
      const facts: readonly ExternalFact[] = ['a', 'b', 'c'].map((stepName) => ({
        type: 'step-begun',
        stepName,
        kind: 'function',
        config: {},
        context: null,
      }));
      const [first, shared, last] = [entry(1), { ...entry(2), facts }, entry(5)];
      for (const each of [first, shared, last]) expect(await store.append(run, each, forget)).toBe('written');
      expect(await store.append(run, shared, forget)).toBe('written');
      expect(await store.append(run, { ...entry(2), facts: facts.slice(1) }, forget)).toBe('taken');
      expect(await store.entries(run, 0)).toEqual([first, shared, last]);
      expect(await store.entries(run, 1)).toEqual([shared, last]);
      expect(await store.entries(run, 4)).toEqual([last]);
      expect(await store.entries(run, 5)).toEqual([]);
    });

    test('only due reminders are read, and deleting one does not affect others', async () => {
      const own = namespace();
      const [early, due, late] = [reminderAt(noon), reminderAt(after(noon, seconds(1))), reminderAt(after(noon, minutes(1)))];
      const twin = { ...due, nonce: freshNonce(), deferrals: 3 };
      for (const each of [late, due, twin, early, early]) await store.addReminder(own, each, forget);
      const until = after(noon, seconds(1));
      const byNonce = (all: readonly Reminder[]) => all.toSorted((one, other) => (one.nonce < other.nonce ? -1 : 1));
      expect(byNonce(await store.reminders(own, until, 10))).toEqual(byNonce([early, due, twin]));
      await store.deleteReminder(own, due);
      await store.deleteReminder(own, due);
      expect(byNonce(await store.reminders(own, until, 10))).toEqual(byNonce([early, twin]));
      expect(await store.reminders(namespace(), until, 10)).toEqual([]);
    });

    test('a limited read has the earliest reminders', async () => {
      const own = namespace();
      const all = Array.from({ length: 40 }, (_, index) => reminderAt(after(noon, seconds(index))));
      await Promise.all(all.map((each) => store.addReminder(own, each, forget)));
      const read = await store.reminders(own, after(noon, minutes(5)), 3);
      expect(read.map(({ nonce: each }) => each)).toEqual(expect.arrayContaining(all.slice(0, 3).map(({ nonce: each }) => each)));
      expect(read.length).toBeLessThan(40);
    });

    test('an older state of a run does not change its listing', async () => {
      const own = namespace();
      const begun = listing(noon);
      await store.putListing(own, begun, forget);
      await store.putListing(own, { ...begun, status: 'completed', asOf: 7 }, forget);
      await store.putListing(own, { ...begun, status: 'running', asOf: 2 }, forget);
      expect(await store.listings(own, { order: 'newest first', limit: 5 })).toEqual([
        { ...begun, status: 'completed', asOf: 7 },
      ]);
    });

    test('the list is ordered by time and id, in both directions, from any position', async () => {
      const own = namespace();
      const all = Array.from({ length: 9 }, (_, index) => listing(after(noon, seconds(Math.floor(index / 2)))));
      await Promise.all(all.map((each) => store.putListing(own, each, forget)));
      const upwards = all.toSorted((one, other) => one.createdAt - other.createdAt || (one.runId < other.runId ? -1 : 1));
      expect(await store.listings(own, { order: 'oldest first', limit: 100 })).toEqual(upwards);
      const downwards = upwards.toReversed();
      const [, , third] = downwards;
      expect(await store.listings(own, { order: 'newest first', limit: 2, ...(third && { from: third }) })).toEqual(
        downwards.slice(3, 5),
      );
      const [, second] = upwards;
      expect(await store.listings(own, { order: 'oldest first', limit: 3, ...(second && { from: second }) })).toEqual(
        upwards.slice(2, 5),
      );
    });

    test('a run holds an idempotency key until its reservation expires', async () => {
      const own = namespace();
      const [first, other] = [
        { runId: freshId(), at: noon },
        { runId: freshId(), at: after(noon, days(1)) },
      ];
      const reservations = await Promise.all([first, first].map((each) => store.reserveKey(own, 'k', each, noon, forget)));
      expect(reservations.filter(({ kind }) => kind === 'reserved')).toHaveLength(1);
      expect(await store.reserveKey(own, 'k', other, noon, forget)).toEqual({ kind: 'taken', by: first });
      expect(await store.reserveKey(own, 'k', other, after(noon, seconds(1)), forget)).toEqual({ kind: 'reserved' });
      expect(await store.reserveKey(own, 'k', first, noon, forget)).toEqual({ kind: 'taken', by: other });
      expect(await store.reserveKey(namespace(), 'k', first, noon, forget)).toEqual({ kind: 'reserved' });
    });

    test('an older fact neither replaces nor deletes a waiter', async () => {
      const own = namespace();
      const runId = freshId();
      await store.addWaiter(own, 'go', { runId, since: 8 }, forget);
      await store.addWaiter(own, 'go', { runId, since: 5 }, forget);
      await store.deleteWaiter(own, 'go', { runId, since: 5 });
      expect(await store.waiters(own, 'go')).toEqual([{ runId, since: 8 }]);
      expect(await store.waiters(own, 'stop')).toEqual([]);
      await store.deleteWaiter(own, 'go', { runId, since: 8 });
      expect(await store.waiters(own, 'go')).toEqual([]);
    });

    test('the first sending under a key is kept until it ends or is deleted', async () => {
      const own = namespace();
      const runId = freshId();
      const first = { data: { a: 1 }, targets: [{ runId, waits: [stepAttemptId(runId, 3)] }] };
      expect(await store.sending(own, 'go', 'k')).toBeUndefined();
      expect(await store.beginSending(own, 'go', 'k', first, forget)).toEqual(first);
      expect(await store.beginSending(own, 'go', 'k', { data: 2, targets: [] }, forget)).toEqual(first);
      expect(await store.sending(own, 'go', 'k')).toEqual(first);
      await store.endSending(own, 'go', 'k', [runId]);
      expect(await store.sending(own, 'go', 'k')).toEqual({ data: null, targets: [], reached: [runId] });
      await store.deleteSending(own, 'go', 'k');
      expect(await store.sending(own, 'go', 'k')).toBeUndefined();
      await store.endSending(own, 'go', 'k', [runId]);
      expect(await store.sending(own, 'go', 'k')).toBeUndefined();
      expect(await store.waiters(own, 'go')).toEqual([]);
    });
  });
