/** Messages of the Workflow DevKit that are lost or stuck, at each point where a process may die: the sweep sends another one in minutes. */
import { describe, expect, test } from 'vitest';
import { codeJobIdentity } from '../../lib/aws/message-identity.ts';
import { defined } from '../../lib/base/defined.ts';
import type { WorldRequest } from '../../lib/engine/devkit/decide.ts';
import type { RunAddress } from '../../lib/engine/ids.ts';
import { type DurationMs, after, days, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { DevKitJob } from '../../lib/ports/jobs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { publishDevKitMessage } from '../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { type DevKitEnv, answered, bytes, createDevKitEnv, hook, lazyStart, workflowName } from './devkit-test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { scope } from './test-env.ts';

const queueName = `__wkf_workflow_${workflowName}`;

/** An environment in which the process of the World can die right after a commit, before all that follows from it. */
async function mortal(): Promise<DevKitEnv & { dieAfterCommit(call: () => Promise<unknown>): Promise<void> }> {
  let dies = false;
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    log: overrideMethods(deps.log, {
      put: async (...commit) => {
        const result = await deps.log.put(...commit);
        if (dies) throw new Error('the process died');
        return result;
      },
    }),
  });
  const env = await createDevKitEnv({ wrap });
  return {
    ...env,
    dieAfterCommit: async (call) => {
      dies = true;
      await expect(call()).rejects.toThrow('the process died');
      dies = false;
    },
  };
}

/** Lets minutes pass, with a sweep in each. @returns the messages that it sent to the run */
async function sweep({ env }: DevKitEnv, run: RunAddress, count: number): Promise<readonly DevKitJob[]> {
  const sent: DevKitJob[] = [];
  for (let minute = 0; minute < count; minute += 1) {
    env.ports.clock.advance(minutes(1));
    await sweepRuns(env.worker, after(env.deps.clock.now(), minutes(1)));
    sent.push(...env.ports.jobs.takeDevKitMessages().filter((job) => job.run.runId === run.runId));
  }
  return sent;
}

/** Two minutes without an event, a minute of grace after the time of a wait, and a sweep in each minute. */
const mostMinutes = 5;

describe('a process that dies before it sends the message of', () => {
  /** A run that waits, and that the sweep would check again only after hours. */
  async function waiting(wait: WorldRequest): Promise<{ env: Awaited<ReturnType<typeof mortal>>; run: RunAddress }> {
    const env = await mortal();
    const run = await env.start();
    answered(await env.ask(run, wait));
    await sweep(env, run, 10);
    return { env, run };
  }
  const sleepOf = (env: DevKitEnv, length: number): WorldRequest => ({
    event: 'wait_created',
    correlationId: 'wait_1',
    until: after(env.env.deps.clock.now(), seconds(length)),
  });

  test('a sleep is replaced by the sweep', async () => {
    const env = await mortal();
    const run = await env.start();
    await env.dieAfterCommit(() => env.ask(run, sleepOf(env, 5)));
    expect(await sweep(env, run, mostMinutes)).toHaveLength(1);
  });

  test('a retry is replaced by the sweep', async () => {
    const env = await mortal();
    const run = await env.start();
    answered(await env.ask(run, lazyStart()));
    const until = after(env.env.deps.clock.now(), seconds(5));
    await env.dieAfterCommit(() => env.ask(run, { event: 'step_retrying', correlationId: 'step_1', payload: bytes, until }));
    expect(await sweep(env, run, mostMinutes)).toHaveLength(1);
  });

  test('a resumed hook is replaced by the sweep, although the run was to be checked in hours', async () => {
    const { env, run } = await waiting(hook('order'));
    await env.dieAfterCommit(() => env.ask(run, { event: 'hook_received', correlationId: 'hook_1', payload: bytes }));
    expect(await sweep(env, run, mostMinutes)).toHaveLength(1);
  });

  test('a sleep that was ended early is replaced by the sweep, although the sleep lasts for days', async () => {
    const env = await mortal();
    const run = await env.start();
    answered(await env.ask(run, { ...sleepOf(env, 0), until: after(env.env.deps.clock.now(), days(10)) }));
    expect(await sweep(env, run, 10)).toEqual([]);
    await env.dieAfterCommit(() => env.ask(run, { event: 'wait_completed', correlationId: 'wait_1' }));
    expect(await sweep(env, run, mostMinutes)).toHaveLength(1);
  });

  test('a cancel by the application leaves its end to the sweep', async () => {
    const { env, run } = await waiting(hook('order'));
    await env.dieAfterCommit(() => env.ask(run, { event: 'run_cancelled' }));
    expect(await env.env.deps.log.isFinalized(run)).toBe(false);
    await sweep(env, run, mostMinutes);
    expect(await env.env.deps.log.isFinalized(run)).toBe(true);
  });
});

