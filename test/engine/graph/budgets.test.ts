/** Budgets of a run: what counts, what happens beyond the limit, and that duplicates do not change the count. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Budget } from '../../../lib/engine/graph/definition.ts';
import type { Outcome } from '../../../lib/engine/graph/outcome.ts';
import { decideRerunFrom, reusableResults } from '../../../lib/engine/graph/rerun-from.ts';
import { nodeId } from '../../../lib/engine/ids.ts';
import { type TokenCount } from '../../../lib/engine/log/events.ts';
import { restoreFold, storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { after, hours } from '../../../lib/engine/time.ts';
import { foldBody, parseFold } from '../../../lib/codec/fold.ts';
import {
  type GraphSpec,
  calls,
  failed,
  finished,
  graph,
  names,
  noRetry,
  completesAtOnce,
  threeAttempts,
} from '../graph-builder.ts';
import { type Script, violationsOf, runToCompletion } from '../run-to-completion.ts';
import { GraphRunFixture, dawn, plain, started, types } from '../graph-run-fixture.ts';

vi.setConfig({ testTimeout: 120_000 });

const within = (budget: Budget, drawing: GraphSpec) => graph({ ...drawing, options: { budget } });
const telling = (input: number, output: number, outcome: Outcome = finished()): Outcome =>
  outcome.kind === 'finished' || outcome.kind === 'failed' ? { ...outcome, tokens: { input, output } } : outcome;

describe('executions', () => {
  test('a run makes as many executions as its budget, and fails instead of making another one', () => {
    const play = started(
      within({ maxNodeExecutions: 2 }, { nodes: { start: completesAtOnce }, edges: ['start -> a -> b -> c'] }),
    );
    play.ends('a');
    expect(play.statusOf('b')).toBe('queued');
    const last = play.ends('b');
    expect(types(last)).toEqual(['NODE_COMPLETED', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
    expect(play.error).toEqual({
      cause: 'budget',
      code: 'budget_exceeded',
      message: 'the run exceeded its budget of 2 node executions: it needs another one',
      details: { budget: 'maxNodeExecutions', limit: 2, used: 2, nodeId: 'c' },
    });
  });

  test('a run that stays within its budget ends as without one', () => {
    const play = started(
      within(
        { maxNodeExecutions: 2 },
        { nodes: { start: completesAtOnce, end: completesAtOnce }, edges: ['start -> a -> b -> end'] },
      ),
    );
    play.ends('a');
    play.ends('b');
    expect([play.status, play.state.budgetUsage.executions]).toEqual(['completed', 2]);
  });

  test('if the budget does not cover all ready nodes, none is dispatched and open nodes are cancelled', () => {
    const edges = ['start -> a', 'start -> b -> c', 'b -> d', 'b -> e'];
    const play = started(within({ maxNodeExecutions: 4 }, { nodes: { start: completesAtOnce }, edges }));
    expect(types(play.ends('b'))).toEqual(['RUN_STATUS_CHANGED', 'NODE_COMPLETED', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
    expect(play.statuses('a', 'c', 'd', 'e')).toEqual(['cancelled', 'pending', 'pending', 'pending']);
    expect(play.error?.details).toEqual({ budget: 'maxNodeExecutions', limit: 4, used: 2, nodeId: 'e' });
    // The late result of an open node changes nothing.
    expect(play.ends('a')).toEqual([]);
  });

  test('roots beyond the budget fail the run in its first commit, whether it starts now or later', () => {
    const drawn = within({ maxNodeExecutions: 1 }, { edges: ['a -> c', 'b -> c'] });
    expect(types(started(drawn).events)).toEqual(['INPUT_SET', 'RUN_STARTED', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
    const later = new GraphRunFixture(drawn);
    later.start({}, after(dawn, hours(1)));
    expect([later.status, later.error?.details?.['nodeId']]).toEqual(['failed', 'b']);
  });

  test('a retry counts, and without budget for it the failure is recorded and the run fails', () => {
    const drawing = {
      nodes: { start: completesAtOnce, a: { retry: threeAttempts } },
      edges: ['start -> a -> b', 'a/error -> rescue'],
    };
    const play = started(within({ maxNodeExecutions: 2 }, drawing));
    play.ends('a', failed());
    expect(play.state.budgetUsage.executions).toBe(2);
    expect(types(play.ends('a', failed()))).toEqual(['NODE_FAILED', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
    expect(play.error).toMatchObject({ code: 'budget_exceeded', details: { nodeId: 'a', used: 2 } });
    expect(play.statusOf('a')).toBe('failed');
  });

  test('the budget does not hide a failure that ends the run anyway', () => {
    const nodes = { start: completesAtOnce, a: { retry: noRetry, errorHandling: 'fail_workflow' as const } };
    const play = started(within({ maxNodeExecutions: 1 }, { nodes, edges: ['start -> a -> b'] }));
    play.ends('a', failed());
    expect(play.error?.cause).toBe('error');
  });

  test('iterations of a loop count each of their nodes', () => {
    const nodes = { start: completesAtOnce, each: { loop: { over: [1, 2, 3] } } };
    const play = started(within({ maxNodeExecutions: 2 }, { nodes, edges: ['start -> each', 'each/loop -> a'] }));
    play.ends('a@each[0]');
    play.ends('a@each[1]');
    expect(play.error?.details).toMatchObject({ nodeId: 'a', iteration: 'each[2]', used: 2 });
  });

  test('each attempt of a call counts once, and nodes decided without a worker never count', () => {
    const nodes = {
      start: completesAtOnce,
      k: { pure: calls(), retry: threeAttempts },
      nap: completesAtOnce,
      end: completesAtOnce,
    };
    const drawing = { nodes, edges: ['start -> nap -> k -> end'] };
    const play = started(within({ maxNodeExecutions: 2 }, drawing));
    expect(play.state.budgetUsage.executions).toBe(1);
    const error = { cause: 'error', message: 'it broke' } as const;
    play.decide(play.childEnded('k', { status: 'failed', error }));
    expect(play.state.budgetUsage.executions).toBe(2);
    play.ends('k', calls());
    expect(play.state.budgetUsage.executions).toBe(2);
    play.decide(play.childEnded('k', { status: 'failed', error }));
    expect(play.error?.code).toBe('budget_exceeded');
    const refused = started(within({ maxNodeExecutions: 1 }, { nodes, edges: ['start -> a', 'start -> k', 'k -> end'] }));
    expect([refused.error?.code, refused.eventsOf('SUBFLOW_CALLED').length]).toEqual(['budget_exceeded', 1]);
  });

  test('a run with a later start counts like one that starts at once', () => {
    const drawn = within({ maxNodeExecutions: 2 }, { nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] });
    const later = new GraphRunFixture(drawn);
    later.start({}, after(dawn, hours(1)));
    expect(later.state.budgetUsage.executions).toBe(0);
    later.advanceTime(hours(1));
    later.ends('start');
    later.ends('a');
    later.ends('b');
    expect([later.status, later.state.budgetUsage.executions]).toEqual(['completed', 2]);
  });

  test('a rerun has a budget of its own, and fails if its first dispatch exceeds it', () => {
    const drawing = { nodes: { start: completesAtOnce }, edges: ['start -> a -> b -> c'] };
    const first = started(graph(drawing));
    for (const id of ['a', 'b', 'c']) first.ends(id, telling(5, 5));
    const again = new GraphRunFixture(within({ maxNodeExecutions: 1, maxTokens: 1 }, drawing));
    const from = nodeId('c');
    const reused = reusableResults(again.graph.plan, first.state, from);
    const events = decideRerunFrom({ value: {} }, {}, { from, reused }, again.tools) ?? [];
    expect(types(events).at(-1)).toBe('NODE_DISPATCHED');
    const wide = new GraphRunFixture(
      within({ maxNodeExecutions: 1 }, { nodes: { start: completesAtOnce }, edges: ['start -> a', 'start -> b'] }),
    );
    const none = decideRerunFrom({ value: {} }, {}, { from: nodeId('a'), reused: [] }, wide.tools) ?? [];
    expect(types(none).at(-1)).toBe('RUN_FAILED');
  });
});

describe('tokens', () => {
  test('usage up to the budget ends nothing; the result that exceeds it is recorded, and the run fails', () => {
    const play = started(
      within({ maxTokens: 20 }, { nodes: { start: completesAtOnce }, edges: ['start -> a -> b -> c', 'start -> d'] }),
    );
    play.ends('a', telling(15, 5));
    expect(play.statusOf('b')).toBe('queued');
    expect(types(play.ends('b', telling(1, 0)))).toEqual(['NODE_COMPLETED', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
    expect(play.statuses('b', 'c', 'd')).toEqual(['completed', 'pending', 'cancelled']);
    expect(play.error).toMatchObject({
      cause: 'budget',
      code: 'budget_exceeded',
      details: { budget: 'maxTokens', limit: 20, used: 21, nodeId: 'b' },
    });
  });

  test('tokens of failed attempts count, with or without a retry', () => {
    const drawing = {
      nodes: { start: completesAtOnce, a: { retry: threeAttempts } },
      edges: ['start -> a', 'a/error -> rescue'],
    };
    const play = started(within({ maxTokens: 10 }, drawing));
    play.ends('a', telling(4, 4, failed()));
    expect([play.state.budgetUsage.tokens, play.status]).toEqual([8, 'running']);
    play.ends('a', telling(1, 2, failed()));
    expect([play.state.budgetUsage.tokens, play.error?.code]).toEqual([11, 'budget_exceeded']);
  });

  test('results of one commit are checked one by one, and those after the end are ignored', () => {
    const edges = names(10, 'n').map((id) => `start -> ${id}`);
    const play = started(within({ maxTokens: 25 }, { nodes: { start: completesAtOnce }, edges }));
    play.decide(...names(10, 'n').map((id) => play.ended(id, telling(5, 5))));
    expect([play.state.budgetUsage.tokens, play.eventsOf('NODE_COMPLETED').length]).toEqual([30, 4]);
  });
});

const layered = fc.record({
  widths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
  items: fc.integer({ min: 0, max: 4 }),
  concurrency: fc.constantFrom(1, 3),
  seed: fc.integer(),
  broken: fc.integer({ min: 2, max: 7 }),
});
type Layered = typeof layered extends fc.Arbitrary<infer Value> ? Value : never;

/** Layers of nodes with three attempts, then a loop around one more node, and a call. */
const drawingOf = ({ widths, items, concurrency }: Layered): GraphSpec => {
  const layers = widths.map((width, layer) => names(width, `n${layer}_`));
  const traits = Object.fromEntries(layers.flat().map((id) => [id, { retry: threeAttempts }]));
  const last = layers.at(-1) ?? [];
  return {
    nodes: {
      ...traits,
      start: completesAtOnce,
      each: {
        loop: { over: Array.from({ length: items }, (_, at) => at), concurrency, onItemFailure: 'continue' },
        joinMode: 'any',
      },
      in: { retry: threeAttempts },
      k: { pure: calls() },
    },
    edges: [
      ...(layers[0] ?? []).map((id) => `start -> ${id}`),
      ...layers.slice(1).flatMap((layer, at) => layer.flatMap((id) => (layers[at] ?? []).map((above) => `${above} -> ${id}`))),
      ...last.map((id) => `${id} -> each`),
      'each/loop -> in',
      'each/done -> k -> after',
    ],
  };
};
const scriptOf =
  ({ broken }: Layered): Script =>
  (id, attempt, iteration) => {
    const dice = Array.from(`${id}${iteration}`, (letter) => letter.charCodeAt(0)).reduce((sum, code) => sum + code, attempt);
    return telling(dice % 5, attempt, dice % broken === 0 ? failed() : finished(id));
  };

