/** Retries come before every other policy, each after its delay, and never after the run's deadline. */
import { expect, test } from 'vitest';
import type { Outcome } from '../../../lib/engine/graph/outcome.ts';
import type { Gate } from '../../../lib/engine/log/events.ts';
import { type RetryPolicy, failureCauses, retryableCauses } from '../../../lib/engine/retry.ts';
import { after, minutes, seconds } from '../../../lib/engine/time.ts';
import { failed, finished, graph, ms, names, completesAtOnce, threeAttempts } from '../graph-builder.ts';
import { type Settings, dawn, nth, started, types } from '../graph-run-fixture.ts';

const retrying = (retry: RetryPolicy = threeAttempts, settings: Settings = {}) =>
  started(graph({ nodes: { start: completesAtOnce, a: { retry } }, edges: ['start -> a -> b', 'a/error -> rescue'] }), settings);

test('a failing node is retried after 1 s and 2 s, and then its failure is final', () => {
  const play = retrying();
  for (const [attempt, wait] of [
    [1, 1_000],
    [2, 2_000],
  ] as const) {
    const [event] = play.ends('a', failed()).slice(attempt === 1 ? 1 : 0);
    expect(event).toMatchObject({
      type: 'NODE_RETRIED',
      attempt,
      delayMs: wait,
      retryAt: after(play.now, ms(wait)),
      via: 'queue',
    });
    expect(play.node('a')).toMatchObject({ status: 'queued', attempt: attempt + 1, notBefore: after(play.now, ms(wait)) });
    play.advanceTime(ms(wait));
  }
  play.ends('a', failed());
  expect(play.node('a')).toMatchObject({ status: 'failed', attempt: 3 });
  expect(play.statuses('b', 'rescue')).toEqual(['skipped', 'queued']);
  expect(play.eventsOf('NODE_RETRIED')).toHaveLength(2);
});

const broken = (gate: Gate, status?: 'blocked' | 'invalidated'): Outcome => ({
  kind: 'failed',
  failure: { cause: 'contract_violated', message: 'no', ...(status === undefined ? {} : { status }) },
  gate,
});
const contract: Gate = { kind: 'contract', phase: 'output', errors: [{ field: 'a', reason: 'below_min' }] };

test('the gate that stopped an attempt is recorded in the same commit, before the retry or the failure', () => {
  const play = retrying({ ...threeAttempts, attempts: 2, retryOn: ['contract_violated'] });
  expect(play.ends('a', broken(contract)).slice(1)).toMatchObject([
    { type: 'CONTRACT_VIOLATED', nodeId: 'a', attempt: 1, phase: 'output', errors: contract.errors },
    { type: 'NODE_RETRIED', attempt: 1 },
  ]);
  play.advanceTime(ms(1_000));
  const moderation: Gate = { kind: 'moderation', phase: 'input', decision: { policy: 'words' } };
  const [flagged, failure] = play.ends('a', broken(moderation, 'invalidated'));
  expect(flagged).toMatchObject({
    type: 'MODERATION_FLAGGED',
    nodeId: 'a',
    attempt: 2,
    phase: 'input',
    decision: { policy: 'words' },
  });
  expect(failure).toMatchObject({ type: 'NODE_FAILED', failure: { status: 'invalidated' } });
  expect(play.node('a')).toMatchObject({ status: 'failed', failure: { status: 'invalidated' } });
});

test('the gate of an attempt that is no longer current is not recorded', () => {
  const play = retrying();
  const late = play.ended('a', broken(contract));
  play.ends('a');
  expect(play.decide(late)).toEqual([]);
});

test('a retry that succeeds leaves no failure in the run’s end', () => {
  const play = retrying();
  play.ends('a', failed());
  play.ends('a');
  play.ends('b');
  expect([play.status, play.statusOf('rescue')]).toEqual(['completed', 'skipped']);
});

test('a retry changes no other node: no child is decided, no edge becomes live', () => {
  const play = retrying();
  expect(types(play.ends('a', failed()))).toEqual(['RUN_STATUS_CHANGED', 'NODE_RETRIED']);
  expect(play.statuses('b', 'rescue')).toEqual(['pending', 'pending']);
});

