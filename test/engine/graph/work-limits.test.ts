/** Limits of the work of one node and of one decision, and what happens beyond them. */
import { describe, expect, test } from 'vitest';
import { decideUntilFull } from '../../../lib/engine/graph/decide.ts';
import {
  DecisionLimitReached,
  DecisionWork,
  NodeWork,
  WorkLimitExceeded,
  withinConfigPath,
  workLimits,
} from '../../../lib/engine/graph/work-limits.ts';
import { minJsonLength } from '../../../lib/engine/json.ts';
import { decided } from '../../nodes/given.ts';
import type { Fact } from '../../../lib/engine/graph/facts.ts';
import { firstAttempt } from '../../../lib/engine/ids.ts';
import { finished, graph, completesAtOnce } from '../graph-builder.ts';
import { refOf, started } from '../graph-run-fixture.ts';

describe('the work of a node', () => {
  test('is counted over all its templates, and rejected with its path', () => {
    const outputParameters = ['one', 'two'].map((name) => ({ name, sourceVariable: '{{ctx.big}}{{ctx.big}}' }));
    const outcome = decided('end', { outputParameters }, { big: 'x'.repeat(workLimits.node.text / 4) });
    expect(outcome).toMatchObject({
      kind: 'failed',
      failure: { cause: 'invalid', code: 'context_too_large', details: { path: '/config/outputParameters/1/sourceVariable' } },
    });
  });

  test('has a separate limit for patterns', () => {
    const work = new NodeWork();
    work.matching(workLimits.node.matching);
    expect(() => withinConfigPath('branches', () => withinConfigPath(3, () => work.matching(1)))).toThrow(WorkLimitExceeded);
  });

  test('does not fail if only its decision is full', () => {
    const decision = new DecisionWork();
    new NodeWork(decision).matching(workLimits.decision.matching);
    expect(decision.isFull).toBe(true);
    expect(() => new NodeWork(decision).matching(1)).toThrow(DecisionLimitReached);
    expect(() => new NodeWork(decision).text(workLimits.decision.text + 1)).toThrow(WorkLimitExceeded);
  });
});

describe('a decision', () => {
  const large = 'x'.repeat(10_000_000);

  test('defers pure nodes beyond its limit, and they do not count for the budget', () => {
    const ids = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
    const nodes = Object.fromEntries(ids.map((id) => [id, { pure: finished(large) }]));
    const play = started(graph({ nodes: { start: completesAtOnce, ...nodes }, edges: ids.map((id) => `start -> ${id}`) }));
    expect(play.statuses(...ids)).toEqual(['completed', 'completed', 'completed', 'completed', 'queued', 'queued']);
    expect(play.eventsOf('NODE_DISPATCHED')).toMatchObject([
      { nodeId: 'p4', isPure: true },
      { nodeId: 'p5', isPure: true },
    ]);
    expect(play.state.budgetUsage.executions).toBe(0);
  });

  test('leaves facts beyond its limit to the next decision, which decides them all', () => {
    const ids = Array.from({ length: 12 }, (_, n) => `a${n}`);
    const play = started(graph({ nodes: { start: completesAtOnce }, edges: ids.map((id) => `start -> ${id}`) }));
    const facts = ids.map((id): Fact => ({
      kind: 'node-ended',
      node: refOf(id),
      attempt: firstAttempt,
      outcome: finished(id),
      startedAt: play.tools.now,
      endedAt: play.tools.now,
      printed: ['é'.repeat(8_000)],
    }));
    const first = decideUntilFull(play.state, facts, play.tools);
    const ended = first.events.filter(({ type }) => type === 'NODE_COMPLETED').length;
    expect(ended).toBe(Math.ceil(workLimits.decision.inlineBytes / 16_004));
    expect(first.remaining).toEqual(facts.slice(ended));
    expect(decideUntilFull(play.state, first.remaining, play.tools).remaining).toEqual([]);
  });
});

test('a length is known before its text is made', () => {
  expect(minJsonLength([1, 'ab', { key: null }], Infinity)).toBeLessThanOrEqual(
    JSON.stringify([1, 'ab', { key: null }]).length + 1,
  );
  expect(
    minJsonLength(
      Array.from({ length: 1_000 }, () => 1),
      10,
    ),
  ).toBeLessThan(30);
});
