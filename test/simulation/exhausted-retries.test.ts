/** The log shows which steps used all attempts. Only those steps may fail where a run without a crash cancels them. */
import { describe, expect, it } from 'vitest';
import { attempt, runId } from '../../lib/engine/ids.ts';
import type { Failure, RunEvent } from '../../lib/engine/log/events.ts';
import { after, seconds } from '../../lib/engine/time.ts';
import { dawn, refOf } from '../engine/graph-run-fixture.ts';
import { ExhaustedRetries, normalizeAfterCrash } from './exhausted-retries.ts';

const [run, another] = [runId('wrun_00000000000000000000000001'), runId('wrun_00000000000000000000000002')];
const step = refOf('work-0');
const times = { startedAt: dawn, endedAt: dawn };

const asked = (maximumAttempts?: number): RunEvent => ({
  type: 'NODE_DISPATCHED',
  ...step,
  attempt: attempt(1),
  via: 'inline',
  wave: 0,
  step: { kind: 'function', key: 'work', ...(maximumAttempts === undefined ? {} : { retry: { maximumAttempts } }) },
});
const ended = (of: number, type: 'NODE_RETRIED' | 'NODE_FAILED', cause: Failure['cause'] = 'error'): RunEvent => {
  const what = { ...step, ...times, attempt: attempt(of), failure: { cause, message: 'broke' } };
  return type === 'NODE_FAILED'
    ? { type, ...what }
    : { type, ...what, delayMs: seconds(1), retryAt: after(dawn, seconds(1)), via: 'inline' };
};

const spentBy = (...events: readonly RunEvent[]): readonly string[] => {
  const tries = new ExhaustedRetries();
  for (const event of events) tries.committed({ runId: run }, { events: [event] });
  return [...tries.in(run)];
};

describe('a step has used all attempts', () => {
  it('when each attempt of its policy failed by itself', () => {
    const twice = [asked(3), ended(1, 'NODE_RETRIED'), ended(2, 'NODE_RETRIED')];
    expect(spentBy(...twice)).toEqual([]);
    expect(spentBy(...twice, ended(3, 'NODE_FAILED'))).toEqual(['work-0']);
  });

  it('not with an attempt lost in a worker crash', () => {
    const twice = [asked(3), ended(1, 'NODE_RETRIED'), ended(2, 'NODE_RETRIED', 'lost')];
    expect(spentBy(...twice, ended(3, 'NODE_FAILED'))).toEqual([]);
    expect(spentBy(...twice, ended(3, 'NODE_RETRIED'), ended(4, 'NODE_FAILED'))).toEqual(['work-0']);
  });

  it('after ten attempts by default, and never with an attempt that has not ended', () => {
    const nine = Array.from({ length: 9 }, (_, before) => ended(before + 1, 'NODE_RETRIED'));
    expect(spentBy(asked(), ...nine)).toEqual([]);
    expect(spentBy(asked(), ...nine, ended(10, 'NODE_FAILED'))).toEqual(['work-0']);
    expect(spentBy(asked(0), ...nine, ended(10, 'NODE_FAILED'))).toEqual([]);
    expect(spentBy(asked(0))).toEqual([]);
  });

  it('with a new count when the retried workflow starts the step again', () => {
    expect(spentBy(asked(1), ended(1, 'NODE_FAILED'), asked(1))).toEqual([]);
  });

  it('in its own run', () => {
    const tries = new ExhaustedRetries();
    tries.committed({ runId: run }, { events: [asked(1), ended(1, 'NODE_FAILED')] });
    tries.committed({ runId: another }, { events: [asked(1)] });
    expect([tries.in(run).size, tries.in(another).size, tries.in('none').size]).toEqual([1, 0, 0]);
  });
});

describe('a step fails early', () => {
  const givenUpBy = (...events: readonly RunEvent[]): readonly string[] => {
    const tries = new ExhaustedRetries();
    for (const event of events) tries.committed({ runId: run }, { events: [event] });
    return tries.abandonedIn(run);
  };

  it('when it fails by itself before its last attempt', () => {
    expect(givenUpBy(asked(3), ended(1, 'NODE_RETRIED'), ended(2, 'NODE_FAILED'))).toEqual(['work-0']);
    expect(givenUpBy(asked(0), ended(1, 'NODE_FAILED'))).toEqual(['work-0']);
  });

  it('not at its last attempt, not by a failure that its code marks as final, and not in another run', () => {
    expect(givenUpBy(asked(2), ended(1, 'NODE_RETRIED'), ended(2, 'NODE_FAILED'))).toEqual([]);
    expect(givenUpBy(asked(3), ended(1, 'NODE_FAILED', 'invalid'))).toEqual([]);
    expect(new ExhaustedRetries().abandonedIn(another)).toEqual([]);
  });
});

describe('the results of nodes after a crash', () => {
  const calm = ['a=cancelled', 'b=completed', 'c=failed'];
  const spent = new Set(['a', 'b', 'c']);

  it('equal those without a crash if a step failed after all attempts instead of being cancelled', () => {
    expect(normalizeAfterCrash(['a=failed', 'b=completed', 'c=failed'], calm, spent)).toEqual(calm);
  });

  it('differ in all other cases', () => {
    for (const nodes of [
      ['a=failed', 'b=failed', 'c=failed'],
      ['a=completed', 'b=completed', 'c=failed'],
      ['a=cancelled', 'b=completed', 'c=cancelled'],
      ['b=completed', 'c=failed'],
    ])
      expect(normalizeAfterCrash(nodes, calm, spent)).not.toEqual(calm);
    const failed = ['a=failed', 'b=completed', 'c=failed'];
    expect(normalizeAfterCrash(failed, calm, new Set(['b', 'c']))).toEqual(failed);
  });
});
