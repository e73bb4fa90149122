/** The hops of an SQS message: a message attribute, omitted for 0 hops. */
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { hopsAttribute } from '../codec/jobs.ts';
import type { Hops } from '../engine/hops.ts';

export const withHops = (hops: Hops): { MessageAttributes?: Record<string, MessageAttributeValue> } =>
  hops === 0 ? {} : { MessageAttributes: { [hopsAttribute]: { DataType: 'Number', StringValue: String(hops) } } };
