/** Limits of payload sizes: a larger value fails its node, its run or its read with a code, and is never stored. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { contextAt } from '../../../lib/engine/graph/context.ts';
import { definitionLimits } from '../../../lib/engine/graph/findings.ts';
import type { Outcome } from '../../../lib/engine/graph/outcome.ts';
import { ContextTooLarge, payloadLimits } from '../../../lib/engine/graph/payload-limits.ts';
import { NodeWork, WorkLimitExceeded } from '../../../lib/engine/graph/work-limits.ts';
import { resolveTemplate } from '../../../lib/engine/graph/template.ts';
import { topLevel } from '../../../lib/engine/ids.ts';
import { scriptWith } from '../../../lib/nodes/sandbox/script.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { decided } from '../../nodes/given.ts';
import { maxCommitBytes } from '../../../lib/service/run-log/payloads.ts';
import { ends, finished, graph, names, completesAtOnce, threeAttempts } from '../graph-builder.ts';
import { refOf, started } from '../graph-run-fixture.ts';

const most = payloadLimits.outputBytes;
/** A text whose JSON has this many bytes. */
const text = (bytes: number): string => 'x'.repeat(bytes - 2);
const apart = (bytes: number): Outcome => ({ kind: 'finished', output: { ref: 'blob:large', bytes }, handle: 'output' });

describe('an output', () => {
  const drawn = () =>
    graph({ nodes: { start: completesAtOnce, a: { retry: threeAttempts } }, edges: ['start -> a -> b', 'a/error -> rescue'] });

  test.each([
    ['inline', (bytes: number) => finished(text(bytes))],
    ['apart', apart],
  ])(
    '%s may have exactly the limit; one byte more fails the node without a retry, and the error edge handles it',
    (_where, of) => {
      const fits = started(drawn());
      fits.ends('a', of(most));
      expect(fits.statuses('a', 'b')).toEqual(['completed', 'queued']);
      const play = started(drawn());
      play.ends('a', of(most + 1));
      expect(play.statuses('a', 'b', 'rescue')).toEqual(['failed', 'skipped', 'queued']);
      expect(play.eventsOf('NODE_FAILED')).toMatchObject([{ failure: { cause: 'invalid', code: 'output_too_large' } }]);
    },
  );

  test('with many references to one value is not traversed beyond the limit', () => {
    const row = { text: text(most / 16) };
    let looks = 0;
    const counted = new Proxy(row, {
      ownKeys: (target) => {
        looks += 1;
        return Reflect.ownKeys(target);
      },
    });
    const play = started(drawn());
    play.ends('a', finished(Array.from({ length: 10_000 }, () => counted)));
    expect(play.eventsOf('NODE_FAILED')).toMatchObject([{ failure: { code: 'output_too_large' } }]);
    // Traversed up to the limit, not ten thousand times: the keys and their values, by each check.
    expect(looks).toBeLessThan(100);
  });

  test('that is too large still counts its tokens', () => {
    const play = started(drawn());
    const large = apart(most + 1);
    play.ends('a', large.kind === 'finished' ? { ...large, tokens: { input: 3, output: 4 } } : large);
    expect([play.state.budgetUsage.tokens, play.statusOf('a')]).toEqual([7, 'failed']);
  });

  test('of a pure node has the same limit', () => {
    const play = started(
      graph({ nodes: { start: completesAtOnce, a: { pure: finished(text(most + 1)) } }, edges: ['start -> a'] }),
    );
    expect(play.error).toMatchObject({ cause: 'invalid', code: 'output_too_large' });
  });

  test('of a run with several end nodes has the limit as a whole', () => {
    const half = { pure: ends({ left: text(most / 2) }) };
    const other = { pure: ends({ right: text(most / 2) }) };
    const play = started(graph({ nodes: { start: completesAtOnce, half, other }, edges: ['start -> half', 'start -> other'] }));
    expect([play.status, play.error?.code]).toEqual(['failed', 'output_too_large']);
  });
});

