/** The tags of each event of a log. */
import { expect, test } from 'vitest';
import { TagReader, tagNames } from '../../../lib/engine/log/tags.ts';
import { after, hours, seconds } from '../../../lib/engine/time.ts';
import { commit, eventOfEachType } from '../../contract/samples.ts';
import { awaits, calls, failed, finished, graph, ms, completesAtOnce, sleepsUntil, threeAttempts } from '../graph-builder.ts';
import { type GraphRunFixture, dawn, started } from '../graph-run-fixture.ts';

const tagsOf = (play: GraphRunFixture) => {
  const reader = new TagReader();
  return play.commits.flatMap((each) => reader.read(each));
};
const named = (play: GraphRunFixture) => tagsOf(play).map(({ tag, nodeId, severity }) => [tag, nodeId, severity]);

const drawn = () =>
  started(
    graph({ nodes: { start: completesAtOnce, a: { retry: threeAttempts } }, edges: ['start -> a -> b', 'a/error -> rescue'] }),
  );

test('a retry and an end of a node have tags with their facts', () => {
  const play = drawn();
  play.ends('a', failed('timeout'));
  play.advanceTime(seconds(1));
  play.decide(play.started('a'));
  play.advanceTime(ms(40));
  play.ends('a');
  const of = tagsOf(play).filter(({ nodeId }) => nodeId === 'a');
  expect(of.map(({ tag, severity, metadata }) => [tag, severity, metadata])).toEqual([
    ['node_started', 'info', { attempt: 1, wave: 1 }],
    ['timed_out', 'warn', {}],
    ['node_retried', 'warn', { attempt: 1, cause: 'timeout', delayMs: 1_000 }],
    ['node_started', 'info', { attempt: 2, wave: 1 }],
    ['node_completed', 'info', { durationMs: 0 }],
  ]);
  // Each tag has the id of its event, in order.
  const ids = tagsOf(play).map(({ eventId }) => eventId);
  expect(ids).toEqual(ids.toSorted((one, other) => one - other));
  expect(ids.at(-1)).toBeLessThanOrEqual(play.events.length);
});

test('a handled failure is a warning, and the completed run is a partial success', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b', 'a/error -> rescue'] }));
  play.ends('a', failed());
  play.ends('rescue');
  expect(play.status).toBe('completed');
  expect(named(play)).toContainEqual(['node_failed', 'a', 'warn']);
  expect(named(play).at(-1)).toEqual(['partial_success', undefined, 'warn']);
  expect(tagsOf(play).at(-1)?.metadata).toEqual({ failed: ['a'], failures: 1 });
});

test('an unhandled failure is critical, and the run is no partial success', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a'] }));
  play.ends('a', failed('contract_violated'));
  expect(play.status).toBe('failed');
  expect(named(play)).toContainEqual(['node_failed', 'a', 'critical']);
  expect(named(play)).toContainEqual(['contract_violated', 'a', 'warn']);
  expect(named(play).map(([tag]) => tag)).not.toContain('partial_success');
});

test('the end of a cancelled run cancels its open nodes, once each', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', 'start -> b', 'start -> c'] }));
  play.ends('a');
  play.decide({ kind: 'cancel-requested' });
  const cancelled = named(play).filter(([tag]) => tag === 'node_cancelled');
  expect(cancelled).toEqual([
    ['node_cancelled', 'b', 'info'],
    ['node_cancelled', 'c', 'info'],
  ]);
});

test('a failed loop cancels the open nodes of its iterations, and the end of the run does not repeat it', () => {
  const nodes = { start: completesAtOnce, each: { loop: { over: ['a', 'b', 'c'], concurrency: 3 } } };
  const edges = ['start -> each', 'start -> apart', 'each/loop -> work', 'work -> after', 'each/error -> rescue'];
  const play = started(graph({ nodes, edges }));
  play.ends('work@each[0]');
  play.ends('work@each[1]', failed());
  const failure = tagsOf(play).find(({ tag, nodeId }) => tag === 'node_failed' && nodeId === 'each');
  const cancelled = tagsOf(play).filter(({ tag }) => tag === 'node_cancelled');
  expect(cancelled.map(({ nodeId, iteration, eventId }) => [nodeId, iteration, eventId])).toEqual([
    ['work', 'each[2]', failure?.eventId],
    ['after', 'each[0]', failure?.eventId],
  ]);
  play.decide({ kind: 'cancel-requested' });
  const later = tagsOf(play).filter(({ tag }) => tag === 'node_cancelled');
  expect(later.slice(2).map(({ nodeId }) => nodeId)).toEqual(['apart', 'rescue']);
});

test('a nested loop that fails cancels only the open nodes of its own iterations', () => {
  const nodes = {
    start: completesAtOnce,
    each: { loop: { over: ['a', 'b'], concurrency: 2, onItemFailure: 'continue' as const } },
    inner: { loop: { over: [1, 2], concurrency: 2 } },
  };
  const play = started(graph({ nodes, edges: ['start -> each', 'each/loop -> inner', 'inner/loop -> work'] }));
  play.ends('work@each[0]/inner[0]', failed());
  const cancelled = tagsOf(play).filter(({ tag }) => tag === 'node_cancelled');
  expect(cancelled.map(({ nodeId, iteration }) => [nodeId, iteration])).toEqual([['work', 'each[0]/inner[1]']]);
});

