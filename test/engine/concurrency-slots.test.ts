/** Who gets which place, and what a run with a place to wait for says in its log. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runId } from '../../lib/engine/ids.ts';
import { nextCheck } from '../../lib/engine/log/heartbeat-timeout.ts';
import { restoreFold, storeFold } from '../../lib/engine/log/stored-fold.ts';
import { foldBody, parseFold } from '../../lib/codec/fold.ts';
import { type TakenSlot, type WaitingRun, byAdmissionOrder, assignSlots } from '../../lib/engine/concurrency-slots.ts';
import { after, days, hours, instant, minutes } from '../../lib/engine/time.ts';
import { graph, completesAtOnce } from './graph-builder.ts';
import { GraphRunFixture, dawn, plain, types } from './graph-run-fixture.ts';

const run = (index: number) => runId(`wrun_${String(index).padStart(26, '0')}`);
const limited = () => graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'], options: { maxConcurrentRuns: 2 } });

describe('seats', () => {
  test('go to those who came first, each the lowest that is free', () => {
    const waiting: readonly WaitingRun[] = [
      { runId: run(3), since: instant(2), slots: 3 },
      { runId: run(2), since: instant(1), slots: 3 },
      { runId: run(1), since: instant(1), slots: 3 },
    ];
    expect([...assignSlots([{ slot: 0, runId: run(9) }], waiting)]).toEqual([
      [run(1), 1],
      [run(2), 2],
    ]);
  });

  test('have one order: the earlier start, of two at one moment the lower id, and nobody comes before itself', () => {
    const [low, high] = [run(1), run(2)].map((runId): WaitingRun => ({ runId, since: instant(1), slots: 3 }));
    if (low === undefined || high === undefined) throw new Error('there are two');
    expect([byAdmissionOrder(low, high), byAdmissionOrder(high, low), byAdmissionOrder(low, low)]).toEqual([-1, 1, 0]);
    expect(byAdmissionOrder({ ...low, since: instant(2) }, high)).toBeGreaterThan(0);
    expect(byAdmissionOrder(high, { ...low, since: instant(2) })).toBeLessThan(0);
  });

  test('are never taken, never two for one, below what each may have, and nobody who fits is left out', () => {
    const taken = fc.uniqueArray(fc.nat(9)).map((places) => places.map((slot): TakenSlot => ({ slot, runId: run(99) })));
    const waiting = fc.array(fc.record({ since: fc.nat(5).map(instant), slots: fc.integer({ min: 1, max: 10 }) }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(taken, waiting, (occupied, drawn) => {
        const runs = drawn.map((each, index): WaitingRun => ({ ...each, runId: run(index) }));
        const seats = assignSlots(occupied, runs);
        const given = [...seats.values()];
        expect(new Set([...given, ...occupied.map(({ slot }) => slot)]).size).toBe(given.length + occupied.length);
        const all = new Set([...given, ...occupied.map(({ slot }) => slot)]);
        for (const each of runs.toSorted(byAdmissionOrder)) {
          const seat = seats.get(each.runId);
          if (seat === undefined) for (let place = 0; place < each.slots; place += 1) expect(all.has(place)).toBe(true);
          else expect(seat).toBeLessThan(each.slots);
        }
      }),
    );
  });
});

describe('the log of a run that waits', () => {
  test('begins nothing in its first commit, and everything in the one that names its place', () => {
    const play = new GraphRunFixture(limited());
    expect(types(play.start())).toEqual(['INPUT_SET', 'RUN_STARTED', 'SLOT_AWAITED']);
    expect(play.open()).toEqual([]);
    expect(types(play.decide({ kind: 'slot-taken', slot: 1 }))).toEqual(['SLOT_TAKEN', 'NODE_COMPLETED', 'NODE_DISPATCHED']);
    // The first place that is named counts.
    expect(play.decide({ kind: 'slot-taken', slot: 0 })).toEqual([]);
    expect([play.state.admission?.slot, play.status]).toEqual([1, 'pending']);
    play.ends('a');
    play.ends('b');
    expect(play.status).toBe('completed');
  });

  test('ends by a cancel or its deadline, and no place begins it then', () => {
    const play = new GraphRunFixture(limited());
    play.start();
    play.decide({ kind: 'cancel-requested' });
    expect([play.status, play.decide({ kind: 'slot-taken', slot: 0 })]).toEqual(['cancelled', []]);
    const late = new GraphRunFixture(limited(), { deadlineAt: after(dawn, hours(1)) });
    late.start();
    late.advanceTime(hours(1));
    late.decide({ kind: 'deadline-passed' });
    expect([late.status, late.error?.code]).toEqual(['failed', 'deadline_exceeded']);
  });

  test('no place is asked for that nobody waits for', () => {
    const play = new GraphRunFixture(graph({ edges: ['a -> b'] }));
    play.start();
    expect(play.decide({ kind: 'slot-taken', slot: 0 })).toEqual([]);
  });

  test('is looked at soon, seldomer the longer it waits, and not before it may begin', () => {
    const lookAfter = (waited: Parameters<typeof after>[1], startAt?: typeof dawn) => {
      const play = new GraphRunFixture(limited());
      play.start({}, startAt);
      const now = after(dawn, waited);
      return nextCheck(play.state, after(dawn, days(7)), now) - now;
    };
    expect([lookAfter(minutes(0)), lookAfter(minutes(5)), lookAfter(hours(5))]).toEqual([minutes(2), minutes(5), minutes(10)]);
    expect(lookAfter(minutes(0), after(dawn, hours(1)))).toBe(minutes(61));
  });

  test('a stored fold knows what was waited for, and since when', () => {
    const play = new GraphRunFixture(limited());
    play.start({}, after(dawn, hours(1)));
    expect(play.state.admission).toEqual({ slots: 2, since: after(dawn, hours(1)), notBefore: after(dawn, hours(1)) });
    expect(plain(restoreFold(parseFold(foldBody(storeFold(play.state)))))).toEqual(plain(play.state));
  });
});
