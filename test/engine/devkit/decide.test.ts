import { describe, expect, test } from 'vitest';
import { eventId } from '../../../lib/engine/ids.ts';
import { after, days, minutes, seconds } from '../../../lib/engine/time.ts';
import { accepted, bytes, hook, lazyStart, newLog, noon, refusedAs, startedLog, step, stepEvent } from './devkit-log.ts';

const namesOf = ({ commits }: ReturnType<typeof newLog>) =>
  commits.flatMap(({ events }) => events.map((event) => (event.type === 'DEVKIT' ? event.event : event.type)));

describe('a run', () => {
  test('is created once, and starts once', () => {
    const log = newLog();
    expect(log.ask({ event: 'run_created' })).toEqual(refusedAs('entity_conflict'));
    expect(log.ask({ event: 'run_started', payload: bytes, data: { workflowName: 'again' } })).toEqual(accepted(2));
    expect(log.ask({ event: 'run_started' })).toEqual({ kind: 'known' });
    expect(namesOf(log)).toEqual(['run_created', 'run_started']);
    // What a start carries belongs to the creation.
    expect(log.commits.at(-1)?.events).toEqual([{ type: 'DEVKIT', event: 'run_started', specVersion: 5 }]);
  });

  test.each(['run_completed', 'run_failed', 'run_cancelled'] as const)(
    'that has ended by %s refuses everything but the ends of its steps',
    (end) => {
      const log = startedLog();
      log.ask(lazyStart('step_1'));
      log.ask(step('step_2'));
      log.ask({ event: end, payload: bytes });
      expect(log.ask({ event: 'run_started' })).toEqual(refusedAs('run_expired'));
      expect(log.ask({ event: 'run_completed' })).toEqual(refusedAs('entity_conflict'));
      expect(log.ask({ event: 'run_cancelled' })).toEqual(
        end === 'run_cancelled' ? { kind: 'known', eventId: eventId(6) } : refusedAs('entity_conflict'),
      );
      for (const request of [step('step_3'), lazyStart('step_3'), hook(), { event: 'wait_created', correlationId: 'w' } as const])
        expect(log.ask(request)).toEqual(refusedAs('entity_conflict'));
      expect(log.ask({ event: 'attr_set', data: { changes: [] } })).toEqual(refusedAs('entity_conflict'));
      expect(log.ask(stepEvent('step_completed', 'step_2'))).toEqual(refusedAs('run_expired'));
      expect(log.ask(stepEvent('step_completed', 'step_1'))).toEqual(accepted(7));
      expect(log.commits.at(-1)?.events).toMatchObject([{ afterEnd: end.slice('run_'.length) }]);
      expect(log.state.progress.status).toBe(end.slice('run_'.length));
    },
  );

  test('of a later spec version is not supported, and one from before event sourcing takes three events only', () => {
    expect(newLog(8).state.devkit).toBeUndefined();
    const legacy = newLog(1);
    expect(legacy.ask({ event: 'run_started' })).toEqual(refusedAs('event_not_supported'));
    expect(legacy.ask({ event: 'run_cancelled' })).toEqual(accepted(2));
  });

  test('has attributes within limits', () => {
    const log = startedLog(5);
    const set = (changes: readonly { key: string; value: string | null }[], correlationId?: string) =>
      log.ask({
        event: 'attr_set',
        data: { changes, writer: { type: 'workflow' } },
        ...(correlationId === undefined ? {} : { correlationId }),
      });
    expect(set([{ key: 'a', value: '1' }], 'attr_1')).toEqual(accepted(3));
    expect(set([{ key: 'a', value: '2' }], 'attr_1')).toEqual(refusedAs('entity_conflict'));
    expect(
      set([
        { key: 'a', value: null },
        { key: 'b', value: 'x' },
      ]),
    ).toEqual(accepted(4));
    expect(log.state.devkit?.run.attributes).toEqual({ b: 'x' });
    expect(set([{ key: '$x', value: '1' }])).toEqual(refusedAs('attributes_invalid'));
    expect(set([{ key: 'c', value: 'é'.repeat(129) }])).toEqual(refusedAs('attributes_invalid'));
    expect(set([{ key: 'c', value: 'é'.repeat(128) }])).toEqual(accepted(5));
    expect(set(Array.from({ length: 63 }, (_, index) => ({ key: `k${index}`, value: '' })))).toEqual(
      refusedAs('attributes_invalid'),
    );
  });
});

