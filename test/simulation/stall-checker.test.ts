/** The stall checker's limits, with logs written by hand. */
import { expect, it } from 'vitest';
import {
  type RunId,
  attempt,
  commitNo,
  environment,
  eventId,
  nodeId,
  nonce,
  projectId,
  runId,
  topLevel,
} from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { applyCommit, emptyState } from '../../lib/engine/log/fold.ts';
import { type DurationMs, after, days, hours, minutes } from '../../lib/engine/time.ts';
import { StallChecker } from './stall-checker.ts';
import { simulationStart } from './simulated-ports.ts';

const at = (node: string) => ({ nodeId: nodeId(node), iteration: topLevel, attempt: attempt(1) });
const asked = (node: string): RunEvent => ({ type: 'NODE_DISPATCHED', ...at(node), via: 'queue', wave: 0 });
const begins: readonly RunEvent[] = [{ type: 'INPUT_SET', input: inline(null) }, { type: 'RUN_STARTED' }];
const sleeps = (node: string, wait: DurationMs): RunEvent => ({
  type: 'SLEEP_STARTED',
  ...at(node),
  wakeAt: after(simulationStart, wait),
  output: inline(null),
});
const goesOn: RunEvent = { type: 'SYSTEM_SET', key: 'beside', value: inline(1) };

const caller = runId('wrun_00000000000000000000000001');
const called = runId('wrun_00000000000000000000000002');

/** A log with one stall checker. */
function world(isPlain = false) {
  const watch = new StallChecker(isPlain);
  const runs = new Map<string, ReturnType<typeof emptyState>>();
  return {
    commits: (run: RunId, wait: DurationMs, ...events: readonly RunEvent[]): void => {
      const state = runs.get(run) ?? emptyState();
      runs.set(run, state);
      const now = after(simulationStart, wait);
      const commit: Commit = {
        number: commitNo(state.asOf + 1),
        firstEventId: eventId(state.nextEventId),
        events,
        at: now,
        by: 'worker',
        nonce: nonce(`${state.asOf}`),
      };
      applyCommit(state, commit);
      const address = { projectId: projectId('default'), environment: environment('simulated'), runId: run };
      watch.committed(address, commit, state, now);
    },
    ends: (wait: DurationMs) => watch.check(after(simulationStart, wait)),
  };
}

it('a sleeping run is woken within six hours after its time', () => {
  const { commits, ends } = world();
  commits(caller, minutes(0), ...begins, sleeps('nap', days(1)));
  expect(() => ends(hours(30))).not.toThrow();
  expect(() => ends(hours(31))).toThrow('nap is 25200000 ms behind its time');
});

it('progress of another node does not hide a stalled node', () => {
  const { commits } = world();
  commits(caller, minutes(0), ...begins, asked('lost'), asked('busy'));
  commits(caller, hours(5), goesOn);
  expect(() => commits(caller, hours(7), goesOn)).toThrow('lost');
});

it('without faults the limit is twenty minutes', () => {
  const { commits, ends } = world(true);
  commits(caller, minutes(0), ...begins, asked('node'));
  expect(() => ends(minutes(20))).not.toThrow();
  expect(() => ends(minutes(21))).toThrow('node');
});

it('a parent may wait as long as its child run and is notified of its end within seven hours', () => {
  const { commits, ends } = world();
  const call: RunEvent = {
    type: 'SUBFLOW_CALLED',
    ...at('call'),
    childRunId: called,
    workflowName: 'leaf',
    input: inline(null),
    parentClosePolicy: 'cancel',
    onChildCancelled: 'fail',
  };
  commits(caller, minutes(0), ...begins, call);
  commits(called, days(1), ...begins, { type: 'RUN_CANCELLED' });
  expect(() => ends(hours(31))).not.toThrow();
  expect(() => ends(hours(32))).toThrow('call');
});
