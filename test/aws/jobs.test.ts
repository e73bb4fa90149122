/** Batches that fail partly, over HTTP as with SQS. */
import { createHash } from 'node:crypto';
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { SqsJobs } from '../../lib/aws/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { testCredentials } from '../contract/emulators/dynamo.ts';
import { type Recorded, type Recorder, startRecorder } from '../contract/emulators/recorder.ts';
import { nodeJob } from '../contract/jobs.suite.ts';

const batch = z.object({ Entries: z.array(z.looseObject({ Id: z.string(), MessageBody: z.string() })) });
const entriesIn = ({ body }: Recorded) => batch.parse(JSON.parse(body)).Entries;
const idsIn = (request: Recorded) => entriesIn(request).map(({ Id }) => Id);

/** The entries that fail, by request. */
let failing: (id: string, request: number) => 'service' | 'sender' | undefined;
let recorder: Recorder;
let jobs: SqsJobs;
let onStandardQueue: SqsJobs;
beforeEach(async () => {
  recorder = await startRecorder((request) => {
    const entries = entriesIn(request);
    const failure = (id: string) => failing(id, recorder.requests.length - 1);
    const failed = entries.filter(({ Id }) => failure(Id) !== undefined);
    return {
      status: 200,
      body: {
        Successful: entries
          .filter((entry) => !failed.includes(entry))
          .map(({ Id, MessageBody }) => ({
            Id,
            MessageId: `m${Id}`,
            MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
          })),
        Failed: failed.map(({ Id }) => ({ Id, Code: 'InternalError', Message: 'no', SenderFault: failure(Id) === 'sender' })),
      },
    };
  });
  const url = (name: string) => `${recorder.endpoint}/000000000000/${name}`;
  const client = new SQSClient({ endpoint: recorder.endpoint, region: 'eu-central-1', credentials: testCredentials });
  const others = { code: url('code.fifo'), delays: url('delays'), results: url('results.fifo') };
  jobs = new SqsJobs(client, { nodes: url('nodes.fifo'), ...others });
  onStandardQueue = new SqsJobs(client, { nodes: url('nodes'), ...others });
});
afterEach(() => recorder.close());

const send = (count: number) => jobs.send(Array.from({ length: count }, () => nodeJob()));

test('a request has at most ten jobs', async () => {
  failing = () => undefined;
  await send(23);
  expect(recorder.requests.map((request) => idsIn(request).length).toSorted((one, other) => one - other)).toEqual([3, 10, 10]);
});

test('messages to a FIFO queue have a group and a deduplication id, and messages to a standard queue do not', async () => {
  failing = () => undefined;
  await jobs.send([nodeJob()]);
  await onStandardQueue.send([nodeJob()]);
  const [fifo, standard] = recorder.requests.map((request) => Object.keys(entriesIn(request)[0] ?? {}).toSorted());
  expect(fifo).toEqual(['Id', 'MessageBody', 'MessageDeduplicationId', 'MessageGroupId']);
  expect(standard).toEqual(['Id', 'MessageBody']);
});

test('only the failed messages of a batch are sent again', async () => {
  failing = (id, request) => (request === 0 && ['2', '5'].includes(id) ? 'service' : undefined);
  await send(7);
  expect(recorder.requests.map(idsIn)).toEqual([
    ['0', '1', '2', '3', '4', '5', '6'],
    ['2', '5'],
  ]);
});

test('a message that fails twice is Unavailable', async () => {
  failing = (id) => (id === '1' ? 'service' : undefined);
  await expect(send(3)).rejects.toThrow(Unavailable);
  expect(recorder.requests).toHaveLength(2);
});

test('a message that SQS refuses is a permanent error', async () => {
  failing = (id) => (id === '1' ? 'sender' : undefined);
  const sending = send(3);
  await expect(sending).rejects.toThrow('a work queue refused a message: InternalError: no');
  await expect(sending).rejects.not.toThrow(Unavailable);
  expect(recorder.requests).toHaveLength(1);
});
