/** Ends of runs from the queue: what could not be sent comes back, and where nothing could, the function fails and is counted. */
import type { SQSEvent } from 'aws-lambda';
import { expect, test } from 'vitest';
import { exportEndedRuns } from '../../functions/traces/export-ended-runs.ts';
import type { Span } from '../../lib/ports/spans.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type TestEnv, finished, createTestEnv, workflow } from '../service/test-env.ts';

const attributes = {
  ApproximateReceiveCount: '1',
  SentTimestamp: '0',
  SenderId: 'events',
  ApproximateFirstReceiveTimestamp: '0',
};
const record = (messageId: string, body: string) => ({
  messageId,
  receiptHandle: messageId,
  body,
  attributes,
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn',
  awsRegion: 'eu-west-1',
});

const played = async (): Promise<{ home: TestEnv; bodyOf: (name: string) => Promise<string> }> => {
  const home = createTestEnv({ answer: () => finished('x') });
  for (const name of ['one', 'two']) await home.publish({ ...workflow(name, 'a>b') });
  return {
    home,
    bodyOf: async (name) => {
      const { runId, projectId, environment } = await home.begin(name);
      await home.settle();
      // A member more than the function knows: events grow.
      const detail = { runId, projectId, environment, status: 'completed', workflow: { name }, new: true };
      return JSON.stringify({ version: '0', 'detail-type': 'Run Status Change', source: 'stepwell.runs', detail });
    },
  };
};

const toolsOf = (home: TestEnv, refuses: (spans: readonly Span[]) => boolean = () => false) => {
  const sent: Span[] = [];
  const errors: unknown[] = [];
  const spans = {
    send: async (batch: readonly Span[]) => {
      if (refuses(batch)) throw new Unavailable('the collector of traces');
      sent.push(...batch);
    },
  };
  const logger = { info: () => undefined, error: (...said: readonly unknown[]) => void errors.push(said) };
  return { sent, errors, tools: { deps: home.deps, tracing: () => ({ spans, samplePercent: 100 }), logger } };
};
const take = (tools: Parameters<typeof exportEndedRuns>[0], ...bodies: readonly string[]) => {
  const event: SQSEvent = { Records: bodies.map((body, at) => record(String(at), body)) };
  return exportEndedRuns(tools, event);
};
const isOf = (name: string) => (batch: readonly Span[]) => batch.some((span) => span.name === `run ${name}`);

test('each run of a batch is exported, and an invalid message is logged and dropped', async () => {
  const { home, bodyOf } = await played();
  const { sent, errors, tools } = toolsOf(home);
  expect(await take(tools, await bodyOf('one'), 'no JSON', await bodyOf('two'), '{}')).toEqual({ batchItemFailures: [] });
  expect(sent.map(({ name }) => name).filter((name) => name.startsWith('run'))).toEqual(['run one', 'run two']);
  expect(errors).toHaveLength(2);
});

test('only the runs that the collector rejected are redelivered', async () => {
  const { home, bodyOf } = await played();
  const { sent, tools } = toolsOf(home, isOf('one'));
  expect(await take(tools, await bodyOf('one'), await bodyOf('two'))).toEqual({ batchItemFailures: [{ itemIdentifier: '0' }] });
  expect(sent.some(({ name }) => name === 'run two')).toBe(true);
});

test('the function fails if the collector rejects every trace, so that Lambda counts an error', async () => {
  const { home, bodyOf } = await played();
  const { tools } = toolsOf(home, () => true);
  await expect(take(tools, await bodyOf('one'), await bodyOf('two'))).rejects.toThrow(Unavailable);
});
