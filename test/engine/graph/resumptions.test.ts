/** A resume request is recorded with its reason, and wakes sleeping nodes. */
import { expect, test } from 'vitest';
import type { Fact } from '../../../lib/engine/graph/facts.ts';
import { after, hours } from '../../../lib/engine/time.ts';
import { graph, completesAtOnce, sleepsUntil } from '../graph-builder.ts';
import { dawn, plain, started, describeEvents } from '../graph-run-fixture.ts';

const resume: Fact = { kind: 'resume-requested', reason: 'paid', payload: { value: { amount: 3 } } };
const napping = () =>
  started(
    graph({ nodes: { start: completesAtOnce, nap: { pure: sleepsUntil(after(dawn, hours(2))) } }, edges: ['start -> nap -> b'] }),
  );

test('it is recorded with its reason and payload, and the sleeping node continues', () => {
  const play = napping();
  const events = play.decide(resume);
  expect(describeEvents(events)).toEqual([
    'RUN_RESUMED',
    'RUN_STATUS_CHANGED',
    'NODE_WOKEN nap',
    'NODE_COMPLETED nap',
    'NODE_DISPATCHED b',
  ]);
  expect(events[0]).toEqual({ type: 'RUN_RESUMED', reason: 'paid', payload: { value: { amount: 3 } } });
  expect(plain(play.refold())).toEqual(plain(play.state));
});

test('it needs neither, and without a sleeping node it is only recorded', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a'] }));
  expect(play.decide({ kind: 'resume-requested' })).toEqual([{ type: 'RUN_RESUMED' }]);
  expect([play.statusOf('a'), play.status]).toEqual(['queued', 'pending']);
});

test('each one is recorded, and none after the end', () => {
  const play = napping();
  play.decide(resume);
  expect(describeEvents(play.decide(resume))).toEqual(['RUN_RESUMED']);
  play.ends('b');
  expect(play.decide(resume)).toEqual([]);
});

test('its payload is not in the context of the nodes', () => {
  const play = napping();
  play.decide(resume);
  expect(play.inputOf('b').context.keys()).toEqual(['input']);
});
