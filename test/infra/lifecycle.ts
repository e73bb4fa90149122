/**
 * When S3 deletes an object by the rules of a template. From
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/intro-lifecycle-rules.html and lifecycle-conflicts.html: the days are added to
 * the creation time and rounded up to the next midnight UTC. Of several rules, the earliest deletion counts.
 */
import * as z from 'zod';
import { type Instant, days, instant } from '../../lib/engine/time.ts';

const rule = z.strictObject({
  Id: z.string().min(1).max(255),
  Status: z.enum(['Enabled', 'Disabled']),
  Prefix: z.string().default(''),
  TagFilters: z.array(z.strictObject({ Key: z.string(), Value: z.string() })).default([]),
  ExpirationInDays: z.number().int().min(1).optional(),
  AbortIncompleteMultipartUpload: z.unknown().optional(),
});
export type LifecycleRule = z.output<typeof rule>;

/** The lifecycle rules of a bucket in a template. */
export const lifecycleRules = (bucket: Readonly<Record<string, unknown>> | undefined): readonly LifecycleRule[] =>
  z.looseObject({ LifecycleConfiguration: z.strictObject({ Rules: z.array(rule) }) }).parse(bucket).LifecycleConfiguration.Rules;

export interface StoredObject {
  readonly key: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: Instant;
}

/** undefined: never deleted */
export function deletedAt(rules: readonly LifecycleRule[], { key, tags, createdAt }: StoredObject): Instant | undefined {
  const fitting = rules.filter(
    ({ Status, Prefix, TagFilters }) =>
      Status === 'Enabled' && key.startsWith(Prefix) && TagFilters.every(({ Key, Value }) => tags[Key] === Value),
  );
  const times = fitting.flatMap(({ ExpirationInDays }) =>
    ExpirationInDays === undefined ? [] : [(Math.floor(createdAt / days(1)) + ExpirationInDays + 1) * days(1)],
  );
  return times.length === 0 ? undefined : instant(Math.min(...times));
}
