/** Queues and the bucket over the protocols of SQS and S3. */
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { S3Artifacts } from '../../lib/aws/artifacts.ts';
import { S3Blobs } from '../../lib/aws/blobs.ts';
import { SqsDeadLetters } from '../../lib/aws/dead-letters.ts';
import { S3Uploads } from '../../lib/aws/uploads.ts';
import { SqsJobs, SqsWatches } from '../../lib/aws/jobs.ts';
import { SqsWorkQueue } from '../../lib/aws/work-queue.ts';
import { hopsAttribute, parseHops, parseJob, parseResult, parseTogether } from '../../lib/codec/jobs.ts';
import { parseWatch } from '../../lib/codec/watches.ts';
import { nodeId, projectId } from '../../lib/engine/ids.ts';
import { after, durationMs, minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import { artifactsSuite, artifactNameFor } from './artifacts.suite.ts';
import { watchesSuite } from './watches.suite.ts';
import { deadLettersSuite } from './dead-letters.suite.ts';
import { blobsSuite } from './blobs.suite.ts';
import { uploadsSuite } from './uploads.suite.ts';
import { type QueuesAndBucket, startQueuesAndBucket } from './emulators/fauxqs.ts';
import { type QueuesUnderTest, childResultOf, jobsSuite, nodeJob, resultOf } from './jobs.suite.ts';
import { SystemClock } from '../../lib/aws/system.ts';
import { freshRun, noon } from './samples.ts';
import { workQueueSuite } from './work-queue.suite.ts';

let services: QueuesAndBucket;
beforeAll(async () => {
  services = await startQueuesAndBucket();
  services.server.createBucket('payloads-bucket');
});
afterAll(() => services.close());

const close = async (): Promise<void> => {};

type Attributes = Readonly<Record<string, { readonly StringValue?: string | undefined }>>;

const queuesFor = (prefix: string, nodes: 'nodes' | 'nodes.fifo') => {
  const { sqs, server, queue } = services;
  const names = {
    nodes: `${prefix}-${nodes}`,
    code: `${prefix}-code.fifo`,
    delays: `${prefix}-delays`,
    results: `${prefix}-results.fifo`,
  };
  const urls = { nodes: queue(names.nodes), code: queue(names.code), delays: queue(names.delays), results: queue(names.results) };
  const hopsOf = new WeakMap<object, number>();
  const received = <Message extends object>(message: Message, attributes: Attributes = {}): Message => {
    hopsOf.set(message, parseHops(attributes[hopsAttribute]?.StringValue));
    return message;
  };
  const takeAll = async <Message extends object>(url: string, parse: (body: string) => Message): Promise<readonly Message[]> => {
    const taken: Message[] = [];
    for (;;) {
      const request = { QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] };
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(request));
      if (Messages.length === 0) return taken;
      for (const { Body = '', ReceiptHandle, MessageAttributes } of Messages) {
        taken.push(received(parse(Body), MessageAttributes));
        await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
      }
    }
  };
  const lying = (name: string) => {
    const messages = server.inspectQueue(name)?.messages;
    return [...(messages?.ready ?? []), ...(messages?.delayed ?? [])];
  };
  const port: QueuesUnderTest = {
    jobs: new SqsJobs(sqs, urls),
    takeSent: async () => (await takeAll(urls.nodes, parseJob)).filter((job) => job.kind === 'node'),
    takeTogether: async () =>
      takeAll(urls.nodes, (body) => {
        const together = parseTogether(body);
        if (together === undefined) throw new Error(`the message has one job: ${body}`);
        return together;
      }),
    takeForCode: async () =>
      (await takeAll(urls.code, parseJob)).filter((job) => job.kind === 'message' || job.kind === 'workflow_task'),
    delayed: async () =>
      lying(names.delays).map(({ body, delayUntil, sentTimestamp, messageAttributes }) => ({
        job: received(parseJob(body), messageAttributes),
        delaySeconds: Math.round(((delayUntil ?? sentTimestamp) - sentTimestamp) / 1_000),
      })),
    takeResults: async () => takeAll(urls.results, parseResult),
    hopsOf: (message) => hopsOf.get(message) ?? NaN,
  };
  return { port, close, lying: { nodes: () => lying(names.nodes), results: () => lying(names.results) } };
};

