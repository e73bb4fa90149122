/** Deletion of a workflow: slices that any process may continue remove its versions and runs, then the name is free. */
import { describe, expect, it } from 'vitest';
import { Unreadable } from '../../../lib/codec/unreadable.ts';
import {
  type RunAddress,
  attempt,
  firstCommit,
  nodeId,
  nodeKey,
  runId,
  topLevel,
  workflowName,
} from '../../../lib/engine/ids.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { isTombstone } from '../../../lib/engine/log/commit.ts';
import { after, hours, instant, iso, minutes } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { archiveName } from '../../../lib/service/definitions/archive-name.ts';
import { continueDeletions } from '../../../lib/service/deletions/continue-deletions.ts';
import { getDraft, saveDraft } from '../../../lib/service/definitions/drafts.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { getRun } from '../../../lib/service/runs/get-run.ts';
import { getVersion } from '../../../lib/service/definitions/get-version.ts';
import { scheduleOf } from '../../contract/schedules.suite.ts';
import {
  requester,
  create,
  deletedEntries,
  deletedWorkflow,
  addMoreData,
  remainingRecords,
  createDeletionEnv,
  publishWorkflowWithData,
  publish,
  requestDeletion,
  createRunWithData,
  sweep,
  sweepUntilDone,
} from '../deletion-fixture.ts';
import { type TestEnv, scope, workflow } from '../test-env.ts';
import { CrashableProcesses, survives } from '../crashable-processes.ts';
import { blobsOf } from '../test-run-fixture.ts';

const createFilledEnv = async (): Promise<TestEnv> => {
  const env = createDeletionEnv();
  await publishWorkflowWithData(env);
  return env;
};
const progress = async ({ ports }: TestEnv) => {
  const [deletion] = await ports.deletions.all();
  return deletion && [deletion.phase, deletion.runsDeleted, deletion.runsFound];
};
const childrenOf = async ({ ports }: TestEnv): Promise<readonly RunAddress[]> =>
  (await ports.index.list(scope, { limit: 100 })).heads
    .filter(({ workflow: { name } }) => name === 'child')
    .map(({ address }) => address);

/** Handles the sent jobs and the jobs that follow from them, without advancing the clock. */
const handleAll = async (env: TestEnv): Promise<void> => {
  for (let jobs = takeJobs(env); jobs.length > 0; jobs = takeJobs(env)) for (const job of jobs) await env.take(job);
};
const takeJobs = ({ ports: { jobs } }: TestEnv) => [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue()];
/** The lifecycle events of ended runs of `flow`, each once. */
const endNotices = ({ ports }: TestEnv): readonly string[] => {
  const ends = ports.notices.statusNotices.filter((notice) => notice.workflow.name === 'flow');
  return [...new Set(ends.map(({ run, status }) => `${run.runId} ${status}`))].toSorted();
};

