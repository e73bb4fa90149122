/** The checker of signals, with logs written by hand: which waits end without an event of their own. */
import { expect, it } from 'vitest';
import { attempt, commitNo, environment, eventId, nodeId, nonce, projectId, runId, topLevel } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { after, durationMs, hours, minutes } from '../../lib/engine/time.ts';
import { SignalChecker } from './signal-checker.ts';
import { simulationStart } from './simulated-ports.ts';

const scope = { projectId: projectId('default'), environment: environment('simulated') };
const run = { ...scope, runId: runId('wrun_00000000000000000000000001') };
const key = { name: 'approval', correlation: 'order-1' };
const awaits: RunEvent = {
  type: 'SIGNAL_AWAITED',
  nodeId: nodeId('wait'),
  iteration: topLevel,
  attempt: attempt(1),
  ...key,
};
const failure = { cause: 'error', message: 'on purpose' } as const;

/** A wait, an acknowledged signal that does not reach it, what may end the wait after a minute, and the check an hour later. */
function check(ending: readonly RunEvent[]): void {
  const checker = new SignalChecker(false);
  const commit = (number: number, events: readonly RunEvent[]) => ({
    number: commitNo(number),
    firstEventId: eventId(number * 10),
    events,
    at: simulationStart,
    by: 'worker',
    nonce: nonce(`commit-${number}`),
  });
  checker.committed(run, commit(2, [awaits]), simulationStart);
  const signal = { scope, signalId: 'sig-1', ...key, bufferedUntil: after(simulationStart, hours(24)) };
  checker.acknowledged(signal, false, simulationStart);
  if (ending.length > 0) checker.committed(run, commit(3, ending), after(simulationStart, minutes(1)));
  checker.check(after(simulationStart, hours(1)));
}

it('a wait that a signal does not reach for an hour is a violation', () => {
  expect(() => check([])).toThrow('waited for 3600000 ms although the acknowledged signal sig-1 was stored');
});

it.each<[string, RunEvent]>([
  ['its run is cancelled', { type: 'RUN_CANCELLED' }],
  ['its run rolls back', { type: 'ROLLBACK_STARTED', runOutcome: { status: 'cancelled' } }],
  [
    'its workflow is retried',
    {
      type: 'RUN_RETRIED',
      attempt: attempt(1),
      failure,
      delayMs: durationMs(0),
      retryAt: simulationStart,
    },
  ],
])('a wait ends when %s', (_what, ending) => {
  expect(() => check([ending])).not.toThrow();
});
