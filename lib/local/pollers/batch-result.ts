/** Reads from a function's response which messages of a batch SQS must redeliver. */
import * as z from 'zod';
import type { Refused } from '../lambda/function.ts';
import type { InvokeOutcome } from '../lambda/thread.ts';

const resultShape = z
  .looseObject({ batchItemFailures: z.array(z.looseObject({ itemIdentifier: z.string().min(1) })).nullish() })
  .nullish();

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/**
 * The ids that failed. No report means success. A report of the wrong shape, or of a message that is not in the batch,
 * fails the whole batch: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function failedMessages(
  outcome: InvokeOutcome | Refused,
  batch: readonly string[],
  reportsFailures: boolean,
): ReadonlySet<string> {
  const everything = new Set(batch);
  if (outcome.kind !== 'returned') return everything;
  if (!reportsFailures) return new Set();
  const parsed = parse(outcome.payload);
  const result = parsed === undefined ? undefined : resultShape.safeParse(parsed.value);
  if (result?.success !== true) return everything;
  const failed = (result.data?.batchItemFailures ?? []).map(({ itemIdentifier }) => itemIdentifier);
  return failed.every((id) => everything.has(id)) ? new Set(failed) : everything;
}