describe('the request', () => {
  it('closes an existing workflow: it accepts no runs and no versions', async () => {
    const env = createDeletionEnv();
    expect(await requestDeletion(env)).toEqual({ kind: 'not_found' });
    await publishWorkflowWithData(env);
    const answer = await requestDeletion(env);
    expect(answer).toMatchObject({ kind: 'deleting', deletion: { throughVersion: 1, requestedBy: requester, phase: 'finding' } });
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).toMatchObject({ deletingSince: env.ports.clock.now() });
    expect(await env.start()).toEqual({ kind: 'workflow_deleting' });
    expect(await publish(env)).toEqual({ kind: 'workflow_deleting' });
    expect(await create(env)).toEqual({ kind: 'workflow_deleting' });
    expect(await getVersion(env.ports.workflows, scope, deletedWorkflow)).toMatchObject({ kind: 'found' });
  });

  it('repeated in any phase returns the same deletion', async () => {
    const env = await createFilledEnv();
    await createRunWithData(env);
    const first = await requestDeletion(env);
    env.ports.clock.set(after(env.ports.clock.now(), minutes(1)));
    expect(await requestDeletion(env)).toEqual(first);
    expect(await env.ports.deletions.all()).toHaveLength(1);
    await sweep(env);
    expect(await requestDeletion(env)).toEqual({ kind: 'not_found' });
    expect(await env.ports.deletions.all()).toHaveLength(1);
  });

  it('is refused while schedules start its runs, and names the schedules', async () => {
    const env = await createFilledEnv();
    const { definition } = scheduleOf(scope);
    for (const [id, name] of [
      ['nightly', 'flow'],
      ['other', 'child'],
      ['weekly', 'flow'],
    ] as const)
      await env.ports.schedules.create(
        scheduleOf(scope, id, { definition: { ...definition, workflowName: workflowName(name) } }),
      );
    expect(await requestDeletion(env)).toEqual({ kind: 'workflow_scheduled', scheduleIds: ['nightly', 'weekly'] });
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).not.toHaveProperty('deletingSince');
    expect(await env.ports.deletions.all()).toEqual([]);
  });

  it('also covers a version that is published concurrently', async () => {
    const env = await createFilledEnv();
    const close = env.ports.workflows.close.bind(env.ports.workflows);
    let isFirst = true;
    env.ports.workflows.close = async (...given) => {
      if (isFirst) await publish(env);
      isFirst = false;
      return close(...given);
    };
    expect(await requestDeletion(env)).toMatchObject({ kind: 'deleting', deletion: { throughVersion: 2, phase: 'finding' } });
    await sweepUntilDone(env);
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([]);
  });

  it('removes the version of a publisher that read the workflow earlier, and the publisher fails', async () => {
    const env = await createFilledEnv();
    const put = env.ports.workflows.putVersion.bind(env.ports.workflows);
    env.ports.workflows.putVersion = async (...given) => {
      env.ports.workflows.putVersion = put;
      await requestDeletion(env);
      await sweep(env);
      return put(...given);
    };
    expect(await publish(env)).toEqual({ kind: 'workflow_deleting' });
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).toBeUndefined();
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([1, 2]);
    await sweepUntilDone(env);
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([]);
    expect(await create(env)).toMatchObject({ kind: 'published', version: 3 });
  });

  it('fails that publisher even if a new workflow has the name by then', async () => {
    const env = await createFilledEnv();
    const advance = env.ports.workflows.advance.bind(env.ports.workflows);
    env.ports.workflows.advance = async (...given) => {
      env.ports.workflows.advance = advance;
      await requestDeletion(env);
      const isMoved = await advance(...given);
      await sweep(env);
      expect(await create(env)).toMatchObject({ kind: 'published', version: 3 });
      return isMoved;
    };
    expect(await publish(env)).toEqual({ kind: 'workflow_deleting' });
    await sweepUntilDone(env);
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([3]);
  });
});

