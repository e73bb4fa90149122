/**
 * Random values by depth, size and sum at each place where one enters a run: outputs of nodes, HTTP responses, results of scripts and
 * steps, answers of bundles, signals. Each is stored unchanged or refused with a code, and its run ends.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseBundleResponse } from '../../lib/bundles/bundle-thread.ts';
import { parseBatch } from '../../lib/bundles/parse-task-messages.ts';
import { payloadLimits } from '../../lib/engine/graph/payload-limits.ts';
import { type JsonValue, inline, minJsonLength } from '../../lib/engine/json.ts';
import { truncateEvent, inlineBytesOf, printedLimits } from '../../lib/engine/log/event-limits.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { findBodyError, findOutputError, jsonLimits } from '../../lib/engine/validate-json.ts';
import { attempt, nodeId, topLevel } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { storedValue } from '../../lib/program/stored-value.ts';
import { http } from '../functions/http.ts';
import { inputOf, planNode, toolsOf } from '../nodes/given.ts';
import { OtherSide, reachOf } from '../nodes/other-side.ts';
import { createTestEnv, workflow } from '../service/test-env.ts';

const depths = fc.oneof(
  fc.integer({ min: 0, max: 99 }),
  fc.constantFrom(99, 100, 101, 102),
  fc.constantFrom(150, 1_000, 4_400, 20_000),
);
const leaf = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, 0, 1e308, '', 'x', '😀'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.toWellFormed()),
  fc.constantFrom(1_000, 100_000).map((length) => 'é'.repeat(length)),
);

interface Tree {
  readonly value: JsonValue;
  /** of arrays and objects around the innermost value */
  readonly depth: number;
}

/** Arrays and objects in turn, with leaves beside each level, around one leaf. */
const trees: fc.Arbitrary<Tree> = fc
  .tuple(depths, leaf, fc.array(fc.tuple(fc.boolean(), leaf), { minLength: 1, maxLength: 5 }))
  .map(([depth, inner, around]) => {
    let value = inner;
    for (let level = 0; level < depth; level += 1) {
      const [isArray, beside] = around[level % around.length] ?? [true, null];
      const isSmall = typeof beside !== 'string' || beside.length < 30;
      if (isArray) value = isSmall ? [beside, value] : [value];
      else value = isSmall ? { beside, 'a/b~c': value } : { inner: value };
    }
    return { value, depth };
  });
const runs = { numRuns: 60 } as const;

describe('a random value', () => {
  it('that is too deep is found, with a JSON pointer to it', () => {
    fc.assert(
      fc.property(trees, ({ value, depth }) => {
        const fault = findOutputError(value);
        expect(fault?.code).toBe(depth > jsonLimits.levels ? 'too_deep' : undefined);
        if (fault !== undefined) expect(fault.path).toHaveLength(jsonLimits.levels + 1);
        expect(findBodyError(value)?.code).toBe(fault?.code);
      }),
      { numRuns: 200 },
    );
  });

  it('has an estimated length slightly below its length', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (randomValue) => {
        const text = JSON.stringify(randomValue);
        const value: JsonValue = JSON.parse(text);
        const least = minJsonLength(value, Infinity);
        expect(least).toBeLessThanOrEqual(text.length + 1);
        expect(least * 6).toBeGreaterThanOrEqual(text.length);
      }),
      { numRuns: 500 },
    );
  });

  it('as an output of a node ends its run', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async ({ value, depth }) => {
        const home = createTestEnv({ answer: () => ({ kind: 'finished', output: inline(value), handle: 'output' }) });
        await home.publish(workflow('flow', 'a>b'));
        const run = await home.begin('flow');
        await home.settle();
        const { progress } = (await home.fold(run)).state;
        expect(progress.status).toBe(depth > jsonLimits.levels ? 'failed' : 'completed');
        if (progress.status === 'failed') expect(progress.error).toMatchObject({ cause: 'invalid', code: 'output_too_deep' });
      }),
      runs,
    );
  });

  it('as the result of a step is stored or refused with its code', () => {
    fc.assert(
      fc.property(trees, ({ value, depth }) => {
        const stored = storedValue(value, 'result');
        if (depth > jsonLimits.levels)
          expect(stored).toMatchObject({ kind: 'refused', failure: { cause: 'invalid', code: 'result_not_serialisable' } });
        else expect(stored.kind).toBe('stored');
      }),
      runs,
    );
  });

  it('as an answer of a bundle, or in a command batch, is accepted or refused', () => {
    fc.assert(
      fc.property(
        trees.filter(({ depth }) => depth <= 1_000),
        ({ value, depth }) => {
          const text = JSON.stringify(value);
          const isTaken = depth <= jsonLimits.levels;
          expect(parseBundleResponse(200, text).kind).toBe(isTaken ? 'responded' : 'crashed');
          const entries = [{ kind: 'returned', output: value }];
          expect(parseBatch(JSON.stringify({ entries, next: 'suspended' })).kind === 'parsed').toBe(
            depth <= jsonLimits.levels + 3,
          );
        },
      ),
      runs,
    );
  });

  it('as the payload of a signal is accepted, or refused with its JSON pointer', async () => {
    const api = http();
    const key = await api.key(['admin'], { rateLimitPerMinute: null });
    await fc.assert(
      fc.asyncProperty(
        trees.filter(({ depth }) => depth <= 1_000),
        fc.nat(),
        async ({ value, depth }, n) => {
          const text = JSON.stringify({ name: 'paid', correlation: `order ${n}`, payload: value });
          const { status, body } = await api.call('POST', '/v1/signals', { key, text });
          const isTaken = depth < jsonLimits.levels;
          expect([status, body['code']]).toEqual(
            text.length > 65_536 ? [413, 'payload_too_large'] : isTaken ? [202, undefined] : [400, 'invalid_request'],
          );
        },
      ),
      runs,
    );
  });
});

