/** Assignment of concurrency slots, and the log of a run that waits for one. */
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

describe('slots', () => {
  test('the earliest runs receive the lowest free slots', () => {
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

  test('the earlier start comes first, then the lower id', () => {
    const [low, high] = [run(1), run(2)].map((runId): WaitingRun => ({ runId, since: instant(1), slots: 3 }));
    if (low === undefined || high === undefined) throw new Error('two runs are needed');
    expect([byAdmissionOrder(low, high), byAdmissionOrder(high, low), byAdmissionOrder(low, low)]).toEqual([-1, 1, 0]);
    expect(byAdmissionOrder({ ...low, since: instant(2) }, high)).toBeGreaterThan(0);
    expect(byAdmissionOrder(high, { ...low, since: instant(2) })).toBeLessThan(0);
  });

  test('a slot is never assigned twice or above a run’s limit, and no run that fits is left out', () => {
    const taken = fc
      .uniqueArray(fc.nat(9))
      .map((slotNumbers) => slotNumbers.map((slot): TakenSlot => ({ slot, runId: run(99) })));
    const waiting = fc.array(fc.record({ since: fc.nat(5).map(instant), slots: fc.integer({ min: 1, max: 10 }) }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(taken, waiting, (occupied, drawn) => {
        const runs = drawn.map((each, index): WaitingRun => ({ ...each, runId: run(index) }));
        const assigned = assignSlots(occupied, runs);
        const assignedSlots = [...assigned.values()];
        expect(new Set([...assignedSlots, ...occupied.map(({ slot }) => slot)]).size).toBe(
          assignedSlots.length + occupied.length,
        );
        const all = new Set([...assignedSlots, ...occupied.map(({ slot }) => slot)]);
        for (const each of runs.toSorted(byAdmissionOrder)) {
          const slot = assigned.get(each.runId);
          if (slot === undefined) for (let index = 0; index < each.slots; index += 1) expect(all.has(index)).toBe(true);
          else expect(slot).toBeLessThan(each.slots);
        }
      }),
    );
  });
});

describe('a run that waits for a slot', () => {
  test('begins nothing in its first commit, and its roots in the commit that takes the slot', () => {
    const play = new GraphRunFixture(limited());
    expect(types(play.start())).toEqual(['INPUT_SET', 'RUN_STARTED', 'SLOT_AWAITED']);
    expect(play.open()).toEqual([]);
    expect(types(play.decide({ kind: 'slot-taken', slot: 1 }))).toEqual(['SLOT_TAKEN', 'NODE_COMPLETED', 'NODE_DISPATCHED']);
    // The first slot in the log counts.
    expect(play.decide({ kind: 'slot-taken', slot: 0 })).toEqual([]);
    expect([play.state.admission?.slot, play.status]).toEqual([1, 'pending']);
    play.ends('a');
    play.ends('b');
    expect(play.status).toBe('completed');
  });

  test('ends by a cancel or its deadline, and a slot does not begin it afterwards', () => {
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

  test('a run without a concurrency limit takes no slot', () => {
    const play = new GraphRunFixture(graph({ edges: ['a -> b'] }));
    play.start();
    expect(play.decide({ kind: 'slot-taken', slot: 0 })).toEqual([]);
  });

  test('is checked soon, less often the longer it waits, and not before its start', () => {
    const lookAfter = (waited: Parameters<typeof after>[1], startAt?: typeof dawn) => {
      const play = new GraphRunFixture(limited());
      play.start({}, startAt);
      const now = after(dawn, waited);
      return nextCheck(play.state, after(dawn, days(7)), now) - now;
    };
    expect([lookAfter(minutes(0)), lookAfter(minutes(5)), lookAfter(hours(5))]).toEqual([minutes(2), minutes(5), minutes(10)]);
    expect(lookAfter(minutes(0), after(dawn, hours(1)))).toBe(minutes(61));
  });

  test('a stored fold knows the limit and the start of the wait', () => {
    const play = new GraphRunFixture(limited());
    play.start({}, after(dawn, hours(1)));
    expect(play.state.admission).toEqual({ slots: 2, since: after(dawn, hours(1)), notBefore: after(dawn, hours(1)) });
    expect(plain(restoreFold(parseFold(foldBody(storeFold(play.state)))))).toEqual(plain(play.state));
  });
});