describe('a deletion', () => {
  it('removes all data of open and ended runs, and changes no other workflow', async () => {
    const env = await createFilledEnv();
    const rich = await createRunWithData(env);
    const fresh = await createRunWithData(env, 'other');
    await env.publish(workflow('short', 'a>c'));
    const blobs = await blobsOf(env, rich);
    expect(blobs.length).toBeGreaterThan(0);
    const spared = await env.begin('short');
    const children = await childrenOf(env);
    expect(children).toHaveLength(2);
    expect((await remainingRecords(env, rich, blobs)).toSorted()).toEqual([
      'beats',
      'blob',
      'commits',
      'head',
      'input',
      'snapshot',
      'waiter',
    ]);

    await requestDeletion(env);
    expect(await sweep(env)).toEqual({ ended: 0, failed: [], broken: [] });
    expect(await progress(env)).toEqual(['settling', 2, 2]);
    for (const run of [rich, fresh]) {
      expect(await remainingRecords(env, run, blobs)).toEqual([]);
      expect(await getRun(env.worker, run, true)).toEqual({ kind: 'not_found' });
    }
    expect((await env.fold(spared)).state.progress.status).toBe('pending');
    // The child runs belong to another workflow: they are cancelled, because no caller waits for them, but not deleted.
    await handleAll(env);
    for (const child of children) expect((await env.fold(child)).state.progress.status).toBe('cancelled');

    await sweepUntilDone(env);
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([]);
    expect(await env.ports.workflows.versionNumbers(scope, workflowName('child'))).toEqual([1]);
    expect((await env.ports.workflows.list(scope, { limit: 9, archived: true })).summaries.map(({ name }) => name)).toEqual([
      'child',
      'short',
    ]);
  });

  it('deletes and reports a run whose stored data cannot be read, without delaying the others', async () => {
    const env = await createFilledEnv();
    const [broken, sound] = [await createRunWithData(env), await createRunWithData(env, 'other')];
    const commitsAfter = env.ports.log.commitsAfter.bind(env.ports.log);
    env.ports.log.commitsAfter = async (run, ...given) => {
      if (run.runId === broken.runId) throw new Unreadable('a commit', 'it is not JSON');
      return commitsAfter(run, ...given);
    };
    await requestDeletion(env);
    expect(await sweep(env)).toMatchObject({ failed: [], broken: [{ run: broken, error: { name: 'Unreadable' } }] });
    for (const run of [broken, sound]) expect(await env.ports.log.head(run)).toBeUndefined();
    await sweepUntilDone(env);
    expect(await create(env)).toMatchObject({ kind: 'published', version: 2 });
  });

  it('writes one audit entry with the requester, the workflow and the number of runs', async () => {
    const env = await createFilledEnv();
    await createRunWithData(env);
    const requestedAt = env.ports.clock.now();
    await requestDeletion(env);
    env.ports.clock.set(after(requestedAt, minutes(3)));
    await sweep(env);
    expect(deletedEntries(env)).toEqual([
      {
        at: after(requestedAt, minutes(3)),
        keyId: requester,
        scope,
        action: 'workflows.deleted',
        resource: 'workflow/flow',
        result: 'success',
        metadata: { runs: 1, throughVersion: 1, requestedAt: iso(requestedAt) },
      },
    ]);
  });

  it('frees the name before it settles: the next workflow continues the version numbers and shows only its own versions', async () => {
    const env = await createFilledEnv();
    await publish(env);
    const old = await createRunWithData(env);
    await requestDeletion(env);
    await sweep(env);
    expect(await create(env)).toMatchObject({ kind: 'published', version: 3 });
    expect(await create(env)).toEqual({ kind: 'exists' });
    expect(await publish(env)).toMatchObject({ kind: 'published', version: 4 });
    for (const [number, kind] of [
      [2, 'version_not_found'],
      [3, 'found'],
    ] as const)
      expect(await getVersion(env.ports.workflows, scope, deletedWorkflow, number)).toMatchObject({ kind });
    const run = await env.begin('flow');
    expect((await env.fold(run)).head.workflow).toEqual({ name: 'flow', version: 4 });
    await sweepUntilDone(env);
    expect((await env.fold(run)).head.workflow).toEqual({ name: 'flow', version: 4 });
    expect(await remainingRecords(env, old)).toEqual([]);
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([3, 4]);
    expect(await archiveName({ store: env.ports.workflows, clock: env.ports.clock }, scope, deletedWorkflow)).toMatchObject({
      kind: 'archived',
    });
  });

  it('deletes the draft before the name is free, and no later draft', async () => {
    const env = await createFilledEnv();
    const save = (text: string) =>
      saveDraft(env.deps, scope, {
        name: deletedWorkflow,
        revision: 0,
        basedOn: null,
        definition: { text },
        updatedBy: 'ada',
      });
    await save('of the deleted workflow');
    await requestDeletion(env);
    expect(await save('too late')).toEqual({ kind: 'workflow_deleting' });
    // The sweep that frees the name dies before it records that.
    const replace = env.ports.deletions.replace.bind(env.ports.deletions);
    env.ports.deletions.replace = (to) => (to.phase === 'settling' ? Promise.reject(new Unavailable('the table')) : replace(to));
    for (let minute = 0; minute < 3; minute += 1) await sweep(env);
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).toBeUndefined();
    expect(await getDraft(env.deps, scope, deletedWorkflow)).toBeUndefined();
    expect(await save('of the next workflow')).toMatchObject({ kind: 'saved' });
    env.ports.deletions.replace = replace;
    await sweepUntilDone(env);
    expect(await getDraft(env.deps, scope, deletedWorkflow)).toMatchObject({ definition: { text: 'of the next workflow' } });
  });

  it('of many runs reports its progress, and stops when its time is up', async () => {
    const env = createDeletionEnv();
    await env.publish(workflow('flow', 'a>c'));
    for (let run = 0; run < 120; run += 1) await env.start({ idempotencyKey: `${run}` });
    await requestDeletion(env);
    const now = env.ports.clock.now();
    expect(await continueDeletions(env.worker, now)).toEqual({ ended: 0, failed: [], broken: [] });
    expect(await progress(env)).toEqual(['finding', 0, 0]);
    // Each read of the clock advances it, so each sweep has time for few runs.
    let time = Number(now);
    const clock = { sleep: () => Promise.resolve(), now: () => instant((time += 1)) };
    const seen: unknown[] = [];
    for (let sweeps = 0; (await progress(env))?.[0] !== 'settling'; sweeps += 1) {
      if (sweeps > 200) throw new Error('it does not come to its end');
      await continueDeletions({ ...env.worker, deps: { ...env.deps, clock } }, instant(time + 4));
      seen.push((await progress(env))?.join(' '));
    }
    expect(seen).toContain('finding 0 50');
    expect(seen).toContain('deleting 0 120');
    expect(new Set(seen.filter((one) => `${String(one)}`.startsWith('deleting'))).size).toBeGreaterThan(6);
    expect(await progress(env)).toEqual(['settling', 120, 120]);
    expect((await env.ports.index.list(scope, { limit: 10 })).heads).toEqual([]);
  });

  it('cancels open runs as soon as it finds them', async () => {
    const env = await createFilledEnv();
    const run = await createRunWithData(env);
    await requestDeletion(env);
    const forget = env.ports.log.deleteRun.bind(env.ports.log);
    env.ports.log.deleteRun = () => Promise.reject(new Unavailable('the log'));
    env.ports.blobs.removeAll = () => Promise.reject(new Unavailable('the bucket'));
    const at = env.ports.clock.now();
    let looks = 0;
    const clock = { sleep: () => Promise.resolve(), now: () => instant(at + ((looks += 1) > 4 ? 60_000 : 0)) };
    await continueDeletions({ ...env.worker, deps: { ...env.deps, clock } }, after(at, minutes(1)));
    expect(await progress(env)).toEqual(['deleting', 0, 1]);
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'cancelled', reason: 'its workflow is being deleted' });
    env.ports.log.deleteRun = forget;
  });

  it('that fails is reported, and the others continue', async () => {
    const env = await createFilledEnv();
    await requestDeletion(env);
    await env.publish(workflow('short', 'a>c'));
    const list = env.ports.index.list.bind(env.ports.index);
    env.ports.index.list = async (of, ...rest) => {
      if ('throughVersion' in of) throw new Unavailable('the list');
      return list(of, ...rest);
    };
    const { failed } = await sweep(env);
    expect(failed).toMatchObject([{ deletion: { name: 'flow', phase: 'finding' }, error: expect.any(Unavailable) }]);
    env.ports.index.list = list;
    await sweepUntilDone(env);
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).toBeUndefined();
  });
});