test.each(failureCauses)('%s is retried only if the policy names it and a retry can succeed', (cause) => {
  const isRetryable = retryableCauses.some((one) => one === cause);
  const willing = retrying({ ...threeAttempts, retryOn: retryableCauses });
  willing.ends('a', failed(cause));
  expect(willing.statusOf('a') === 'queued').toBe(isRetryable);
  const unwilling = retrying({ ...threeAttempts, retryOn: retryableCauses.filter((one) => one !== cause) });
  unwilling.ends('a', failed(cause));
  expect(['failed', 'timed_out']).toContain(unwilling.statusOf('a'));
});

test.each([
  [1_000, 'queued'],
  [999, 'failed'],
])('with %i ms left to the deadline, a node that would be retried in 1,000 ms is %s', (left, status) => {
  const play = retrying(threeAttempts, { deadlineAt: after(dawn, ms(left)) });
  play.ends('a', failed('provider_error'));
  expect(play.statusOf('a')).toBe(status);
  if (status === 'failed') expect(play.node('a')).toMatchObject({ failure: { cause: 'provider_error' } });
});

test('a delay that the remote side requests is respected, even above the policy’s maximum', () => {
  const play = retrying();
  play.ends('a', failed('rate_limit', minutes(7)));
  expect(play.node('a')).toMatchObject({ notBefore: after(dawn, minutes(7)) });
});

test('a requested delay below the policy’s does not shorten it', () => {
  const play = retrying();
  play.ends('a', failed('rate_limit', ms(10)));
  expect(play.node('a')).toMatchObject({ notBefore: after(dawn, seconds(1)) });
});

test.each([
  [999, true, 'inline'],
  [1_000, true, 'queue'],
  [999, false, 'queue'],
])('a delay of %i ms, with a worker that may continue: %s, is dispatched by %s', (backoffMs, runsOneInline, via) => {
  const play = retrying({ ...threeAttempts, backoffMs: ms(backoffMs) }, { runsOneInline });
  play.ends('a', failed());
  expect(play.eventsOf('NODE_RETRIED')[0]?.via).toBe(via);
});

test('an attempt with collected results is retried the same way', () => {
  const crowd = names(9, 'c');
  const traits = Object.fromEntries(crowd.map((id) => [id, { retry: { ...threeAttempts, backoffMs: ms(10) } }]));
  const play = started(graph({ nodes: { start: completesAtOnce, ...traits }, edges: crowd.map((id) => `start -> ${id}`) }), {
    runsOneInline: true,
  });
  play.ends('c0', failed());
  expect(play.eventsOf('NODE_RETRIED')[0]?.via).toBe('collect');
});

test('jitter uses the given random number', () => {
  const retry: RetryPolicy = { ...threeAttempts, jitter: 'half' };
  for (const [random, wait] of [
    [0, 500],
    [0.5, 750],
    [1, 1_000],
  ] as const) {
    const play = retrying(retry, { random });
    play.ends('a', failed());
    expect(play.eventsOf('NODE_RETRIED')[0]?.delayMs).toBe(wait);
  }
});

test('the result of an earlier attempt changes nothing', () => {
  const play = retrying();
  const late = play.ended('a', finished('late'));
  play.ends('a', failed());
  expect(play.decide(late)).toEqual([]);
  expect(play.decide({ ...late, attempt: nth(3) })).toEqual([]);
  expect(play.node('a')).toMatchObject({ status: 'queued', attempt: 2 });
});

test('the printed lines and times of an attempt are recorded with its retry', () => {
  const play = retrying();
  play.decide({ ...play.ended('a', failed()), startedAt: dawn, endedAt: after(dawn, ms(5)), printed: ['trying'] });
  expect(play.eventsOf('NODE_RETRIED')[0]).toMatchObject({ printed: ['trying'], startedAt: dawn, endedAt: after(dawn, ms(5)) });
});
