/** A request may wake a sleeping node early; nodes that do not sleep are unaffected. */
import { expect, test } from 'vitest';
import { nodeId } from '../../../lib/engine/ids.ts';
import { after, hours, seconds } from '../../../lib/engine/time.ts';
import type { Fact } from '../../../lib/engine/graph/facts.ts';
import { type NodeTraits, failed, finished, graph, completesAtOnce, sleepsUntil, threeAttempts } from '../graph-builder.ts';
import { dawn, plain, started, describeEvents } from '../graph-run-fixture.ts';

const nap = (output: string): NodeTraits => ({ pure: (_input, now) => sleepsUntil(after(now, hours(2)), output) });
const wake = (...ids: readonly string[]): Fact => ({ kind: 'wake-requested', nodeIds: ids.map(nodeId) });
const wakeAll: Fact = { kind: 'wake-requested' };

const chain = () =>
  started(
    graph({ nodes: { start: completesAtOnce, one: nap('rested'), two: nap('again') }, edges: ['start -> one -> two -> z'] }),
  );
const pair = () =>
  started(
    graph({
      nodes: { start: completesAtOnce, left: nap('l'), right: nap('r') },
      edges: ['start -> left -> join', 'start -> right -> join'],
    }),
  );

test('a sleeping node that is woken completes now with its output, and the wake-up is recorded', () => {
  const play = chain();
  play.advanceTime(seconds(5));
  expect(describeEvents(play.decide(wakeAll))).toEqual([
    'RUN_STATUS_CHANGED',
    'NODE_WOKEN one',
    'NODE_COMPLETED one',
    'SLEEP_STARTED two',
  ]);
  expect(play.node('one')).toMatchObject({
    status: 'completed',
    startedAt: dawn,
    endedAt: play.now,
    output: { value: 'rested' },
  });
});

test('only nodes that sleep at the time of the request wake, not those that begin to sleep because of it', () => {
  const play = chain();
  play.decide(wakeAll);
  expect(play.statuses('one', 'two', 'z')).toEqual(['completed', 'waiting', 'pending']);
});

test('a repeated wake request by id changes nothing', () => {
  const play = chain();
  play.decide(wake('one'));
  expect(play.decide(wake('one'))).toEqual([]);
  expect(play.statusOf('two')).toBe('waiting');
});

test('the same id twice in one decision counts once', () => {
  const [single, double] = [chain(), chain()];
  single.decide(wake('one'));
  double.decide(wake('one'), wake('one'));
  expect(double.commits).toEqual(single.commits);
});

test('the timer of a woken node changes nothing', () => {
  const play = chain();
  const timer = play.woken('one');
  play.decide(wakeAll);
  play.advanceTime(hours(2));
  expect(play.decide(timer)).toEqual([]);
});

test('several nodes wake in one commit, and their join fires once', () => {
  const play = pair();
  expect(describeEvents(play.decide(wakeAll))).toEqual([
    'RUN_STATUS_CHANGED',
    'NODE_WOKEN left',
    'NODE_COMPLETED left',
    'NODE_WOKEN right',
    'NODE_COMPLETED right',
    'NODE_DISPATCHED join',
  ]);
});

test('a wake request for one of two leaves the other asleep', () => {
  const play = pair();
  play.decide(wake('right'));
  expect(play.statuses('left', 'right', 'join')).toEqual(['waiting', 'completed', 'pending']);
});

test('ids of nodes that do not sleep, or do not exist, are ignored', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { retry: threeAttempts }, nap: nap('n') },
      edges: ['start -> a', 'start -> b', 'start -> nap'],
    }),
  );
  play.ends('a', failed());
  expect(play.node('a')).toMatchObject({ status: 'queued', notBefore: expect.any(Number) });
  play.decide(play.started('b'));
  expect(play.decide(wake('a', 'b', 'start', 'nowhere'))).toEqual([]);
  expect(describeEvents(play.decide(wakeAll))).toEqual(['NODE_WOKEN nap', 'NODE_COMPLETED nap']);
  expect(play.statuses('a', 'b')).toEqual(['queued', 'running']);
});

test('waking the last sleeping node can end the run', () => {
  const play = started(graph({ nodes: { start: completesAtOnce, nap: nap('n') }, edges: ['start -> nap'] }));
  play.decide(wakeAll);
  expect(play.status).toBe('completed');
  expect(play.decide(wakeAll)).toEqual([]);
});

test('the log of a woken run folds to the same state', () => {
  const play = pair();
  play.decide(wakeAll);
  expect(plain(play.refold())).toEqual(plain(play.state));
});

test('of iterations that are woken together, none is dispatched after one of them failed their loop', () => {
  const play = started(
    graph({
      nodes: {
        start: completesAtOnce,
        each: { loop: { over: ['fine', 'bad', 'fine'], concurrency: 3 } },
        sleep: nap(''),
        check: { pure: ({ context }) => (context.get('item') === 'bad' ? failed('invalid') : finished()) },
      },
      edges: ['start -> each', 'each/loop -> sleep -> check -> work', 'each/done -> after'],
    }),
  );
  const events = describeEvents(play.decide(wakeAll));
  expect(events.filter((event) => event.startsWith('NODE_FAILED'))).toEqual(['NODE_FAILED check@each[1]', 'NODE_FAILED each']);
  expect(events.filter((event) => event.startsWith('NODE_DISPATCHED'))).toEqual([]);
  expect([play.status, play.statusOf('after')]).toEqual(['failed', 'skipped']);
});