describe('a crash at any call', () => {
  it('of the request leaves an open workflow, or a deletion that the sweep finishes', async () => {
    const count = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const env = await createFilledEnv();
      const run = await createRunWithData(env);
      const processes = new CrashableProcesses(env.deps, aim);
      await survives(requestDeletion(env, processes.start()));
      const isClosed = (await env.ports.workflows.summary(scope, deletedWorkflow))?.deletingSince !== undefined;
      const isKnown = (await env.ports.deletions.all()).length > 0;
      expect(isClosed && !isKnown, JSON.stringify(aim)).toBe(false);
      await sweepUntilDone(env);
      const isGone = (await env.ports.workflows.summary(scope, deletedWorkflow)) === undefined;
      expect(isGone, JSON.stringify(aim)).toBe(isKnown);
      expect((await remainingRecords(env, run)).length > 0, JSON.stringify(aim)).toBe(!isGone);
      return processes.calls;
    };
    const calls = await count();
    expect(calls).toBeGreaterThan(3);
    for (let call = 1; call <= calls; call += 1) for (const kind of ['before', 'after'] as const) await count({ call, kind });
  });

  it('of the sweep loses nothing: the next sweep finishes, and one audit entry exists', async () => {
    const count = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const env = await createFilledEnv();
      const runs = [await createRunWithData(env), await createRunWithData(env, 'second')];
      const blobs = (await Promise.all(runs.map((run) => blobsOf(env, run)))).flat();
      await requestDeletion(env);
      const processes = new CrashableProcesses(env.deps, aim);
      const swept = async () => {
        const { failed = [] } = (await survives(sweep(env, processes.start()).then((done) => void (last = done)))) ? last : {};
        // The injected crash is the only error expected.
        for (const { error } of failed) if (!(error instanceof Error && error.name === 'Killed')) throw error;
      };
      let last: { failed?: readonly { error: unknown }[] } = {};
      await swept();
      env.ports.clock.set(after(env.ports.clock.now(), minutes(21)));
      await swept();
      await sweepUntilDone(env);
      for (const run of runs) expect(await remainingRecords(env, run, blobs), JSON.stringify(aim)).toEqual([]);
      expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow), JSON.stringify(aim)).toEqual([]);
      expect(deletedEntries(env), JSON.stringify(aim)).toMatchObject([{ metadata: { runs: 2 } }]);
      // The sweep finds a child whose caller died before it could notify the child.
      await sweepRuns(env.worker, after(env.ports.clock.now(), hours(1)));
      await handleAll(env);
      expect(endNotices(env), JSON.stringify(aim)).toEqual(runs.map((run) => `${run.runId} cancelled`).toSorted());
      for (const child of await childrenOf(env))
        expect((await env.fold(child)).state.progress.status, JSON.stringify(aim)).toBe('cancelled');
      return processes.calls;
    };
    const calls = await count();
    expect(calls).toBeGreaterThan(60);
    for (let call = 1; call <= calls; call += 1) for (const kind of ['before', 'after'] as const) await count({ call, kind });
  });
});

