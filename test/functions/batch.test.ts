/** Log lines of messages: each says its run and its request, and none says another's. */
import { Logger } from '@aws-lambda-powertools/logger';
import type { SQSRecord } from 'aws-lambda';
import { afterEach, expect, test, vi } from 'vitest';
import { isDelayed, processEachMessage, logKeysOf, maxHopsOf } from '../../functions/batch.ts';
import { hopLimiter } from '../../functions/wiring.ts';
import { correlationId } from '../../lib/engine/ids.ts';
import { traceparent } from '../../lib/engine/trace.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import { nodeJob } from '../contract/jobs.suite.ts';
import { context } from './http.ts';

afterEach(() => vi.restoreAllMocks());

const record = (messageId: string): SQSRecord => ({
  messageId,
  body: '',
  receiptHandle: '',
  attributes: { ApproximateReceiveCount: '1', SentTimestamp: '', SenderId: '', ApproximateFirstReceiveTimestamp: '' },
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: '',
  awsRegion: '',
});

test('a log line has the keys of its own message only', async () => {
  const lines: Record<string, unknown>[] = [];
  // The logger has a console of its own over these.
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((line) => {
      lines.push(JSON.parse(String(line)));
      return true;
    });
  }
  const logger = new Logger({ serviceName: 'test', logLevel: 'INFO' });
  const trace = {
    correlationId: correlationId('order 17'),
    traceparent: traceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
  };
  const traced = nodeJob({ trace });
  const { trace: _trace, ...plain } = nodeJob();
  const answer = await processEachMessage(
    { Records: [record('1'), record('2'), record('3')] },
    context,
    logger,
    async ({ messageId }) => {
      if (messageId === '3') return logger.info('of no run');
      logger.appendKeys(logKeysOf(messageId === '1' ? traced : plain));
      await Promise.resolve();
      if (messageId === '1') throw new Error('on purpose');
      logger.info('done');
    },
  );
  expect(answer.batchItemFailures).toEqual([{ itemIdentifier: '1' }]);
  const { runId } = traced.run;
  expect(lines).toMatchObject([
    {
      message: 'message failed: SQS redelivers it',
      runId,
      nodeId: traced.nodeId,
      correlationId: 'order 17',
      traceId: '0af7651916cd43dd8448eb211c80319c',
    },
    { message: 'done', runId: plain.run.runId, nodeId: plain.nodeId },
    { message: 'of no run' },
  ]);
  expect(lines[1]).not.toHaveProperty('correlationId');
  expect(lines[2]).not.toHaveProperty('runId');
});

test('a sent message has one hop more than its cause; an invalid hop count starts at zero', async () => {
  const world = memoryPorts();
  const jobs = hopLimiter.jobs(world.jobs);
  const withHops = (messageId: string, stringValue?: string): SQSRecord => ({
    ...record(messageId),
    messageAttributes: stringValue === undefined ? {} : { hops: { dataType: 'Number', stringValue } },
  });
  await processEachMessage(
    { Records: [withHops('1', '7'), withHops('2'), withHops('3', 'many'), withHops('4', '-1')] },
    context,
    new Logger({ serviceName: 'test', logLevel: 'SILENT' }),
    async () => jobs.send([nodeJob()]),
  );
  expect(world.jobs.takeSent().map((job) => world.jobs.hopsOf(job))).toEqual([8, 1, 1, 1]);
});

test('messages that are handled together have the highest hop count among them', () => {
  const of = (...counts: readonly string[]) =>
    maxHopsOf(
      counts.map((stringValue) => ({ ...record('1'), messageAttributes: { hops: { dataType: 'Number', stringValue } } })),
    );
  expect([of('2', '9', '3'), of('none'), maxHopsOf([record('1')])]).toEqual([9, 0, 0]);
});

test('a delayed message is counted even with metrics off, and a log line names its run', async () => {
  const lines: unknown[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((line) => {
      lines.push(JSON.parse(String(line)));
      return true;
    });
  }
  vi.stubEnv('STEPWELL_RUNS_TABLE', 'the-runs');
  const world = memoryPorts();
  const job = nodeJob();
  const sixteen = { ...record('1'), messageAttributes: { hops: { dataType: 'Number', stringValue: '16' } } };
  await processEachMessage({ Records: [sixteen] }, context, new Logger({ serviceName: 'test' }), () =>
    hopLimiter.jobs(world.jobs).send([job]),
  );
  vi.unstubAllEnvs();
  expect(world.jobs.delayed).toHaveLength(1);
  expect(lines).toMatchObject([
    {
      _aws: {
        CloudWatchMetrics: [
          { Namespace: 'Stepwell', Dimensions: [['RunsTable']], Metrics: [{ Name: 'MessagesSlowed', Unit: 'Count' }] },
        ],
      },
      RunsTable: 'the-runs',
      MessagesSlowed: 1,
    },
    { level: 'WARN', runId: job.run.runId, kind: 'node', hops: 17, delaySeconds: 1 },
  ]);
});

test.for([
  ['arn:aws:sqs:eu-central-1:1:Nodes.fifo', undefined, false],
  ['arn:aws:sqs:eu-central-1:1:Delays', undefined, true],
  ['arn:aws:sqs:eu-central-1:1:Delays', 'a group', true],
] as const)(
  'the queue, and not the sender, says whether a message is from the delay queue: %s, group %s',
  ([arn, group, expected]) => {
    const from = { ...record('m'), eventSourceARN: arn };
    const attributes = group === undefined ? from.attributes : { ...from.attributes, MessageGroupId: group };
    expect(isDelayed({ ...from, attributes })).toBe(expected);
  },
);
