import fc from 'fast-check';
import { expect, test } from 'vitest';
import { driveJobIdentity, nodeJobIdentity, resultIdentity } from '../../lib/aws/message-identity.ts';
import { attempt, commitNo, environment, iterationKey, nodeId } from '../../lib/engine/ids.ts';
import { freshScope } from '../contract/samples.ts';
import { driveJob, nodeJob, resultOf } from '../contract/jobs.suite.ts';

test('a job is told by its scope, run, node, pass, attempt and number of the re-send, and by nothing else', () => {
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

test('a result is told from the job that it answers, and from other attempts’', () => {
  const result = resultOf();
  const job = nodeJob({ run: result.run, nodeId: result.nodeId, iteration: result.iteration, attempt: result.attempt });
  expect(resultIdentity(result).deduplication).not.toBe(nodeJobIdentity(job).deduplication);
  expect(resultIdentity({ ...result, attempt: attempt(3) }).deduplication).not.toBe(resultIdentity(result).deduplication);
});

test('the drives of one run are one group, and each goes once; one sent again goes past it', () => {
  const job = driveJob();
  const others = [
    { ...job, nodeId: nodeId('.drive.2') },
    { ...job, attempt: attempt(2) },
  ];
  expect(driveJobIdentity(job).group).toBe(job.run.runId);
  for (const other of others) expect(driveJobIdentity(other).group).toBe(job.run.runId);
  const again = { ...job, resend: 1 };
  expect(driveJobIdentity(again).group).toBe(`${job.run.runId}#r1`);
  const ids = [job, ...others, again, { ...job, run: nodeJob().run }].map((each) => driveJobIdentity(each).deduplication);
  expect(new Set(ids).size).toBe(ids.length);
  expect(driveJobIdentity({ ...job, commit: commitNo(99) })).toEqual(driveJobIdentity(job));
  expect(nodeJobIdentity({ ...job, kind: 'node' }).deduplication).not.toBe(driveJobIdentity(job).deduplication);
});

test('every group and id is one that SQS takes, and two nodes never share a group', () => {
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
