/** Contract of `Jobs`. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hops } from '../../lib/engine/hops.ts';
import { attempt, commitNo, firstAttempt, nodeId, topLevel } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import { InvariantViolation } from '../../lib/engine/invariant.ts';
import { after, days, durationMs, minutes } from '../../lib/engine/time.ts';
import type {
  AttemptResult,
  ChildResult,
  WorkflowTaskJob,
  Job,
  Jobs,
  JobsTogether,
  MessageJob,
  NodeJob,
  ResultMessage,
} from '../../lib/ports/jobs.ts';
import { codeCreation, bundleCreation, bundleNode, freshRun, loopNode, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface QueuesUnderTest {
  readonly jobs: Jobs;
  /** Receives the node jobs that were sent without a delay. */
  takeSent(): Promise<readonly NodeJob[]>;
  /** Receives the messages of several node jobs. */
  takeTogether(): Promise<readonly JobsTogether[]>;
  /** Receives the messages and workflow tasks for deployed code. */
  takeForCode(): Promise<readonly (MessageJob | WorkflowTaskJob)[]>;
  /** The delayed jobs, with their delay. */
  delayed(): Promise<readonly { readonly job: Job; readonly delaySeconds: number }[]>;
  takeResults(): Promise<readonly ResultMessage[]>;
  /** The hops of a received or delayed message. */
  hopsOf(message: Job | ResultMessage): number;
}

export const nodeJob = (facts: Partial<NodeJob> = {}): NodeJob => ({
  kind: 'node',
  run: freshRun(),
  commit: commitNo(3),
  ...bundleNode,
  attempt: firstAttempt,
  resend: 0,
  ...facts,
});

export const workflowTaskJob = (facts: Partial<WorkflowTaskJob> = {}): WorkflowTaskJob => ({
  ...nodeJob(),
  nodeId: nodeId('.workflow-task.1'),
  creation: codeCreation(facts.run ?? freshRun()),
  ...facts,
  kind: 'workflow_task',
});

export const resultOf = (facts: Partial<AttemptResult> = {}): AttemptResult => ({
  run: freshRun(),
  commit: commitNo(4),
  ...loopNode,
  attempt: attempt(2),
  outcome: { kind: 'finished', output: inline({ text: 'Zürich 🚄 \ud83d \uffff \u0000' }), handle: 'output' },
  startedAt: noon,
  endedAt: after(noon, durationMs(5)),
  printed: ['a line', ''],
  ...facts,
});

export const childResultOf = (facts: Partial<ChildResult> = {}): ChildResult => ({
  run: freshRun(),
  commit: commitNo(4),
  ...loopNode,
  attempt: attempt(2),
  childRunId: freshRun().runId,
  ...facts,
});

