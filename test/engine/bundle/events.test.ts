/** The events of each fact of a bundle run; late facts change nothing. */
import { describe, expect, test } from 'vitest';
import type { BundleFact } from '../../../lib/engine/bundle/decide.ts';
import { attempt, firstAttempt, topLevel } from '../../../lib/engine/ids.ts';
import { after, days, durationMs, seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';
import { BundleRunFixture, deadlineAt, message } from './bundle-run-fixture.ts';

const first = message(0).id;
const node = { nodeId: first, iteration: topLevel };
const broke = { cause: 'error', message: 'no' } as const;
const sentAs = (count: number) => {
  const { id } = message(count);
  return [
    { type: 'SYSTEM_SET', key: `__message_${id}`, value: { value: { queueName: '__wkf_workflow_greet', body: { count } } } },
    { type: 'NODE_DISPATCHED', nodeId: id, iteration: '', attempt: 1, via: 'queue', wave: 0 },
  ];
};
const runs = { type: 'RUN_STATUS_CHANGED', status: 'running' };

describe('a message', () => {
  test('is stored and sent, at once or at its time, and a repeated one is recognised by its id', () => {
    const run = new BundleRunFixture();
    expect(run.decide({ kind: 'message-sent', newMessage: message(1) })).toEqual(sentAs(1));
    const notBefore = after(dawn, seconds(9));
    const [stored, sent] = sentAs(2);
    expect(run.decide({ kind: 'message-sent', newMessage: message(2), notBefore })).toEqual([stored, { ...sent, notBefore }]);
    expect(run.decide({ kind: 'message-sent', newMessage: message(1) })).toEqual([]);
  });

  test('begins once, at its current attempt, and sets the run to running', () => {
    const run = new BundleRunFixture();
    const begins: BundleFact = { kind: 'node-started', node, attempt: firstAttempt, startedAt: dawn };
    expect(run.decide({ ...begins, attempt: attempt(2) })).toEqual([]);
    expect(run.decide(begins)).toEqual([runs, { type: 'NODE_STARTED', ...node, attempt: 1, startedAt: dawn }]);
    expect(run.decide(begins)).toEqual([]);
  });

  test('completes once, and the run continues', () => {
    const run = new BundleRunFixture();
    const done = run.answered(first, { kind: 'done' });
    const ended = { output: { value: null }, handle: null, startedAt: dawn, endedAt: dawn };
    expect(run.decide(done)).toEqual([runs, { type: 'NODE_COMPLETED', ...node, attempt: 1, ...ended }]);
    expect(run.decide(done)).toEqual([]);
  });

  test('that asks for redelivery is sent again as a new message, at once or after its delay', () => {
    const run = new BundleRunFixture();
    expect(run.decide(run.answered(first, { kind: 'redeliver', afterMs: seconds(0) }, message(3))).slice(2)).toEqual(sentAs(3));
    const [stored, sent] = sentAs(5);
    const later = run.answered(message(3).id, { kind: 'redeliver', afterMs: seconds(60) }, message(5));
    expect(run.decide(later).slice(1)).toEqual([stored, { ...sent, notBefore: after(dawn, seconds(60)) }]);
  });

  test('that failed is retried after whole milliseconds, for any random number', () => {
    const run = new BundleRunFixture();
    run.random = 1 / 3;
    run.later(seconds(5));
    const delayMs = durationMs(917);
    expect(run.decide(run.answered(first, { kind: 'failed', failure: broke }))).toEqual([
      runs,
      {
        type: 'NODE_RETRIED',
        ...node,
        attempt: 1,
        failure: broke,
        delayMs,
        retryAt: after(run.now, delayMs),
        via: 'queue',
        startedAt: run.now,
        endedAt: run.now,
      },
    ]);
  });

  test('whose retry falls on the deadline is retried, and after it fails', () => {
    for (const [spare, type] of [
      [875, 'NODE_RETRIED'],
      [874, 'NODE_FAILED'],
    ] as const) {
      const run = new BundleRunFixture();
      run.later(durationMs(days(7) - spare));
      expect(run.decide(run.answered(first, { kind: 'failed', failure: broke }))[1]?.type).toBe(type);
    }
  });
});

describe('a message that fails finally', () => {
  const givenUp = (run: BundleRunFixture, fact: BundleFact) => {
    run.later(seconds(2));
    return run.decide(fact);
  };
  const lost = { cause: 'lost', code: 'recovery_error', message: 'gone' } as const;

  test('fails its run, which names it', () => {
    const run = new BundleRunFixture();
    expect(givenUp(run, { kind: 'node-lost', node, attempt: firstAttempt, failure: lost })).toEqual([
      runs,
      { type: 'NODE_FAILED', ...node, attempt: 1, failure: lost, startedAt: run.now, endedAt: run.now },
      { type: 'RUN_STATUS_CHANGED', status: 'failed' },
      {
        type: 'RUN_FAILED',
        error: {
          cause: 'lost',
          code: 'recovery_error',
          message: `message ${first} failed after 1 attempts: gone`,
          details: { messageId: first },
        },
      },
    ]);
  });

  test.each([
    [{ ...lost, code: undefined }, 'delivery_failed'],
    [{ cause: 'error', code: 'code_crashed', message: 'no' }, 'delivery_failed'],
    [{ cause: 'invalid', code: 'artifact_unusable', message: 'no' }, 'artifact_unusable'],
  ] as const)('with %j fails its run with %s', (failure, code) => {
    const run = new BundleRunFixture();
    const { code: said, ...rest } = failure;
    givenUp(run, {
      kind: 'node-lost',
      node,
      attempt: firstAttempt,
      failure: said === undefined ? rest : { ...rest, code: said },
    });
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code } });
  });

  test('at another attempt than the open one does not fail', () => {
    const run = new BundleRunFixture();
    expect(run.decide({ kind: 'node-lost', node, attempt: attempt(2), failure: lost })).toEqual([]);
    expect(
      run.decide({ kind: 'node-lost', node: { ...node, nodeId: message(7).id }, attempt: firstAttempt, failure: lost }),
    ).toEqual([]);
  });

  test('because its artifact cannot be loaded fails at the fifth attempt', () => {
    const run = new BundleRunFixture();
    const failure = { cause: 'invalid', code: 'artifact_unusable', message: 'no' } as const;
    for (let tried = 1; tried < 5; tried += 1) {
      run.decide(run.answered(first, { kind: 'failed', failure }));
      expect(run.state.progress.status).toBe('running');
    }
    run.decide(run.answered(first, { kind: 'failed', failure }));
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'artifact_unusable' } });
  });
});

