/** A rerun from a chosen node reuses the results before it, and decides the rest again. */
import { expect, test } from 'vitest';
import { decideRerunFrom, reusableResults } from '../../../lib/engine/graph/rerun-from.ts';
import { commitNo, eventId, nodeId, nonce } from '../../../lib/engine/ids.ts';
import { hours } from '../../../lib/engine/time.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { type Graph, ends, failed, finished, graph, completesAtOnce } from '../graph-builder.ts';
import { GraphRunFixture, dawn, foldOf, plain, started, describeEvents } from '../graph-run-fixture.ts';

const replacedOf = (outputs: Readonly<Record<string, JsonValue>>) =>
  new Map(Object.entries(outputs).map(([id, output]) => [nodeId(id), output]));

/** The first commit of the new run; undefined if the chosen node is not reached. */
const again = (
  before: GraphRunFixture,
  from: string,
  on: Graph = before.graph,
  outputs: Readonly<Record<string, JsonValue>> = {},
): readonly RunEvent[] | undefined => {
  const tools = { ...new GraphRunFixture(on).tools, now: before.now };
  const reused = reusableResults(on.plan, before.state, nodeId(from), replacedOf(outputs));
  return decideRerunFrom({ value: { again: true } }, { __rerunOf: 'x' }, { from: nodeId(from), reused }, tools);
};

/** The new run, to be continued. */
const playAgain = (
  before: GraphRunFixture,
  from: string,
  on: Graph = before.graph,
  outputs: Readonly<Record<string, JsonValue>> = {},
): GraphRunFixture => {
  const events = again(before, from, on, outputs) ?? [];
  const play = new GraphRunFixture(on);
  const commit = { number: commitNo(1), firstEventId: eventId(1), events, at: before.now, by: 'test', nonce: nonce('n') };
  Object.assign(play.state, foldOf([commit]));
  play.commits.push(commit);
  play.now = before.now;
  return play;
};

const chain = graph({ nodes: { start: completesAtOnce, a: { outputVariable: 'x' } }, edges: ['start -> a -> b -> c'] });
const playedChain = (): GraphRunFixture => {
  const play = started(chain);
  play.ends('a', finished('first'));
  play.advanceTime(hours(1));
  play.ends('b', failed());
  return play;
};

test('results of earlier nodes are reused with their times, and the chosen node is dispatched', () => {
  const before = playedChain();
  expect(before.status).toBe('failed');
  const play = playAgain(before, 'b');
  expect(describeEvents(play.events)).toEqual([
    'INPUT_SET',
    'SYSTEM_SET',
    'RUN_STARTED',
    'NODE_COMPLETED start',
    'NODE_COMPLETED a',
    'NODE_DISPATCHED b',
  ]);
  expect(play.node('a')).toMatchObject({ status: 'completed', endedAt: dawn, output: { value: 'first' } });
  expect(play.inputOf('b').context.get('x')).toBe('first');
  expect(play.inputOf('b').context.get('input')).toEqual({ again: true });
  play.ends('b');
  play.ends('c');
  expect(play.status).toBe('completed');
});

test('the log of the new run folds by itself', () => {
  const play = playAgain(playedChain(), 'b');
  expect(plain(play.refold())).toEqual(plain(play.state));
});

test('from the first node on, the whole run is repeated', () => {
  expect(describeEvents(again(playedChain(), 'start') ?? [])).toEqual([
    'INPUT_SET',
    'SYSTEM_SET',
    'RUN_STARTED',
    'NODE_COMPLETED start',
    'NODE_DISPATCHED a',
  ]);
});

const diamond = graph({
  nodes: { start: completesAtOnce, left: { outputVariable: 'l' }, right: { errorHandling: 'continue', outputVariable: 'r' } },
  edges: ['start -> left -> join', 'start -> right -> join'],
});

test('a completed parallel branch is reused, and its join waits for the chosen node alone', () => {
  const before = started(diamond);
  before.ends('left', finished('L'));
  before.ends('right', failed());
  const play = playAgain(before, 'right');
  expect(play.statuses('left', 'right', 'join')).toEqual(['completed', 'queued', 'pending']);
  play.ends('right', finished('R'));
  expect(play.openIds()).toEqual(['join']);
});

test('a parallel branch that failed runs again too', () => {
  const before = started(diamond);
  before.ends('left', failed());
  before.ends('right', failed());
  expect(playAgain(before, 'right').openIds()).toEqual(['left', 'right']);
});

