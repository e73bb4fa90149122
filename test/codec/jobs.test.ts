import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobBody, parseJob, parseMessage, parseResult, parseTogether, resultBody, togetherBody } from '../../lib/codec/jobs.ts';
import { correlationId, workflowName } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import { traceparent } from '../../lib/engine/trace.ts';
import { Unreadable } from '../../lib/codec/unreadable.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { childResultOf, nodeJob, resultOf } from '../contract/jobs.suite.ts';
import { commit, creation, freshRun } from '../contract/samples.ts';

const trace = {
  correlationId: correlationId('order 17'),
  traceparent: traceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
};
const childJob = (): Job => {
  const { run, nodeId, iteration, attempt } = nodeJob();
  return { kind: 'child', run, nodeId, iteration, attempt, childRunId: freshRun().runId };
};
const carriedJob = (): Job => {
  const run = freshRun();
  return nodeJob({ run, carried: { creation: creation(run), commits: [commit(2)] } });
};
const slotJob: Job = { kind: 'slot', run: freshRun(), workflowName: workflowName('flow'), since: instant(5) };
const jobs: readonly Job[] = [
  nodeJob(),
  { ...nodeJob(), resend: 7 },
  { ...nodeJob(), slowLane: 12 },
  carriedJob(),
  { kind: 'recheck', run: freshRun() },
  childJob(),
  slotJob,
  { ...slotJob, isCheck: true },
];

test('a job survives a round trip through its body', () => {
  for (const job of jobs) expect(parseJob(jobBody(job))).toEqual(job);
});

test('the jobs of a message survive a round trip through its body, and no other message has several', () => {
  const together = { jobs: [nodeJob(), nodeJob({ resend: 1, trace })] } as const;
  expect(parseTogether(togetherBody(together))).toEqual(together);
  expect(() => parseJob(togetherBody(together))).toThrow(Unreadable);
  expect(parseTogether(jobBody(nodeJob()))).toBeUndefined();
});

test.for([
  ['has none', []],
  ['has one that is no node job', [{ kind: 'recheck', run: freshRun() }]],
])('a message of several jobs that %s is refused', ([, list]) => {
  expect(() => parseTogether(JSON.stringify({ v: 1, jobs: list }))).toThrow(Unreadable);
});

test('the body of a result with any text has only characters that SQS accepts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (one, other) => {
      const result = resultOf({ printed: [one, other, `${one}\uFFFE${other}\u{10FFFF}\uD800`] });
      const body = resultBody(result);
      expect(body).toMatch(/^[\u0020-\uD7FF\uE000-\uFFFD]*$/);
      expect(parseResult(body)).toEqual(result);
    }),
  );
});

test('the end of a child run survives a round trip through its body, as a result and as a message', () => {
  for (const result of [childResultOf(), childResultOf({ trace })]) {
    expect(parseResult(resultBody(result))).toEqual(result);
    expect(parseMessage(resultBody(result))).toEqual(result);
  }
});

test('a message without a trace is readable', () => {
  const { trace: _trace, ...old } = nodeJob({ trace });
  expect(parseJob(JSON.stringify({ v: 1, job: old }))).toEqual(old);
  expect(parseJob(jobBody({ ...old, trace }))).toEqual({ ...old, trace });
});

test.for([
  ['is not JSON', 'hello'],
  ['is of another version', JSON.stringify({ v: 2, job: jobs[0] })],
  ['has no version', JSON.stringify({ job: jobs[0] })],
  ['is of an unknown kind', JSON.stringify({ v: 1, job: { ...jobs[0], kind: 'dance' } })],
  ['has a member too many', JSON.stringify({ v: 1, job: { ...jobs[0], extra: true } })],
  ['names an invalid run', JSON.stringify({ v: 1, job: { kind: 'recheck', run: { ...freshRun(), runId: 'wrun_1' } } })],
])('a message that %s is refused', ([, body]) => {
  expect(() => parseJob(body ?? '')).toThrow(Unreadable);
});

test('a blocked result keeps its gate', () => {
  const failure = { cause: 'contract_violated', message: 'no', status: 'invalidated' } as const;
  const errors = [{ field: 'a', reason: 'below_min' }];
  for (const gate of [
    { kind: 'contract', phase: 'output', errors },
    { kind: 'moderation', phase: 'input', decision: { policy: 'words' } },
  ] as const) {
    const result = resultOf({ outcome: { kind: 'failed', failure, gate } });
    expect(parseResult(resultBody(result))).toEqual(result);
  }
});

test('a dead letter is readable as a job and as a result', () => {
  const result = resultOf();
  expect(parseMessage(resultBody(result))).toEqual(result);
  for (const job of jobs) expect(parseMessage(jobBody(job))).toEqual(job);
  expect(() => parseMessage('{}')).toThrow(Unreadable);
});

test('a result is unreadable as a job, and a job as a result', () => {
  expect(() => parseJob(resultBody(resultOf()))).toThrow(Unreadable);
  expect(() => parseResult(jobBody(nodeJob()))).toThrow(Unreadable);
});
