/** Calls of functions: which function gets a job, and what its answer says about the job. */
import { expect, test } from 'vitest';
import type { LambdaClient } from '@aws-sdk/client-lambda';
import { JobFunctions } from '../../lib/aws/job-functions.ts';
import { isJobCall, parseJobCall } from '../../lib/codec/job-calls.ts';
import { attempt, commitNo, nodeId, topLevel, runId } from '../../lib/engine/ids.ts';
import type { NodeJob } from '../../lib/ports/jobs.ts';
import { scope } from '../service/test-env.ts';

const run = { ...scope, runId: runId('wrun_01KDVDNX9GKSCE0D9P0RB8ZWTJ') };
const job: NodeJob = {
  kind: 'node',
  run,
  commit: commitNo(1),
  nodeId: nodeId('a'),
  iteration: topLevel,
  attempt: attempt(1),
  resend: 0,
};

function functionsThat(answer: () => Promise<object>, worker: string | undefined = 'the-worker') {
  const sent: { readonly FunctionName: string; readonly Payload: Uint8Array }[] = [];
  const send = async ({ input }: { readonly input: (typeof sent)[number] }): Promise<object> => {
    sent.push(input);
    return answer();
  };
  const client: Pick<LambdaClient, 'send'> = Object.assign(Object.create(null), { send });
  return { functions: new JobFunctions(client, { worker, code: undefined }), sent };
}

const serviceError = (name: string, status: number): Error =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status } });

test('a node job calls the worker with the job, and an answer says that it has ended', async () => {
  const { functions, sent } = functionsThat(async () => ({}));
  expect(await functions.call(job, new AbortController().signal)).toBe('ended');
  const [{ FunctionName, Payload } = { FunctionName: '', Payload: new Uint8Array() }] = sent;
  const event: unknown = JSON.parse(Buffer.from(Payload).toString('utf8'));
  expect(FunctionName).toBe('the-worker');
  expect(typeof event === 'object' && event !== null && isJobCall(event)).toBe(true);
  expect(parseJobCall(event)).toEqual(job);
});

test('a job that no function executes is refused without a call', async () => {
  const { functions, sent } = functionsThat(async () => ({}));
  const task = { ...job, kind: 'workflow_task', creation: Object.create(null) } as const;
  expect([await functions.call(task, new AbortController().signal), sent]).toEqual(['refused', []]);
});

test.each([
  ['a throttled function', serviceError('TooManyRequestsException', 429), 'refused'],
  ['a missing permission', serviceError('AccessDeniedException', 403), 'refused'],
  ['a loop that Lambda ends', serviceError('RecursiveInvocationException', 400), 'refused'],
  ['an error of Lambda', serviceError('ServiceException', 500), 'unknown'],
  ['a broken connection', new Error('socket hang up'), 'unknown'],
  ['the end of the wait', Object.assign(new Error('aborted'), { name: 'AbortError' }), 'unknown'],
] as const)('%s: %j, so the job is %s', async (_name, error, result) => {
  const { functions } = functionsThat(() => Promise.reject(error));
  expect(await functions.call(job, new AbortController().signal)).toBe(result);
});

test('the outcome of a function that crashed is unknown: it may have committed', async () => {
  const { functions } = functionsThat(async () => ({ FunctionError: 'Unhandled' }));
  expect(await functions.call(job, new AbortController().signal)).toBe('unknown');
});