/** Counts from the events alone, by their names, not from the fold. */
const countOf = (play: GraphRunFixture): number =>
  play.events.filter(
    ({ type, ...event }) =>
      type === 'NODE_DISPATCHED' ||
      type === 'NODE_RETRIED' ||
      (type === 'SUBFLOW_CALLED' && 'attempt' in event && event.attempt === 1),
  ).length;
const tokensOf = (play: GraphRunFixture): number =>
  play.events
    .flatMap((event): readonly TokenCount[] => ('tokens' in event && event.tokens !== undefined ? [event.tokens] : []))
    .reduce((sum, { input, output }) => sum + input + output, 0);

describe('in every order', () => {
  test('a run fails exactly when it needs more executions than its budget', () => {
    fc.assert(
      fc.property(layered, fc.integer({ min: 1, max: 30 }), (all, maxNodeExecutions) => {
        const free = runToCompletion(graph(drawingOf(all)), all.seed, scriptOf(all));
        const play = runToCompletion(within({ maxNodeExecutions }, drawingOf(all)), all.seed, scriptOf(all));
        expect(violationsOf(play)).toEqual([]);
        const isOver = countOf(free) > maxNodeExecutions;
        expect(play.error?.code === 'budget_exceeded').toBe(isOver);
        expect([countOf(play), tokensOf(play)]).toEqual([play.state.budgetUsage.executions, play.state.budgetUsage.tokens]);
        expect(countOf(play)).toBeLessThanOrEqual(maxNodeExecutions);
        const whole = isOver ? play.commits.slice(0, -1) : play.commits;
        expect(whole).toEqual(free.commits.slice(0, whole.length));
        if (!isOver) expect(play.commits).toHaveLength(free.commits.length);
      }),
      { numRuns: 400, seed: 4 },
    );
  });

  test('a run fails with the first result that exceeds its token budget', () => {
    fc.assert(
      fc.property(layered, fc.integer({ min: 1, max: 60 }), (all, maxTokens) => {
        const free = runToCompletion(graph(drawingOf(all)), all.seed, scriptOf(all));
        const play = runToCompletion(within({ maxTokens }, drawingOf(all)), all.seed, scriptOf(all));
        expect(violationsOf(play)).toEqual([]);
        const isOver = tokensOf(free) > maxTokens;
        expect(play.error?.code === 'budget_exceeded').toBe(isOver);
        if (!isOver) expect(play.commits).toEqual(free.commits);
        else expect(play.error?.details).toMatchObject({ used: tokensOf(play), limit: maxTokens });
      }),
      { numRuns: 400, seed: 5 },
    );
  });

  test('a stored and restored fold has the same usage', () => {
    fc.assert(
      fc.property(layered, fc.nat(40), (all, moment) => {
        const { commits } = runToCompletion(graph(drawingOf(all)), all.seed, scriptOf(all));
        const play = runToCompletion(graph(drawingOf(all)), all.seed, scriptOf(all), {
          cancelAfter: 1 + (moment % commits.length),
        });
        expect(plain(restoreFold(parseFold(foldBody(storeFold(play.state)))))).toEqual(plain(play.state));
      }),
      { numRuns: 100, seed: 6 },
    );
  });
});
