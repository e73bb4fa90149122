/** Contract of the `Backend` interface of the package `openworkflow`, method by method. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { days, durationMs, hours, minutes, seconds } from '../../lib/engine/time.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { TestBackend, bad, lease, once, thrice } from '../openworkflow/test-backend.ts';
import type { Opened, Subject } from './subject.ts';

const hour = 3_600_000;
const expired = { message: 'Workflow run deadline exceeded' };

export const openworkflowBackendSuite = ({ name, open }: Subject<ExternalRuns>) =>
  describe(`backend of openworkflow: ${name}`, () => {
    let opened: Opened<ExternalRuns>;
    let own: TestBackend;
    beforeAll(async () => {
      opened = await open();
    });
    beforeEach(() => {
      own = new TestBackend(opened.port);
    });
    afterAll(() => opened.close());
    const idsOf = (rows: readonly { readonly id: string }[]): readonly string[] => rows.map(({ id }) => id);

    describe('createWorkflowRun', () => {
      test('a new run is pending and has all given fields', async () => {
        const given = {
          workflowName: 'invoices',
          version: 'v2',
          idempotencyKey: 'k',
          config: { retries: 1 },
          context: { trace: 'x' },
          input: { nested: [1, null, { a: 'b' }] },
          availableAt: own.at(hour),
          deadlineAt: own.at(2 * hour),
        };
        const run = await own.create(given);
        const nothing = { output: null, error: null, workerId: null, startedAt: null, finishedAt: null };
        const noParent = { parentStepAttemptNamespaceId: null, parentStepAttemptId: null };
        expect(run).toEqual({
          ...given,
          ...nothing,
          ...noParent,
          namespaceId: own.namespaceId,
          id: run.id,
          status: 'pending',
          attempts: 0,
          createdAt: own.at(0),
          updatedAt: own.at(0),
        });
        expect(run.id).toHaveLength(36);
        expect(await own.run(run.id)).toEqual(run);
      });

      test('a run without availableAt is available now, and omitted fields are null', async () => {
        const {
          parentStepAttemptId: _id,
          parentStepAttemptNamespaceId: _space,
          ...older
        } = {
          workflowName: 'orders',
          version: null,
          idempotencyKey: null,
          config: {},
          context: null,
          input: null,
          availableAt: null,
          deadlineAt: null,
          parentStepAttemptId: null,
          parentStepAttemptNamespaceId: null,
        };
        const run = await own.backend.createWorkflowRun(older);
        expect(run.availableAt).toEqual(own.at(0));
        expect([run.parentStepAttemptId, run.parentStepAttemptNamespaceId, run.input, run.deadlineAt]).toEqual([
          null,
          null,
          null,
          null,
        ]);
      });

      test('a child run records the step that created it', async () => {
        const { call, child } = await own.family();
        expect([child.parentStepAttemptNamespaceId, child.parentStepAttemptId]).toEqual([own.namespaceId, call.id]);
      });

      test('an idempotency key stands for one run for a day, for any version, input and status', async () => {
        const first = await own.claimed('w', { idempotencyKey: 'k', version: 'v1', input: 1 });
        const again = await own.create({ idempotencyKey: 'k', version: 'v2', input: 2 });
        expect([again.id, again.version, again.input]).toEqual([first.id, 'v1', 1]);
        await own.complete(first.id);
        expect(await own.create({ idempotencyKey: 'k' })).toMatchObject({ id: first.id, status: 'completed' });
        const cancelled = await own.create({ idempotencyKey: 'c' });
        await own.backend.cancelWorkflowRun({ workflowRunId: cancelled.id });
        expect(await own.create({ idempotencyKey: 'c' })).toMatchObject({ id: cancelled.id, status: 'canceled' });
        const failed = await own.claimed('w', { idempotencyKey: 'f' });
        await own.fail(failed.id);
        expect(await own.create({ idempotencyKey: 'f' })).toMatchObject({ id: failed.id, status: 'failed' });
        own.clock.advance(durationMs(hours(24) + 1));
        expect((await own.create({ idempotencyKey: 'k' })).id).not.toBe(first.id);
      });

      test('the idempotency key of a child does not expire', async () => {
        const { call, child } = await own.family({ idempotencyKey: 'child' });
        own.clock.advance(days(30));
        const parts = { parentStepAttemptNamespaceId: call.namespaceId, parentStepAttemptId: call.id };
        expect((await own.create({ ...parts, idempotencyKey: 'child' })).id).toBe(child.id);
      });

      test('an idempotency key belongs to one workflow in one namespace; runs without a key are always distinct', async () => {
        const other = new TestBackend(opened.port);
        const runs = await Promise.all([
          own.create({ idempotencyKey: 'k' }),
          own.create({ idempotencyKey: 'k', workflowName: 'another' }),
          other.create({ idempotencyKey: 'k' }),
          own.create(),
          own.create(),
        ]);
        expect(new Set(idsOf(runs)).size).toBe(5);
        expect((await other.create({ idempotencyKey: 'k' })).id).toBe(runs[2]?.id);
      });

      test('ten concurrent requests with one idempotency key create one run', async () => {
        const others = [new TestBackend(opened.port, own), new TestBackend(opened.port, own)];
        const backends = [own, ...others, own, ...others, own, ...others, own];
        const runs = await Promise.all(backends.map((each, index) => each.create({ idempotencyKey: 'k', input: index })));
        expect(new Set(idsOf(runs)).size).toBe(1);
        expect((await own.backend.listWorkflowRuns({})).data).toHaveLength(1);
      });

      test('an invalid date and a too large input are refused', async () => {
        const random = Array.from({ length: 30_000 }, () => randomUUID()).join('');
        await expect(own.create({ input: random })).rejects.toThrow(/bytes compressed are more than the maximum of 380000/);
        await expect(own.create({ availableAt: new Date(Number.NaN) })).rejects.toThrow('the date is not valid');
        expect(await own.claim()).toBeNull();
      });
    });

    describe('listWorkflowRuns', () => {
      test('runs are listed newest first, and runs of one moment by descending id', async () => {
        const runs = [await own.create(), await own.create(), await own.create()];
        own.clock.advance(seconds(1));
        const last = await own.create();
        const { data, pagination } = await own.backend.listWorkflowRuns({});
        expect(idsOf(data)).toEqual([last.id, ...idsOf(runs).toSorted().toReversed()]);
        expect(pagination).toEqual({ next: null, prev: null });
      });

      test('pages forwards and backwards have the same rows', async () => {
        const ids: string[] = [];
        for (let left = 5; left > 0; left -= 1) {
          ids.unshift((await own.create()).id);
          own.clock.advance(durationMs(left % 2));
        }
        const all = idsOf((await own.backend.listWorkflowRuns({})).data);
        expect(all.toSorted()).toEqual(ids.toSorted());
        const list = (cursor: object = {}) => own.backend.listWorkflowRuns({ limit: 2, ...cursor });
        const first = await list();
        const second = await list({ after: first.pagination.next });
        const third = await list({ after: second.pagination.next });
        expect([...idsOf(first.data), ...idsOf(second.data), ...idsOf(third.data)]).toEqual(all);
        expect([first.pagination.prev, third.pagination.next]).toEqual([null, null]);
        const back = await list({ before: third.pagination.prev });
        expect(back).toEqual(second);
        expect(idsOf((await list({ before: back.pagination.prev })).data)).toEqual(idsOf(first.data));
        await expect(list({ after: first.pagination.next, before: first.pagination.next })).rejects.toThrow('both');
        await expect(list({ after: 'x' })).rejects.toThrow('the cursor is not valid');
      });

      test('status and name filter the list, alone and together, and a page counts filtered runs', async () => {
        const failed = [];
        for (const workflowName of ['orders', 'mails', 'orders', 'orders']) {
          const run = await own.claimed('w', { workflowName });
          await own.fail(run.id);
          failed.unshift(run.id);
          own.clock.advance(seconds(1));
        }
        const open = await own.create();
        const list = (filter: object) => own.backend.listWorkflowRuns(filter);
        expect(idsOf((await list({ status: 'pending' })).data)).toEqual([open.id]);
        expect(idsOf((await list({ status: 'failed' })).data)).toEqual(failed);
        expect(idsOf((await list({ workflowName: 'mails' })).data)).toEqual([failed[2]]);
        expect((await list({ status: 'canceled' })).data).toEqual([]);
        const page = await list({ status: 'failed', workflowName: 'orders', limit: 2 });
        expect(idsOf(page.data)).toEqual([failed[0], failed[1]]);
        const rest = await list({ status: 'failed', workflowName: 'orders', limit: 2, after: page.pagination.next });
        expect([idsOf(rest.data), rest.pagination.next]).toEqual([[failed[3]], null]);
      });

      test('an empty namespace has an empty page', async () => {
        expect(await own.backend.listWorkflowRuns({})).toEqual({ data: [], pagination: { next: null, prev: null } });
      });
    });

    test('countWorkflowRuns counts each run under its status, and a suspended run as running', async () => {
      const none = { pending: 0, running: 0, completed: 0, failed: 0, canceled: 0 };
      expect(await own.backend.countWorkflowRuns()).toEqual(none);
      const run = await own.create();
      expect(await own.backend.countWorkflowRuns()).toEqual({ ...none, pending: 1 });
      await own.claim();
      await own.park(run.id, hour);
      expect(await own.backend.countWorkflowRuns()).toEqual({ ...none, running: 1 });
      const [done, failed] = [await own.claimed(), await own.claimed()];
      await own.complete(done.id);
      await own.fail(failed.id);
      await own.backend.cancelWorkflowRun({ workflowRunId: (await own.create()).id });
      await own.create();
      expect(await own.backend.countWorkflowRuns()).toEqual({ pending: 1, running: 1, completed: 1, failed: 1, canceled: 1 });
    });

    describe('claimWorkflowRun', () => {
      test('no other worker claims a run until its lease ends; the next claim is a new attempt with the same startedAt', async () => {
        const run = await own.create();
        const first = await own.claim('one');
        expect(first).toMatchObject({ id: run.id, status: 'running', workerId: 'one', attempts: 1, availableAt: own.at(lease) });
        own.clock.advance(durationMs(lease - 1));
        expect(await own.claim('two')).toBeNull();
        own.clock.advance(durationMs(1));
        const second = await own.claim('two');
        expect(second).toMatchObject({ id: run.id, workerId: 'two', attempts: 2, startedAt: first?.startedAt });
      });

      test('pending runs are claimed before runs with an expired lease, the longest available first', async () => {
        const abandoned = await own.claimed('crashed', {});
        own.clock.advance(minutes(2));
        const later = await own.create({ availableAt: own.at(-1_000) });
        const sooner = await own.create({ availableAt: own.at(-2_000) });
        const scheduled = await own.create({ availableAt: own.at(hour) });
        const order = [await own.claim(), await own.claim(), await own.claim(), await own.claim()];
        expect(order.map((run) => run?.id)).toEqual([sooner.id, later.id, abandoned.id, undefined]);
        own.clock.advance(hours(1));
        expect((await own.claim('x'))?.id).toBe(scheduled.id);
      });

      test('an empty namespace has nothing to claim, and runs of another namespace are not claimed', async () => {
        await new TestBackend(opened.port, { clock: own.clock }).create();
        expect(await own.claim()).toBeNull();
      });
    });

    test('extendWorkflowRunLease moves the end of the lease, but only for its worker', async () => {
      const run = await own.claimed();
      const request = { workflowRunId: run.id, leaseDurationMs: hour };
      expect(await own.backend.extendWorkflowRunLease({ ...request, workerId: 'w' })).toMatchObject({
        availableAt: own.at(hour),
      });
      own.clock.advance(minutes(59));
      expect(await own.claim('other')).toBeNull();
      const byOther = own.backend.extendWorkflowRunLease({ ...request, workerId: 'other' });
      await expect(byOther).rejects.toThrow('Failed to extend lease for workflow run');
    });

    describe('sleepWorkflowRun', () => {
      test('a suspended run has no worker and stays running until it is available', async () => {
        const run = await own.claimed();
        const suspended = await own.park(run.id, hour);
        expect(suspended).toMatchObject({ status: 'running', workerId: null, availableAt: own.at(hour) });
        expect(await own.run(run.id)).toEqual(suspended);
        own.clock.advance(minutes(59));
        expect(await own.claim()).toBeNull();
        own.clock.advance(minutes(1));
        expect(await own.claim()).toMatchObject({ id: run.id, attempts: 2 });
      });

      test('an ended run and a run of another worker cannot be suspended', async () => {
        const message = 'Failed to sleep workflow run';
        for (const end of [
          (id: string) => own.complete(id),
          (id: string) => own.fail(id),
          (id: string) => own.backend.cancelWorkflowRun({ workflowRunId: id }),
        ]) {
          const run = await own.claimed();
          await end(run.id);
          await expect(own.park(run.id, hour)).rejects.toThrow(message);
        }
        const run = await own.claimed();
        await expect(own.park(run.id, hour, 'other')).rejects.toThrow(message);
      });

      test('a run that received a signal before it suspends is available at once', async () => {
        const run = await own.claimed();
        await own.wait(run.id, 'go');
        expect(await own.backend.sendSignal({ signal: 'go', data: 1, idempotencyKey: null })).toEqual({
          workflowRunIds: [run.id],
        });
        expect((await own.run(run.id)).workerId).toBe('w');
        expect(await own.park(run.id, hour)).toMatchObject({ workerId: null, availableAt: own.at(0) });
      });

      test('a parent whose child ended before it suspends is available at once, with or without a link', async () => {
        const { parent, child } = await own.family();
        await own.claim('childs');
        await own.complete(child.id, 'childs');
        expect(await own.park(parent.id, hour)).toMatchObject({ availableAt: own.at(0) });
        await own.backend.cancelWorkflowRun({ workflowRunId: parent.id });

        const early = await own.claimed();
        const call = await own.step(early.id, { kind: 'workflow', context: { kind: 'workflow', timeoutAt: null } });
        const born = await own.create({ parentStepAttemptNamespaceId: call.namespaceId, parentStepAttemptId: call.id });
        await own.claim('childs');
        await own.complete(born.id, 'childs');
        await own.link(early, call, born);
        expect(await own.park(early.id, hour)).toMatchObject({ availableAt: own.at(0) });
      });
    });

    describe('completeWorkflowRun', () => {
      test('a completed run has its output and is not claimed again', async () => {
        const run = await own.claimed();
        await own.backend.rescheduleWorkflowRunAfterFailedStepAttempt({
          workflowRunId: run.id,
          workerId: 'w',
          error: bad,
          availableAt: own.at(0),
        });
        await own.claim();
        const ended = { status: 'completed', output: { done: true }, error: null, availableAt: null, finishedAt: own.at(0) };
        expect(await own.complete(run.id)).toMatchObject({ ...ended, workerId: 'w' });
        own.clock.advance(days(2));
        expect(await own.claim()).toBeNull();
      });

      test('only its worker completes a run, and only once', async () => {
        const run = await own.claimed();
        await expect(own.complete(run.id, 'other')).rejects.toThrow('Failed to mark workflow run completed');
        await own.complete(run.id);
        await expect(own.complete(run.id)).rejects.toThrow('Failed to mark workflow run completed');
      });

      test('a child’s end wakes a suspended parent; a running parent keeps its lease', async () => {
        const { parent, child } = await own.family();
        await own.park(parent.id, hour);
        own.clock.advance(seconds(5));
        await own.claim('childs');
        await own.complete(child.id, 'childs');
        expect(await own.run(parent.id)).toMatchObject({ status: 'running', workerId: null, availableAt: own.at(0) });
        expect((await own.claim())?.id).toBe(parent.id);
        await own.complete(parent.id);

        const busy = await own.family();
        await own.claim('childs');
        await own.complete(busy.child.id, 'childs');
        expect(await own.run(busy.parent.id)).toMatchObject({ workerId: 'w', availableAt: own.at(lease) });
      });

      test('a child’s end does not wake a parent whose step has ended or has another child', async () => {
        const { parent, call, child } = await own.family();
        const other = await own.create({ availableAt: own.at(hour) });
        await own.link(parent, call, other);
        await own.park(parent.id, hour);
        await own.claim('childs');
        await own.complete(child.id, 'childs');
        expect((await own.run(parent.id)).availableAt).toEqual(own.at(hour));
        await own.backend.cancelWorkflowRun({ workflowRunId: other.id });
        await own.backend.cancelWorkflowRun({ workflowRunId: parent.id });

        const timed = await own.family();
        await own.backend.failStepAttempt({
          workflowRunId: timed.parent.id,
          stepAttemptId: timed.call.id,
          workerId: 'w',
          error: bad,
        });
        await own.park(timed.parent.id, hour);
        await own.claim('childs');
        await own.complete(timed.child.id, 'childs');
        expect((await own.run(timed.parent.id)).availableAt).toEqual(own.at(hour));
      });
    });

    describe('failWorkflowRun', () => {
      test('the delay grows by the retry policy, and the last attempt fails the run', async () => {
        const run = await own.claimed();
        expect(await own.fail(run.id, thrice)).toMatchObject({
          status: 'pending',
          error: bad,
          workerId: null,
          startedAt: null,
          finishedAt: null,
          availableAt: own.at(1_000),
        });
        own.clock.advance(seconds(1));
        await own.claim();
        expect(await own.fail(run.id, thrice)).toMatchObject({ status: 'pending', attempts: 2, availableAt: own.at(2_000) });
        own.clock.advance(seconds(2));
        await own.claim();
        expect(await own.fail(run.id, thrice)).toMatchObject({
          status: 'failed',
          error: bad,
          availableAt: null,
          startedAt: null,
        });
        expect((await own.run(run.id)).finishedAt).toEqual(own.at(0));
      });

      test('the delay has an upper limit, and maximumAttempts 0 means no limit', async () => {
        const run = await own.claimed();
        const request = { workflowRunId: run.id, workerId: 'w', error: bad, attempts: 900, deadlineAt: null };
        const unlimited = { ...once, maximumAttempts: 0 };
        expect(await own.backend.failWorkflowRun({ ...request, retryPolicy: unlimited })).toMatchObject({
          status: 'pending',
          availableAt: own.at(100_000),
        });
      });

      test('only its worker fails a run', async () => {
        const run = await own.claimed();
        await expect(own.fail(run.id, once, 'other')).rejects.toThrow('Failed to mark workflow run failed');
      });

      test('a parent wakes when the last attempt of its child failed, and not before', async () => {
        const { parent, child } = await own.family();
        await own.park(parent.id, hour);
        await own.claim('childs');
        await own.fail(child.id, thrice, 'childs');
        expect((await own.run(parent.id)).availableAt).toEqual(own.at(hour));
        own.clock.advance(seconds(1));
        await own.claim('childs');
        await own.fail(child.id, once, 'childs');
        expect((await own.run(parent.id)).availableAt).toEqual(own.at(0));
      });
    });

    test('rescheduleWorkflowRunAfterFailedStepAttempt makes the run pending until availableAt, but only for its worker', async () => {
      const run = await own.claimed();
      const request = { workflowRunId: run.id, error: bad, availableAt: own.at(5_000) };
      const reschedule = (workerId: string) => own.backend.rescheduleWorkflowRunAfterFailedStepAttempt({ ...request, workerId });
      await expect(reschedule('other')).rejects.toThrow('Failed to reschedule workflow run after failed step attempt');
      const pending = { status: 'pending', error: bad, workerId: null, startedAt: null, finishedAt: null };
      expect(await reschedule('w')).toMatchObject({ ...pending, availableAt: own.at(5_000) });
      expect(await own.claim()).toBeNull();
      own.clock.advance(seconds(5));
      expect((await own.claim())?.id).toBe(run.id);
    });

    describe('step attempts', () => {
      test('a new step attempt is running, has a unique id and is found by it', async () => {
        const run = await own.claimed();
        const step = await own.step(run.id, { stepName: 'charge' });
        expect(step).toEqual({
          namespaceId: own.namespaceId,
          id: step.id,
          workflowRunId: run.id,
          stepName: 'charge',
          kind: 'function',
          status: 'running',
          config: {},
          context: null,
          output: null,
          error: null,
          childWorkflowRunNamespaceId: null,
          childWorkflowRunId: null,
          startedAt: own.at(0),
          finishedAt: null,
          createdAt: own.at(0),
          updatedAt: own.at(0),
        });
        expect(step.id).toHaveLength(36);
        expect(await own.backend.getStepAttempt({ stepAttemptId: step.id })).toEqual(step);
        for (const stepAttemptId of [randomUUID(), run.id, 'none'])
          expect(await own.backend.getStepAttempt({ stepAttemptId })).toBeNull();
      });

      test('only the worker of a claimed run creates step attempts', async () => {
        const run = await own.claimed();
        await expect(own.step(run.id, { workerId: 'other' })).rejects.toThrow('Failed to create step attempt');
        await own.park(run.id, hour);
        await expect(own.step(run.id)).rejects.toThrow('Failed to create step attempt');
        await expect(own.step(randomUUID())).rejects.toThrow('Failed to create step attempt');
        expect((await own.backend.listStepAttempts({ workflowRunId: run.id })).data).toEqual([]);
      });

      test('the first result of a step attempt is stored, and a repeated one changes nothing', async () => {
        const run = await own.claimed();
        const [good, wrong] = [await own.step(run.id), await own.step(run.id)];
        const request = { workflowRunId: run.id, workerId: 'w' };
        const done = await own.backend.completeStepAttempt({ ...request, stepAttemptId: good.id, output: { a: 1 } });
        expect(done).toMatchObject({ status: 'completed', output: { a: 1 }, error: null, finishedAt: own.at(0) });
        const failed = await own.backend.failStepAttempt({ ...request, stepAttemptId: wrong.id, error: bad });
        expect(failed).toMatchObject({ status: 'failed', output: null, error: bad, finishedAt: own.at(0) });
        own.clock.advance(seconds(1));
        expect(await own.backend.completeStepAttempt({ ...request, stepAttemptId: good.id, output: 2 })).toEqual(done);
        expect(await own.backend.failStepAttempt({ ...request, stepAttemptId: wrong.id, error: { message: 'x' } })).toEqual(
          failed,
        );
        expect(await own.backend.getStepAttempt({ stepAttemptId: good.id })).toEqual(done);
        const crossed = own.backend.failStepAttempt({ ...request, stepAttemptId: good.id, error: bad });
        await expect(crossed).rejects.toThrow('Failed to mark step attempt failed');
      });

      test('a result is refused without a claim, from another worker, and for a missing step', async () => {
        const run = await own.claimed();
        const step = await own.step(run.id);
        const request = { workflowRunId: run.id, workerId: 'w' };
        const complete = (stepAttemptId: string, workerId = 'w') =>
          own.backend.completeStepAttempt({ ...request, stepAttemptId, workerId, output: null });
        const fail = (stepAttemptId: string, workerId = 'w') =>
          own.backend.failStepAttempt({ ...request, stepAttemptId, workerId, error: bad });
        for (const [id, worker] of [
          [randomUUID(), 'w'],
          [step.id, 'other'],
        ] as const) {
          await expect(complete(id, worker)).rejects.toThrow('Failed to mark step attempt completed');
          await expect(fail(id, worker)).rejects.toThrow('Failed to mark step attempt failed');
        }
        await own.complete(run.id);
        await expect(complete(step.id)).rejects.toThrow('Failed to mark step attempt completed');
        await expect(fail(step.id)).rejects.toThrow('Failed to mark step attempt failed');
        expect(await own.backend.getStepAttempt({ stepAttemptId: step.id })).toMatchObject({ status: 'running' });
      });

      test('only its worker links a child, and only while the step runs', async () => {
        const { parent, call, child } = await own.family();
        expect(await own.backend.getStepAttempt({ stepAttemptId: call.id })).toMatchObject({
          childWorkflowRunNamespaceId: own.namespaceId,
          childWorkflowRunId: child.id,
        });
        const link = (workerId: string) =>
          own.backend.setStepAttemptChildWorkflowRun({
            workflowRunId: parent.id,
            stepAttemptId: call.id,
            workerId,
            childWorkflowRunNamespaceId: own.namespaceId,
            childWorkflowRunId: child.id,
          });
        await expect(link('other')).rejects.toThrow('Failed to set step attempt child workflow run');
        await own.backend.completeStepAttempt({ workflowRunId: parent.id, stepAttemptId: call.id, workerId: 'w', output: null });
        await expect(link('w')).rejects.toThrow('Failed to set step attempt child workflow run');
      });

      test('step attempts are listed in the order of creation, in pages in both directions', async () => {
        const run = await own.claimed();
        const names = ['a', 'b', 'c', 'd', 'e'];
        for (const stepName of names) await own.step(run.id, { stepName });
        const list = (page: object = {}) => own.backend.listStepAttempts({ workflowRunId: run.id, ...page });
        const namesOf = (rows: readonly { readonly stepName: string }[]) => rows.map(({ stepName }) => stepName).join('');
        const all = await list();
        expect([namesOf(all.data), all.pagination]).toEqual(['abcde', { next: null, prev: null }]);
        const first = await list({ limit: 2 });
        const second = await list({ limit: 2, after: first.pagination.next });
        const third = await list({ limit: 2, after: second.pagination.next });
        expect([first, second, third].map(({ data }) => namesOf(data))).toEqual(['ab', 'cd', 'e']);
        expect([first.pagination.prev, third.pagination.next]).toEqual([null, null]);
        expect(await list({ limit: 2, before: third.pagination.prev })).toEqual(second);
        expect((await list({ limit: 5 })).pagination.next).toBeNull();
        expect(await own.backend.listStepAttempts({ workflowRunId: randomUUID() })).toEqual({
          data: [],
          pagination: { next: null, prev: null },
        });
      });
    });

    describe('deadlines', () => {
      test('a poll fails runs past their deadline without claiming them, and wakes their parents', async () => {
        const late = await own.create({ deadlineAt: own.at(-1) });
        const suspendedLate = await own.claimed('w', { deadlineAt: own.at(60_000) });
        await own.park(suspendedLate.id, hour);
        expect(await own.claim()).toBeNull();
        expect(await own.run(late.id)).toMatchObject({
          status: 'failed',
          error: expired,
          availableAt: null,
          finishedAt: own.at(0),
        });
        const { parent, child } = await own.family({ deadlineAt: own.at(60_000), availableAt: own.at(hour) });
        await own.park(parent.id, hour);
        own.clock.advance(minutes(1));
        expect((await own.claim())?.id).toBe(parent.id);
        for (const { id } of [child, suspendedLate])
          expect(await own.run(id)).toMatchObject({ status: 'failed', error: expired });
      });

      test('a failure at the deadline, or with a retry after it, fails the run', async () => {
        const soon = await own.claimed('w', { deadlineAt: own.at(500) });
        expect(await own.fail(soon.id, thrice)).toMatchObject({ status: 'failed', error: bad, startedAt: null });
        const passed = await own.claimed('w', { deadlineAt: own.at(500) });
        own.clock.advance(durationMs(500));
        expect(await own.fail(passed.id, thrice)).toMatchObject({ status: 'failed', error: expired });
        const far = await own.claimed('w', { deadlineAt: own.at(5_000) });
        expect(await own.fail(far.id, thrice)).toMatchObject({ status: 'pending', deadlineAt: own.at(5_000) });
      });

      test('a run without a deadline fails after 400 days, before its records expire', async () => {
        const run = await own.claimed();
        await own.park(run.id, days(800));
        own.clock.advance(days(400));
        expect(await own.claim()).toBeNull();
        expect(await own.run(run.id)).toMatchObject({ status: 'failed', error: expired, deadlineAt: null });
      });
    });

    describe('cancelWorkflowRun', () => {
      test('a pending, a running and a suspended run end at once and are not claimed', async () => {
        const suspended = await own.claimed();
        await own.park(suspended.id, hour);
        const running = await own.claimed();
        const pending = await own.create();
        for (const { id } of [pending, running, suspended]) {
          const ended = { status: 'canceled', workerId: null, availableAt: null, finishedAt: own.at(0) };
          expect(await own.backend.cancelWorkflowRun({ workflowRunId: id })).toMatchObject(ended);
          expect(await own.backend.cancelWorkflowRun({ workflowRunId: id })).toMatchObject({ id, ...ended });
        }
        own.clock.advance(hours(2));
        expect(await own.claim()).toBeNull();
        await expect(own.complete(running.id)).rejects.toThrow('Failed to mark workflow run completed');
      });

      test('a run with another end and a missing run are refused', async () => {
        const [done, failed] = [await own.claimed(), await own.claimed()];
        await own.complete(done.id);
        await own.fail(failed.id);
        const cancel = (workflowRunId: string) => own.backend.cancelWorkflowRun({ workflowRunId });
        await expect(cancel(done.id)).rejects.toThrow(`Cannot cancel workflow run ${done.id} with status completed`);
        await expect(cancel(failed.id)).rejects.toThrow(`Cannot cancel workflow run ${failed.id} with status failed`);
        const missing = randomUUID();
        await expect(cancel(missing)).rejects.toThrow(`Workflow run ${missing} does not exist`);
      });

      test('a cancelled child wakes its suspended parent', async () => {
        const { parent, child } = await own.family();
        await own.park(parent.id, hour);
        await own.backend.cancelWorkflowRun({ workflowRunId: child.id });
        expect((await own.run(parent.id)).availableAt).toEqual(own.at(0));
      });
    });

    describe('signals', () => {
      const send = (signal: string, data: object | string | null, idempotencyKey: string | null = null) =>
        own.backend.sendSignal({ signal, data: JSON.parse(JSON.stringify(data)), idempotencyKey });
      const delivery = (stepAttemptId: string) => own.backend.getSignalDelivery({ stepAttemptId });
      const suspendedWait = async (signal: string) => {
        const run = await own.claimed();
        const wait = await own.wait(run.id, signal);
        await own.park(run.id, hour);
        return { run, wait };
      };

      test('a signal without waiting runs reaches none, and its key is not stored', async () => {
        expect(await send('go', { a: 1 }, 'k')).toEqual({ workflowRunIds: [] });
        const { run } = await suspendedWait('go');
        expect(await send('go', { a: 1 }, 'k')).toEqual({ workflowRunIds: [run.id] });
      });

      test('a signal reaches and wakes every run that waits for it, and no other run', async () => {
        const waits = [await suspendedWait('go'), await suspendedWait('go'), await suspendedWait('go')];
        const other = await suspendedWait('stop');
        const { workflowRunIds } = await send('go', { approved: true });
        expect(workflowRunIds.toSorted()).toEqual(waits.map(({ run }) => run.id).toSorted());
        for (const { run, wait } of waits) {
          expect(await delivery(wait.id)).toEqual({ approved: true });
          expect((await own.run(run.id)).availableAt).toEqual(own.at(0));
        }
        expect(await delivery(other.wait.id)).toBeUndefined();
        expect((await own.run(other.run.id)).availableAt).toEqual(own.at(hour));
      });

      test('a wait receives only the first signal', async () => {
        const { wait } = await suspendedWait('go');
        await send('go', 'first');
        expect(await send('go', 'second')).toEqual({ workflowRunIds: [] });
        expect(await delivery(wait.id)).toBe('first');
      });

      test('a repeated idempotency key sends no second signal and returns the same result', async () => {
        const { run, wait } = await suspendedWait('go');
        expect(await send('go', 'first', 'k')).toEqual({ workflowRunIds: [run.id] });
        const later = await suspendedWait('go');
        expect(await send('go', 'again', 'k')).toEqual({ workflowRunIds: [run.id] });
        expect([await delivery(wait.id), await delivery(later.wait.id)]).toEqual(['first', undefined]);
        expect(await send('go', 'other', 'l')).toEqual({ workflowRunIds: [later.run.id] });
      });

      test('a missing delivery is undefined, and a delivery of null is null', async () => {
        const { wait } = await suspendedWait('go');
        expect(await delivery(wait.id)).toBeUndefined();
        await send('go', null);
        expect(await delivery(wait.id)).toBeNull();
        expect(await delivery(randomUUID())).toBeUndefined();
      });

      test('a signal does not reach an ended run or an ended wait; it reaches a new wait of the same run', async () => {
        const cancelled = await suspendedWait('go');
        await own.backend.cancelWorkflowRun({ workflowRunId: cancelled.run.id });
        const run = await own.claimed();
        const wait = await own.wait(run.id, 'go');
        await own.backend.failStepAttempt({ workflowRunId: run.id, stepAttemptId: wait.id, workerId: 'w', error: bad });
        expect(await send('go', 'x')).toEqual({ workflowRunIds: [] });
        const again = await own.wait(run.id, 'go');
        expect(await send('go', 'y')).toEqual({ workflowRunIds: [run.id] });
        expect(await delivery(again.id)).toBe('y');
      });
    });
  });