describe('a child run of another workflow', () => {
  /** `caller` waits for a run of `flow`, which waits for a signal; `pinned` names the version. */
  const calling = async (config: JsonObject = {}) => {
    const env = await createFilledEnv();
    const once = { policy: { retry: { attempts: 1, backoffMs: 1, maxBackoffMs: 1, retryOn: [], jitter: 'none' } } };
    await env.publish(workflow('caller', 'a>k k>e', { k: { calls: 'flow', ...once, ...config } }));
    const run = await env.begin('caller');
    return { env, run };
  };
  const endOf = async (env: TestEnv, run: RunAddress) => {
    const { progress, nodes } = (await env.fold(run)).state;
    const node = nodes.get(nodeKey({ nodeId: nodeId('k'), iteration: topLevel }));
    return [progress.status, node?.status === 'failed' ? node.failure.code : node?.status];
  };

  it('is reported to its caller as cancelled before its log is deleted', async () => {
    const { env, run } = await calling();
    await handleAll(env);
    expect(await endOf(env, run)).toEqual(['running', 'waiting']);
    await requestDeletion(env);
    await sweep(env);
    expect(await endOf(env, run)).toEqual(['failed', 'subflow_cancelled']);
  });

  it.each([{}, { version: 1 }])(
    'is not created while the workflow is being deleted, with %j, and the node fails with the reason',
    async (config) => {
      const { env, run } = await calling(config);
      await requestDeletion(env);
      await handleAll(env);
      expect(await endOf(env, run)).toEqual(['failed', 'workflow_deleting']);
      await sweep(env);
      const later = await env.start({ workflowName: workflowName('caller'), idempotencyKey: 'later' });
      if (later.kind !== 'started') throw new Error(later.kind);
      await handleAll(env);
      expect((await endOf(env, { ...scope, runId: later.runId }))[1]).toMatch(/^(workflow_not_found|no_active_deployment)$/);
    },
  );

  it('that was deleted without a notification fails the waiting node, even if the name is used again', async () => {
    const { env, run } = await calling();
    await handleAll(env);
    const [child] = (await env.ports.index.list(scope, { limit: 9 })).heads.filter(({ workflow: { name } }) => name === 'flow');
    if (child === undefined) throw new Error('no child run was started');
    await env.ports.log.deleteRun(child.address, child.expiresAt);
    const node = { nodeId: nodeId('k'), iteration: topLevel, attempt: attempt(1) };
    await env.take({ kind: 'child', run, ...node, childRunId: child.address.runId });
    expect(await endOf(env, run)).toEqual(['failed', 'run_deleted']);
    expect(JSON.stringify((await env.fold(run)).state.progress)).toContain('was deleted with its workflow');
  });
});