describe('a run', () => {
  test('that is resumed records the request once, with all its fields', () => {
    const run = new BundleRunFixture();
    const said = { reason: 'it is paid', payload: { value: { by: 'me' } }, token: 't1' };
    const resumed: BundleFact = { kind: 'resumed', newMessage: message(1), ...said };
    expect(run.decide(resumed)).toEqual([{ type: 'RUN_RESUMED', ...said }, ...sentAs(1)]);
    expect(run.decide(resumed)).toEqual([]);
    expect(run.decide({ kind: 'resumed', newMessage: message(2) })).toEqual([{ type: 'RUN_RESUMED' }, ...sentAs(2)]);
  });

  test.each([
    ['with a reason', { reason: 'enough' }],
    ['without a reason', {}],
  ])('is cancelled %s', (_how, said) => {
    const run = new BundleRunFixture();
    expect(run.decide({ kind: 'cancel-requested', ...said })).toEqual([
      { type: 'RUN_STATUS_CHANGED', status: 'cancelled' },
      { type: 'RUN_CANCELLED', ...said },
    ]);
  });

  test('times out at its deadline, and not before', () => {
    const run = new BundleRunFixture();
    run.later(durationMs(days(7) - 1));
    expect(run.decide({ kind: 'deadline-passed' })).toEqual([]);
    run.now = deadlineAt;
    expect(run.decide({ kind: 'deadline-passed' }).map(({ type }) => type)).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  });

  test('that is recovered records it if something was redispatched', () => {
    const run = new BundleRunFixture();
    expect(run.decide({ kind: 'recovered', nodes: [] })).toEqual([]);
    expect(run.decide({ kind: 'recovered', nodes: [first] })).toEqual([{ type: 'RUN_RECOVERED', nodes: [first] }]);
  });

  test('completes with the output that its code reports, and fails as its code reports', () => {
    const run = new BundleRunFixture();
    expect(run.decide(run.answered(first, { kind: 'run-completed', output: 7 })).slice(2)).toEqual([
      { type: 'RUN_STATUS_CHANGED', status: 'completed' },
      { type: 'RUN_COMPLETED', output: { value: 7 } },
    ]);
    const other = new BundleRunFixture();
    expect(other.decide(other.answered(first, { kind: 'run-failed', failure: broke })).slice(2)).toEqual([
      { type: 'RUN_STATUS_CHANGED', status: 'failed' },
      { type: 'RUN_FAILED', error: broke },
    ]);
  });
});