jobsSuite({ name: 'SQS, node jobs on a FIFO queue', open: async () => queuesFor('suite', 'nodes.fifo') });
jobsSuite({ name: 'SQS, node jobs on a standard queue', open: async () => queuesFor('suite', 'nodes') });

workQueueSuite({
  name: 'SQS',
  open: async () => {
    const { sqs, queue } = services;
    const url = queue('work.fifo');
    const send = async (group: string, body: string, hops?: number): Promise<void> => {
      const attributes = { [hopsAttribute]: { DataType: 'Number', StringValue: String(hops) } };
      const of = {
        MessageGroupId: group,
        MessageDeduplicationId: `${group}-${body}`,
        ...(hops === undefined ? {} : { MessageAttributes: attributes }),
      };
      await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, ...of }));
    };
    const advance = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));
    return { port: { queue: new SqsWorkQueue({ client: sqs, longPollClient: sqs }, url), send, advance }, close };
  },
});

deadLettersSuite({
  name: 'SQS',
  open: async () => {
    const urls = { standard: services.queue('letters'), fifo: services.queue('letters.fifo') };
    const taken = async (QueueUrl: string) => {
      const request = {
        QueueUrl,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All' as const],
      };
      const { Messages = [] } = await services.sqs.send(new ReceiveMessageCommand(request));
      for (const { ReceiptHandle } of Messages) await services.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      return Messages.map(({ Body = '', MessageAttributes = {}, Attributes }) => ({
        body: Body,
        groupId: Attributes?.MessageGroupId,
        attributes: Object.fromEntries(
          Object.entries(MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
            name,
            [DataType, StringValue ?? Buffer.from(BinaryValue ?? []).toString('base64')],
          ]),
        ),
      }));
    };
    return { port: { letters: new SqsDeadLetters(services.sqs), urls, taken }, close };
  },
});

watchesSuite({
  name: 'SQS',
  open: async () => {
    const url = services.queue('watches.fifo');
    const hopsOf = new WeakMap<object, number>();
    const taken = async () => {
      const request = { QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: [hopsAttribute] };
      const { Messages = [] } = await services.sqs.send(new ReceiveMessageCommand(request));
      for (const { ReceiptHandle } of Messages)
        await services.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
      return Messages.flatMap(({ Body = '', MessageAttributes = {} }) => {
        const watch = parseWatch(Body);
        if (watch === undefined) return [];
        hopsOf.set(watch, parseHops(MessageAttributes[hopsAttribute]?.StringValue));
        return watch;
      });
    };
    return { port: { watches: new SqsWatches(services.sqs, url), taken, hopsOf: (watch) => hopsOf.get(watch) ?? NaN }, close };
  },
});

test('watches of a run share a group, and runs with the same id in two projects have two', async () => {
  const watches = new SqsWatches(services.sqs, services.queue('grouped-watches.fifo'));
  const ids = new MemoryIds(9);
  const run = freshRun();
  for (const each of [run, run, { ...run, projectId: projectId('another') }])
    await watches.send({ run: each, broadcastId: ids.nonce() });
  const groups = services.server.inspectQueue('grouped-watches.fifo')?.messages.ready.map(({ messageGroupId }) => messageGroupId);
  expect(groups?.map((group) => groups.indexOf(group))).toEqual([0, 0, 2]);
});

const artifactsInS3 = () => new S3Artifacts(services.s3, 'payloads-bucket', new MemoryClock(noon));
artifactsSuite({
  name: 'S3',
  open: async () => ({
    port: {
      artifacts: artifactsInS3(),
      upload: async ({ url, headers }, content) => {
        const answer = await fetch(url, { method: 'PUT', headers, body: Buffer.from(content) });
        expect([answer.status, await answer.text()]).toEqual([200, '']);
      },
    },
    close,
  }),
});

