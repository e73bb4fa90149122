/** A recovery whose calls a store refuses: it does the rest of its work, and a dead letter leaves the repetition to the sweep. */
import { expect, test } from 'vitest';
import { minuteOf } from '../../lib/engine/log/heartbeat-timeout.ts';
import { type RunAddress, nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import { recoverRun } from '../../lib/service/execution/recover-run.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { overrideMethods } from './override-methods.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';

interface Refusing extends TestEnv {
  /** which calls are refused, at each moment */
  readonly refuses: { sends: boolean; waiters: boolean };
  /** the minutes in which the sweep checks the run */
  readonly marked: number[];
}

function refusing(): Refusing {
  const refuses = { sends: false, waiters: false };
  const marked: number[] = [];
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    jobs: overrideMethods(deps.jobs, {
      send: async (jobs) => {
        if (refuses.sends) throw new Unavailable('the node queue');
        await deps.jobs.send(jobs);
      },
    }),
    signals: overrideMethods(deps.signals, {
      addWaiter: async (...waiter) => {
        if (refuses.waiters) throw new Unavailable('the signals');
        await deps.signals.addWaiter(...waiter);
      },
    }),
    index: overrideMethods(deps.index, {
      markDue: async (entry) => {
        marked.push(entry.minute);
        await deps.index.markDue(entry);
      },
    }),
  });
  return Object.assign(createTestEnv({ wrap }), { refuses, marked });
}

/** A run with two nodes whose jobs are lost, and with a wait for a signal that its worker could not register. */
async function begun(env: Refusing): Promise<RunAddress> {
  await env.publish(workflow('flow', 'a>b a>d a>s', { s: { name: 'paid', correlation: '17' } }));
  const run = await env.begin('flow');
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  env.refuses.waiters = true;
  await expect(env.take(job)).rejects.toThrow(Unavailable);
  env.ports.jobs.takeSent();
  return run;
}

const statusOf = async (env: TestEnv, run: RunAddress, id: string): Promise<string | undefined> =>
  (await env.fold(run)).state.nodes.get(nodeKey({ nodeId: nodeId(id), iteration: topLevel }))?.status;

test('a refused job does not keep a signal from its wait', async () => {
  const env = refusing();
  const run = await begun(env);
  await sendSignal(env.worker, scope, { name: 'paid', correlation: '17', payload: 5, bodyHash: 'h', idempotencyKey: 'k' });
  env.refuses.waiters = false;
  expect(await statusOf(env, run, 's')).toBe('waiting');
  env.ports.clock.advance(minutes(20));
  env.refuses.sends = true;
  await expect(recoverRun(env.worker, await env.fold(run))).rejects.toThrow(Unavailable);
  expect(await statusOf(env, run, 's')).toBe('completed');
  expect(await statusOf(env, run, 'd')).toBe('queued');
});

test('a dead letter whose recovery is refused is not delivered again, and the sweep recovers the run in a minute', async () => {
  const env = refusing();
  await env.publish(workflow('flow', 'a>b'));
  const run = await env.begin('flow');
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  env.ports.clock.advance(minutes(80));
  env.refuses.sends = true;
  env.marked.length = 0;
  await handleDeadLetter(env.worker, job);
  expect(env.marked).toEqual([minuteOf(after(env.ports.clock.now(), minutes(1)))]);
  env.refuses.sends = false;
  await sweepRun(env.worker, run);
  await env.settle();
  expect((await env.fold(run)).state.progress.status).toBe('completed');
});

test('a dead letter whose recovery succeeds tells the sweep nothing', async () => {
  const env = refusing();
  await env.publish(workflow('flow', 'a>b'));
  await env.begin('flow');
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  env.ports.clock.advance(minutes(80));
  env.marked.length = 0;
  await handleDeadLetter(env.worker, job);
  expect(env.marked).toEqual([]);
  expect(env.ports.jobs.takeSent()).toHaveLength(1);
});
