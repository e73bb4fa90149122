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
import { isTombstone } from '../../../lib/engine/log/tombstone.ts';
import { after, hours, instant, iso, minutes } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { archiveName } from '../../../lib/service/definitions/archive-name.ts';
import { continueDeletions } from '../../../lib/service/deletions/continue-deletions.ts';
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
  const home = createDeletionEnv();
  await publishWorkflowWithData(home);
  return home;
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
const handleAll = async (home: TestEnv): Promise<void> => {
  for (let jobs = takeJobs(home); jobs.length > 0; jobs = takeJobs(home)) for (const job of jobs) await home.take(job);
};
const takeJobs = ({ ports: { jobs } }: TestEnv) => [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue()];
/** The lifecycle events of ended runs of `flow`, each once. */
const endNotices = ({ ports }: TestEnv): readonly string[] => {
  const ends = ports.notices.statusNotices.filter((notice) => notice.workflow.name === 'flow');
  return [...new Set(ends.map(({ run, status }) => `${run.runId} ${status}`))].toSorted();
};

describe('the request', () => {
  it('closes an existing workflow: it accepts no runs and no versions', async () => {
    const home = createDeletionEnv();
    expect(await requestDeletion(home)).toEqual({ kind: 'not_found' });
    await publishWorkflowWithData(home);
    const answer = await requestDeletion(home);
    expect(answer).toMatchObject({ kind: 'deleting', deletion: { throughVersion: 1, requestedBy: requester, phase: 'finding' } });
    expect(await home.ports.workflows.summary(scope, deletedWorkflow)).toMatchObject({ deletingSince: home.ports.clock.now() });
    expect(await home.start()).toEqual({ kind: 'workflow_deleting' });
    expect(await publish(home)).toEqual({ kind: 'workflow_deleting' });
    expect(await create(home)).toEqual({ kind: 'workflow_deleting' });
    expect(await getVersion(home.ports.workflows, scope, deletedWorkflow)).toMatchObject({ kind: 'found' });
  });

  it('repeated in any phase returns the same deletion', async () => {
    const home = await createFilledEnv();
    await createRunWithData(home);
    const first = await requestDeletion(home);
    home.ports.clock.set(after(home.ports.clock.now(), minutes(1)));
    expect(await requestDeletion(home)).toEqual(first);
    expect(await home.ports.deletions.all()).toHaveLength(1);
    await sweep(home);
    expect(await requestDeletion(home)).toEqual({ kind: 'not_found' });
    expect(await home.ports.deletions.all()).toHaveLength(1);
  });

  it('is refused while schedules start its runs, and names the schedules', async () => {
    const home = await createFilledEnv();
    const { definition } = scheduleOf(scope);
    for (const [id, name] of [
      ['nightly', 'flow'],
      ['other', 'child'],
      ['weekly', 'flow'],
    ] as const)
      await home.ports.schedules.create(
        scheduleOf(scope, id, { definition: { ...definition, workflowName: workflowName(name) } }),
      );
    expect(await requestDeletion(home)).toEqual({ kind: 'workflow_scheduled', scheduleIds: ['nightly', 'weekly'] });
    expect(await home.ports.workflows.summary(scope, deletedWorkflow)).not.toHaveProperty('deletingSince');
    expect(await home.ports.deletions.all()).toEqual([]);
  });

  it('also covers a version that is published concurrently', async () => {
    const home = await createFilledEnv();
    const close = home.ports.workflows.close.bind(home.ports.workflows);
    let isFirst = true;
    home.ports.workflows.close = async (...given) => {
      if (isFirst) await publish(home);
      isFirst = false;
      return close(...given);
    };
    expect(await requestDeletion(home)).toMatchObject({ kind: 'deleting', deletion: { throughVersion: 2, phase: 'finding' } });
    await sweepUntilDone(home);
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([]);
  });

  it('removes the version of a publisher that read the workflow earlier, and the publisher fails', async () => {
    const home = await createFilledEnv();
    const put = home.ports.workflows.putVersion.bind(home.ports.workflows);
    home.ports.workflows.putVersion = async (...given) => {
      home.ports.workflows.putVersion = put;
      await requestDeletion(home);
      await sweep(home);
      return put(...given);
    };
    expect(await publish(home)).toEqual({ kind: 'workflow_deleting' });
    expect(await home.ports.workflows.summary(scope, deletedWorkflow)).toBeUndefined();
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([1, 2]);
    await sweepUntilDone(home);
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([]);
    expect(await create(home)).toMatchObject({ kind: 'published', version: 3 });
  });

  it('fails that publisher even if a new workflow has the name by then', async () => {
    const home = await createFilledEnv();
    const advance = home.ports.workflows.advance.bind(home.ports.workflows);
    home.ports.workflows.advance = async (...given) => {
      home.ports.workflows.advance = advance;
      await requestDeletion(home);
      const isMoved = await advance(...given);
      await sweep(home);
      expect(await create(home)).toMatchObject({ kind: 'published', version: 3 });
      return isMoved;
    };
    expect(await publish(home)).toEqual({ kind: 'workflow_deleting' });
    await sweepUntilDone(home);
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([3]);
  });
});

