/** Records of an attempt's deliveries, the pause before the next one, and the loss of the attempt. */
import { describe, expect, test } from 'vitest';
import { runId } from '../../../lib/engine/ids.ts';
import { nodeKey, nodeId, topLevel } from '../../../lib/engine/ids.ts';
import {
  type Deliveries,
  type WorkerCrash,
  recordHeartbeat,
  beginDelivery,
  firstHeartbeatAt,
  loseDelivery,
  failureIfLost,
  needsOtherCrashes,
  maxCrashes,
  noDeliveries,
  releaseDelivery,
  redeliveryPauseAfter,
} from '../../../lib/engine/log/deliveries.ts';
import { type DurationMs, type Instant, after, durationMs, hours, instant, minutes, seconds } from '../../../lib/engine/time.ts';

const dawn = instant(1_767_225_600_000);

/** Deliveries that begin and crash, each this long after the one before and alive for this long. */
function died(count: number, every: DurationMs, lived: DurationMs = seconds(0)): { deliveries: Deliveries; now: Instant } {
  let deliveries = noDeliveries;
  let now = dawn;
  for (let death = 0; death < count; death += 1) {
    deliveries = recordHeartbeat(beginDelivery(deliveries, now, 0, 1), after(now, lived));
    now = after(now, every);
    deliveries = loseDelivery(deliveries, now, 0);
  }
  return { deliveries, now };
}

const otherDeath = (lived: DurationMs, noticedAt: Instant): WorkerCrash => ({
  runId: runId('wrun_01KDVDP5TF856TKR86AD35MX3P'),
  node: nodeKey({ nodeId: nodeId('a'), iteration: topLevel }),
  begunAt: instant(noticedAt - lived - 100_000),
  lastHeartbeatAt: instant(noticedAt - 100_000),
  noticedAt,
});

/** Deliveries without a recorded begin. */
const unknown = (count: number): Deliveries =>
  Array.from({ length: count }).reduce<Deliveries>((deliveries) => loseDelivery(deliveries, dawn, 0), noDeliveries);

describe('an attempt is lost', () => {
  test('after five attributed crashes, and not after four', () => {
    const four = died(maxCrashes - 1, minutes(2));
    expect(failureIfLost(four.deliveries, [], four.now)).toBeUndefined();
    const five = died(maxCrashes, minutes(2));
    expect(failureIfLost(five.deliveries, [], five.now)).toMatchObject({
      cause: 'lost',
      code: 'recovery_error',
      details: { lostDeliveries: 5 },
    });
  });

  test('after three crashes within more than an hour', () => {
    const two = died(2, hours(1));
    expect(failureIfLost(two.deliveries, [], two.now)).toBeUndefined();
    const three = died(3, minutes(31));
    expect(failureIfLost(three.deliveries, [], after(three.now, minutes(2)))).toMatchObject({ cause: 'lost' });
    const quick = died(3, minutes(20));
    expect(failureIfLost(quick.deliveries, [], quick.now)).toBeUndefined();
  });

  test('after five deliveries that threw, with the last reason', () => {
    let deliveries = noDeliveries;
    for (let count = 1; count <= 5; count += 1) {
      expect(failureIfLost(deliveries, [], dawn)).toBeUndefined();
      deliveries = loseDelivery(beginDelivery(deliveries, dawn, 0, 1), dawn, 0, `RangeError: ${count}`);
    }
    expect(failureIfLost(deliveries, [], dawn)).toMatchObject({
      message: expect.stringContaining('RangeError: 5'),
      details: { lastReason: 'RangeError: 5' },
    });
  });

  test('after an hour of unexplained losses, and not at the first one', () => {
    const first = unknown(5);
    expect(failureIfLost(first, [], dawn)).toBeUndefined();
    expect(failureIfLost(first, [], after(dawn, durationMs(3_599_999)))).toBeUndefined();
    expect(failureIfLost(first, [], after(dawn, hours(1)))).toMatchObject({ cause: 'lost' });
  });
});

