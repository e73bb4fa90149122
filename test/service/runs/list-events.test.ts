/** The JSON list of events contains the derived events of the stream, and its cursors stay those of the log. */
import { describe, expect, test } from 'vitest';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import { after, durationMs, iso, minutes, seconds } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import { type ListedEvent, listEvents, maxPageBytes, withinBytes } from '../../../lib/service/runs/list-events.ts';
import { beginFollowing, followRun } from '../../../lib/service/watching/follow-run.ts';
import { startCodeRun } from '../code-test-env.ts';
import { nextWithTime } from '../next-with-time.ts';
import { functionCommand } from '../scripted-programs.ts';
import { type TestEnv, createTestEnv, finished, workflow } from '../test-env.ts';

const page = async (env: TestEnv, run: RunAddress, cursor = 0, limit = 1_000) => {
  const listing = await listEvents(env.deps, run, { after: cursor, limit });
  if (listing.kind !== 'found') throw new Error(listing.kind);
  return listing;
};
const derivedOf = (events: readonly ListedEvent[]) =>
  events.flatMap(({ type, eventId, payload }) =>
    type === 'node.log' || type === 'node.cancelled' || type === 'node.started' ? [{ type, eventId, payload }] : [],
  );
/** What a stream of the ended run sends, except its log events. */
const streamed = async (env: TestEnv, run: RunAddress) => {
  const followed = await beginFollowing(env.deps, run);
  if (followed === undefined) throw new Error('no such run');
  const sent: ListedEvent[] = [];
  const updates = followRun(env.deps, followed, 0);
  for (let next = await nextWithTime(env, updates); next.done !== true; next = await nextWithTime(env, updates))
    if (next.value.kind === 'derived' || next.value.kind === 'event') sent.push(next.value.event);
  return sent;
};

/** `a` printed two lines; then two nodes sleep. */
async function sleeping() {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>z1 a>z2 z1>e z2>e', { z1: { ms: 3_600_000 }, z2: { ms: 3_600_000 } }));
  const run = await env.begin('flow');
  const worker = {
    ...env.worker,
    runAttempt: async () => ({ outcome: finished('a'), printed: ['one', 'two'] }),
  };
  for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker });
  return { env, run };
}

describe('derived events of a page', () => {
  test('are the printed lines and the cancelled nodes, as in the stream', async () => {
    const { env, run } = await sleeping();
    await cancelRun(env.worker, run);
    const { events, last } = await page(env, run);
    const [log, ...cancelled] = derivedOf(events);
    expect(log).toMatchObject({ type: 'node.log', payload: { nodeId: 'a', attempt: 1, lines: ['one', 'two'] } });
    expect(cancelled).toMatchObject([
      { type: 'node.cancelled', eventId: last - 1, payload: { nodeId: 'z1', attempt: 1 } },
      { type: 'node.cancelled', eventId: last - 1, payload: { nodeId: 'z2', attempt: 1 } },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'run.cancelled', eventId: last });
    expect(events).toEqual(await streamed(env, run));
  });

  test('come once, however the log is paged, and the ids of the log stay dense', async () => {
    const { env, run } = await sleeping();
    await cancelRun(env.worker, run);
    const whole = await page(env, run);
    for (const limit of [1, 2, 3, 5]) {
      const seen: ListedEvent[] = [];
      for (let [cursor, hasMore] = [0, true]; hasMore;) {
        const one = await page(env, run, cursor, limit);
        seen.push(...one.events);
        [cursor, hasMore] = [one.last, one.hasMore];
      }
      expect(seen).toEqual(whole.events);
    }
    const inLog = whole.events.filter((event) => !derivedOf([event]).length);
    expect(inLog.map(({ eventId }) => eventId)).toEqual(inLog.map((_, index) => index + 1));
    expect(await page(env, run, whole.last)).toMatchObject({ events: [], last: whole.last, hasMore: false });
  });
});

describe('the start of a running step', () => {
  const running = async () => {
    const held = Promise.withResolvers<null>();
    const { env, run } = await startCodeRun([[functionCommand('charge')]], { stepFunction: () => held.promise });
    const tasks = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeMessages()].map((job) => env.take(job));
    while ((await env.fold(run)).state.open.size < 2) await new Promise((resolve) => setImmediate(resolve));
    const finish = async (): Promise<void> => {
      held.resolve(null);
      await Promise.all(tasks);
    };
    return { env, run, startedAt: env.ports.clock.now(), finish };
  };

  test('is the last item of a page that has its dispatch, once it has run for a second', async () => {
    const { env, run, startedAt, finish } = await running();
    env.ports.clock.set(after(startedAt, durationMs(999)));
    const early = await page(env, run);
    expect(derivedOf(early.events)).toEqual([]);
    env.ports.clock.set(after(startedAt, seconds(1)));
    const { events, last } = await page(env, run);
    expect(events.slice(0, -1)).toEqual(early.events);
    expect(events.at(-1)).toMatchObject({
      type: 'node.started',
      eventId: last,
      payload: { attempt: 1, startedAt: iso(startedAt) },
    });
    expect(derivedOf((await page(env, run, 0, last - 1)).events), 'a page that does not reach the end').toEqual([]);
    await finish();
    expect(derivedOf((await page(env, run)).events)).toEqual([]);
  });

  test('does not come to a reader whose cursor is at the end: its page is empty', async () => {
    const { env, run, startedAt, finish } = await running();
    env.ports.clock.set(after(startedAt, minutes(5)));
    const { last } = await page(env, run);
    expect(await page(env, run, last)).toEqual({ kind: 'found', events: [], last, hasMore: false });
    await finish();
  });
});

test('the end of a run that cancelled more nodes than fit a page comes with the last of them', () => {
  const large = 'x'.repeat(maxPageBytes / 4);
  expect(
    withinBytes([[`1${large}`, `2${large}`, `3${large}`, `4${large}`, '5'], ['6']]).map((group) => group.map(([first]) => first)),
  ).toEqual([['2', '3', '4', '5']]);
});
