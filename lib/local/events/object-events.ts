/**
 * The events that S3 sends to the default bus for a bucket with EventBridge notifications
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html).
 */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { arns, awsEnvironment } from '../aws-environment.ts';
import type { ObjectEvents } from '../aws/s3.ts';
import { defined } from '../../base/defined.ts';
import type { BusEvent } from './bus-event.ts';
import { bucketNotificationsType } from '../template/resource-types.ts';
import { inNoStack, type Resource, type Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';

/** The flag is optional in CloudFormation, and its default is true. */
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]).default(true);
const notificationShape = z.strictObject({
  EventBridgeConfiguration: z.strictObject({ EventBridgeEnabled: flag }).optional(),
});

/** Whether the configuration sends events to EventBridge. */
function notifiesEventBridge({ logicalId, properties }: Resource): boolean {
  const parsed = notificationShape.safeParse(properties['NotificationConfiguration'] ?? {});
  if (!parsed.success)
    throw new TemplateError(
      `${logicalId}: the embedded cloud implements notifications to EventBridge and no others: ${z.prettifyError(parsed.error)}`,
    );
  return parsed.data.EventBridgeConfiguration?.EventBridgeEnabled === true;
}

/** The names of the buckets whose events S3 sends to EventBridge, by their own property or by the CDK's custom resource. */
export function readNotifyingBuckets(template: Template): ReadonlySet<string> {
  const buckets = template.of('AWS::S3::Bucket');
  const names = new Set(buckets.filter(notifiesEventBridge).map(({ name }) => name));
  for (const resource of template.of(bucketNotificationsType)) {
    const bucketName = String(resource.properties['BucketName']);
    if (!buckets.some(({ name }) => name === bucketName)) throw inNoStack(resource, 'the bucket', bucketName);
    if (notifiesEventBridge(resource)) names.add(bucketName);
  }
  return names;
}

/** Sequencers of one object grow from event to event, over restarts too. Hexadecimal: the milliseconds, then a counter. */
function createSequencer(now: () => number): () => string {
  let last = 0n;
  return () => {
    const current = BigInt(now()) << 16n;
    last = current > last ? current : last + 1n;
    return last.toString(16).toUpperCase().padStart(18, '0');
  };
}

export function createObjectEvents(
  notifyingBuckets: ReadonlySet<string>,
  publish: (event: Omit<BusEvent, 'id' | 'bus' | 'at'>) => Promise<void>,
  now: () => number = Date.now,
): ObjectEvents {
  const nextSequencer = createSequencer(now);
  return {
    notifies: (bucket) => notifyingBuckets.has(bucket),
    async send({ bucket, key, size, etag, reason }) {
      const isDeletion = reason === 'DeleteObject';
      await publish({
        source: 'aws.s3',
        detailType: isDeletion ? 'Object Deleted' : 'Object Created',
        resources: [arns.bucket(bucket)],
        detail: defined({
          version: '0',
          bucket: { name: bucket },
          object: defined({ key, size, etag, sequencer: nextSequencer() }),
          'request-id': randomBytes(8).toString('hex').toUpperCase(),
          requester: awsEnvironment.account,
          // The gateway listens on this address only.
          'source-ip-address': '127.0.0.1',
          reason,
          'deletion-type': isDeletion ? 'Permanently Deleted' : undefined,
        }),
      });
    },
  };
}
