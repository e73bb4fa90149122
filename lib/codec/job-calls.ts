/** Jobs by an invocation of a function, instead of a message of its queue. */
import * as z from 'zod';
import type { ExpectedChild, JobCall, JobCallResult, ReconcileRequest, ReconciledChild, WorkJob } from '../ports/jobs.ts';
import { runEnd } from './fold.ts';
import { commitNo } from './ids.ts';
import { childJob, graphCreation, jobBody, laterCommit, parseJob, workflowTaskJob } from './jobs.ts';
import { read, readJson } from './unreadable.ts';

const callEvent = z
  .strictObject({
    jobCall: z.string(),
    run: graphCreation.exactOptional(),
    isUnwritten: z.literal(true).exactOptional(),
  })
  .refine(({ run, isUnwritten }) => isUnwritten === undefined || run !== undefined, 'an unwritten run without its creation');

/** SQS sets the fields of its events, so a message cannot imitate a call. */
export const isJobCall = (event: object): boolean => 'jobCall' in event;

export const writeJobCall = ({ job, ...call }: JobCall<WorkJob>): string => JSON.stringify({ jobCall: jobBody(job), ...call });

/** @throws Unreadable */
export function parseJobCall(event: unknown): JobCall {
  const { jobCall, ...call } = read('a call with a job', callEvent, event);
  return { ...call, job: parseJob(jobCall) };
}

const answerShape = z.strictObject({ handled: z.literal(true), end: runEnd.exactOptional() });

/** @param end of the run; absent: it has not ended, or the function may not say so */
export const jobCallAnswer = (end?: Extract<JobCallResult, { kind: 'ended' }>['end']): z.infer<typeof answerShape> => ({
  handled: true,
  ...(end === undefined ? {} : { end }),
});

/** @throws Unreadable */
export const parseJobCallAnswer = (text: string): Extract<JobCallResult, { kind: 'ended' }> => {
  const { end } = readJson('the answer to a call with a job', answerShape, text);
  return { kind: 'ended', ...(end === undefined ? {} : { end }) };
};

const expectedChild: z.ZodType<ExpectedChild> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('starts'), workflowName: z.string(), callerAsOf: commitNo.exactOptional() }),
  z.strictObject({
    kind: z.literal('has_ended'),
    callerAsOf: commitNo.exactOptional(),
    childAsOf: commitNo.exactOptional(),
    isCallerMarked: z.literal(true).exactOptional(),
  }),
]);

const childCallEvent = z.strictObject({ childCall: childJob, expected: expectedChild });

/** API Gateway sets the fields of its events, so a request cannot imitate a call of the code function. */
export const isChildCall = (event: object): boolean => 'childCall' in event;

export const writeChildCall = ({ job, expected }: ReconcileRequest): string => JSON.stringify({ childCall: job, expected });

/** @throws Unreadable */
export function parseChildCall(event: unknown): ReconcileRequest {
  const { childCall, expected } = read('a call with a called run', childCallEvent, event);
  return { job: childCall, expected };
}

const reconciledTask = z.strictObject({ job: workflowTaskJob, commits: z.array(laterCommit).readonly().exactOptional() });

const reconciledChild: z.ZodType<ReconciledChild> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('reconciled'), tasks: z.array(reconciledTask).readonly() }),
  z.strictObject({ kind: z.literal('needs_message') }),
]);

/** @throws Unreadable */
export const parseReconciledChild = (text: string): ReconciledChild =>
  readJson('the answer to a call with a called run', reconciledChild, text);
