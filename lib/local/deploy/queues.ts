/** Creates missing queues and buckets. Existing queues get the template's attributes and keep their messages. */
import type { Fauxqs } from '../emulators/fauxqs.ts';
import type { Template } from '../template/template.ts';

const attributeNames = (
  'FifoQueue ContentBasedDeduplication DeduplicationScope FifoThroughputLimit ' +
  'DelaySeconds MaximumMessageSize MessageRetentionPeriod ReceiveMessageWaitTimeSeconds VisibilityTimeout RedrivePolicy'
).split(' ');

/** Attributes are text; a policy is JSON text. */
function queueAttributes(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const name of attributeNames) {
    const value = properties[name];
    if (value === undefined) continue;
    attributes[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return attributes;
}

export function deployQueuesAndBuckets(template: Template, fauxqs: Fauxqs): void {
  for (const { name, properties } of template.of('AWS::SQS::Queue')) fauxqs.ensureQueue(name, queueAttributes(properties));
  for (const { name } of template.of('AWS::S3::Bucket')) fauxqs.ensureBucket(name);
}
