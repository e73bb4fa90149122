/** Log lines of messages: each says its run and its request, and none says another's. */
import { Logger } from '@aws-lambda-powertools/logger';
import type { SQSRecord } from 'aws-lambda';
import { afterEach, expect, test, vi } from 'vitest';
import { eachMessage, logKeysOf } from '../../functions/batch.ts';
import { correlationId } from '../../lib/engine/ids.ts';
import { traceparent } from '../../lib/engine/trace.ts';
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

test('a line has the keys of its own message', async () => {
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
  const answer = await eachMessage(
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
      message: 'a message comes back',
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
