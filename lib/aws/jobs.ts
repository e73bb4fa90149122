/** Messages on SQS queues: jobs, results and watch messages. */
import {
  type BatchResultErrorEntry,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SQSClient,
  type MessageAttributeValue,
} from '@aws-sdk/client-sqs';
import { jobBody, resultBody, hopsAttribute, togetherBody } from '../codec/jobs.ts';
import { fireBody } from '../codec/schedules.ts';
import { watchBody } from '../codec/watches.ts';
import type { FairShares } from '../engine/fair-shares.ts';
import { type Hops, noHops } from '../engine/hops.ts';
import { invariant } from '../engine/invariant.ts';
import type { DurationMs } from '../engine/time.ts';
import {
  type Job,
  type Jobs,
  type JobsTogether,
  type NodeJob,
  type ResultMessage,
  type WorkJob,
  maxQueueDelayMs,
} from '../ports/jobs.ts';
import type { ScheduleFire } from '../ports/schedules.ts';
import type { Watch, Watches } from '../ports/sockets.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';
import {
  type MessageIdentity,
  codeJobIdentity,
  nodeJobIdentity,
  resultIdentity,
  togetherIdentity,
  watchIdentity,
} from './message-identity.ts';

export interface QueueUrls {
  readonly nodes: string;
  /** messages and workflow tasks for deployed code */
  readonly code: string;
  readonly delays: string;
  readonly results: string;
}

/** SQS's maximum number of messages in a batch. */
const batchSize = 10;

/** Jobs and results on SQS queues. */
export class SqsJobs implements Jobs {
  readonly #client: SQSClient;
  readonly #urls: QueueUrls;
  readonly #shares: () => FairShares | undefined;

  /** @param shares limits of each project's share of the workers, read with the first node job; default: no limits */
  constructor(client: SQSClient, urls: QueueUrls, shares: () => FairShares | undefined = () => undefined) {
    this.#client = client;
    this.#urls = urls;
    this.#shares = shares;
  }

