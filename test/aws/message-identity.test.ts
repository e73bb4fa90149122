import fc from 'fast-check';
import { expect, test } from 'vitest';
import { workflowTaskJobIdentity, nodeJobIdentity, resultIdentity } from '../../lib/aws/message-identity.ts';
import { attempt, commitNo, environment, iterationKey, nodeId } from '../../lib/engine/ids.ts';
import { fairSharesOf } from '../../lib/engine/fair-shares.ts';
import { freshScope } from '../contract/samples.ts';
import { workflowTaskJob, nodeJob, resultOf } from '../contract/jobs.suite.ts';

test('a job is identified by its scope, run, node, iteration, attempt and redispatch number only', () => {
  const job = nodeJob();
  const others = [
    { ...job, run: { ...job.run, projectId: freshScope().projectId } },
    { ...job, run: { ...job.run, environment: environment('staging') } },
    { ...job, run: nodeJob().run },
    { ...job, nodeId: nodeId('other') },
    { ...job, iteration: iterationKey('each[1]') },
    { ...job, attempt: attempt(2) },
    { ...job, resend: 1 },
  ];
  const ids = [job, ...others].map((each) => nodeJobIdentity(each).deduplication);
  expect(new Set(ids).size).toBe(ids.length);
  expect(nodeJobIdentity({ ...job, commit: commitNo(99) })).toEqual(nodeJobIdentity(job));
});

test('a result has another id than its job and than results of other attempts', () => {
  const result = resultOf();
  const job = nodeJob({ run: result.run, nodeId: result.nodeId, iteration: result.iteration, attempt: result.attempt });
  expect(resultIdentity(result).deduplication).not.toBe(nodeJobIdentity(job).deduplication);
  expect(resultIdentity({ ...result, attempt: attempt(3) }).deduplication).not.toBe(resultIdentity(result).deduplication);
});

test('workflow tasks of a run share a group and are deduplicated; a redispatched task has another group', () => {
  const job = workflowTaskJob();
  const others = [
    { ...job, nodeId: nodeId('.workflow-task.2') },
    { ...job, attempt: attempt(2) },
  ];
  expect(workflowTaskJobIdentity(job).group).toBe(job.run.runId);
  for (const other of others) expect(workflowTaskJobIdentity(other).group).toBe(job.run.runId);
  const again = { ...job, resend: 1 };
  expect(workflowTaskJobIdentity(again).group).toBe(`${job.run.runId}#r1`);
  const ids = [job, ...others, again, { ...job, run: nodeJob().run }].map((each) => workflowTaskJobIdentity(each).deduplication);
  expect(new Set(ids).size).toBe(ids.length);
  expect(workflowTaskJobIdentity({ ...job, commit: commitNo(99) })).toEqual(workflowTaskJobIdentity(job));
  expect(nodeJobIdentity({ ...job, kind: 'node' }).deduplication).not.toBe(workflowTaskJobIdentity(job).deduplication);
});

test('every group and id is valid for SQS, and two nodes never share a group', () => {
  const short = fc.stringMatching(/^[A-Za-z0-9_.:-]{1,20}$/);
  const long = fc.stringMatching(/^[A-Za-z0-9_.:-]{100,128}$/);
  const name = fc.oneof(short, long).map(nodeId);
  const pass = fc.stringMatching(/^([A-Za-z0-9_.:-]{1,30}\[\d{1,4}\]\/?){0,6}$/).map(iterationKey);
  fc.assert(
    fc.property(name, name, pass, fc.nat({ max: 99 }), (one, other, iteration, resend) => {
      const job = nodeJob({ nodeId: one, iteration, resend });
      const { group, deduplication } = nodeJobIdentity(job);
      for (const id of [group, deduplication]) expect(id).toMatch(/^[!-~]{1,128}$/);
      if (one !== other) expect(nodeJobIdentity({ ...job, nodeId: other }).group).not.toBe(group);
      expect(nodeJobIdentity({ ...job, resend: resend + 1 }).group).not.toBe(group);
    }),
  );
});

test('jobs of the slow lane share a group by project, environment and lane, and differ from the jobs before them', () => {
  const job = nodeJob();
  const slow = { ...job, slowLane: 2 };
  const { projectId, environment: of } = job.run;
  expect(nodeJobIdentity(slow).group).toBe(`${projectId}#${of}#slow#2`);
  expect(nodeJobIdentity({ ...slow, nodeId: nodeId('other') }).group).toBe(nodeJobIdentity(slow).group);
  const elsewhere = [
    { ...slow, slowLane: 3 },
    { ...slow, run: { ...slow.run, projectId: freshScope().projectId } },
    { ...slow, run: { ...slow.run, environment: environment('staging') } },
  ];
  for (const each of elsewhere) expect(nodeJobIdentity(each).group).not.toBe(nodeJobIdentity(slow).group);
  // A repeated send has the same id; other attempts and the job before it have other ids.
  expect(nodeJobIdentity({ ...slow, commit: commitNo(99) })).toEqual(nodeJobIdentity(slow));
  const others = [job, { ...slow, resend: 1 }, { ...slow, attempt: attempt(2) }, { ...slow, nodeId: nodeId('other') }];
  for (const each of others) expect(nodeJobIdentity(each).deduplication).not.toBe(nodeJobIdentity(slow).deduplication);
});

test('with a limit, a project has as many groups as it may have workers, and shares none with other projects', () => {
  const shares = fairSharesOf(100, 10);
  const { run } = nodeJob();
  const jobs = Array.from({ length: 500 }, (_one, number) =>
    nodeJob({ run: { ...run, runId: nodeJob().run.runId }, resend: number % 3 }),
  );
  const groups = new Set([
    ...jobs.map((job) => nodeJobIdentity(job, shares).group),
    ...jobs.map((job, number) => nodeJobIdentity({ ...job, slowLane: number % shares.slow }, shares).group),
  ]);
  expect(groups.size).toBe(10);
  const groupOfOther = nodeJobIdentity({ ...nodeJob(), run: { ...run, projectId: freshScope().projectId } }, shares).group;
  expect(groups).not.toContain(groupOfOther);
  expect(new Set(jobs.map((job) => nodeJobIdentity(job, fairSharesOf(100, 100)).group)).size).toBe(500);
});