export const jobsSuite = ({ name, open }: Subject<QueuesUnderTest>) =>
  describe(`jobs: ${name}`, () => {
    let opened: Opened<QueuesUnderTest>;
    let queues: QueuesUnderTest;
    beforeAll(async () => {
      opened = await open();
      queues = opened.port;
    });
    afterAll(() => opened.close());
    beforeEach(async () => {
      await queues.takeSent();
      await queues.takeForCode();
      await queues.takeResults();
    });

    test('all jobs of a large send arrive unchanged, each once', async () => {
      const run = freshRun();
      const jobs = Array.from({ length: 37 }, (_, index) => nodeJob({ run, nodeId: nodeId(`node-${index}`) }));
      await queues.jobs.send(jobs);
      const taken = await queues.takeSent();
      expect(taken).toHaveLength(jobs.length);
      expect(taken).toEqual(expect.arrayContaining(jobs));
    });

    test('an empty send sends nothing', async () => {
      await queues.jobs.send([]);
      await queues.jobs.sendTogether([]);
      expect(await queues.takeSent()).toEqual([]);
      expect(await queues.takeTogether()).toEqual([]);
    });

    test('node jobs that are sent together are one message, and those for deployed code are messages of their own', async () => {
      const [first, second, third] = [nodeJob(), nodeJob(), nodeJob({ ...loopNode })];
      const task = workflowTaskJob();
      await queues.jobs.sendTogether([first, task, second, third], hops(2));
      expect(await queues.takeTogether()).toEqual([{ jobs: [first, second, third] }]);
      expect(await queues.takeSent()).toEqual([]);
      const forCode = await queues.takeForCode();
      expect(forCode).toEqual([task]);
      expect(forCode.map((each) => queues.hopsOf(each))).toEqual([2]);
    });

    test('a node job that is sent together with none is a message as any other', async () => {
      const job = nodeJob();
      await queues.jobs.sendTogether([job]);
      expect(await queues.takeSent()).toEqual([job]);
      expect(await queues.takeTogether()).toEqual([]);
    });

    test('iterations, attempts and redispatches of a node are separate jobs', async () => {
      const run = freshRun();
      const jobs = [
        nodeJob({ run, ...loopNode }),
        nodeJob({ run, ...loopNode, iteration: topLevel }),
        nodeJob({ run, ...loopNode, attempt: attempt(2) }),
        nodeJob({ run, ...loopNode, attempt: attempt(2), resend: 1 }),
      ];
      await queues.jobs.send(jobs);
      const taken = await queues.takeSent();
      expect(taken).toHaveLength(jobs.length);
      expect(taken).toEqual(expect.arrayContaining(jobs));
    });

    test('a job of the slow lane is separate from the job before it and has its lane', async () => {
      const first = nodeJob();
      const slow: NodeJob = { ...first, slowLane: 3 };
      await queues.jobs.send([first]);
      await queues.jobs.send([slow]);
      const taken = await queues.takeSent();
      expect(taken).toHaveLength(2);
      expect(taken).toEqual(expect.arrayContaining([first, slow]));
    });

    test('messages and workflow tasks go to the code queue only; attempts and redispatches are separate', async () => {
      const run = freshRun();
      const message: MessageJob = {
        ...nodeJob({ run, nodeId: nodeId('msg_w1') }),
        kind: 'message',
        creation: bundleCreation(run),
      };
      const tasks = [
        workflowTaskJob({ run }),
        workflowTaskJob({ run, nodeId: nodeId('.workflow-task.2') }),
        workflowTaskJob({ run, attempt: attempt(2) }),
        workflowTaskJob({ run, resend: 1 }),
      ];
      const work = nodeJob({ run });
      await queues.jobs.send([message, work, ...tasks]);
      const taken = await queues.takeForCode();
      expect(taken).toHaveLength(5);
      expect(taken).toEqual(expect.arrayContaining([message, ...tasks]));
      expect(await queues.takeSent()).toEqual([work]);
    });

    test('every kind of job can be delayed by up to 15 minutes, rounded up to whole seconds', async () => {
      const run = freshRun();
      const delayed: readonly (readonly [Job, number, number])[] = [
        [{ kind: 'recheck', run }, 0, 0],
        [{ kind: 'wake', run, commit: commitNo(2), ...bundleNode, attempt: firstAttempt }, 1, 1],
        [nodeJob({ run }), 149_001, 150],
        [workflowTaskJob({ run }), 5_000, 5],
        [{ kind: 'recheck', run: freshRun() }, 900_000, 900],
      ];
      for (const [job, delay] of delayed) await queues.jobs.sendDelayed(job, durationMs(delay));
      const waiting = await queues.delayed();
      for (const [job, , delaySeconds] of delayed) expect(waiting).toContainEqual({ job, delaySeconds });
      const tooLong = queues.jobs.sendDelayed({ kind: 'recheck', run }, durationMs(minutes(15) + 1));
      await expect(tooLong).rejects.toThrow(InvariantViolation);
    });

    test('every message carries its hops, with 0 by default', async () => {
      const run = freshRun();
      const [node, task, result] = [nodeJob({ run }), workflowTaskJob({ run }), resultOf({ run })];
      await queues.jobs.send([node, task], hops(3));
      await queues.jobs.sendResult(result, hops(17));
      await queues.jobs.sendDelayed(node, durationMs(60_000), hops(20));
      const delayed = (await queues.delayed()).filter(({ job }) => job.run.runId === run.runId).map(({ job }) => job);
      const taken = [...(await queues.takeSent()), ...(await queues.takeForCode()), ...(await queues.takeResults()), ...delayed];
      expect(taken).toEqual([node, task, result, node]);
      expect(taken.map((each) => queues.hopsOf(each))).toEqual([3, 3, 17, 20]);
      await queues.jobs.send([nodeJob({ run, resend: 1 })]);
      expect((await queues.takeSent()).map((each) => queues.hopsOf(each))).toEqual([0]);
    });

    test('results arrive unchanged, for every outcome', async () => {
      const results = [
        resultOf(),
        childResultOf(),
        resultOf({ outcome: { kind: 'finished', output: { ref: 'blob:k', bytes: 9_999 }, handle: null, end: 'error' } }),
        resultOf({
          outcome: {
            kind: 'failed',
            failure: { cause: 'rate_limit', message: 'later', details: { status: 429 } },
            retryAfterMs: durationMs(2_000),
          },
        }),
        resultOf({ outcome: { kind: 'sleeping', wakeAt: after(noon, days(3)), output: inline([]) } }),
      ];
      for (const result of results) await queues.jobs.sendResult(result);
      const taken = await queues.takeResults();
      expect(taken).toHaveLength(results.length);
      expect(taken).toEqual(expect.arrayContaining(results));
    });
  });
