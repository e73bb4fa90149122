/** Any sequence of requests: what the log accepts obeys the rules of slots and of ends, and a stored fold is the fold. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { creatableEvents } from '../../../lib/engine/devkit/events.ts';
import type { WorldRequest } from '../../../lib/engine/devkit/decide.ts';
import { foldBody, parseFold } from '../../../lib/codec/fold.ts';
import { applyCommit, emptyState } from '../../../lib/engine/log/fold.ts';
import { restoreFold, storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { after, durationMs } from '../../../lib/engine/time.ts';
import { type DevKitLog, bytes, newLog, noon } from './devkit-log.ts';

const request: fc.Arbitrary<WorldRequest> = fc
  .record({
    event: fc.constantFrom(...creatableEvents),
    id: fc.constantFrom('a', 'b', 'c'),
    until: fc.option(fc.integer({ min: 0, max: 100 * 86_400_000 })),
    resumeId: fc.option(fc.constantFrom('r1', 'r2')),
    isLazy: fc.boolean(),
    isTaken: fc.boolean(),
  })
  .map(({ event, id, until, resumeId, isLazy, isTaken }) => {
    const [kind = ''] = event.split('_');
    const hasPayload = event !== 'step_started' || isLazy;
    return {
      event,
      ...(['step', 'hook', 'wait'].includes(kind) ? { correlationId: `${kind}_${id}` } : {}),
      ...(hasPayload ? { payload: bytes } : {}),
      data: { stepName: 's', token: `token-${id}`, changes: [], writer: { type: 'workflow' } },
      ...(until === null ? {} : { until: after(noon, durationMs(until)) }),
      ...(event === 'hook_received' && resumeId !== null ? { resumeId } : {}),
      ...(event === 'hook_created' && isTaken ? { tokenOwner: 'wrun_other' } : {}),
    };
  });

const eventsOf = ({ commits }: DevKitLog) =>
  commits.flatMap(({ events, firstEventId }) =>
    events.flatMap((event, index) => (event.type === 'DEVKIT' ? [{ ...event, id: firstEventId + index }] : [])),
  );

test('the log obeys the rules of its readers', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 60 }), fc.constantFrom(3, 5, 7), (requests, specVersion) => {
      const log = newLog(specVersion);
      for (const [index, each] of requests.entries()) {
        const before = log.state.nextEventId;
        const decided = log.ask(each, after(noon, durationMs(index * 1_000)));
        // A refusal and a repetition record nothing.
        if (decided.kind !== 'accepted') expect(log.state.nextEventId).toBe(before);
        else expect(decided.eventId).toBe(log.state.nextEventId - 1);
      }
      const events = eventsOf(log);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
      expect(events.filter(({ event }) => event === 'run_created')).toHaveLength(1);
      const end = events.findIndex(({ event }) => ['run_completed', 'run_failed', 'run_cancelled'].includes(event));
      const later = end === -1 ? [] : events.slice(end + 1);
      for (const { event } of later) expect(['step_completed', 'step_failed', 'step_retrying', 'step_started']).toContain(event);
      for (const id of new Set(events.map(({ correlationId }) => correlationId).filter((each) => each?.startsWith('step_')))) {
        const own = events.filter(({ correlationId }) => correlationId === id).map(({ event }) => event);
        expect(own[0]).toBe('step_created');
        expect(own.filter((event) => event === 'step_created')).toHaveLength(1);
        const terminal = own.findIndex((event) => event === 'step_completed' || event === 'step_failed');
        if (terminal !== -1) expect(own).toHaveLength(terminal + 1);
      }
    }),
  );
});

test('a stored fold is equal to the fold of the log', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
      const log = newLog();
      for (const each of requests) log.ask(each);
      const restored = restoreFold(parseFold(foldBody(storeFold(log.state))));
      expect(storeFold(restored)).toEqual(storeFold(log.state));
      const again = emptyState();
      for (const commit of log.commits) applyCommit(again, commit);
      expect(storeFold(again)).toEqual(storeFold(log.state));
    }),
  );
});
