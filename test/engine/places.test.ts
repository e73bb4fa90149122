/** Who gets which place, and what a run with a place to wait for says in its log. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runId } from '../../lib/engine/ids.ts';
import { nextLook } from '../../lib/engine/log/silence.ts';
import { restoreFold, storeFold } from '../../lib/engine/log/stored-fold.ts';
import { foldBody, parseFold } from '../../lib/codec/fold.ts';
import { type TakenPlace, type WaitingRun, inOrder, seating } from '../../lib/engine/places.ts';
import { after, days, hours, instant, minutes } from '../../lib/engine/time.ts';
import { graph, passes } from './graphs.ts';
import { Play, dawn, plain, types } from './play.ts';

const run = (index: number) => runId(`wrun_${String(index).padStart(26, '0')}`);
const limited = () => graph({ nodes: { start: passes }, edges: ['start -> a -> b'], options: { maxConcurrentRuns: 2 } });

describe('seats', () => {
  test('go to those who came first, each the lowest that is free', () => {
    const waiting: readonly WaitingRun[] = [
      { runId: run(3), since: instant(2), places: 3 },
      { runId: run(2), since: instant(1), places: 3 },
      { runId: run(1), since: instant(1), places: 3 },
    ];
    expect([...seating([{ place: 0, runId: run(9) }], waiting)]).toEqual([
      [run(1), 1],
      [run(2), 2],
    ]);
  });

  test('have one order: the earlier start, of two at one moment the lower id, and nobody comes before itself', () => {
    const [low, high] = [run(1), run(2)].map((runId): WaitingRun => ({ runId, since: instant(1), places: 3 }));
    if (low === undefined || high === undefined) throw new Error('there are two');
    expect([inOrder(low, high), inOrder(high, low), inOrder(low, low)]).toEqual([-1, 1, 0]);
    expect(inOrder({ ...low, since: instant(2) }, high)).toBeGreaterThan(0);
    expect(inOrder(high, { ...low, since: instant(2) })).toBeLessThan(0);
  });

  test('are never taken, never two for one, below what each may have, and nobody who fits is left out', () => {
    const taken = fc.uniqueArray(fc.nat(9)).map((places) => places.map((place): TakenPlace => ({ place, runId: run(99) })));
    const waiting = fc.array(fc.record({ since: fc.nat(5).map(instant), places: fc.integer({ min: 1, max: 10 }) }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(taken, waiting, (occupied, drawn) => {
        const runs = drawn.map((each, index): WaitingRun => ({ ...each, runId: run(index) }));
        const seats = seating(occupied, runs);
        const given = [...seats.values()];
        expect(new Set([...given, ...occupied.map(({ place }) => place)]).size).toBe(given.length + occupied.length);
        const all = new Set([...given, ...occupied.map(({ place }) => place)]);
        for (const each of runs.toSorted(inOrder)) {
          const seat = seats.get(each.runId);
          if (seat === undefined) for (let place = 0; place < each.places; place += 1) expect(all.has(place)).toBe(true);
          else expect(seat).toBeLessThan(each.places);
        }
      }),
    );
  });
});

describe('the log of a run that waits', () => {
  test('begins nothing in its first commit, and everything in the one that names its place', () => {
    const play = new Play(limited());
    expect(types(play.start())).toEqual(['INPUT_SET', 'RUN_STARTED', 'PLACE_AWAITED']);
    expect(play.open()).toEqual([]);
    expect(types(play.say({ kind: 'place-taken', place: 1 }))).toEqual(['PLACE_TAKEN', 'NODE_COMPLETED', 'NODE_DISPATCHED']);
    // The first place that is named counts.
    expect(play.say({ kind: 'place-taken', place: 0 })).toEqual([]);
    expect([play.state.admission?.place, play.status]).toEqual([1, 'pending']);
    play.ends('a');
    play.ends('b');
    expect(play.status).toBe('completed');
  });

  test('ends by a cancel or its deadline, and no place begins it then', () => {
    const play = new Play(limited());
    play.start();
    play.say({ kind: 'cancel-requested' });
    expect([play.status, play.say({ kind: 'place-taken', place: 0 })]).toEqual(['cancelled', []]);
    const late = new Play(limited(), { deadlineAt: after(dawn, hours(1)) });
    late.start();
    late.pass(hours(1));
    late.say({ kind: 'deadline-passed' });
    expect([late.status, late.error?.code]).toEqual(['failed', 'deadline_exceeded']);
  });

  test('no place is asked for that nobody waits for', () => {
    const play = new Play(graph({ edges: ['a -> b'] }));
    play.start();
    expect(play.say({ kind: 'place-taken', place: 0 })).toEqual([]);
  });

  test('is looked at soon, seldomer the longer it waits, and not before it may begin', () => {
    const lookAfter = (waited: Parameters<typeof after>[1], startAt?: typeof dawn) => {
      const play = new Play(limited());
      play.start({}, startAt);
      const now = after(dawn, waited);
      return nextLook(play.state, after(dawn, days(7)), now) - now;
    };
    expect([lookAfter(minutes(0)), lookAfter(minutes(5)), lookAfter(hours(5))]).toEqual([minutes(2), minutes(5), minutes(10)]);
    expect(lookAfter(minutes(0), after(dawn, hours(1)))).toBe(minutes(61));
  });

  test('a stored fold knows what was waited for, and since when', () => {
    const play = new Play(limited());
    play.start({}, after(dawn, hours(1)));
    expect(play.state.admission).toEqual({ places: 2, since: after(dawn, hours(1)), notBefore: after(dawn, hours(1)) });
    expect(plain(restoreFold(parseFold(foldBody(storeFold(play.state)))))).toEqual(plain(play.state));
  });
});