describe('a context', () => {
  const withTwo = (bytes: number) => {
    const nodes = { start: completesAtOnce, a: { outputVariable: 'one' }, b: { outputVariable: 'two' } };
    const play = started(graph({ nodes, edges: ['start -> a -> b -> c'] }));
    for (const id of ['a', 'b']) play.ends(id, apart(bytes));
    return contextAt(play.state, topLevel, play.state.nextEventId, new Map([['blob:large', 'here']]));
  };

  test('is read as a whole if all its offloaded values fit together, and not loaded otherwise', () => {
    expect(withTwo(most / 2).all()).toMatchObject({ one: 'here', two: 'here' });
    expect(() => withTwo(most / 2 + 1).all()).toThrow(ContextTooLarge);
    // A single value is still readable.
    expect(withTwo(most / 2 + 1).get('one')).toBe('here');
    expect(() => withTwo(most / 2).all({ hidden: true })).toThrow(ContextTooLarge);
  });

  test('counts only what is visible: later writes count when they are read', () => {
    const play = started(
      graph({
        nodes: {
          start: completesAtOnce,
          half: { outputVariable: 'half' },
          a: { outputVariable: 'x' },
          b: { outputVariable: 'x' },
        },
        edges: ['start -> half', 'start -> a', 'start -> b'],
      }),
    );
    play.ends('half', apart(most / 2 + 1));
    play.ends('a', finished('small'));
    const before = play.state.nextEventId;
    play.ends('b', apart(most / 2 + 1));
    const loaded = new Map([['blob:large', 'here'] as const]);
    expect(contextAt(play.state, topLevel, before, loaded).all()).toMatchObject({ half: 'here', x: 'small' });
    expect(() => contextAt(play.state, topLevel, play.state.nextEventId, loaded).all()).toThrow(ContextTooLarge);
  });

  test('inside an iteration counts what is visible there, and outer values of names that the iteration writes later', () => {
    const play = started(
      graph({
        nodes: {
          start: completesAtOnce,
          half: { outputVariable: 'half' },
          other: { outputVariable: 'x' },
          each: { loop: { over: [1] } },
          work: { outputVariable: 'x' },
        },
        edges: ['start -> half -> other -> each', 'each/loop -> work -> more'],
      }),
    );
    for (const id of ['half', 'other']) play.ends(id, apart(most / 2 + 1));
    const before = play.state.nextEventId;
    play.ends('work@each[0]', finished('small'));
    const iteration = refOf('work@each[0]').iteration;
    const loaded = new Map([['blob:large', 'here'] as const]);
    expect(() => contextAt(play.state, iteration, before, loaded).all()).toThrow(ContextTooLarge);
    expect(contextAt(play.state, iteration, play.state.nextEventId, loaded).all()).toMatchObject({ half: 'here', x: 'small' });
  });

  test('counts each lookup of a value in one text', () => {
    const context = () => ({ work: new NodeWork(), get: () => 'y'.repeat(1_000_000), keys: () => [], all: () => ({}) });
    expect(resolveTemplate('{{ctx.big}},'.repeat(16), context())).toHaveLength(16_000_016);
    expect(() => resolveTemplate('{{ctx.big}},'.repeat(17), context())).toThrow(WorkLimitExceeded);
  });

  test('of a script includes its inputs', () => {
    const input = (bytes: number) => ({
      iteration: topLevel,
      inputs: { half: text(bytes) },
      context: { work: new NodeWork(), get: () => null, keys: () => [], all: () => ({ half: text(most / 2) }) },
    });
    const limits = { timeoutMs: seconds(1), memoryBytes: 1 };
    expect(() => scriptWith('return [inputs, ctx.half]', input(most / 2), limits)).toThrow(ContextTooLarge);
    expect(scriptWith('return ctx.half', input(most / 2), limits).inputs).toBe('{}');
  });

  test('that is too large fails the node that reads it', () => {
    const sourceVariable = '{{ctx.big}}'.repeat(17);
    const outcome = decided('end', { outputParameters: [{ name: 'all', sourceVariable }] }, { big: 'z'.repeat(1_000_000) });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { cause: 'invalid', code: 'context_too_large' } });
  });
});

test('as many branches as a workflow has nodes begin in one commit, which is stored as one item', () => {
  const branches = names(definitionLimits.nodes - 1, 'branch-with-a-name-of-some-length-');
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: branches.map((id) => `start -> ${id}`) }));
  expect(play.eventsOf('NODE_DISPATCHED')).toHaveLength(branches.length);
  expect(gzipSync(JSON.stringify(play.commits[0])).length).toBeLessThan(maxCommitBytes);
});
