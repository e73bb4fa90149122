/** Decisions about bundle runs in any order of facts. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BundleFact, maxDeliveries } from '../../../lib/engine/bundle/decide.ts';
import {
  type MessageResult,
  isStepMessage,
  laneOf,
  messageId,
  parseMessage,
  storedMessage,
  messageResultOf,
} from '../../../lib/engine/bundle/message.ts';
import { nodeKey, topLevel } from '../../../lib/engine/ids.ts';
import { attemptOf, isTerminal } from '../../../lib/engine/log/fold.ts';
import { instant, minutes } from '../../../lib/engine/time.ts';
import { foldOf, plain } from '../graph-run-fixture.ts';
import { BundleRunFixture, deadlineAt, drawn, message } from './bundle-run-fixture.ts';

const failed: MessageResult = { kind: 'failed', failure: { cause: 'error', message: 'no' } };
const results: readonly MessageResult[] = [
  { kind: 'done' },
  { kind: 'redeliver', afterMs: minutes(1) },
  { kind: 'run-completed', output: 1 },
  { kind: 'run-failed', failure: { cause: 'error', message: 'x' } },
  failed,
  failed,
  failed,
];

const step = fc.record({
  what: fc.constantFrom('send', 'resume', 'answer', 'answer', 'answer', 'start', 'lost', 'cancel', 'deadline', 'recover'),
  which: fc.nat(6),
  result: fc.constantFrom(...results),
});

test('in any order of facts the log folds, a message ends once, and no event follows the end', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const play = new BundleRunFixture();
      steps.forEach(({ what, which, result }, index) => {
        const hadEnded = isTerminal(play.state.progress);
        const known = [...play.state.nodes.entries()].map(([, { nodeId }]) => nodeId);
        const id = known[which % known.length] ?? message(0).id;
        const node = { nodeId: id, iteration: topLevel };
        const attempt = attemptOf(play.state.nodes.get(nodeKey(node)));
        const facts: Record<typeof what, BundleFact> = {
          send: { kind: 'message-sent', newMessage: message(which) },
          resume: { kind: 'resumed', newMessage: message(100 + index), reason: 'go' },
          answer: play.answered(id, result, message(200 + index)),
          start: { kind: 'node-started', node, attempt, startedAt: play.now },
          lost: { kind: 'node-lost', node, attempt, failure: { cause: 'lost', code: 'recovery_error', message: 'gone' } },
          cancel: { kind: 'cancel-requested' },
          deadline: { kind: 'deadline-passed' },
          recover: { kind: 'recovered', nodes: [] },
        };
        const events = play.decide(facts[what]);
        if (hadEnded) expect(events).toEqual([]);
        for (const { type } of events) seen.set(type, (seen.get(type) ?? 0) + 1);
      });
      const ends = play.commits
        .flatMap(({ events }) => events)
        .filter(({ type }) => type === 'NODE_COMPLETED' || type === 'NODE_FAILED');
      const ids = ends.map((event) => ('nodeId' in event ? event.nodeId : ''));
      expect(new Set(ids).size).toBe(ids.length);
      expect(plain(foldOf(play.commits))).toEqual(plain(play.state));
    }),
    { seed: 20_261_121, numRuns: 600 },
  );
  for (const type of ['NODE_RETRIED', 'NODE_COMPLETED', 'RUN_COMPLETED', 'RUN_FAILED', 'RUN_CANCELLED', 'RUN_RESUMED']) {
    expect(seen.get(type) ?? 0, type).toBeGreaterThan(20);
  }
});

test('the delays double from a second to a quarter of an hour, less an eighth with a random number of one half', () => {
  const play = new BundleRunFixture();
  const waits: number[] = [];
  for (let attempt = 1; attempt < 14; attempt += 1) {
    const retried = play.decide(play.answered(message(0).id, failed)).find(({ type }) => type === 'NODE_RETRIED');
    if (retried?.type === 'NODE_RETRIED') waits.push(retried.delayMs);
  }
  expect(waits.slice(0, 4)).toEqual([875, 1_750, 3_500, 7_000]);
  expect(waits.at(-1)).toBe(787_500);
});

test('if a retry would pass the deadline, the run fails at once', () => {
  const play = new BundleRunFixture();
  play.now = instant(deadlineAt - 1);
  expect(play.decide(play.answered(message(0).id, failed)).map(({ type }) => type)).toEqual([
    'RUN_STATUS_CHANGED',
    'NODE_FAILED',
    'RUN_STATUS_CHANGED',
    'RUN_FAILED',
  ]);
  expect(maxDeliveries).toBe(50);
});

test('at the deadline any response ends the run', () => {
  const play = new BundleRunFixture();
  play.now = deadlineAt;
  expect(play.decide(play.answered(message(0).id, { kind: 'done' })).map(({ type }) => type)).toEqual([
    'RUN_STATUS_CHANGED',
    'RUN_TIMED_OUT',
  ]);
});

describe('the result of a response', () => {
  test.each([
    [200, {}, 'done'],
    [200, undefined, 'done'],
    [200, { ok: true }, 'done'],
    [200, { timeoutSeconds: 0 }, 'redeliver'],
    [503, { timeoutSeconds: 5 }, 'redeliver'],
    [503, {}, 'failed'],
    [500, { timeoutSeconds: 5 }, 'failed'],
    [200, { timeoutSeconds: -1 }, 'done'],
    [200, { timeoutSeconds: '5' }, 'done'],
    [204, {}, 'failed'],
    [200, { run: { status: 'completed' } }, 'run-completed'],
    [200, { run: { status: 'failed' } }, 'run-failed'],
    [200, { run: { status: 'running' } }, 'done'],
    [409, { run: { status: 'completed' } }, 'failed'],
  ] as const)('%s with %j: %s', (status, body, kind) => {
    expect(messageResultOf({ kind: 'responded', status, body }).kind).toBe(kind);
  });
});

describe('queue names and messages', () => {
  test.each([
    ['__wkf_workflow_greet', 'workflow'],
    ['__wkf_step_mail', 'step'],
    ['__mine_wkf_step_mail//x', 'step'],
    ['__wkf_other_mail', undefined],
    ['wkf_step_mail', undefined],
    ['__wkf_step_', undefined],
    ['__wkf_step_ü', undefined],
  ])('%s belongs to %s', (name, lane) => expect(laneOf(name)).toBe(lane));

  test('a stored message is read back unchanged', () => {
    const full = { queueName: '__wkf_step_a', body: { a: [1] }, reason: 'r', payload: null };
    expect(parseMessage(storedMessage(full))).toEqual(full);
    expect(parseMessage('no message')).toBeUndefined();
    expect(isStepMessage(messageId('step', drawn(1)))).toBe(true);
    expect(isStepMessage(messageId('workflow', drawn(1)))).toBe(false);
  });
});