describe('a deletion', () => {
  it('removes all data of open and ended runs, and changes no other workflow', async () => {
    const home = await createFilledEnv();
    const rich = await createRunWithData(home);
    const fresh = await createRunWithData(home, 'other');
    await home.publish(workflow('short', 'a>c'));
    const blobs = await blobsOf(home, rich);
    expect(blobs.length).toBeGreaterThan(0);
    const spared = await home.begin('short');
    const children = await childrenOf(home);
    expect(children).toHaveLength(2);
    expect((await remainingRecords(home, rich, blobs)).toSorted()).toEqual([
      'beats',
      'blob',
      'commits',
      'head',
      'input',
      'snapshot',
      'waiter',
    ]);

    await requestDeletion(home);
    expect(await sweep(home)).toEqual({ ended: 0, failed: [], broken: [] });
    expect(await progress(home)).toEqual(['settling', 2, 2]);
    for (const run of [rich, fresh]) {
      expect(await remainingRecords(home, run, blobs)).toEqual([]);
      expect(await getRun(home.worker, run, true)).toEqual({ kind: 'not_found' });
    }
    expect((await home.fold(spared)).state.progress.status).toBe('pending');
    // The child runs belong to another workflow: they are cancelled, because no caller waits for them, but not deleted.
    await handleAll(home);
    for (const child of children) expect((await home.fold(child)).state.progress.status).toBe('cancelled');

    await sweepUntilDone(home);
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([]);
    expect(await home.ports.workflows.versionNumbers(scope, workflowName('child'))).toEqual([1]);
    expect((await home.ports.workflows.list(scope, { limit: 9, archived: true })).summaries.map(({ name }) => name)).toEqual([
      'child',
      'short',
    ]);
  });

  it('deletes and reports a run whose stored data cannot be read, without delaying the others', async () => {
    const home = await createFilledEnv();
    const [broken, sound] = [await createRunWithData(home), await createRunWithData(home, 'other')];
    const commitsAfter = home.ports.log.commitsAfter.bind(home.ports.log);
    home.ports.log.commitsAfter = async (run, ...given) => {
      if (run.runId === broken.runId) throw new Unreadable('a commit', 'it is not JSON');
      return commitsAfter(run, ...given);
    };
    await requestDeletion(home);
    expect(await sweep(home)).toMatchObject({ failed: [], broken: [{ run: broken, error: { name: 'Unreadable' } }] });
    for (const run of [broken, sound]) expect(await home.ports.log.head(run)).toBeUndefined();
    await sweepUntilDone(home);
    expect(await create(home)).toMatchObject({ kind: 'published', version: 2 });
  });

  it('writes one audit entry with the requester, the workflow and the number of runs', async () => {
    const home = await createFilledEnv();
    await createRunWithData(home);
    const requestedAt = home.ports.clock.now();
    await requestDeletion(home);
    home.ports.clock.set(after(requestedAt, minutes(3)));
    await sweep(home);
    expect(deletedEntries(home)).toEqual([
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
    const home = await createFilledEnv();
    await publish(home);
    const old = await createRunWithData(home);
    await requestDeletion(home);
    await sweep(home);
    expect(await create(home)).toMatchObject({ kind: 'published', version: 3 });
    expect(await create(home)).toEqual({ kind: 'exists' });
    expect(await publish(home)).toMatchObject({ kind: 'published', version: 4 });
    for (const [number, kind] of [
      [2, 'version_not_found'],
      [3, 'found'],
    ] as const)
      expect(await getVersion(home.ports.workflows, scope, deletedWorkflow, number)).toMatchObject({ kind });
    const run = await home.begin('flow');
    expect((await home.fold(run)).head.workflow).toEqual({ name: 'flow', version: 4 });
    await sweepUntilDone(home);
    expect((await home.fold(run)).head.workflow).toEqual({ name: 'flow', version: 4 });
    expect(await remainingRecords(home, old)).toEqual([]);
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([3, 4]);
    expect(await archiveName({ store: home.ports.workflows, clock: home.ports.clock }, scope, deletedWorkflow)).toMatchObject({
      kind: 'archived',
    });
  });

  it('of many runs reports its progress, and stops when its time is up', async () => {
    const home = createDeletionEnv();
    await home.publish(workflow('flow', 'a>c'));
    for (let run = 0; run < 120; run += 1) await home.start({ idempotencyKey: `${run}` });
    await requestDeletion(home);
    const now = home.ports.clock.now();
    expect(await continueDeletions(home.worker, now)).toEqual({ ended: 0, failed: [], broken: [] });
    expect(await progress(home)).toEqual(['finding', 0, 0]);
    // Each read of the clock advances it, so each sweep has time for few runs.
    let time = Number(now);
    const clock = { sleep: () => Promise.resolve(), now: () => instant((time += 1)) };
    const seen: unknown[] = [];
    for (let sweeps = 0; (await progress(home))?.[0] !== 'settling'; sweeps += 1) {
      if (sweeps > 200) throw new Error('it does not come to its end');
      await continueDeletions({ ...home.worker, deps: { ...home.deps, clock } }, instant(time + 4));
      seen.push((await progress(home))?.join(' '));
    }
    expect(seen).toContain('finding 0 50');
    expect(seen).toContain('deleting 0 120');
    expect(new Set(seen.filter((one) => `${String(one)}`.startsWith('deleting'))).size).toBeGreaterThan(6);
    expect(await progress(home)).toEqual(['settling', 120, 120]);
    expect((await home.ports.index.list(scope, { limit: 10 })).heads).toEqual([]);
  });

  it('cancels open runs as soon as it finds them', async () => {
    const home = await createFilledEnv();
    const run = await createRunWithData(home);
    await requestDeletion(home);
    const forget = home.ports.log.deleteRun.bind(home.ports.log);
    home.ports.log.deleteRun = () => Promise.reject(new Unavailable('the log'));
    home.ports.blobs.removeAll = () => Promise.reject(new Unavailable('the bucket'));
    const at = home.ports.clock.now();
    let looks = 0;
    const clock = { sleep: () => Promise.resolve(), now: () => instant(at + ((looks += 1) > 4 ? 60_000 : 0)) };
    await continueDeletions({ ...home.worker, deps: { ...home.deps, clock } }, after(at, minutes(1)));
    expect(await progress(home)).toEqual(['deleting', 0, 1]);
    expect((await home.fold(run)).state.progress).toMatchObject({ status: 'cancelled', reason: 'its workflow is being deleted' });
    home.ports.log.deleteRun = forget;
  });

  it('that fails is reported, and the others continue', async () => {
    const home = await createFilledEnv();
    await requestDeletion(home);
    await home.publish(workflow('short', 'a>c'));
    const list = home.ports.index.list.bind(home.ports.index);
    home.ports.index.list = async (of, ...rest) => {
      if ('throughVersion' in of) throw new Unavailable('the list');
      return list(of, ...rest);
    };
    const { failed } = await sweep(home);
    expect(failed).toMatchObject([{ deletion: { name: 'flow', phase: 'finding' }, error: expect.any(Unavailable) }]);
    home.ports.index.list = list;
    await sweepUntilDone(home);
    expect(await home.ports.workflows.summary(scope, deletedWorkflow)).toBeUndefined();
  });
});

describe('a crash at any call', () => {
  it('of the request leaves an open workflow, or a deletion that the sweep finishes', async () => {
    const count = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const home = await createFilledEnv();
      const run = await createRunWithData(home);
      const processes = new CrashableProcesses(home.deps, aim);
      await survives(requestDeletion(home, processes.start()));
      const isClosed = (await home.ports.workflows.summary(scope, deletedWorkflow))?.deletingSince !== undefined;
      const isKnown = (await home.ports.deletions.all()).length > 0;
      expect(isClosed && !isKnown, JSON.stringify(aim)).toBe(false);
      await sweepUntilDone(home);
      const isGone = (await home.ports.workflows.summary(scope, deletedWorkflow)) === undefined;
      expect(isGone, JSON.stringify(aim)).toBe(isKnown);
      expect((await remainingRecords(home, run)).length > 0, JSON.stringify(aim)).toBe(!isGone);
      return processes.calls;
    };
    const calls = await count();
    expect(calls).toBeGreaterThan(3);
    for (let call = 1; call <= calls; call += 1) for (const kind of ['before', 'after'] as const) await count({ call, kind });
  });

  it('of the sweep loses nothing: the next sweep finishes, and one audit entry exists', async () => {
    const count = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const home = await createFilledEnv();
      const runs = [await createRunWithData(home), await createRunWithData(home, 'second')];
      const blobs = (await Promise.all(runs.map((run) => blobsOf(home, run)))).flat();
      await requestDeletion(home);
      const processes = new CrashableProcesses(home.deps, aim);
      const swept = async () => {
        const { failed = [] } = (await survives(sweep(home, processes.start()).then((done) => void (last = done)))) ? last : {};
        // The injected crash is the only error expected.
        for (const { error } of failed) if (!(error instanceof Error && error.name === 'Killed')) throw error;
      };
      let last: { failed?: readonly { error: unknown }[] } = {};
      await swept();
      home.ports.clock.set(after(home.ports.clock.now(), minutes(21)));
      await swept();
      await sweepUntilDone(home);
      for (const run of runs) expect(await remainingRecords(home, run, blobs), JSON.stringify(aim)).toEqual([]);
      expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow), JSON.stringify(aim)).toEqual([]);
      expect(deletedEntries(home), JSON.stringify(aim)).toMatchObject([{ metadata: { runs: 2 } }]);
      // The sweep finds a child whose caller died before it could notify the child.
      await sweepRuns(home.worker, after(home.ports.clock.now(), hours(1)));
      await handleAll(home);
      expect(endNotices(home), JSON.stringify(aim)).toEqual(runs.map((run) => `${run.runId} cancelled`).toSorted());
      for (const child of await childrenOf(home))
        expect((await home.fold(child)).state.progress.status, JSON.stringify(aim)).toBe('cancelled');
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
    const home = await createFilledEnv();
    const once = { policy: { retry: { attempts: 1, backoffMs: 1, maxBackoffMs: 1, retryOn: [], jitter: 'none' } } };
    await home.publish(workflow('caller', 'a>k k>e', { k: { calls: 'flow', ...once, ...config } }));
    const run = await home.begin('caller');
    return { home, run };
  };
  const endOf = async (home: TestEnv, run: RunAddress) => {
    const { progress, nodes } = (await home.fold(run)).state;
    const node = nodes.get(nodeKey({ nodeId: nodeId('k'), iteration: topLevel }));
    return [progress.status, node?.status === 'failed' ? node.failure.code : node?.status];
  };

  it('is reported to its caller as cancelled before its log is deleted', async () => {
    const { home, run } = await calling();
    await handleAll(home);
    expect(await endOf(home, run)).toEqual(['running', 'waiting']);
    await requestDeletion(home);
    await sweep(home);
    expect(await endOf(home, run)).toEqual(['failed', 'subflow_cancelled']);
  });

  it.each([{}, { version: 1 }])(
    'is not created while the workflow is being deleted, with %j, and the node fails with the reason',
    async (config) => {
      const { home, run } = await calling(config);
      await requestDeletion(home);
      await handleAll(home);
      expect(await endOf(home, run)).toEqual(['failed', 'workflow_deleting']);
      await sweep(home);
      const later = await home.start({ workflowName: workflowName('caller'), idempotencyKey: 'later' });
      if (later.kind !== 'started') throw new Error(later.kind);
      await handleAll(home);
      expect((await endOf(home, { ...scope, runId: later.runId }))[1]).toMatch(/^(workflow_not_found|no_active_deployment)$/);
    },
  );

  it('that was deleted without a notification fails the waiting node, even if the name is used again', async () => {
    const { home, run } = await calling();
    await handleAll(home);
    const [child] = (await home.ports.index.list(scope, { limit: 9 })).heads.filter(({ workflow: { name } }) => name === 'flow');
    if (child === undefined) throw new Error('nobody was called');
    await home.ports.log.deleteRun(child.address, child.expiresAt);
    const node = { nodeId: nodeId('k'), iteration: topLevel, attempt: attempt(1) };
    await home.take({ kind: 'child', run, ...node, childRunId: child.address.runId });
    expect(await endOf(home, run)).toEqual(['failed', 'run_deleted']);
    expect(JSON.stringify((await home.fold(run)).state.progress)).toContain('was deleted with its workflow');
  });
});

