/** What every meeting place of signals and waits must keep. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attempt, environment, iterationKey, nodeId, signalId, topLevel } from '../../lib/engine/ids.ts';
import type { SignalKey } from '../../lib/engine/signal-key.ts';
import { type Instant, after, days, minutes } from '../../lib/engine/time.ts';
import type { NewSignal, Signals, Waiter } from '../../lib/ports/signals.ts';
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

    const place = (): SignalKey => ({ ...freshScope(), name: 'paid', correlation: 'order 7' });
    const signal = (id: string, facts: Partial<NewSignal> = {}): NewSignal => ({
      signalId: signalId(id),
      payload: { amount: 3 },
      receivedAt: noon,
      bufferedUntil: after(noon, days(1)),
      retainUntil: after(noon, days(3)),
      ...facts,
    });
    const waiter = (since: Instant = noon, facts: Partial<Waiter> = {}): Waiter => ({
      runId: freshRun(freshScope()).runId,
      nodeId: nodeId('wait'),
      iteration: topLevel,
      attempt: attempt(1),
      since,
      ...facts,
    });
    const shown = ({ payload: _payload, retainUntil: _retainUntil, ...facts }: NewSignal, state: object) => ({
      ...facts,
      ...state,
    });
    const free = { state: 'free' };
    const taken = { state: 'taken' };
    const later = (count: number): Instant => after(noon, minutes(count));

    test('a place where nobody was is empty', async () => {
      expect(await signals.read(place())).toEqual({ waiters: [], signals: [] });
      expect(await signals.payload(place(), signalId('sig_1'))).toBeUndefined();
    });

    test('signals and waiters are found in the order of their coming, whatever they are called', async () => {
      const here = place();
      const [old, young] = [signal('z'), signal('a', { receivedAt: later(1), payload: null })];
      const [first, second] = [waiter(noon), waiter(later(1), { iteration: iterationKey('each[3]/inner[12]') })];
      await signals.store(here, young);
      await signals.store(here, old);
      await signals.addWaiter(here, second, expiresAt);
      await signals.addWaiter(here, first, expiresAt);
      expect(await signals.read(here)).toEqual({ waiters: [first, second], signals: [shown(old, free), shown(young, free)] });
      expect(await signals.payload(here, old.signalId)).toEqual({ amount: 3 });
      expect(await signals.payload(here, young.signalId)).toBeNull();
    });

    test('what one name, correlation, project and environment hold, no other sees', async () => {
      const here = place();
      await signals.store(here, signal('s'));
      await signals.addWaiter(here, waiter(), expiresAt);
      const others = [
        { ...here, name: 'refunded' },
        { ...here, correlation: 'order 8' },
        { ...here, name: 'paid order', correlation: '7' },
        { ...here, environment: environment('staging') },
        { ...here, projectId: freshScope().projectId },
      ];
      for (const other of others) expect(await signals.read(other)).toEqual({ waiters: [], signals: [] });
    });

    test('a signal kept again is the one that was kept first, also after it was taken', async () => {
      const here = place();
      const [one, again] = [signal('s'), signal('s', { payload: 'other', receivedAt: later(5) })];
      await signals.store(here, one);
      await signals.store(here, again);
      expect((await signals.read(here)).signals).toEqual([shown(one, free)]);
      expect(await signals.payload(here, one.signalId)).toEqual({ amount: 3 });
      const by = waiter();
      await signals.claim(here, one.signalId, by);
      await signals.markTaken(here, one.signalId, by);
      await signals.store(here, again);
      expect((await signals.read(here)).signals).toEqual([shown(one, taken)]);
    });

    test('a waiter entered twice is there once, and leaves once; another attempt is another waiter', async () => {
      const here = place();
      const one = waiter();
      const next = { ...one, attempt: attempt(2), since: later(1) };
      for (const each of [one, one, next]) await signals.addWaiter(here, each, expiresAt);
      expect((await signals.read(here)).waiters).toEqual([one, next]);
      for (const _time of [1, 2]) await signals.removeWaiter(here, one);
      expect((await signals.read(here)).waiters).toEqual([next]);
    });

    test('of rivals one claims a signal, and everybody sees who', async () => {
      const here = place();
      const kept = signal('s');
      await signals.store(here, kept);
      const rivals = Array.from({ length: 8 }, (_, index) => waiter(later(index)));
      const results = await Promise.all(rivals.map((rival) => signals.claim(here, kept.signalId, rival)));
      expect(results.filter(Boolean)).toHaveLength(1);
      const by = rivals[results.indexOf(true)];
      expect((await signals.read(here)).signals).toEqual([shown(kept, { state: 'claimed', by })]);
    });

    test('nobody claims what is claimed, taken or not there', async () => {
      const here = place();
      const [one, other] = [waiter(), waiter(later(1))];
      const { signalId: id } = signal('s');
      expect(await signals.claim(here, id, one)).toBe(false);
      expect(await signals.read(here)).toEqual({ waiters: [], signals: [] });
      await signals.store(here, signal('s'));
      expect(await signals.claim(here, id, one)).toBe(true);
      expect(await signals.claim(here, id, one)).toBe(false);
      expect(await signals.claim(here, id, other)).toBe(false);
      await signals.markTaken(here, id, one);
      expect(await signals.claim(here, id, other)).toBe(false);
    });

    test('only for whom it was meant is a signal released or taken', async () => {
      const here = place();
      const kept = signal('s');
      const [one, other] = [waiter(), waiter(later(1))];
      await signals.store(here, kept);
      await signals.claim(here, kept.signalId, one);
      await signals.release(here, kept.signalId, other);
      await signals.markTaken(here, kept.signalId, other);
      expect((await signals.read(here)).signals).toEqual([shown(kept, { state: 'claimed', by: one })]);
      await signals.release(here, kept.signalId, one);
      expect((await signals.read(here)).signals).toEqual([shown(kept, free)]);
      await signals.markTaken(here, kept.signalId, one);
      expect((await signals.read(here)).signals).toEqual([shown(kept, free)]);
      expect(await signals.claim(here, kept.signalId, other)).toBe(true);
      await signals.markTaken(here, kept.signalId, other);
      await signals.release(here, kept.signalId, other);
      expect((await signals.read(here)).signals).toEqual([shown(kept, taken)]);
    });

    test('what a sending was answered is decided once', async () => {
      const here = place();
      const [one, other] = [signal('s'), signal('t')];
      for (const each of [one, other]) await signals.store(here, each);
      expect(await signals.recordDelivery(here, one.signalId, false)).toBe(false);
      expect(await signals.recordDelivery(here, one.signalId, true)).toBe(false);
      expect(await signals.recordDelivery(here, other.signalId, true)).toBe(true);
      expect(await signals.recordDelivery(here, other.signalId, false)).toBe(true);
      expect((await signals.read(here)).signals).toEqual([shown(one, free), shown(other, free)]);
    });

    test('a large payload and the longest words come back whole', async () => {
      const here = { ...place(), name: '✓'.repeat(256), correlation: '#'.repeat(256) };
      const large = signal('s'.repeat(128), { payload: Array.from({ length: 4_000 }, (_, index) => `line ${index * 7_919}`) });
      await signals.store(here, large);
      expect((await signals.read(here)).signals).toEqual([shown(large, free)]);
      expect(await signals.payload(here, large.signalId)).toEqual(large.payload);
    });
  });
