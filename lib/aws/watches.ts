/** Watch messages on a FIFO queue, with a message group for each run. */
import { createHash } from 'node:crypto';
import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { watchBody } from '../codec/watches.ts';
import { type Hops, noHops } from '../engine/hops.ts';
import type { Watch, Watches } from '../ports/watches.ts';
import { withHops } from './message-hops.ts';
import { callService } from './call-service.ts';
import { runPartition } from './run-keys.ts';

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
      // Callers may choose run ids, so two projects may have the same one.
      MessageGroupId: createHash('sha256').update(runPartition(watch.run)).digest('base64url'),
      MessageDeduplicationId: watch.broadcastId,
    });
    await callService('the watch queue', () => this.#client.send(command));
  }
}
