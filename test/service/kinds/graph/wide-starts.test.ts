/** Ten slow siblings: their starts are recorded beside the log, and the run shows them as running. */
import { expect, test } from 'vitest';
import { attempt } from '../../../../lib/engine/ids.ts';
import type { Heartbeat } from '../../../../lib/engine/log/heartbeat-timeout.ts';
import { type Instant, after, durationMs, minutes, seconds } from '../../../../lib/engine/time.ts';
import { getRun } from '../../../../lib/service/runs/get-run.ts';
import { beginFollowing, followRun } from '../../../../lib/service/watching/follow-run.ts';
import { type TestEnv, createTestEnv, finished, workflow } from '../../test-env.ts';
import { nextWithTime } from '../../next-with-time.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
const fan = Array.from({ length: 10 }, (_, index) => `a>b${index} b${index}>d`).join(' ');
const patient = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`b${index}`, { policy: { timeoutMs: 840_000 } }]));

/** A run whose ten siblings have begun, except the last one. Each takes ten minutes. */
async function begun() {
  const env = createTestEnv({
    answer: async (node) => {
      if (node.startsWith('b')) await env.ports.clock.sleep(minutes(10));
      return finished(node);
    },
  });
  await env.publish(workflow('flow', `${fan} d>e`, patient));
  const run = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  const jobs = env.ports.jobs.takeSent();
  expect(jobs).toHaveLength(10);
  env.ports.clock.advance(seconds(1));
  const startedAt = env.ports.clock.now();
  const attempts = Promise.all(jobs.slice(0, 9).map((job) => env.take(job)));
  return { env, run, startedAt, attempts, lastJob: jobs[9] };
}

/** Advances the clock in steps, so that each sleeper due continues. */
async function advance(env: TestEnv, until: Instant): Promise<void> {
  for (await turns(); env.ports.clock.now() < until; await turns())
    env.ports.clock.set(after(env.ports.clock.now(), durationMs(500)));
}

const siblingsOf = async (env: TestEnv, run: Parameters<typeof getRun>[1]) => {
  const result = await getRun(env.worker, run, false);
  if (result.kind !== 'found') throw new Error(result.kind);
  return result.run.nodes.filter(({ node }) => node.id.startsWith('b')).map(({ state }) => state);
};

test('the run shows each sibling as running since its start, and the one that no worker has taken as queued', async () => {
  const { env, run, startedAt, attempts } = await begun();
  const before = (await env.fold(run)).state.asOf;
  for (const elapsed of [seconds(2), minutes(3)]) {
    await advance(env, after(startedAt, elapsed));
    const siblings = await siblingsOf(env, run);
    expect(siblings.slice(0, 9)).toMatchObject(Array.from({ length: 9 }, () => ({ status: 'running', startedAt, attempt: 1 })));
    expect(siblings[9]).toMatchObject({ status: 'queued' });
  }
  expect((await env.fold(run)).state.asOf, 'no commit records a start').toBe(before);
  await advance(env, after(startedAt, minutes(11)));
  await attempts;
});

test('a sibling that runs for less than a second writes no record', async () => {
  const { env, run, startedAt } = await begun();
  env.ports.clock.set(after(startedAt, durationMs(999)));
  await turns();
  expect(await env.ports.log.heartbeats(run)).toEqual([]);
});

test('a redelivered sibling is running since its last begin', async () => {
  const { env, run, startedAt, lastJob } = await begun();
  if (lastJob === undefined) throw new Error('no job');
  await advance(env, after(startedAt, minutes(2)));
  const begunAt = env.ports.clock.now();
  void env.take(lastJob, { isRedelivered: true });
  await turns();
  expect((await siblingsOf(env, run))[9]).toMatchObject({ status: 'running', startedAt: begunAt });
});

test('a record of an earlier attempt, or of a resend, shows no start', async () => {
  const { env, run, startedAt } = await begun();
  await advance(env, after(startedAt, seconds(2)));
  const [record] = await env.ports.log.heartbeats(run);
  if (record === undefined) throw new Error('no record');
  const shownWith = async (change: Partial<Heartbeat>) => {
    await env.ports.log.heartbeat(run, { ...record, ...change }, after(startedAt, minutes(60)));
    return (await siblingsOf(env, run)).filter((state) => state?.status === 'running').length;
  };
  expect(await shownWith({})).toBe(9);
  expect(await shownWith({ resends: 1 })).toBe(8);
  expect(await shownWith({ attempt: attempt(2) })).toBe(8);
});

test('a stream announces each start once', async () => {
  const { env, run } = await begun();
  const followed = await beginFollowing(env.deps, run);
  if (followed === undefined) throw new Error('no such run');
  const updates = followRun(env.deps, followed, 0);
  const started: string[] = [];
  for (let polls = 0; polls < 40; polls += 1) {
    const { value } = await nextWithTime(env, updates);
    if (value?.kind === 'derived' && value.event.type === 'node.started')
      started.push(JSON.stringify(value.event.payload['nodeId']));
  }
  expect(started.toSorted()).toEqual(Array.from({ length: 9 }, (_, index) => `"b${index}"`));
});