test('a presigned upload signs the length and the digest as headers, until its expiry', async () => {
  const name = artifactNameFor(new Uint8Array([1, 2, 3]));
  const { url, headers } = await artifactsInS3().presignUpload(name, 3, after(noon, minutes(15)));
  const { pathname, searchParams } = new URL(url);
  const { projectId, environment } = name.scope;
  expect(pathname).toMatch(new RegExp(`/artifacts/${projectId}/${environment}/dep_1/${name.sha256}\\.tgz$`));
  expect(Object.fromEntries(searchParams)).toMatchObject({
    'X-Amz-Expires': '900',
    'X-Amz-Date': '20260501T120000Z',
    'X-Amz-SignedHeaders': 'content-length;host;x-amz-checksum-sha256',
    'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
  });
  expect([...searchParams.keys()].filter((key) => /checksum/i.test(key))).toEqual([]);
  const digest = Buffer.from(name.sha256, 'hex').toString('base64');
  expect(headers).toEqual({ 'content-length': '3', 'x-amz-checksum-sha256': digest });
});

blobsSuite({ name: 'S3', open: async () => ({ port: new S3Blobs(services.s3, 'payloads-bucket', new SystemClock()), close }) });

uploadsSuite({
  name: 'S3',
  now: Date.now,
  open: async () => ({
    port: {
      blobs: new S3Blobs(services.s3, 'payloads-bucket', new SystemClock()),
      uploads: new S3Uploads(services.s3, 'payloads-bucket', new SystemClock()),
      send: async ({ url, headers }, content) => {
        const answer = await fetch(url, { method: 'PUT', headers, body: Buffer.from(content) });
        expect([answer.status, await answer.text()]).toEqual([200, '']);
      },
      fetch: async (url) => {
        const answer = await fetch(url);
        return answer.status === 404 ? undefined : new Uint8Array(await answer.arrayBuffer());
      },
    },
    close,
  }),
});

describe('message groups and deduplication', () => {
  test('a job that is sent twice is one message, and a redispatched job is another message in another group', async () => {
    const { port, lying } = queuesFor('duplicates', 'nodes.fifo');
    const job = nodeJob();
    await port.jobs.send([job]);
    await port.jobs.send([job]);
    expect(lying.nodes()).toHaveLength(1);
    await port.jobs.send([{ ...job, resend: 1 }]);
    expect(lying.nodes().map(({ messageGroupId }) => messageGroupId)).toEqual([
      `${job.run.runId}#fetch-1`,
      `${job.run.runId}#fetch-1#r1`,
    ]);
  });

  test('a result that is sent twice is one message in the group of its run', async () => {
    const { port, lying } = queuesFor('results', 'nodes.fifo');
    const result = resultOf();
    await port.jobs.sendResult(result);
    await port.jobs.sendResult({ ...result, endedAt: result.startedAt });
    expect(lying.results().map(({ messageGroupId }) => messageGroupId)).toEqual([result.run.runId]);
  });

  test('the end of a child run and the result of the attempt that called it are two messages', async () => {
    const { port, lying } = queuesFor('called', 'nodes.fifo');
    const { outcome: _outcome, startedAt: _from, endedAt: _to, printed: _printed, ...of } = resultOf();
    await port.jobs.sendResult({ ...resultOf(), ...of });
    const end = childResultOf(of);
    await port.jobs.sendResult(end);
    await port.jobs.sendResult(end);
    expect(lying.results().map(({ messageGroupId }) => messageGroupId)).toEqual([of.run.runId, of.run.runId]);
  });

  test('the longest node ids have valid groups', async () => {
    const { port } = queuesFor('long', 'nodes.fifo');
    const run = freshRun();
    const jobs = ['a', 'b'].map((last) => nodeJob({ run, nodeId: nodeId(`${'n'.repeat(127)}${last}`), resend: 3 }));
    await port.jobs.send(jobs);
    expect(await port.takeSent()).toEqual(expect.arrayContaining(jobs));
  });

  test('a delayed job is not received before its time', async () => {
    const { port } = queuesFor('delays', 'nodes.fifo');
    await port.jobs.sendDelayed({ kind: 'recheck', run: freshRun() }, durationMs(60_000));
    expect(await port.delayed()).toEqual([expect.objectContaining({ delaySeconds: 60 })]);
  });
});
