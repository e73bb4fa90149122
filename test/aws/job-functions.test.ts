/** Calls of functions: which function gets a job, and what its answer says about the job. */
import { expect, test } from 'vitest';
import type { LambdaClient } from '@aws-sdk/client-lambda';
import { JobFunctions } from '../../lib/aws/job-functions.ts';
import { isJobCall, jobCallAnswer, parseJobCall } from '../../lib/codec/job-calls.ts';
import { attempt, commitNo, nodeId, topLevel, runId } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import type { RunEnd } from '../../lib/engine/log/fold.ts';
import { instant } from '../../lib/engine/time.ts';
import type { NodeJob } from '../../lib/ports/jobs.ts';
import { codeCreation, creation as graphCreation, commit, eventOfEachType } from '../contract/samples.ts';
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

const creation = graphCreation(run, { commit: commit(1, { events: Object.values(eventOfEachType) }), isTest: true });

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
  expect(await functions.call({ job, run: creation }, new AbortController().signal)).toEqual({ kind: 'ended' });
  const [{ FunctionName, Payload } = { FunctionName: '', Payload: new Uint8Array() }] = sent;
  const event: unknown = JSON.parse(Buffer.from(Payload).toString('utf8'));
  expect(FunctionName).toBe('the-worker');
  expect(typeof event === 'object' && event !== null && isJobCall(event)).toBe(true);
  expect(parseJobCall(event)).toEqual({ job, run: creation });
});

test('a call says whether the run is written, and an unwritten run has its creation', async () => {
  const { functions, sent } = functionsThat(async () => ({}));
  await functions.call({ job, run: creation, isUnwritten: true }, new AbortController().signal);
  const event: unknown = JSON.parse(Buffer.from(sent[0]?.Payload ?? []).toString('utf8'));
  expect(parseJobCall(event)).toEqual({ job, run: creation, isUnwritten: true });
  await functions.call({ job, isUnwritten: true }, new AbortController().signal);
  const without: unknown = JSON.parse(Buffer.from(sent[1]?.Payload ?? []).toString('utf8'));
  expect(() => parseJobCall(without)).toThrow('an unwritten run without its creation');
});

test('a job that no function executes is refused without a call', async () => {
  const { functions, sent } = functionsThat(async () => ({}));
  const task = { ...job, kind: 'workflow_task', creation: Object.create(null) } as const;
  expect([await functions.call({ job: task }, new AbortController().signal), sent]).toEqual([{ kind: 'refused' }, []]);
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
  expect(await functions.call({ job, run: creation }, new AbortController().signal)).toEqual({ kind: result });
});

test('the outcome of a function that crashed is unknown: it may have committed', async () => {
  const { functions } = functionsThat(async () => ({ FunctionError: 'Unhandled' }));
  expect(await functions.call({ job, run: creation }, new AbortController().signal)).toEqual({ kind: 'unknown' });
});

const answering = (payload: string): JobFunctions => functionsThat(async () => ({ Payload: Buffer.from(payload) })).functions;
const ends: readonly RunEnd[] = [
  { status: 'completed', endedAt: instant(5), output: inline({ text: 'Zürich' }) },
  { status: 'completed', endedAt: instant(5), output: { ref: 'blob:output', bytes: 900_000 } },
  { status: 'failed', endedAt: instant(5), error: { cause: 'invalid', code: 'node.failed', message: 'no' } },
  { status: 'cancelled', endedAt: instant(5), reason: 'not wanted' },
];

test.each(ends)('the answer of the worker has the end of the run: $status', async (end) => {
  const answer = JSON.stringify(jobCallAnswer(end));
  expect(await answering(answer).call({ job, run: creation }, new AbortController().signal)).toEqual({ kind: 'ended', end });
});

test.each([
  ['of a run that has not ended', JSON.stringify(jobCallAnswer())],
  ['of another version', '{"handled":true,"ended":"completed"}'],
  ['that is empty', ''],
  ['that is no JSON', 'handled'],
])('an answer %s leaves the end to the log', async (_name, answer) => {
  expect(await answering(answer).call({ job, run: creation }, new AbortController().signal)).toEqual({ kind: 'ended' });
});

test('the function of deployed code cannot say how a run has ended', async () => {
  const send = async (): Promise<object> => ({ Payload: Buffer.from(JSON.stringify(jobCallAnswer(ends[0]))) });
  const client: Pick<LambdaClient, 'send'> = Object.assign(Object.create(null), { send });
  const functions = new JobFunctions(client, { worker: 'w', code: 'c' });
  const task = { ...job, kind: 'workflow_task', creation: codeCreation(run) } as const;
  expect(await functions.call({ job: task }, new AbortController().signal)).toEqual({ kind: 'ended' });
});
