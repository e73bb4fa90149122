/** Facts from outside the graph: cancel, deadline, lost message, recovery; and repeated facts. */
import { expect, test } from 'vitest';
import type { Fact } from '../../../lib/engine/graph/facts.ts';
import { after, hours, seconds } from '../../../lib/engine/time.ts';
import { type NodeTraits, failed, graph, ms, completesAtOnce, sleepsUntil, threeAttempts } from '../graph-builder.ts';
import { type GraphRunFixture, dawn, started, describeEvents, types } from '../graph-run-fixture.ts';

const cancel: Fact = { kind: 'cancel-requested', reason: 'no longer needed' };
const late: Fact = { kind: 'deadline-passed' };
const deadlineAt = after(dawn, hours(1));

const two = (a: NodeTraits = {}) =>
  started(graph({ nodes: { start: completesAtOnce, a }, edges: ['start -> a -> c', 'start -> b -> c'] }), { deadlineAt });

test('a cancel ends the run and all open nodes in one event', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, nap: { pure: sleepsUntil(after(dawn, seconds(9))) } },
      edges: ['start -> a -> c', 'start -> nap', 'start -> b'],
    }),
  );
  play.decide(play.started('a'));
  const events = play.decide(cancel);
  expect(events).toEqual([
    { type: 'RUN_STATUS_CHANGED', status: 'cancelled' },
    { type: 'RUN_CANCELLED', reason: 'no longer needed' },
  ]);
  expect(play.statuses('start', 'a', 'nap', 'b', 'c')).toEqual(['completed', 'cancelled', 'cancelled', 'cancelled', 'pending']);
  expect([play.status, play.open()]).toEqual(['cancelled', []]);
});

test('after a cancel no fact changes anything', () => {
  const play = two();
  const facts: readonly Fact[] = [
    play.ended('a'),
    play.started('b'),
    play.lost('b'),
    play.woken('a'),
    late,
    cancel,
    recoveredOf('a'),
  ];
  play.decide(cancel);
  play.advanceTime(hours(2));
  for (const fact of facts) expect(play.decide(fact)).toEqual([]);
  expect(play.decide(...facts)).toEqual([]);
});

test('a cancel after the end changes nothing, because the result came first', () => {
  const play = two();
  for (const id of ['a', 'b', 'c']) play.ends(id);
  expect([play.decide(cancel), play.status]).toEqual([[], 'completed']);
});

test('in one commit, facts before the cancel count and facts after it do not', () => {
  const play = two();
  play.decide(play.ended('a'), cancel, play.ended('b'));
  expect(play.statuses('a', 'b', 'c')).toEqual(['completed', 'cancelled', 'pending']);
});

test('a cancel needs no reason', () => {
  const play = two();
  play.decide({ kind: 'cancel-requested' });
  expect(play.state.progress).toEqual({ status: 'cancelled', endedAt: dawn });
});

test('the deadline fails the run, and only once it has passed', () => {
  const play = two();
  play.advanceTime(ms(3_600_000 - 1));
  expect(play.decide(late)).toEqual([]);
  play.advanceTime(ms(1));
  expect(types(play.decide(late))).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
  expect(play.error).toMatchObject({ cause: 'deadline', code: 'deadline_exceeded' });
  expect(play.statuses('a', 'b')).toEqual(['cancelled', 'cancelled']);
  expect(play.decide(play.ended('a'), late, cancel)).toEqual([]);
});

