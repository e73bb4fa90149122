/** Calls of the function that reconciles called runs: what it gets, and when a message is needed instead. */
import { expect, test } from 'vitest';
import type { LambdaClient } from '@aws-sdk/client-lambda';
import { ReconcilerFunction } from '../../lib/aws/child-reconciler.ts';
import { isChildCall, parseChildCall } from '../../lib/codec/job-calls.ts';
import { attempt, commitNo, eventId, nodeId, runId, topLevel } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { ChildJob, ExpectedChild, ReconciledChild, WorkflowTaskJob } from '../../lib/ports/jobs.ts';
import { codeCreation } from '../contract/samples.ts';
import { scope } from '../service/test-env.ts';

const run = { ...scope, runId: runId('wrun_01KDVDNX9GKSCE0D9P0RB8ZWTJ') };
const child = { ...scope, runId: runId('wrun_01KDVDNX9GKSCE0D9P0RB8ZWTK') };
const attemptFields = { nodeId: nodeId('call'), iteration: topLevel, attempt: attempt(1) };
const job: ChildJob = { kind: 'child', run, ...attemptFields, childRunId: child.runId };
const task: WorkflowTaskJob = {
  kind: 'workflow_task',
  run: child,
  commit: commitNo(1),
  ...attemptFields,
  resend: 0,
  creation: codeCreation(child),
};

function reconcilerThat(answer: () => Promise<object>) {
  const sent: { readonly FunctionName: string; readonly Payload: Uint8Array }[] = [];
  const send = async ({ input }: { readonly input: (typeof sent)[number] }): Promise<object> => {
    sent.push(input);
    return answer();
  };
  const client: Pick<LambdaClient, 'send'> = Object.assign(Object.create(null), { send });
  const reported: unknown[] = [];
  return { reconciler: new ReconcilerFunction(client, 'the-world', (reason) => void reported.push(reason)), sent, reported };
}

const answered = (answer: object) => async () => ({ Payload: Buffer.from(JSON.stringify(answer)) });
const refused = (name: string, status: number) => (): Promise<never> =>
  Promise.reject(Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status } }));

const expectations: readonly ExpectedChild[] = [{ kind: 'starts', workflowName: 'child' }, { kind: 'has_ended' }];
const request = { job, expected: { kind: 'has_ended' } } as const;

test.for(expectations)('the function gets the request (%o), and its answer has the tasks that follow', async (expected) => {
  const later: Commit = { ...task.creation.commit, number: commitNo(2), firstEventId: eventId(9) };
  const tasks = [{ job: task }, { job: task, commits: [] }, { job: task, commits: [later] }];
  const reconciled: ReconciledChild = { kind: 'reconciled', tasks };
  const { reconciler, sent } = reconcilerThat(answered(reconciled));
  expect(await reconciler.reconcile({ job, expected })).toEqual(reconciled);
  expect(sent[0]?.FunctionName).toBe('the-world');
  const event: unknown = JSON.parse(Buffer.from(sent[0]?.Payload ?? []).toString('utf8'));
  expect(typeof event === 'object' && event !== null && isChildCall(event)).toBe(true);
  expect(parseChildCall(event)).toEqual({ job, expected });
});

test('an answer that a message is needed is no failure', async () => {
  const { reconciler, reported } = reconcilerThat(answered({ kind: 'needs_message' }));
  expect([await reconciler.reconcile(request), reported]).toEqual([{ kind: 'needs_message' }, []]);
});

test.for<[string, () => Promise<object>]>([
  ['an answer of another form', answered({ kind: 'done' })],
  ['an empty answer', async () => ({})],
  ['an error of the function', async () => ({ FunctionError: 'Unhandled', Payload: Buffer.from('{}') })],
  ['a throttled call', refused('TooManyRequestsException', 429)],
  ['an error of the service', refused('ServiceException', 500)],
  ['a call that is not permitted', refused('AccessDeniedException', 403)],
])('%s needs a message, and is reported', async ([, answer]) => {
  const { reconciler, reported } = reconcilerThat(answer);
  expect(await reconciler.reconcile(request)).toEqual({ kind: 'needs_message' });
  expect(reported).toHaveLength(1);
});