  async send(jobs: readonly WorkJob[], hops: Hops = noHops): Promise<void> {
    const nodes = jobs.flatMap((job) => (job.kind === 'node' ? [{ job, identity: nodeJobIdentity(job, this.#shares()) }] : []));
    const forCode = jobs.flatMap((job) => {
      if (job.kind === 'node') return [];
      return [{ job, identity: codeJobIdentity(job) }];
    });
    if (nodes.length > 0) await this.#sendTo(this.#urls.nodes, nodes, hops);
    if (forCode.length > 0) await this.#sendTo(this.#urls.code, forCode, hops);
  }

  async sendTogether(jobs: readonly WorkJob[], hops: Hops = noHops): Promise<void> {
    const [first, ...rest] = jobs.filter(mayShareMessage);
    // A project whose share is limited has a group for each worker of its share, so its jobs are separate messages.
    if (first === undefined || rest.length === 0 || this.#shares()?.regular !== undefined) return this.send(jobs, hops);
    const together: JobsTogether = { jobs: [first, ...rest] };
    const others = jobs.filter((job) => !mayShareMessage(job));
    const command = new SendMessageCommand({
      QueueUrl: this.#urls.nodes,
      MessageBody: togetherBody(together),
      ...withHops(hops),
      ...onQueue(this.#urls.nodes, togetherIdentity(together)),
    });
    await Promise.all([callService('a work queue', () => this.#client.send(command)), this.send(others, hops)]);
  }

  async #sendTo(
    url: string,
    jobs: readonly { readonly job: Job; readonly identity: MessageIdentity }[],
    hops: Hops,
  ): Promise<void> {
    const entries = jobs.map(({ job, identity }, index) => ({
      Id: String(index),
      MessageBody: jobBody(job),
      ...withHops(hops),
      ...onQueue(url, identity),
    }));
    await Promise.all(batchesOf(entries).map((batch) => this.#sendAll(url, batch)));
  }

  async sendDelayed(job: Job, delay: DurationMs, hops: Hops = noHops): Promise<void> {
    invariant(delay <= maxQueueDelayMs, `the delay of a message is at most ${maxQueueDelayMs} ms, not ${delay}`);
    const command = new SendMessageCommand({
      QueueUrl: this.#urls.delays,
      MessageBody: jobBody(job),
      DelaySeconds: Math.ceil(delay / 1_000),
      ...withHops(hops),
    });
    await callService('the delay queue', () => this.#client.send(command));
  }

  async sendResult(result: ResultMessage, hops: Hops = noHops): Promise<void> {
    const command = new SendMessageCommand({
      QueueUrl: this.#urls.results,
      MessageBody: resultBody(result),
      ...withHops(hops),
      ...onQueue(this.#urls.results, resultIdentity(result)),
    });
    await callService('the results queue', () => this.#client.send(command));
  }

  async sendFire(fire: ScheduleFire): Promise<void> {
    const MessageBody = fireBody(fire, new Date(fire.scheduledAt).toISOString());
    await callService('the delay queue', () =>
      this.#client.send(new SendMessageCommand({ QueueUrl: this.#urls.delays, MessageBody })),
    );
  }

  /** A batch may fail partly. The failed messages are sent a second time. */
  async #sendAll(url: string, batch: readonly SendMessageBatchRequestEntry[]): Promise<void> {
    const failed = await this.#sendBatch(url, batch);
    if (failed.length === 0) return;
    const retried = batch.filter(({ Id }) => failed.some((failure) => failure.Id === Id));
    const failedAgain = await this.#sendBatch(url, retried);
    if (failedAgain.length > 0) throw new Unavailable('a work queue', { cause: failedAgain });
  }

  async #sendBatch(url: string, batch: readonly SendMessageBatchRequestEntry[]): Promise<readonly BatchResultErrorEntry[]> {
    const command = new SendMessageBatchCommand({ QueueUrl: url, Entries: [...batch] });
    const failed = (await callService('a work queue', () => this.#client.send(command))).Failed ?? [];
    const fault = failed.find(({ SenderFault }) => SenderFault);
    if (fault !== undefined) throw new Error(`a work queue refused a message: ${fault.Code}: ${fault.Message}`);
    return failed;
  }
}

/** Deployed code has a queue of its own, and the slow lane has groups of its own. */
const mayShareMessage = (job: WorkJob): job is NodeJob => job.kind === 'node' && job.slowLane === undefined;

/** Only a FIFO queue has groups. A standard queue delivers node jobs in any order, which is allowed. */
const onQueue = (url: string, identity: MessageIdentity) => (url.endsWith('.fifo') ? onFifoQueue(identity) : {});
const onFifoQueue = ({ group, deduplication }: MessageIdentity) => ({
  MessageGroupId: group,
  MessageDeduplicationId: deduplication,
});

const batchesOf = <Entry>(entries: readonly Entry[]): readonly (readonly Entry[])[] =>
  Array.from({ length: Math.ceil(entries.length / batchSize) }, (_, batch) =>
    entries.slice(batch * batchSize, (batch + 1) * batchSize),
  );

/** The hops of an SQS message: a message attribute, omitted for 0 hops. */
const withHops = (hops: Hops): { MessageAttributes?: Record<string, MessageAttributeValue> } =>
  hops === 0 ? {} : { MessageAttributes: { [hopsAttribute]: { DataType: 'Number', StringValue: String(hops) } } };

/** Watch messages on a FIFO queue, with a message group for each run. */
export class SqsWatches implements Watches {
  readonly #client: SQSClient;
  readonly #url: string;

  constructor(client: SQSClient, url: string) {
    this.#client = client;
    this.#url = url;
  }

  async send(watch: Watch, hops: Hops = noHops): Promise<void> {
    const command = new SendMessageCommand({
      QueueUrl: this.#url,
      MessageBody: watchBody(watch),
      ...withHops(hops),
      ...onFifoQueue(watchIdentity(watch)),
    });
    await callService('the watch queue', () => this.#client.send(command));
  }
}