test('a sleep that ends at its time costs no due entry', async () => {
  const marked: string[] = [];
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    index: overrideMethods(deps.index, {
      markDue: async (entry) => {
        marked.push(entry.run.runId);
        return deps.index.markDue(entry);
      },
    }),
  });
  const { ask, start, env } = await createDevKitEnv({ wrap });
  const run = await start();
  marked.length = 0;
  answered(await ask(run, { event: 'wait_created', correlationId: 'wait_1', until: after(env.deps.clock.now(), seconds(5)) }));
  env.ports.clock.advance(seconds(5));
  answered(await ask(run, { event: 'wait_completed', correlationId: 'wait_1' }));
  expect(marked).toEqual([]);
});

describe('a message whose function crashed', () => {
  test('blocks its group of the queue for minutes, and no message of the sweep waits for it', async () => {
    const env = await createDevKitEnv();
    const run = await env.start();
    const crashed = await published(env, run);
    const resent = await sweep(env, run, 20);
    expect(resent.length).toBeGreaterThan(1);
    const groups = [crashed, ...resent].map((job) => codeJobIdentity(job).group);
    expect(new Set(groups).size).toBe(groups.length);
  });
});

/** Publishes a message to the code of the run. @returns it, as the queue has it */
async function published(env: DevKitEnv, run: RunAddress, delay?: DurationMs): Promise<DevKitJob> {
  const head = await env.env.deps.log.head(run);
  if (head?.kind !== 'devkit') throw new Error('no run');
  const message = { runId: run.runId };
  answered(await publishDevKitMessage(env.world, defined({ scope, queueName, message, idempotencyKey: 'wait_1', delay }), head));
  const { jobs } = env.env.ports;
  const [job] = delay === undefined ? jobs.takeDevKitMessages() : jobs.delayed.splice(0).map((delayed) => delayed.job);
  if (job?.kind !== 'devkit') throw new Error('no message');
  return job;
}

describe('a delivery', () => {
  test('for which a service does not answer comes again after seconds, as its next attempt', async () => {
    let failures = 0;
    const wrap = (deps: Deps): Deps => ({
      ...deps,
      registeredApps: overrideMethods(deps.registeredApps, {
        app: async (...id) => {
          if ((failures -= 1) >= 0) throw new Unavailable('the control table');
          return deps.registeredApps.app(...id);
        },
      }),
    });
    const env = await createDevKitEnv({ wrap });
    const job = await published(env, await env.start());
    failures = 1;
    const before = env.env.deps.clock.now();
    await env.env.take(job);
    await env.env.settle();
    expect(env.received.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['2']);
    expect(env.env.deps.clock.now() - before).toBeLessThan(minutes(1));
  });

  test('that comes before its time, by a clock that is behind, is sent again as a message that the queue does not drop', async () => {
    const env = await createDevKitEnv();
    const job = await published(env, await env.start(), seconds(5));
    await env.env.take(job);
    expect(env.received).toEqual([]);
    const again = env.env.ports.jobs.delayed.flatMap((delayed) => (delayed.job.kind === 'devkit' ? [delayed.job] : []));
    expect(again).toHaveLength(1);
    expect(again.map((each) => codeJobIdentity(each).deduplication)).not.toContain(codeJobIdentity(job).deduplication);
    await env.env.settle();
    expect(env.received.map(({ headers }) => headers['x-vqs-message-id'])).toEqual([job.messageId]);
  });
});