describe('a crash is not attributed', () => {
  test('if steps of the attempt ended while its worker was alive', () => {
    let deliveries = noDeliveries;
    for (let death = 0; death < 10; death += 1)
      deliveries = loseDelivery(beginDelivery(deliveries, dawn, death, 1), dawn, death + 1);
    expect(failureIfLost(deliveries, [], after(dawn, hours(3)))).toBeUndefined();
  });

  test('if a worker of another run that had started later may have crashed with it', () => {
    const { deliveries, now } = died(6, minutes(5), minutes(2));
    const others = Array.from({ length: 6 }, (_, index) => otherDeath(seconds(0), after(dawn, minutes(5 * (index + 1)))));
    expect(failureIfLost(deliveries, [], now)).toMatchObject({ cause: 'lost' });
    expect(failureIfLost(deliveries, others, now)).toBeUndefined();
    const longer = others.map((other) => ({ ...other, begunAt: instant(other.begunAt - 600_000) }));
    expect(failureIfLost(deliveries, longer, now)).toMatchObject({ cause: 'lost' });
    const before = others.map((other) => ({ ...other, noticedAt: instant(dawn - 1), lastHeartbeatAt: instant(dawn - 2) }));
    expect(failureIfLost(deliveries, before, now)).toMatchObject({ cause: 'lost' });
    const later = others.map((other) => ({
      ...other,
      lastHeartbeatAt: after(now, seconds(1)),
      noticedAt: after(now, seconds(2)),
    }));
    expect(failureIfLost(deliveries, later, now)).toMatchObject({ cause: 'lost' });
  });

  test('if it is unexplained and a later worker lived for an hour', () => {
    const dead = unknown(5);
    const lived = recordHeartbeat(beginDelivery(dead, dawn, 0, 1), after(dawn, hours(1)));
    const after1 = loseDelivery(lived, after(dawn, hours(2)), 0);
    expect(after1.lost).toHaveLength(1);
    const shorter = recordHeartbeat(beginDelivery(dead, dawn, 0, 1), after(dawn, durationMs(3_599_999)));
    expect(loseDelivery(shorter, after(dawn, hours(2)), 0).lost).toHaveLength(6);
  });
});

test('a crash records the begin and the last heartbeat of its worker', () => {
  const begun = recordHeartbeat(beginDelivery(noDeliveries, dawn, 3, 1), after(dawn, minutes(1)));
  expect(loseDelivery(begun, after(dawn, minutes(5)), 3).lost).toEqual([
    { begunAt: dawn, lastHeartbeatAt: after(dawn, minutes(1)), noticedAt: after(dawn, minutes(5)) },
  ]);
  expect(loseDelivery(begun, dawn, 4, 'x'.repeat(2_000)).lost[0]).toMatchObject({ hasProgressed: true, reason: 'x'.repeat(500) });
  expect(loseDelivery(noDeliveries, dawn, 4).lost).toEqual([{ lastHeartbeatAt: dawn, noticedAt: dawn }]);
  expect(recordHeartbeat(noDeliveries, dawn)).toBe(noDeliveries);
  expect(loseDelivery(begun, dawn, 3).begun).toBeUndefined();
});

test('a worker that gives the attempt up removes its begin, and this is recorded until the next begin', () => {
  const { deliveries } = died(2, minutes(1));
  const released = releaseDelivery(beginDelivery(deliveries, dawn, 0, 1));
  expect(released).toEqual({ lost: deliveries.lost, isReleased: true });
  expect(beginDelivery(released, dawn, 0, 1).isReleased).toBeUndefined();
  expect(loseDelivery(released, dawn, 0).isReleased).toBeUndefined();
});

test('only the last sixteen losses are stored, and a decision needs at least three', () => {
  const { deliveries } = died(20, minutes(1));
  expect(deliveries.lost).toHaveLength(16);
  expect(firstHeartbeatAt(deliveries)).toBe(after(dawn, minutes(4)));
  expect(firstHeartbeatAt(noDeliveries)).toBeUndefined();
  expect([died(2, minutes(1)), died(3, minutes(1))].map((each) => needsOtherCrashes(each.deliveries))).toEqual([false, true]);
});

test('an attempt is delivered again after 100 s, later with each loss, up to twenty minutes', () => {
  const begun = (losses: number) => {
    const { deliveries, now } = died(losses, minutes(1));
    return redeliveryPauseAfter(beginDelivery(deliveries, now, 0, 1), now);
  };
  expect([begun(0), begun(1)]).toEqual([100_000, 100_000]);
  for (const [losses, least] of [
    [2, 200_000],
    [3, 400_000],
    [4, 600_000],
    [12, 600_000],
  ] as const) {
    expect(begun(losses)).toBeGreaterThanOrEqual(least);
    expect(begun(losses)).toBeLessThan(least * 2);
  }
  const { deliveries, now } = died(3, minutes(1));
  // The same after a crash that was noticed and has no later delivery yet.
  expect(redeliveryPauseAfter(deliveries, now)).toBeGreaterThanOrEqual(400_000);
  // A resend is on its way.
  expect(redeliveryPauseAfter(deliveries, after(now, seconds(1)))).toBeUndefined();
});

test('two attempts that crashed together are not delivered again together', () => {
  const pauses = Array.from({ length: 20 }, (_, index) => {
    const { deliveries } = died(3, minutes(1));
    const at = after(dawn, durationMs(600_000 + index));
    return redeliveryPauseAfter(beginDelivery(deliveries, at, 0, 1), at);
  });
  expect(new Set(pauses).size).toBeGreaterThan(15);
});