test('nodes that were open when the earlier run was cancelled run again', () => {
  const before = started(diamond);
  before.ends('right', finished('R'));
  before.decide({ kind: 'cancel-requested' });
  const play = playAgain(before, 'join');
  expect(play.openIds()).toEqual(['left']);
  expect(play.statusOf('right')).toBe('completed');
  play.ends('left');
  expect(play.openIds()).toEqual(['join']);
});

const handled = graph({
  nodes: { start: completesAtOnce, risky: { outputVariable: 'risk' } },
  edges: ['start -> risky', 'risky/error -> fix -> after', 'risky -> good'],
});

test('a handled failure is reused, with the value for its error branch', () => {
  const before = started(handled);
  before.ends('risky', failed());
  before.ends('fix', finished('fixed'));
  const play = playAgain(before, 'fix');
  expect(play.statuses('risky', 'good', 'fix')).toEqual(['failed', 'skipped', 'queued']);
  expect(play.inputOf('fix').context.get('risk')).toMatchObject({ success: false, error: { cause: 'error' } });
});

test('a node that the reused results do not lead to is rejected', () => {
  const before = started(handled);
  before.ends('risky', failed());
  expect(again(before, 'good')).toBeUndefined();
});

test('a later version reuses the results it has nodes for, and runs new nodes before the chosen one', () => {
  const before = started(chain);
  before.ends('a', finished('first'));
  before.ends('b', finished('second'));
  before.ends('c', failed());
  const next = graph({
    nodes: { start: completesAtOnce, a: { outputVariable: 'x' } },
    edges: ['start -> a -> c', 'start -> added -> c'],
  });
  const play = playAgain(before, 'c', next);
  expect(play.statuses('a', 'b', 'added', 'c')).toEqual(['completed', 'pending', 'queued', 'pending']);
  play.ends('added');
  expect(play.openIds()).toEqual(['c']);
});

test('the latest write of a context key still wins', () => {
  const twice = graph({
    nodes: { start: completesAtOnce, a: { outputVariable: 'x' }, b: { outputVariable: 'x' } },
    edges: ['start -> a -> join', 'start -> b -> join'],
  });
  const before = started(twice);
  before.ends('b', finished('early'));
  before.ends('a', finished('late'));
  expect(playAgain(before, 'join').inputOf('join').context.get('x')).toBe('late');
});

test('an end that ended the run is decided again, so a node that it keeps from running is rejected', () => {
  const ending = graph({
    nodes: { start: completesAtOnce, refused: { pure: ends({}, 'error'), endsRun: true } },
    edges: ['start -> charge -> mail', 'charge/error -> refused', 'start -> a -> b'],
  });
  const before = started(ending);
  before.ends('a');
  before.ends('charge', failed());
  expect(before.statuses('b', 'refused')).toEqual(['cancelled', 'completed']);
  expect(again(before, 'b')).toBeUndefined();
  const play = playAgain(before, 'charge');
  play.ends('charge');
  expect(play.statuses('refused', 'mail')).toEqual(['skipped', 'queued']);
});

test('a kept output is replaced, and later nodes read the replacement', () => {
  const play = playAgain(playedChain(), 'b', undefined, { a: { repaired: true } });
  expect(play.node('a')).toMatchObject({ status: 'completed', endedAt: dawn, output: { value: { repaired: true } } });
  expect(play.inputOf('b').context.get('x')).toEqual({ repaired: true });
  expect(plain(play.refold())).toEqual(plain(play.state));
});

test('a failed node with a replaced output counts as completed, and the rerun continues after it', () => {
  expect(describeEvents(again(playedChain(), 'c') ?? []).at(-1)).toBe('NODE_DISPATCHED b');
  const play = playAgain(playedChain(), 'c', undefined, { b: null });
  expect(describeEvents(play.events)).toEqual([
    'INPUT_SET',
    'SYSTEM_SET',
    'RUN_STARTED',
    'NODE_COMPLETED start',
    'NODE_COMPLETED a',
    'NODE_COMPLETED b',
    'NODE_DISPATCHED c',
  ]);
  play.ends('c');
  expect(play.status).toBe('completed');
});

test.each(['b', 'c', 'ghost'])('the output of %s, which runs again or never ended, is not replaced', (id) => {
  const before = playedChain();
  const reused = reusableResults(before.graph.plan, before.state, nodeId('b'), replacedOf({ [id]: 1 }));
  expect(reused.map(({ nodeId: kept }) => kept)).toEqual(['start', 'a']);
});
