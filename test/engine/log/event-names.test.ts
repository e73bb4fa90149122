/** Readers resume by published names: a line may be added here, never changed. */
import { expect, test } from 'vitest';
import { mapEngineEventToSse, publicEventNames } from '../../../lib/engine/log/event-names.ts';
import { type DevKitEventName, devKitEvents } from '../../../lib/engine/devkit/events.ts';
import type { RunEventType } from '../../../lib/engine/log/events.ts';

type EngineEventType = Exclude<RunEventType, 'DEVKIT'>;

const published = {
  INPUT_SET: 'input.set',
  SYSTEM_SET: 'system.set',
  RUN_STARTED: 'run.started',
  SLOT_AWAITED: 'slot.awaited',
  SLOT_TAKEN: 'slot.taken',
  RUN_STATUS_CHANGED: 'run.status.changed',
  RUN_COMPLETED: 'run.completed',
  RUN_FAILED: 'run.failed',
  RUN_TIMED_OUT: 'run.timed_out',
  RUN_CANCELLED: 'run.cancelled',
  RUN_RESUMED: 'run.resumed',
  RUN_RECOVERED: 'run.recovered',
  RUN_RETRIED: 'run.retried',
  DEADLINE_EXTENDED: 'deadline.extended',
  ROLLBACK_STARTED: 'rollback.started',
  NODE_DISPATCHED: 'node.queued',
  NODE_STARTED: 'node.started',
  SLEEP_STARTED: 'node.waiting',
  NODE_WOKEN: 'node.woken',
  SIGNAL_AWAITED: 'signal.awaited',
  SIGNAL_RECEIVED: 'signal.received',
  SUBFLOW_CALLED: 'subflow.called',
  NODE_COMPLETED: 'node.completed',
  CONTRACT_VIOLATED: 'contract.violated',
  MODERATION_FLAGGED: 'moderation.flagged',
  NODE_RETRIED: 'node.retried',
  NODE_FAILED: 'node.failed',
  NODE_SKIPPED: 'node.skipped',
  LOOP_STARTED: 'loop.started',
  LOOP_PAUSED: 'loop.paused',
  LOOP_RESULTS_STORED: 'loop.results.stored',
  ITERATION_STARTED: 'iteration.started',
  ITERATION_ENDED: 'iteration.ended',
} as const satisfies Record<EngineEventType, string>;

const engineNames = Object.keys(published).filter((name): name is EngineEventType => name in published);

const publishedOfDevKit = {
  run_created: 'input.set',
  run_started: 'run.started',
  run_completed: 'run.completed',
  run_failed: 'run.failed',
  run_cancelled: 'run.cancelled',
  attr_set: 'attributes.set',
  step_created: 'node.queued',
  step_started: 'node.started',
  step_completed: 'node.completed',
  step_failed: 'node.failed',
  step_retrying: 'node.retried',
  hook_created: 'signal.awaited',
  hook_received: 'signal.received',
  hook_disposed: 'hook.disposed',
  hook_conflict: 'hook.conflict',
  wait_created: 'node.waiting',
  wait_completed: 'node.woken',
} as const satisfies Record<DevKitEventName, string>;

test.each(devKitEvents)('%s of the DevKit keeps its public name', (event) => {
  expect(mapEngineEventToSse({ type: 'DEVKIT', event })).toBe(publishedOfDevKit[event]);
});

test.each(engineNames)('%s keeps its public name', (type) => {
  expect(mapEngineEventToSse({ type })).toBe(published[type]);
});

test('a node that failed by its timeout has its own name', () => {
  expect(mapEngineEventToSse({ type: 'NODE_FAILED', failure: { cause: 'timeout' } })).toBe('node.timed_out');
  expect(mapEngineEventToSse({ type: 'NODE_FAILED', failure: { cause: 'error' } })).toBe('node.failed');
  expect(mapEngineEventToSse({ type: 'NODE_RETRIED', failure: { cause: 'timeout' } })).toBe('node.retried');
});

test.each(['blocked', 'invalidated'] as const)('a node with status %s has its own name', (status) => {
  expect(mapEngineEventToSse({ type: 'NODE_FAILED', failure: { cause: 'timeout', status } })).toBe(`node.${status}`);
  expect(mapEngineEventToSse({ type: 'NODE_RETRIED', failure: { cause: 'timeout', status } })).toBe('node.retried');
});

test('the list of public names is complete, without duplicates, and all are dotted words', () => {
  expect(publicEventNames.toSorted()).toEqual(
    [
      ...new Set([
        ...Object.values(published),
        ...Object.values(publishedOfDevKit),
        'node.timed_out',
        'node.blocked',
        'node.invalidated',
      ]),
    ].toSorted(),
  );
  expect(new Set(publicEventNames).size).toBe(publicEventNames.length);
  for (const name of publicEventNames) expect(name).toMatch(/^[a-z]+(\.[a-z_]+)+$/);
});
