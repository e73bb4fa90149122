/**
 * The name of one bulk of reruns. It carries when the bulk began, by the service's clock: repeated under the same name it
 * takes the same runs, and not those that it made itself; and each rerun's idempotency key follows from it.
 */
import { usageError } from '../command.ts';

/** The service keeps idempotency keys for a day. */
const idempotencyRetentionMs = 86_400_000;

const pattern = /^bulk_([0-9a-z]{8,9})_[0-9a-z]{12}$/;

/** @param newId a UUID */
export const newBulkId = (startedAt: number, newId: string): string =>
  `bulk_${startedAt.toString(36)}_${newId.replaceAll('-', '').slice(0, 12)}`;

/** @throws CliError for what is none, and for one whose keys the service has forgotten */
export function bulkStartTime(bulkId: string, now: number): number {
  const startedAt = Number.parseInt(pattern.exec(bulkId)?.[1] ?? '', 36);
  if (Number.isNaN(startedAt)) throw usageError(`--bulk-id must be one that a bulk printed, and is '${bulkId}'.`);
  if (now - startedAt >= idempotencyRetentionMs)
    throw usageError(`${bulkId} is more than a day old: the service no longer knows which runs it ran again.`);
  return startedAt;
}

export const rerunIdempotencyKey = (bulkId: string, runId: string): string => `${bulkId}:${runId}`;
