/** The effects of a commit follow from its events and the fold, in the order in which they are dispatched. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, nodeId, nonce, topLevel } from '../../../lib/engine/ids.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { applyCommit, emptyState } from '../../../lib/engine/log/fold.ts';
import { type Instant, after, minutes } from '../../../lib/engine/time.ts';
import { effectsOf } from '../../../lib/service/commit/effects.ts';
import { runKinds } from '../../../lib/service/kinds/run-kinds.ts';
import { createTestEnv, workflow } from '../test-env.ts';

/** The kinds of the effects of a commit with these events, as the second commit of a graph run. */
async function effectsOfSecond(kind: 'graph' | 'code', eventsAt: (now: Instant) => readonly RunEvent[]) {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>b'));
  const head = await env.ports.log.head(await env.begin('flow'));
  if (head === undefined) throw new Error('the run was not created');
  const fold = { head, state: emptyState(), snapshotAt: 0 };
  applyCommit(fold.state, head.commit);
  const at = env.ports.clock.now();
  const firstEventId = eventId(fold.state.nextEventId);
  const commit = { number: commitNo(2), firstEventId, events: eventsAt(at), at, by: 'test', nonce: nonce('n') };
  applyCommit(fold.state, commit);
  return { at, effects: effectsOf(runKinds[kind], fold, commit) };
}

const ref = (id: string) => ({ nodeId: nodeId(id), iteration: topLevel, attempt: attempt(1) });
const dispatched = (id: string, via: 'queue' | 'inline') => ({ type: 'NODE_DISPATCHED', ...ref(id), via, wave: 1 }) as const;
const awaited = (id: string) => ({ type: 'SIGNAL_AWAITED', ...ref(id), name: 'paid', correlation: 'c' }) as const;

test('ready nodes are sent together, and an inline node is not sent', async () => {
  const { effects } = await effectsOfSecond('graph', () => [
    dispatched('b', 'queue'),
    dispatched('c', 'inline'),
    dispatched('d', 'queue'),
  ]);
  expect(effects.map(({ kind }) => kind)).toEqual(['send-jobs']);
  expect(effects).toMatchObject([{ jobs: [{ nodeId: 'b' }, { nodeId: 'd' }] }]);
});

test('a wait marks the run as due before its signal wait is registered', async () => {
  const { effects } = await effectsOfSecond('graph', () => [dispatched('b', 'inline'), awaited('b')]);
  expect(effects.map(({ kind }) => kind)).toEqual(['mark-due', 'register-wait']);
});

test('where deployed code commits, a message registers the signal wait', async () => {
  const { effects } = await effectsOfSecond('code', () => [dispatched('b', 'inline'), awaited('b')]);
  expect(effects).toMatchObject([{ kind: 'mark-due' }, { kind: 'send-message', job: { kind: 'waits' } }]);
});

test('a retry is sent for its time, with the number of the next attempt', async () => {
  const failure = { cause: 'error', message: 'it failed' } as const;
  const { at, effects } = await effectsOfSecond('graph', (now) => {
    const times = { startedAt: after(now, minutes(0)), endedAt: after(now, minutes(0)) };
    const retryAt = after(now, minutes(1));
    return [{ type: 'NODE_RETRIED', ...ref('a'), failure, delayMs: minutes(1), retryAt, ...times, via: 'queue' }];
  });
  expect(effects).toMatchObject([{ kind: 'send-at', at: after(at, minutes(1)), job: { nodeId: 'a', attempt: 2 } }]);
});

test('a run that ends after it started is finalized, and neither marked as due nor reported as started again', async () => {
  const { effects } = await effectsOfSecond('graph', () => [
    { type: 'RUN_STATUS_CHANGED', status: 'cancelled' },
    { type: 'RUN_CANCELLED' },
  ]);
  expect(effects.map(({ kind }) => kind)).toEqual(['finalize']);
});

test('a run that starts and ends in one commit is reported as started before it is finalized', async () => {
  const { effects } = await effectsOfSecond('graph', () => [
    { type: 'RUN_STATUS_CHANGED', status: 'running' },
    { type: 'RUN_STATUS_CHANGED', status: 'cancelled' },
    { type: 'RUN_CANCELLED' },
  ]);
  expect(effects.map(({ kind }) => kind)).toEqual(['notify-start', 'finalize']);
});