describe('over HTTP', () => {
  const server = new OtherSide();
  beforeAll(() => server.start());
  afterAll(() => server.stop());
  const ask = createAttemptRunner(createRunners({ networkAccess: reachOf() }));

  it('a random response is an output, or a failure with its code', async () => {
    await fc.assert(
      fc.asyncProperty(
        trees.filter(({ depth }) => depth <= 1_000),
        async ({ value, depth }) => {
          server.answers((_request, response) => {
            response.setHeader('content-type', 'application/json');
            response.end(JSON.stringify(value));
          });
          const { outcome } = await ask(planNode('http', { url: server.url('/') }), inputOf(), toolsOf());
          if (depth < jsonLimits.levels)
            expect(outcome).toMatchObject({ kind: 'finished', output: { value: { status: 200, body: value } } });
          else expect(outcome).toMatchObject({ kind: 'failed', failure: { cause: 'invalid', code: 'output_too_deep' } });
        },
      ),
      runs,
    );
  });

  it('a random result of a script is unchanged, or refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        trees.filter(({ depth }) => depth <= 1_000),
        async ({ value, depth }) => {
          const code = `let v = 1; for (let i = 0; i < ${depth}; i += 1) v = i % 2 ? [v] : { v }; return v`;
          const { outcome } = await ask(
            planNode('javascript', { code }),
            inputOf({ value: depth > jsonLimits.levels ? null : value }),
            toolsOf(),
          );
          if (depth <= jsonLimits.levels) expect(outcome.kind).toBe('finished');
          else expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'output_too_deep' } });
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('the texts of an event', () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.constantFrom('語'.repeat(5_000), '\u0001'.repeat(3_000), 'x'.repeat(30_000)),
  );
  const failures = fc.record({
    cause: fc.constant('error' as const),
    message: words,
    code: words,
    details: fc.dictionary(
      words,
      fc.oneof(
        words,
        trees.map(({ value }) => value),
      ),
      { maxKeys: 6 },
    ),
  });

  it('are bounded, for every kind of event', () => {
    const ofNode = { nodeId: nodeId('a'), iteration: topLevel, attempt: attempt(1), startedAt: instant(0), endedAt: instant(0) };
    fc.assert(
      fc.property(failures, fc.array(words, { maxLength: 300 }), (failure, printed) => {
        const event = truncateEvent({ type: 'NODE_FAILED', ...ofNode, failure, printed } satisfies RunEvent);
        expect(inlineBytesOf(event)).toBeLessThan(largestWords);
        expect(findOutputError(event, jsonLimits.levels + 5)).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  /** Printed lines at six bytes for each that JSON escapes, and a failure's message, code and details likewise. */
  const largestWords = 6 * (printedLimits.bytes + 2_000 + 128 + 4_096) + 10_000;

  it('and an output is larger than any of them before it is refused', () => {
    expect(payloadLimits.outputBytes).toBeGreaterThan(largestWords);
  });
});