describe('late writes', () => {
  it('the deletion finds a run whose start read the workflow before the closing', async () => {
    const env = await createFilledEnv();
    const createHead = env.ports.log.create.bind(env.ports.log);
    env.ports.log.create = async (creation) => {
      env.ports.log.create = createHead;
      await requestDeletion(env);
      await sweep(env);
      expect(await create(env)).toMatchObject({ kind: 'published', version: 2 });
      return createHead(creation);
    };
    const late = await env.begin('flow');
    expect((await env.fold(late)).head.workflow).toEqual({ name: 'flow', version: 1 });
    const own = await env.start({ idempotencyKey: 'of the new one' });
    env.ports.clock.set(after(env.ports.clock.now(), minutes(21)));
    await sweep(env);
    expect(await getRun(env.worker, late, true)).toEqual({ kind: 'not_found' });
    await sweepUntilDone(env);
    expect(await remainingRecords(env, late)).toEqual([]);
    if (own.kind !== 'started') throw new Error(own.kind);
    expect((await env.fold({ ...scope, runId: own.runId })).state.progress.status).toBe('pending');
    expect(await env.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([2]);
  });

  it('the deletion settles again and removes what a worker wrote for such a run', async () => {
    const env = await createFilledEnv();
    const createHead = env.ports.log.create.bind(env.ports.log);
    env.ports.log.create = async (creation) => {
      env.ports.log.create = createHead;
      await requestDeletion(env);
      await sweep(env);
      return createHead(creation);
    };
    const late = await env.begin('flow');
    env.ports.clock.set(after(env.ports.clock.now(), minutes(21)));
    await sweep(env);
    expect(await remainingRecords(env, late)).toEqual([]);
    await addMoreData(env, late);
    await sweepUntilDone(env);
    expect(await remainingRecords(env, late)).toEqual([]);
    expect(deletedEntries(env)).toHaveLength(1);
  });

  it('a new workflow whose version number is taken by the deletion takes the next number', async () => {
    const env = await createFilledEnv();
    await requestDeletion(env);
    await sweep(env);
    const put = env.ports.workflows.putVersion.bind(env.ports.workflows);
    env.ports.workflows.putVersion = async (...given) => {
      env.ports.workflows.putVersion = put;
      const result = await put(...given);
      await env.ports.workflows.skipTo(scope, deletedWorkflow, 60);
      return result;
    };
    expect(await create(env)).toMatchObject({ kind: 'published', version: 61 });
  });

  it('a request that resumes its closing when a new workflow has the name deletes nothing of that workflow', async () => {
    const env = await createFilledEnv();
    const close = env.ports.workflows.close.bind(env.ports.workflows);
    env.ports.workflows.close = async (...given) => {
      env.ports.workflows.close = close;
      await sweepUntilDone(env);
      expect(await create(env)).toMatchObject({ kind: 'published', version: 2 });
      return close(...given);
    };
    expect(await requestDeletion(env)).toEqual({ kind: 'not_found' });
    await sweepUntilDone(env);
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).toMatchObject({ latestVersion: 2 });
    expect(await env.ports.workflows.summary(scope, deletedWorkflow)).not.toHaveProperty('deletingSince');
  });

  it('a delayed commit finds its number occupied, and creates no log without a head', async () => {
    const env = await createFilledEnv();
    const run = await env.begin('flow');
    const put = env.ports.log.put.bind(env.ports.log);
    let isLate = false;
    env.ports.log.put = async (...given) => {
      env.ports.log.put = put;
      isLate = true;
      await requestDeletion(env);
      await sweep(env);
      return put(...given);
    };
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect(isLate).toBe(true);
    expect(env.ports.jobs.takeSent()).toEqual([]);
    expect(await env.ports.log.head(run)).toBeUndefined();
    expect((await env.ports.log.commitsAfter(run, firstCommit)).every(isTombstone)).toBe(true);
  });

  it('messages for a deleted run change nothing, with a cached fold and without', async () => {
    const env = await createFilledEnv();
    const run = await createRunWithData(env);
    const jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeMessages()];
    await requestDeletion(env);
    await sweep(env);
    env.ports.clock.set(after(env.ports.clock.now(), hours(2)));
    const ofFlow = () => env.attempts.filter((attempt) => !/^[xy]#/.test(attempt));
    const before = ofFlow();
    const late = [...jobs, ...env.ports.jobs.takeSent(), ...env.ports.jobs.takeMessages(), ...env.ports.jobs.takeDue()];
    for (const worker of [env.worker, undefined])
      for (const job of late) await env.take(job, { isRedelivered: true, ...(worker === undefined ? {} : { worker }) });
    expect(ofFlow()).toEqual(before);
    expect(await remainingRecords(env, run)).toEqual([]);
  });

  it('the deletion removes what a worker wrote beside the log after it, when it settles', async () => {
    const env = await createFilledEnv();
    const run = await createRunWithData(env);
    await requestDeletion(env);
    await sweep(env);
    await addMoreData(env, run);
    expect((await remainingRecords(env, run)).length).toBeGreaterThan(2);
    await sweepUntilDone(env);
    expect(await remainingRecords(env, run)).toEqual([]);
  });

  it('a repeated start with the key of a deleted run starts nothing and returns the reason', async () => {
    const env = await createFilledEnv();
    const run = await createRunWithData(env);
    const again = () => env.start({ idempotencyKey: 'rich', input: { text: 'y'.repeat(5_000) } });
    expect(await again()).toMatchObject({ kind: 'started', isReplay: true });
    await requestDeletion(env);
    expect(await again()).toMatchObject({ kind: 'started', isReplay: true });
    await sweep(env);
    expect(await again()).toEqual({ kind: 'no_active_deployment' });
    await create(env);
    expect(await again()).toEqual({ kind: 'run_deleted', runId: run.runId });
    expect(await env.start({ runId: runId(run.runId), idempotencyKey: 'by its id' })).toMatchObject({ kind: 'run_deleted' });
    expect(await env.start({ idempotencyKey: 'new' })).toMatchObject({ kind: 'started', isReplay: false });
  });
});