test('an expired wait has its duration', () => {
  const inTwoHours = { expiresAt: after(dawn, hours(2)) };
  const nodes = { start: completesAtOnce, wait: { pure: awaits(inTwoHours) }, call: { pure: calls(inTwoHours) } };
  const play = started(graph({ nodes, edges: ['start -> wait', 'start -> call'] }));
  play.advanceTime(hours(2));
  play.decide(play.woken('wait'), play.woken('call'));
  const over = tagsOf(play).filter(({ tag }) => tag === 'timed_out');
  expect(over.map(({ nodeId, metadata }) => [nodeId, metadata])).toEqual([
    ['wait', { timeoutMs: 7_200_000 }],
    ['call', { childRunId: expect.any(String), timeoutMs: 7_200_000 }],
  ]);
});

test('a wait without a worker starts without a wave, and is cancelled like other nodes', () => {
  const nodes = {
    start: completesAtOnce,
    call: { pure: calls() },
    sleep: { pure: sleepsUntil(after(dawn, hours(1))) },
    each: { loop: { over: ['a'] } },
  };
  const edges = ['start -> call', 'start -> sleep', 'start -> each', 'each/loop -> work'];
  const play = started(graph({ nodes, edges }));
  const begun = tagsOf(play).filter(({ tag }) => tag === 'node_started');
  expect(begun.map(({ nodeId, metadata }) => [nodeId, metadata])).toEqual([
    ['start', { attempt: 1 }],
    ['call', { attempt: 1 }],
    ['sleep', { attempt: 1 }],
    ['each', { attempt: 1 }],
  ]);
  play.decide({ kind: 'cancel-requested' });
  const cancelled = tagsOf(play).filter(({ tag }) => tag === 'node_cancelled');
  expect(cancelled.map(({ nodeId }) => nodeId)).toEqual(['call', 'sleep', 'each', 'work']);
});

test('a moderation tag names its phase and decision beside the failure; tokens are included if known', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, a: { retry: threeAttempts } }, edges: ['start -> a -> b', 'a/error -> rescue'] }),
  );
  const tokens = { input: 7, output: 2 };
  const decision = { policy: 'words', reason: 'no' };
  const stopped = (cause: 'forbidden' | 'error') => {
    const how = failed(cause);
    return how.kind === 'failed'
      ? { ...how, tokens, gate: { kind: 'moderation' as const, phase: 'output' as const, decision } }
      : how;
  };
  play.ends('a', stopped('error'));
  play.ends('a', stopped('forbidden'));
  const outcome = finished('x');
  play.ends('rescue', outcome.kind === 'finished' ? { ...outcome, tokens } : outcome);
  const flagged = { phase: 'output', decision };
  expect(
    tagsOf(play)
      .filter(({ tag }) => tag !== 'node_started')
      .map(({ tag, severity, metadata }) => [tag, severity, metadata]),
  ).toEqual([
    ['node_completed', 'info', { durationMs: 0 }],
    ['moderation_flagged', 'warn', flagged],
    ['node_retried', 'warn', { attempt: 1, cause: 'error', delayMs: 1_000, inputTokens: 7, outputTokens: 2 }],
    ['moderation_flagged', 'warn', flagged],
    [
      'node_failed',
      'warn',
      { errorCode: 'forbidden', errorMessage: 'it broke: forbidden', attempts: 2, inputTokens: 7, outputTokens: 2 },
    ],
    ['node_completed', 'info', { durationMs: 0, inputTokens: 7, outputTokens: 2 }],
    ['partial_success', 'warn', { failed: ['a'], failures: 1 }],
  ]);
});

test('a recovered run has a tag', () => {
  const reader = new TagReader();
  expect(reader.read(commit(1, { events: [eventOfEachType.RUN_RECOVERED] }))).toMatchObject([
    { tag: 'recovered', severity: 'warn', metadata: { nodes: ['fetch-1', 'body@each[3]/inner[12]'] } },
  ]);
});

test('every tag of the table occurs, and every event is handled', () => {
  const made = new Set<string>();
  const { NODE_RETRIED, NODE_FAILED, RUN_COMPLETED, RUN_CANCELLED, RUN_RECOVERED, NODE_COMPLETED, NODE_STARTED } =
    eventOfEachType;
  const violated = { ...NODE_FAILED, failure: { cause: 'contract_violated', message: '' } as const };
  for (const events of [
    Object.values(eventOfEachType),
    [NODE_STARTED, NODE_RETRIED, NODE_COMPLETED],
    [violated, RUN_RECOVERED, RUN_COMPLETED],
    [NODE_STARTED, RUN_CANCELLED],
  ]) {
    for (const { tag } of new TagReader().read(commit(1, { events }))) made.add(tag);
  }
  expect([...made].toSorted()).toEqual([...tagNames].toSorted());
});
