/** Contract of `Signals`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SignalKey,
  attempt,
  commitNo,
  environment,
  iterationKey,
  nodeId,
  signalId,
  topLevel,
} from '../../lib/engine/ids.ts';
import { type Instant, after, days, minutes } from '../../lib/engine/time.ts';
import type { NewSignal, Signals, RegisteredWaiter, Waiter } from '../../lib/ports/coordination.ts';
import { expiresAt, freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const signalsSuite = ({ name, open }: Subject<Signals>) =>
  describe(`signals: ${name}`, () => {
    let opened: Opened<Signals>;
    let signals: Signals;
    beforeAll(async () => {
      opened = await open();
      signals = opened.port;
    });
    afterAll(() => opened.close());

    const newKey = (): SignalKey => ({ ...freshScope(), name: 'paid', correlation: 'order 7' });
    const signal = (id: string, facts: Partial<NewSignal> = {}): NewSignal => ({
      signalId: signalId(id),
      payload: { amount: 3 },
      receivedAt: noon,
      bufferedUntil: after(noon, days(1)),
      retainUntil: after(noon, days(3)),
      ...facts,
    });
    const waiter = (since: Instant = noon, facts: Partial<RegisteredWaiter> = {}): RegisteredWaiter => ({
      runId: freshRun(freshScope()).runId,
      nodeId: nodeId('wait'),
      iteration: topLevel,
      attempt: attempt(1),
      since,
      ...facts,
    });
    /** Of a signal with a small payload. */
    const shown = ({ retainUntil: _retainUntil, ...facts }: NewSignal, state: object) => ({ ...facts, ...state });
    const free = { state: 'free' };
    const takenBy = ({ runId }: Waiter) => ({ state: 'taken', by: runId });
    const later = (count: number): Instant => after(noon, minutes(count));

    test('a new signal key has no signals and no waiters', async () => {
      for (const found of [await signals.read(newKey()), await signals.readIfFew(newKey())])
        expect(found).toEqual({ waiters: [], signals: [] });
      expect(await signals.payload(newKey(), signalId('sig_1'))).toBeUndefined();
    });

    test('signals and waiters are read in the order of arrival, for any ids', async () => {
      const key = newKey();
      const [older, newer] = [signal('z'), signal('a', { receivedAt: later(1), payload: null })];
      const [first, second] = [
        waiter(noon, { beganIn: commitNo(3) }),
        waiter(later(1), { iteration: iterationKey('each[3]/inner[12]') }),
      ];
      await signals.store(key, newer);
      await signals.store(key, older);
      await signals.addWaiter(key, second, expiresAt);
      await signals.addWaiter(key, first, expiresAt);
      expect(await signals.read(key)).toEqual({ waiters: [first, second], signals: [shown(older, free), shown(newer, free)] });
      // A small payload is a part of its signal.
      expect(await signals.payload(key, older.signalId)).toBeUndefined();
    });

    test('another name, correlation, project or environment is another signal key', async () => {
      const key = newKey();
      await signals.store(key, signal('s'));
      await signals.addWaiter(key, waiter(), expiresAt);
      const others = [
        { ...key, name: 'refunded' },
        { ...key, correlation: 'order 8' },
        { ...key, name: 'paid order', correlation: '7' },
        { ...key, environment: environment('staging') },
        { ...key, projectId: freshScope().projectId },
      ];
      for (const other of others) expect(await signals.read(other)).toEqual({ waiters: [], signals: [] });
    });

    test('a repeated store of a signal moves only its expiry, also after it was taken', async () => {
      const key = newKey();
      const [one, again] = [
        signal('s'),
        signal('s', { payload: 'other', receivedAt: later(5), retainUntil: after(noon, days(9)) }),
      ];
      await signals.store(key, one);
      await signals.store(key, again);
      expect((await signals.read(key)).signals).toEqual([shown(one, free)]);
      const by = waiter();
      await signals.claim(key, one.signalId, by);
      await signals.markTaken(key, one.signalId, by);
      await signals.store(key, again);
      expect((await signals.read(key)).signals).toEqual([shown(one, takenBy(by))]);
    });

    test('a waiter is added and removed once, and another attempt is another waiter', async () => {
      const key = newKey();
      const one = waiter();
      const next = { ...one, attempt: attempt(2), since: later(1) };
      for (const each of [one, one, next]) await signals.addWaiter(key, each, expiresAt);
      expect((await signals.read(key)).waiters).toEqual([one, next]);
      for (const _time of [1, 2]) await signals.removeWaiter(key, one);
      expect((await signals.read(key)).waiters).toEqual([next]);
    });

    test('one of several concurrent claims wins, and reads show the claimer', async () => {
      const key = newKey();
      const stored = signal('s');
      await signals.store(key, stored);
      const rivals = Array.from({ length: 8 }, (_, index) => waiter(later(index)));
      const results = await Promise.all(rivals.map((rival) => signals.claim(key, stored.signalId, rival)));
      expect(results.filter(Boolean)).toHaveLength(1);
      const by = rivals[results.indexOf(true)];
      expect((await signals.read(key)).signals).toEqual([shown(stored, { state: 'claimed', by })]);
    });

    test('a signal that is stored as claimed is released and taken like one that was claimed later', async () => {
      const key = newKey();
      const [one, other] = [waiter(), waiter(later(1))];
      const stored = signal('s');
      expect(await signals.storeClaimed(key, stored, one)).toBe(true);
      expect((await signals.read(key)).signals).toEqual([shown(stored, { state: 'claimed', by: one })]);
      expect(await signals.claim(key, stored.signalId, other)).toBe(false);
      await signals.release(key, stored.signalId, other);
      await signals.release(key, stored.signalId, one);
      expect((await signals.read(key)).signals).toEqual([shown(stored, free)]);
      expect(await signals.claim(key, stored.signalId, other)).toBe(true);
      await signals.markTaken(key, stored.signalId, other);
      expect((await signals.read(key)).signals).toEqual([shown(stored, takenBy(other))]);
    });

    test('a signal that is stored already, free, claimed or taken, is not stored as claimed', async () => {
      const key = newKey();
      const [one, other] = [waiter(), waiter(later(1))];
      const again = signal('s', { payload: 'other' });
      await signals.store(key, signal('s'));
      expect(await signals.storeClaimed(key, again, other)).toBe(false);
      expect((await signals.read(key)).signals).toEqual([shown(signal('s'), free)]);
      await signals.claim(key, again.signalId, one);
      expect(await signals.storeClaimed(key, again, other)).toBe(false);
      expect((await signals.read(key)).signals).toEqual([shown(signal('s'), { state: 'claimed', by: one })]);
      await signals.markTaken(key, again.signalId, one);
      expect(await signals.storeClaimed(key, again, other)).toBe(false);
      expect((await signals.read(key)).signals).toEqual([shown(signal('s'), takenBy(one))]);
    });

    test('one of several concurrent stores of a claimed signal wins', async () => {
      const key = newKey();
      const rivals = Array.from({ length: 8 }, (_, index) => waiter(later(index)));
      const results = await Promise.all(rivals.map((rival) => signals.storeClaimed(key, signal('s'), rival)));
      expect(results.filter(Boolean)).toHaveLength(1);
      const by = rivals[results.indexOf(true)];
      expect((await signals.read(key)).signals).toEqual([shown(signal('s'), { state: 'claimed', by })]);
    });

    test('a signal that is claimed, taken or missing cannot be claimed', async () => {
      const key = newKey();
      const [one, other] = [waiter(), waiter(later(1))];
      const { signalId: id } = signal('s');
      expect(await signals.claim(key, id, one)).toBe(false);
      expect(await signals.read(key)).toEqual({ waiters: [], signals: [] });
      await signals.store(key, signal('s'));
      expect(await signals.claim(key, id, one)).toBe(true);
      expect(await signals.claim(key, id, one)).toBe(false);
      expect(await signals.claim(key, id, other)).toBe(false);
      await signals.markTaken(key, id, one);
      expect(await signals.claim(key, id, other)).toBe(false);
    });

    test('only its claimer releases or takes a signal', async () => {
      const key = newKey();
      const stored = signal('s');
      const [one, other] = [waiter(), waiter(later(1))];
      await signals.store(key, stored);
      await signals.claim(key, stored.signalId, one);
      await signals.release(key, stored.signalId, other);
      await signals.markTaken(key, stored.signalId, other);
      expect((await signals.read(key)).signals).toEqual([shown(stored, { state: 'claimed', by: one })]);
      await signals.release(key, stored.signalId, one);
      expect((await signals.read(key)).signals).toEqual([shown(stored, free)]);
      await signals.markTaken(key, stored.signalId, one);
      expect((await signals.read(key)).signals).toEqual([shown(stored, free)]);
      expect(await signals.claim(key, stored.signalId, other)).toBe(true);
      await signals.markTaken(key, stored.signalId, other);
      await signals.release(key, stored.signalId, other);
      expect((await signals.read(key)).signals).toEqual([shown(stored, takenBy(other))]);
    });

    test('the first recorded delivery of a signal is kept', async () => {
      const key = newKey();
      const [one, other] = [signal('s'), signal('t')];
      for (const each of [one, other]) await signals.store(key, each);
      expect(await signals.recordDelivery(key, one.signalId, false)).toBe(false);
      expect(await signals.recordDelivery(key, one.signalId, true)).toBe(false);
      expect(await signals.recordDelivery(key, other.signalId, true)).toBe(true);
      expect(await signals.recordDelivery(key, other.signalId, false)).toBe(true);
      expect((await signals.read(key)).signals).toEqual([shown(one, free), shown(other, free)]);
    });

    test('a key is read if it has at most 64 signals and waiters', async () => {
      const key = newKey();
      for (let number = 1; number <= 63; number += 1) await signals.store(key, signal(`s${number}`));
      await signals.addWaiter(key, waiter(), expiresAt);
      const few = await signals.readIfFew(key);
      expect(few?.signals).toHaveLength(63);
      expect(few).toEqual(await signals.read(key));
      await signals.store(key, signal('last'));
      expect(await signals.readIfFew(key)).toBeUndefined();
      expect((await signals.read(key)).signals).toHaveLength(64);
    });

    test('a large payload and the longest names are read completely', async () => {
      const key = { ...newKey(), name: '✓'.repeat(256), correlation: '#'.repeat(256) };
      const large = signal('s'.repeat(128), { payload: Array.from({ length: 4_000 }, (_, index) => `line ${index * 7_919}`) });
      const claimed = { ...large, signalId: signalId('t') };
      await signals.store(key, large);
      await signals.storeClaimed(key, claimed, waiter());
      const { signals: found } = await signals.read(key);
      expect(found.map((each) => [each.signalId, each.payload])).toEqual([
        [large.signalId, undefined],
        [claimed.signalId, undefined],
      ]);
      for (const each of found) expect(await signals.payload(key, each.signalId)).toEqual(large.payload);
    });

    test('a payload of 512 bytes is a part of its signal, and one of 513 is not', async () => {
      const key = newKey();
      // The quotes are two of the bytes.
      const longest = 'é'.repeat(255);
      const longer = `${longest}-`;
      await signals.store(key, signal('a', { payload: longest }));
      await signals.store(key, signal('b', { payload: longer }));
      const { signals: found } = await signals.read(key);
      expect(found.map(({ payload }) => payload)).toEqual([longest, undefined]);
      expect(await signals.payload(key, signalId('b'))).toBe(longer);
    });
  });
