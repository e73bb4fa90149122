import { describe, expect, it } from 'vitest';
import type { RunCreation } from '../../../lib/engine/log/head.ts';
import { deploymentId, runId, workflowName } from '../../../lib/engine/ids.ts';
import { after, hours, minutes } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const given = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV');

describe('starting a run', () => {
  it('writes the head with its dispatched roots, and sends their jobs', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const answer = await home.start();
    expect(answer).toMatchObject({ kind: 'started', deploymentId: null, isReplay: false });
    expect(home.ports.jobs.sent.map(({ nodeId, commit, attempt, resend }) => ({ nodeId, commit, attempt, resend }))).toEqual([
      { nodeId: 'a', commit: 1, attempt: 1, resend: 0 },
    ]);
  });

  it('returns the same run for a repeated request with its key', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const [first, second] = [await home.start(), await home.start()];
    expect(second).toEqual({ ...first, isReplay: true });
  });

  it('refuses another body with the same key, and keeps the first run', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const first = await home.start();
    expect(await home.start({ bodyHash: 'another' })).toEqual({ kind: 'idempotency_conflict' });
    expect(await home.start()).toEqual({ ...first, isReplay: true });
  });

  it('creates one run for 200 concurrent identical requests', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const answers = await Promise.all(Array.from({ length: 200 }, () => home.start()));
    const runs = new Set(answers.map((answer) => (answer.kind === 'started' ? answer.runId : answer.kind)));
    expect(runs.size).toBe(1);
    expect(answers.filter((answer) => answer.kind === 'started' && !answer.isReplay)).toHaveLength(1);
  });

  it('continues with the head of an earlier attempt, even if it was written late with an older version', async () => {
    let late: RunCreation | undefined;
    const home = createTestEnv({
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
    await home.publish(workflow('flow', 'a>b'));
    await expect(home.start()).rejects.toThrow('died here');
    await home.publish({ ...workflow('flow', 'x>y'), version: 2 });
    const answer = await home.start();
    expect(answer).toMatchObject({ kind: 'started', isReplay: true });
    expect(home.ports.jobs.sent.map(({ nodeId }) => nodeId)).toEqual(['a']);
    await home.settle();
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });

  it('compares a key’s age at read, and does not depend on cleanup', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const first = await home.start();
    home.ports.clock.advance(hours(25));
    const second = await home.start();
    expect(second).toMatchObject({ kind: 'started', isReplay: false });
    expect(second).not.toEqual(first);
  });

  it('refuses a run id that another key has used, and releases the key', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    expect(await home.start({ idempotencyKey: 'k1', runId: given })).toMatchObject({ kind: 'started', runId: given });
    expect(await home.start({ idempotencyKey: 'k2', runId: given })).toEqual({ kind: 'run_exists', runId: given });
    expect(await home.start({ idempotencyKey: 'k2', bodyHash: 'other' })).toMatchObject({ kind: 'started', isReplay: false });
    expect(await home.start({ idempotencyKey: 'k1', runId: given })).toMatchObject({ kind: 'started', isReplay: true });
  });

  it('says why a workflow cannot be started, and releases the key each time', async () => {
    const home = createTestEnv();
    expect(await home.start()).toEqual({ kind: 'no_active_deployment' });
    const history = [{ deploymentId: deploymentId('dep_1'), at: home.ports.clock.now(), by: null }];
    await home.ports.deployments.movePointer(scope, 0, { revision: 1, history });
    expect(await home.start()).toEqual({ kind: 'workflow_not_found' });
    await home.publish(workflow('flow', 'a>b'));
    await home.ports.workflows.archive(scope, workflowName('flow'), home.ports.clock.now());
    expect(await home.start()).toEqual({ kind: 'workflow_archived' });
    expect(await home.start({ bodyHash: 'any' })).toEqual({ kind: 'workflow_archived' });
  });

  it('replays a response even if the workflow was archived since', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    await home.start();
    await home.ports.workflows.archive(scope, workflowName('flow'), home.ports.clock.now());
    expect(await home.start()).toMatchObject({ kind: 'started', isReplay: true });
  });

  it('validates the input against the declared arguments and gives the pointer of each error', async () => {
    const home = createTestEnv();
    const args = [
      { name: 'count', type: 'number' as const, required: true },
      { name: 'kind', type: 'string' as const, required: false, default: 'plain' },
    ];
    await home.publish({ ...workflow('flow', 'a>b'), options: { args } });
    const refused = await home.start({ input: { kind: 3 } });
    expect(refused.kind === 'input_invalid' ? refused.errors.map(({ pointer }) => pointer).toSorted() : refused).toEqual([
      '/input/count',
      '/input/kind',
    ]);
    const answer = await home.start({ input: { count: 1 } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const { head } = await home.fold({ ...scope, runId: answer.runId });
    expect(head.commit.events[0]).toEqual({ type: 'INPUT_SET', input: { value: { kind: 'plain', count: 1 } } });
  });

  it('delays a run until its start time', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const availableAt = after(home.ports.clock.now(), minutes(5));
    await home.start({ availableAt });
    expect(home.ports.jobs.sent).toEqual([]);
    await home.settle();
    expect(home.attempts).toEqual(['a#1', 'b#1']);
    expect(home.ports.clock.now()).toBe(availableAt);
  });

  it('stores a large input in its own item, and a larger one in the bucket', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const noise = Array.from({ length: 40_000 }, () => home.ports.ids.random());
    const inputs = [{ small: 1 }, { text: 'x'.repeat(5_000) }, { noise }];
    const storages = [];
    for (const [index, input] of inputs.entries()) {
      const answer = await home.start({ input, idempotencyKey: `k${index}` });
      if (answer.kind !== 'started') throw new Error(answer.kind);
      const [set] = (await home.fold({ ...scope, runId: answer.runId })).head.commit.events;
      storages.push(set?.type === 'INPUT_SET' && 'ref' in set.input ? set.input.ref.slice(0, 5) : 'head');
    }
    expect(storages).toEqual(['head', 'item:', 'blob:']);
  });

  it('succeeds although the first send failed, because the sweep checks the run', async () => {
    const home = createTestEnv({
      wrap: (deps) => ({ ...deps, jobs: { ...deps.jobs, send: async () => Promise.reject(new Unavailable('the queue')) } }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const answer = await home.start();
    expect(answer.kind).toBe('started');
    const minute = Math.floor(after(home.ports.clock.now(), minutes(2)) / 60_000);
    expect(await home.ports.index.dueIn(minute)).toHaveLength(1);
  });

  it('is continued by the next request after a crash before the head', async () => {
    let isDead = true;
    const home = createTestEnv({
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
    await home.publish(workflow('flow', 'a>b'));
    await expect(home.start({ runId: given })).rejects.toThrow('killed here');
    isDead = false;
    expect(await home.start({ runId: given })).toEqual({ kind: 'started', runId: given, deploymentId: null, isReplay: true });
  });
});