describe('late writes', () => {
  it('the deletion finds a run whose start read the workflow before the closing', async () => {
    const home = await createFilledEnv();
    const createHead = home.ports.log.create.bind(home.ports.log);
    home.ports.log.create = async (creation) => {
      home.ports.log.create = createHead;
      await requestDeletion(home);
      await sweep(home);
      expect(await create(home)).toMatchObject({ kind: 'published', version: 2 });
      return createHead(creation);
    };
    const late = await home.begin('flow');
    expect((await home.fold(late)).head.workflow).toEqual({ name: 'flow', version: 1 });
    const own = await home.start({ idempotencyKey: 'of the new one' });
    home.ports.clock.set(after(home.ports.clock.now(), minutes(21)));
    await sweep(home);
    expect(await getRun(home.worker, late, true)).toEqual({ kind: 'not_found' });
    await sweepUntilDone(home);
    expect(await remainingRecords(home, late)).toEqual([]);
    if (own.kind !== 'started') throw new Error(own.kind);
    expect((await home.fold({ ...scope, runId: own.runId })).state.progress.status).toBe('pending');
    expect(await home.ports.workflows.versionNumbers(scope, deletedWorkflow)).toEqual([2]);
  });

  it('the deletion settles again and removes what a worker wrote for such a run', async () => {
    const home = await createFilledEnv();
    const createHead = home.ports.log.create.bind(home.ports.log);
    home.ports.log.create = async (creation) => {
      home.ports.log.create = createHead;
      await requestDeletion(home);
      await sweep(home);
      return createHead(creation);
    };
    const late = await home.begin('flow');
    home.ports.clock.set(after(home.ports.clock.now(), minutes(21)));
    await sweep(home);
    expect(await remainingRecords(home, late)).toEqual([]);
    await addMoreData(home, late);
    await sweepUntilDone(home);
    expect(await remainingRecords(home, late)).toEqual([]);
    expect(deletedEntries(home)).toHaveLength(1);
  });

  it('a new workflow whose version number is taken by the deletion takes the next number', async () => {
    const home = await createFilledEnv();
    await requestDeletion(home);
    await sweep(home);
    const put = home.ports.workflows.putVersion.bind(home.ports.workflows);
    home.ports.workflows.putVersion = async (...given) => {
      home.ports.workflows.putVersion = put;
      const result = await put(...given);
      await home.ports.workflows.skipTo(scope, deletedWorkflow, 60);
      return result;
    };
    expect(await create(home)).toMatchObject({ kind: 'published', version: 61 });
  });

  it('a request that resumes its closing when a new workflow has the name deletes nothing of that workflow', async () => {
    const home = await createFilledEnv();
    const close = home.ports.workflows.close.bind(home.ports.workflows);
    home.ports.workflows.close = async (...given) => {
      home.ports.workflows.close = close;
      await sweepUntilDone(home);
      expect(await create(home)).toMatchObject({ kind: 'published', version: 2 });
      return close(...given);
    };
    expect(await requestDeletion(home)).toEqual({ kind: 'not_found' });
    await sweepUntilDone(home);
    expect(await home.ports.workflows.summary(scope, deletedWorkflow)).toMatchObject({ latestVersion: 2 });
    expect(await home.ports.workflows.summary(scope, deletedWorkflow)).not.toHaveProperty('deletingSince');
  });

  it('a delayed commit finds its number occupied, and creates no log without a head', async () => {
    const home = await createFilledEnv();
    const run = await home.begin('flow');
    const put = home.ports.log.put.bind(home.ports.log);
    let isLate = false;
    home.ports.log.put = async (...given) => {
      home.ports.log.put = put;
      isLate = true;
      await requestDeletion(home);
      await sweep(home);
      return put(...given);
    };
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect(isLate).toBe(true);
    expect(home.ports.jobs.takeSent()).toEqual([]);
    expect(await home.ports.log.head(run)).toBeUndefined();
    expect((await home.ports.log.commitsAfter(run, firstCommit)).every(isTombstone)).toBe(true);
  });

  it('messages for a deleted run change nothing, with a cached fold and without', async () => {
    const home = await createFilledEnv();
    const run = await createRunWithData(home);
    const jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeMessages()];
    await requestDeletion(home);
    await sweep(home);
    home.ports.clock.set(after(home.ports.clock.now(), hours(2)));
    const ofFlow = () => home.attempts.filter((attempt) => !/^[xy]#/.test(attempt));
    const before = ofFlow();
    const late = [...jobs, ...home.ports.jobs.takeSent(), ...home.ports.jobs.takeMessages(), ...home.ports.jobs.takeDue()];
    for (const worker of [home.worker, undefined])
      for (const job of late) await home.take(job, { isRedelivered: true, ...(worker === undefined ? {} : { worker }) });
    expect(ofFlow()).toEqual(before);
    expect(await remainingRecords(home, run)).toEqual([]);
  });

  it('the deletion removes what a worker wrote beside the log after it, when it settles', async () => {
    const home = await createFilledEnv();
    const run = await createRunWithData(home);
    await requestDeletion(home);
    await sweep(home);
    await addMoreData(home, run);
    expect((await remainingRecords(home, run)).length).toBeGreaterThan(2);
    await sweepUntilDone(home);
    expect(await remainingRecords(home, run)).toEqual([]);
  });

  it('a repeated start with the key of a deleted run starts nothing and returns the reason', async () => {
    const home = await createFilledEnv();
    const run = await createRunWithData(home);
    const again = () => home.start({ idempotencyKey: 'rich', input: { text: 'y'.repeat(5_000) } });
    expect(await again()).toMatchObject({ kind: 'started', isReplay: true });
    await requestDeletion(home);
    expect(await again()).toMatchObject({ kind: 'started', isReplay: true });
    await sweep(home);
    expect(await again()).toEqual({ kind: 'no_active_deployment' });
    await create(home);
    expect(await again()).toEqual({ kind: 'run_deleted', runId: run.runId });
    expect(await home.start({ runId: runId(run.runId), idempotencyKey: 'by its id' })).toMatchObject({ kind: 'run_deleted' });
    expect(await home.start({ idempotencyKey: 'new' })).toMatchObject({ kind: 'started', isReplay: false });
  });
});
