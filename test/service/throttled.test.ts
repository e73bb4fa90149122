/**
 * Lambda throttles an event source: the receives of a message are used up, but nothing ran. A dead letter of this kind is redispatched
 * and fails nothing, even after hours.
 */
import { expect, test } from 'vitest';
import { type RunAddress } from '../../lib/engine/ids.ts';
import { minutes } from '../../lib/engine/time.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { startCodeRun, waitUntilIdle, statusOf, handleAllMessages } from './code-test-env.ts';
import { deadLetterAll } from './dead-letters.ts';
import { type TestEnv, failing, finished, createTestEnv, scope, workflow } from './test-env.ts';
import { functionCommand } from './scripted-programs.ts';

/** Four dead letters with five receives each, sixteen minutes apart: more than five hours without an execution. */
const letters = 4;

/** @returns the number of dead letters */
async function throttleForHours(env: TestEnv): Promise<number> {
  let dead = 0;
  for (let letter = 0; letter < letters; letter += 1) {
    env.ports.clock.advance(minutes(80));
    dead += await deadLetterAll(env);
  }
  return dead;
}

async function completes(env: TestEnv, run: RunAddress): Promise<void> {
  for (let look = 0; look < 4; look += 1) {
    await env.settle();
    await handleAllMessages(env);
    await waitUntilIdle();
    env.ports.clock.advance(minutes(61));
    await sweepRun(env.worker, run);
  }
  await env.settle();
  const { progress } = (await env.fold(run)).state;
  expect(progress).toMatchObject({ status: 'completed' });
}

async function begin(env: TestEnv, drawn: string, configs: Parameters<typeof workflow>[2] = {}): Promise<RunAddress> {
  await env.publish(workflow('flow', drawn, configs));
  return env.begin('flow');
}

test('jobs of nodes', async () => {
  const env = createTestEnv();
  const run = await begin(env, 'a>b a>d');
  expect(await throttleForHours(env)).toBe(letters);
  expect(env.attempts).toEqual([]);
  await completes(env, run);
  expect(env.attempts.toSorted()).toEqual(['a#1', 'b#1', 'd#1']);
});

test('delayed jobs of retries', async () => {
  const env = createTestEnv({ answer: (node, attempt) => (attempt === 1 ? failing() : finished(node)) });
  const run = await begin(env, 'a>b', { a: { retry: { attempts: 2 } }, b: { retry: { attempts: 2 } } });
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  expect(env.ports.jobs.delayed).toHaveLength(1);
  expect(await throttleForHours(env)).toBeGreaterThanOrEqual(letters);
  await completes(env, run);
  expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1', 'b#2']);
});

test('wake-ups of timers', async () => {
  const env = createTestEnv();
  const run = await begin(env, 'z>b', { z: { ms: 1_000 } });
  expect(await throttleForHours(env)).toBeGreaterThanOrEqual(letters);
  await completes(env, run);
  expect(env.attempts).toEqual(['b#1']);
});

test('collected results', async () => {
  const many = Array.from({ length: 10 }, (_, index) => `n${index}`);
  const env = createTestEnv();
  const run = await begin(env, many.map((id) => `a>${id} ${id}>b`).join(' '));
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  expect(env.ports.jobs.results).toHaveLength(10);
  expect(await throttleForHours(env)).toBeGreaterThanOrEqual(10);
  await completes(env, run);
  expect(env.attempts.filter((attempt) => attempt.startsWith('b'))).toEqual(['b#1']);
});

test('jobs of a signal, and of the wait that it ends', async () => {
  const env = createTestEnv();
  const run = await begin(env, 's>b', { s: { name: 'paid', correlation: '17' } });
  await throttleForHours(env);
  const signal = { name: 'paid', correlation: '17', payload: 5, bodyHash: 'h', idempotencyKey: 'k2' };
  await sendSignal(env.worker, scope, signal);
  expect(await throttleForHours(env)).toBeGreaterThan(0);
  await completes(env, run);
});

test('child runs, and their ends', async () => {
  const env = createTestEnv();
  await env.publish(workflow('child', 'a>b'));
  const run = await begin(env, 'k>b', { k: { calls: 'child' } });
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  expect(await throttleForHours(env)).toBeGreaterThan(0);
  await completes(env, run);
});

test('workflow tasks of a deployment', async () => {
  const { env, run } = await startCodeRun([[functionCommand('a')]]);
  expect(await throttleForHours(env)).toBeGreaterThanOrEqual(letters);
  expect(await statusOf(env, run)).toBe('pending');
  await completes(env, run);
});

test('a dead letter whose worker is alive changes nothing', async () => {
  const env = createTestEnv();
  const run = await begin(env, 'a>b');
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  for (let letter = 0; letter < letters; letter += 1) await handleDeadLetter(env.worker, job);
  expect(await env.ports.log.heartbeats(run)).toEqual([]);
  await env.take(job);
  await completes(env, run);
  expect(env.attempts).toEqual(['a#1', 'b#1']);
});