test('a lost attempt is retried by its policy, and the last loss is recorded in the context', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { retry: { ...threeAttempts, retryOn: ['lost'] } } },
      edges: ['start -> a -> b', 'a/error -> rescue'],
    }),
  );
  expect(describeEvents(play.decide(play.lost('a')))).toEqual(['RUN_STATUS_CHANGED', 'NODE_RETRIED a']);
  expect(describeEvents(play.decide(play.lost('a')))).toEqual(['NODE_RETRIED a']);
  expect(describeEvents(play.decide(play.lost('a')))).toEqual([
    'SYSTEM_SET',
    'NODE_FAILED a',
    'NODE_SKIPPED b',
    'NODE_DISPATCHED rescue',
  ]);
  const { context } = play.inputOf('rescue');
  expect(context.get('__recoveryError')).toEqual({ nodeId: 'a', message: 'its message died' });
  expect([context.keys(), context.keys({ hidden: true }).includes('__recoveryError')]).toEqual([['input'], true]);
});

test('a lost node without an error edge fails the run by the leaf rule, or at once if its policy says so', () => {
  const lenient = two();
  lenient.decide(lenient.lost('a'));
  expect([lenient.status, lenient.statuses('a', 'c')]).toEqual(['running', ['failed', 'pending']]);
  lenient.ends('b');
  expect([lenient.status, lenient.error?.cause, lenient.error?.details]).toEqual(['failed', 'lost', { nodeId: 'a' }]);
  const strict = two({ errorHandling: 'fail_workflow' });
  strict.decide(strict.lost('a'));
  expect([strict.status, strict.error?.cause]).toEqual(['failed', 'lost']);
});

test('the loss of an attempt that is not current changes nothing', () => {
  const play = two({ retry: threeAttempts });
  const stale = play.lost('a');
  play.ends('a', failed());
  expect(play.decide(stale)).toEqual([]);
});

test('a result after the loss, and a loss after the result, change nothing', () => {
  const play = two();
  const [result, loss] = [play.ended('a'), play.lost('a')];
  play.decide(loss);
  expect(play.decide(result)).toEqual([]);
  const other = two();
  other.decide(result);
  expect(other.decide(loss)).toEqual([]);
});

test('a recovery is recorded only if something was redispatched', () => {
  const play = two();
  expect(play.decide({ kind: 'recovered', nodes: [] })).toEqual([]);
  expect(play.decide(recoveredOf('a'))).toEqual([{ type: 'RUN_RECOVERED', nodes: ['a'] }]);
  expect(play.statusOf('a')).toBe('queued');
});

test('the first progress sets the run to running, once', () => {
  const play = two();
  expect(play.status).toBe('pending');
  play.decide(play.started('a'));
  play.decide(play.started('b'));
  play.ends('a');
  play.ends('b');
  expect(play.eventsOf('RUN_STATUS_CHANGED')).toEqual([{ type: 'RUN_STATUS_CHANGED', status: 'running' }]);
});

test('a repeated start, or a start of a node that is not queued, changes nothing', () => {
  const play = two();
  const start = play.started('a');
  play.decide(start);
  expect(play.decide(start)).toEqual([]);
  play.ends('a');
  expect(play.decide(start, play.started('c'))).toEqual([]);
});

test('a fact given twice in one decision counts once', () => {
  const once = (tell: (play: GraphRunFixture) => Fact): readonly string[] => {
    const [single, double] = [two(), two()];
    single.decide(tell(single));
    double.decide(tell(double), tell(double));
    expect(double.commits).toEqual(single.commits);
    return describeEvents(single.events);
  };
  expect(once((play) => play.started('a')).at(-1)).toBe('NODE_STARTED a');
  expect(once((play) => play.ended('a')).at(-1)).toBe('NODE_COMPLETED a');
  expect(once((play) => play.ended('a', failed())).at(-1)).toBe('NODE_FAILED a');
  expect(once((play) => play.ended('a', sleepsUntil(after(dawn, seconds(5))))).at(-1)).toBe('SLEEP_STARTED a');
  expect(once((play) => play.lost('a')).at(-1)).toBe('NODE_FAILED a');
  expect(once(() => cancel).at(-1)).toBe('RUN_CANCELLED');
});

function recoveredOf(...nodes: readonly string[]): Fact {
  return { kind: 'recovered', nodes };
}
