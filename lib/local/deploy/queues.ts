/** Creates queues and buckets that are missing; those that stand get the template's attributes and keep what is in them. */
import type { Fauxqs } from '../emulators/fauxqs.ts';
import type { Template } from '../template/template.ts';

const attributeNames = (
  'FifoQueue ContentBasedDeduplication DeduplicationScope FifoThroughputLimit ' +
  'DelaySeconds MaximumMessageSize MessageRetentionPeriod ReceiveMessageWaitTimeSeconds VisibilityTimeout RedrivePolicy'
).split(' ');

/** Attributes are text, and a policy is JSON. */
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
