/** The heartbeat loop that nodes, deliveries and workflow tasks share. */
import { expect, test } from 'vitest';
import { attempt, nodeId, runId, topLevel } from '../../../lib/engine/ids.ts';
import { type DurationMs, after, between, days, hours, seconds } from '../../../lib/engine/time.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { type CheckedAttempt, type WatchedAttempt, watchWithHeartbeats } from '../../../lib/service/execution/heartbeat-loop.ts';
import { overrideMethods } from '../override-methods.ts';
import { scope } from '../test-env.ts';

/** Watches an attempt on a clock that each wait advances. `check` receives the time since the beginning, in seconds. */
async function watch(
  check: (elapsed: number, done: AbortController) => CheckedAttempt,
  change: (elapsed: () => number) => Partial<WatchedAttempt> = () => ({}),
) {
  const { clock, log } = memoryPorts();
  const startedAt = clock.now();
  const elapsed = (): number => between(startedAt, clock.now()) / 1_000;
  const done = new AbortController();
  const heartbeats: number[] = [];
  const checks: number[] = [];
  const watched: WatchedAttempt = {
    head: {
      address: { ...scope, runId: runId(`wrun_${'0'.repeat(26)}`) },
      deadlineAt: after(startedAt, hours(1)),
      expiresAt: after(startedAt, days(2)),
    },
    open: { nodeId: nodeId('a'), iteration: topLevel, attempt: attempt(1) },
    deliveries: undefined,
    dueAt: startedAt,
    untilLimit: () => Infinity,
    stopAtLimit: () => undefined,
    checkInterval: () => seconds(5),
    check: async () => {
      checks.push(elapsed());
      return check(elapsed(), done);
    },
    ...change(elapsed),
  };
  const recordingLog = overrideMethods(log, { heartbeat: async () => void heartbeats.push(elapsed()) });
  const sleep = async (wait: DurationMs): Promise<void> => {
    clock.advance(wait);
  };
  const ended = watchWithHeartbeats({ clock, log: recordingLog }, watched, done.signal, sleep);
  return { heartbeats, checks, elapsed, ended };
}

const wantedUntil =
  (end: number) =>
  (elapsed: number): CheckedAttempt =>
    elapsed >= end ? 'ended' : 'wanted';

test('a wanted attempt sends a heartbeat each minute, until its check ends it', async () => {
  const { heartbeats, ended, elapsed } = await watch(wantedUntil(200));
  await ended;
  expect([heartbeats, elapsed()]).toEqual([[60, 120, 180], 200]);
});

test('an attempt whose end was requested is checked, but sends no heartbeat', async () => {
  const { heartbeats, ended } = await watch((elapsed) => (elapsed >= 200 ? 'ended' : elapsed >= 100 ? 'ending' : 'wanted'));
  await ended;
  expect(heartbeats).toEqual([60]);
});

test('the attempt is stopped at its time limit, without a check', async () => {
  const stops: number[] = [];
  const { checks, ended } = await watch(wantedUntil(200), (elapsed) => ({
    untilLimit: () => (12 - elapsed()) * 1_000,
    stopAtLimit: () => void stops.push(elapsed()),
  }));
  await ended;
  expect([checks, stops]).toEqual([[5, 10, 12], [12]]);
});

test('a check falls on the deadline of the run', async () => {
  const { checks, ended } = await watch(wantedUntil(3_601), () => ({ checkInterval: () => seconds(7) }));
  await ended;
  expect(checks.filter((at) => at > 3_590)).toEqual([3_591, 3_598, 3_600, 3_607]);
});

test('the watching ends without a check when the attempt is done', async () => {
  const { checks, ended } = await watch((_elapsed, done) => {
    done.abort();
    return 'wanted';
  });
  await ended;
  expect(checks).toEqual([5]);
});

test('an unavailable store skips one check, and another error ends the watching', async () => {
  const failures = [new Unavailable('the log'), new Error('the log is broken')];
  const { checks, ended } = await watch(() => {
    throw failures.shift() ?? new Error('checked too often');
  });
  await expect(ended).rejects.toThrow('the log is broken');
  expect(checks).toEqual([5, 10]);
});
