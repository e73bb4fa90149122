import { describe, expect, it } from 'vitest';
import { defaultApp, pointerAfter } from '../../../lib/ports/deployments.ts';
import type { RunCreation } from '../../../lib/engine/log/head.ts';
import { deploymentId, runId, workflowName } from '../../../lib/engine/ids.ts';
import { after, hours, minutes } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { startRun } from '../../../lib/service/runs/start-run.ts';
import { createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const given = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV');

describe('starting a run', () => {
  it('writes the head with its dispatched roots, and sends their jobs', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const answer = await env.start();
    expect(answer).toMatchObject({ kind: 'started', deploymentId: null, isReplay: false });
    expect(env.ports.jobs.sent.map(({ nodeId, commit, attempt, resend }) => ({ nodeId, commit, attempt, resend }))).toEqual([
      { nodeId: 'a', commit: 1, attempt: 1, resend: 0 },
    ]);
  });

  it('marks the run of its key for a sweep, and no other, if the mark of the first request was refused', async () => {
    let isRefused = true;
    const marked: string[] = [];
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            if (isRefused) throw new Unavailable('the table');
            marked.push(entry.run.runId);
            await deps.index.markDue(entry);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b'));
    const request = { scope, idempotencyKey: 'key', bodyHash: 'hash', workflowName: workflowName('flow') };
    await expect(startRun(env.worker, request)).rejects.toThrow(Unavailable);
    isRefused = false;
    const started = await startRun(env.worker, request);
    if (started.kind !== 'started') throw new Error(`the run has not started: ${started.kind}`);
    expect(started.isReplay).toBe(true);
    // The first entry is that of the run id which the request proposed.
    expect(marked).toHaveLength(2);
    expect(marked[1]).toBe(started.runId);
    expect(marked[0]).not.toBe(started.runId);
  });

  it('marks its run for a sweep once, beside the reservation of its key and before the head', async () => {
    const calls: string[] = [];
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            calls.push('due begins');
            await deps.index.markDue(entry);
            calls.push('due');
          },
        }),
        reservations: overrideMethods(deps.reservations, {
          reserve: async (...reserved) => {
            const result = await deps.reservations.reserve(...reserved);
            calls.push('reserved');
            return result;
          },
        }),
        log: overrideMethods(deps.log, {
          create: async (creation) => {
            calls.push('head');
            return deps.log.create(creation);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b'));
    await startRun(env.worker, { scope, idempotencyKey: 'key', bodyHash: 'hash', workflowName: workflowName('flow') });
    expect(calls.filter((call) => call === 'due')).toHaveLength(1);
    expect(calls.indexOf('due begins')).toBeLessThan(calls.indexOf('reserved'));
    expect(calls.at(-1)).toBe('head');
  });

  it('returns the same run for a repeated request with its key', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const [first, second] = [await env.start(), await env.start()];
    expect(second).toEqual({ ...first, isReplay: true });
  });

  it('refuses another body with the same key, and keeps the first run', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const first = await env.start();
    expect(await env.start({ bodyHash: 'another' })).toEqual({ kind: 'idempotency_conflict' });
    expect(await env.start()).toEqual({ ...first, isReplay: true });
  });

  it('creates one run for 200 concurrent identical requests', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const answers = await Promise.all(Array.from({ length: 200 }, () => env.start()));
    const runs = new Set(answers.map((answer) => (answer.kind === 'started' ? answer.runId : answer.kind)));
    expect(runs.size).toBe(1);
    expect(answers.filter((answer) => answer.kind === 'started' && !answer.isReplay)).toHaveLength(1);
  });

  it('continues with the head of an earlier attempt, even if it was written late with an older version', async () => {
    let late: RunCreation | undefined;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          create: async (creation) => {
            if (late === undefined) {
              late = creation;
              throw new Error('died here, its put on its way');
            }
            await deps.log.create(late);
            return deps.log.create(creation);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b'));
    await expect(env.start()).rejects.toThrow('died here');
    await env.publish({ ...workflow('flow', 'x>y'), version: 2 });
    const answer = await env.start();
    expect(answer).toMatchObject({ kind: 'started', isReplay: true });
    expect(env.ports.jobs.sent.map(({ nodeId }) => nodeId)).toEqual(['a']);
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('compares a key’s age at read, and does not depend on cleanup', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const first = await env.start();
    env.ports.clock.advance(hours(25));
    const second = await env.start();
    expect(second).toMatchObject({ kind: 'started', isReplay: false });
    expect(second).not.toEqual(first);
  });

  it('refuses a run id that another key has used, and releases the key', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    expect(await env.start({ idempotencyKey: 'k1', runId: given })).toMatchObject({ kind: 'started', runId: given });
    expect(await env.start({ idempotencyKey: 'k2', runId: given })).toEqual({ kind: 'run_exists', runId: given });
    expect(await env.start({ idempotencyKey: 'k2', bodyHash: 'other' })).toMatchObject({ kind: 'started', isReplay: false });
    expect(await env.start({ idempotencyKey: 'k1', runId: given })).toMatchObject({ kind: 'started', isReplay: true });
  });

  it('says why a workflow cannot be started, and releases the key each time', async () => {
    const env = createTestEnv();
    expect(await env.start()).toEqual({ kind: 'no_active_deployment' });
    const activation = { deploymentId: deploymentId('dep_1'), at: env.ports.clock.now(), by: null };
    const other = { app: defaultApp, workflows: [{ name: 'other' }] };
    await env.ports.deployments.movePointer(scope, 0, pointerAfter(undefined, other, activation));
    expect(await env.start()).toEqual({ kind: 'workflow_not_found' });
    await env.publish(workflow('flow', 'a>b'));
    await env.ports.workflows.archive(scope, workflowName('flow'), env.ports.clock.now());
    expect(await env.start()).toEqual({ kind: 'workflow_archived' });
    expect(await env.start({ bodyHash: 'any' })).toEqual({ kind: 'workflow_archived' });
  });

  it('replays a response even if the workflow was archived since', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    await env.start();
    await env.ports.workflows.archive(scope, workflowName('flow'), env.ports.clock.now());
    expect(await env.start()).toMatchObject({ kind: 'started', isReplay: true });
  });

  it('validates the input against the declared arguments and gives the pointer of each error', async () => {
    const env = createTestEnv();
    const args = [
      { name: 'count', type: 'number' as const, required: true },
      { name: 'kind', type: 'string' as const, required: false, default: 'plain' },
    ];
    await env.publish({ ...workflow('flow', 'a>b'), options: { args } });
    const refused = await env.start({ input: { kind: 3 } });
    expect(refused.kind === 'input_invalid' ? refused.errors.map(({ pointer }) => pointer).toSorted() : refused).toEqual([
      '/input/count',
      '/input/kind',
    ]);
    const answer = await env.start({ input: { count: 1 } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const { head } = await env.fold({ ...scope, runId: answer.runId });
    expect(head.commit.events[0]).toEqual({ type: 'INPUT_SET', input: { value: { kind: 'plain', count: 1 } } });
  });

  it('delays a run until its start time', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const availableAt = after(env.ports.clock.now(), minutes(5));
    await env.start({ availableAt });
    expect(env.ports.jobs.sent).toEqual([]);
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1']);
    expect(env.ports.clock.now()).toBe(availableAt);
  });

  it('stores a large input in its own item, and a larger one in the bucket', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const noise = Array.from({ length: 40_000 }, () => env.ports.ids.random());
    const inputs = [{ small: 1 }, { text: 'x'.repeat(5_000) }, { noise }];
    const storages = [];
    for (const [index, input] of inputs.entries()) {
      const answer = await env.start({ input, idempotencyKey: `k${index}` });
      if (answer.kind !== 'started') throw new Error(answer.kind);
      const [set] = (await env.fold({ ...scope, runId: answer.runId })).head.commit.events;
      storages.push(set?.type === 'INPUT_SET' && 'ref' in set.input ? set.input.ref.slice(0, 5) : 'head');
    }
    expect(storages).toEqual(['head', 'item:', 'blob:']);
  });

  it('succeeds although the first send failed, because the sweep checks the run', async () => {
    const env = createTestEnv({
      wrap: (deps) => ({ ...deps, jobs: { ...deps.jobs, send: async () => Promise.reject(new Unavailable('the queue')) } }),
    });
    await env.publish(workflow('flow', 'a>b'));
    const answer = await env.start();
    expect(answer.kind).toBe('started');
    const minute = Math.floor(after(env.ports.clock.now(), minutes(2)) / 60_000);
    expect(await env.ports.index.dueIn(minute)).toHaveLength(1);
  });

  it('is continued by the next request after a crash before the head', async () => {
    let isDead = true;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry: Parameters<typeof deps.index.markDue>[0]) => {
            if (isDead) throw new Error('killed here');
            return deps.index.markDue(entry);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b'));
    await expect(env.start({ runId: given })).rejects.toThrow('killed here');
    isDead = false;
    const head: unknown = expect.objectContaining({ address: { ...scope, runId: given } });
    const expected = { kind: 'started', runId: given, deploymentId: null, isReplay: true, head };
    expect(await env.start({ runId: given })).toEqual(expected);
  });
});