describe('a step', () => {
  test('is created once, counts its attempts, and ends once', () => {
    const log = startedLog();
    expect(log.ask(step())).toEqual(accepted(3));
    expect(log.ask(step())).toEqual(refusedAs('entity_conflict'));
    expect(log.ask(stepEvent('step_started'))).toEqual(accepted(4));
    expect(log.state.devkit?.steps.get('step_1')).toMatchObject({ status: 'running', attempt: 1, startedAt: noon });
    const retryAt = after(noon, seconds(90));
    log.ask({ ...stepEvent('step_retrying'), until: retryAt });
    expect(log.ask(stepEvent('step_started'))).toMatchObject({ code: 'too_early', retryAfterSeconds: 90 });
    expect(log.ask(stepEvent('step_started'), retryAt)).toEqual(accepted(6));
    expect(log.state.devkit?.steps.get('step_1')).toMatchObject({ attempt: 2, startedAt: noon });
    expect(log.ask(stepEvent('step_completed'), retryAt)).toEqual(accepted(7));
    for (const event of ['step_completed', 'step_failed', 'step_started', 'step_retrying'] as const)
      expect(log.ask(stepEvent(event))).toEqual(refusedAs('entity_conflict'));
    expect(log.state.devkit?.steps.get('step_1')).not.toHaveProperty('input');
  });

  test('starts lazily: its creation and its start are one commit, and only one of two owns it', () => {
    const log = startedLog();
    expect(log.ask(lazyStart())).toEqual({ ...accepted(4), createdStep: true });
    expect(log.commits.at(-1)?.events).toMatchObject([
      { event: 'step_created', data: { stepName: 'charge' }, payload: bytes },
      { event: 'step_started', data: { stepName: 'charge' } },
    ]);
    expect(log.commits.at(-1)?.events[1]).not.toHaveProperty('payload');
    expect(log.ask(lazyStart())).toEqual(refusedAs('entity_conflict'));
    expect(log.state.devkit?.steps.get('step_1')?.attempt).toBe(1);
  });

  test('that nothing created cannot start or end', () => {
    const log = startedLog();
    for (const event of ['step_started', 'step_completed', 'step_failed', 'step_retrying'] as const)
      expect(log.ask({ event, correlationId: 'step_9' })).toEqual(refusedAs('step_not_found'));
  });
});

describe('a hook', () => {
  test('is received while it lives', () => {
    const log = startedLog();
    expect(log.ask({ event: 'hook_received', correlationId: 'hook_1' })).toEqual(refusedAs('hook_not_found'));
    expect(log.ask(hook())).toEqual(accepted(3));
    expect(log.ask(hook())).toEqual(refusedAs('entity_conflict'));
    expect(log.ask({ event: 'hook_received', correlationId: 'hook_1' })).toEqual(accepted(4));
    expect(log.ask({ event: 'hook_disposed', correlationId: 'hook_1' })).toEqual(accepted(5));
    expect(log.ask({ event: 'hook_disposed', correlationId: 'hook_1' })).toEqual(refusedAs('entity_conflict'));
    expect(log.ask({ event: 'hook_received', correlationId: 'hook_1' })).toEqual(refusedAs('hook_not_found'));
  });

  test('whose token another hook has becomes a conflict', () => {
    const log = startedLog();
    expect(log.ask({ ...hook(), tokenOwner: 'wrun_other' })).toEqual(accepted(3));
    expect(log.commits.at(-1)?.events).toMatchObject([
      { event: 'hook_conflict', correlationId: 'hook_1', data: { token: 'order-7', conflictingRunId: 'wrun_other' } },
    ]);
    expect(log.state.devkit?.hooks.size).toBe(0);
  });

  test('records a resumption once', () => {
    const log = startedLog();
    log.ask(hook());
    log.ask(hook('hook_2', 'order-8'));
    const received = {
      event: 'hook_received',
      correlationId: 'hook_1',
      resumeId: 'r',
      resumeDigest: 'd',
      payload: bytes,
    } as const;
    expect(log.ask(received)).toEqual(accepted(5));
    expect(log.ask(received)).toEqual({ kind: 'known', eventId: eventId(5) });
    expect(log.ask({ ...received, resumeDigest: 'other' })).toEqual(refusedAs('entity_conflict'));
    expect(log.ask({ ...received, correlationId: 'hook_2' })).toEqual(refusedAs('entity_conflict'));
  });
});

test('a wait begins once and ends once', () => {
  const log = startedLog();
  const wait = { event: 'wait_created', correlationId: 'wait_1', until: after(noon, minutes(1)) } as const;
  expect(log.ask({ event: 'wait_completed', correlationId: 'wait_1' })).toEqual(refusedAs('wait_not_found'));
  expect(log.ask(wait)).toEqual(accepted(3));
  expect(log.ask(wait)).toEqual(refusedAs('entity_conflict'));
  expect(log.ask({ event: 'wait_completed', correlationId: 'wait_1' })).toEqual(accepted(4));
  expect(log.ask({ event: 'wait_completed', correlationId: 'wait_1' })).toEqual(refusedAs('entity_conflict'));
});

describe('the deadline', () => {
  test('stays where it is for short waits, and moves with a long one', () => {
    const log = startedLog();
    log.ask({ event: 'wait_created', correlationId: 'wait_1', until: after(noon, minutes(1)) });
    expect(log.state.deadlineExtension).toBeUndefined();
    log.ask({ event: 'wait_created', correlationId: 'wait_2', until: after(noon, days(30)) });
    expect(log.state.deadlineExtension).toEqual({ deadlineAt: after(noon, days(37)), at: noon });
  });

  test('is a year away while a hook is open, and back at the end of the run', () => {
    const log = startedLog();
    log.ask(hook());
    expect(log.state.deadlineExtension?.deadlineAt).toBe(after(noon, days(365)));
    const later = after(noon, seconds(2));
    log.ask({ event: 'run_completed', payload: bytes }, later);
    expect(log.state.deadlineExtension?.deadlineAt).toBe(later);
  });
});
