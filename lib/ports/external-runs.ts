/**
 * External-worker runs: runs that workers of another library poll for. Each run has a log, the only source of truth.
 * Reminders, the list and signal waiters only help to find runs. They may be late, duplicate or stale: check the log.
 */
import type { JsonValue } from '../engine/json.ts';
import type { ExternalEntry } from '../engine/external/entry.ts';
import type { NextCheck } from '../engine/external/fold.ts';
import type { ExternalRunId, StepAttemptId, ExternalStatus } from '../engine/external/run.ts';
import type { Failure } from '../engine/log/events.ts';
import type { Instant } from '../engine/time.ts';

/** Namespaces are isolated from each other. */
export interface ExternalRunAddress {
  readonly namespaceId: string;
  readonly runId: ExternalRunId;
}

/** A time at which the run must be checked. Reminders with the same time, run and nonce are the same reminder. */
export interface Reminder extends NextCheck {
  readonly runId: ExternalRunId;
  readonly isPending: boolean;
  readonly availableAt: Instant;
  readonly endOfLife: Instant;
  readonly createdAt: Instant;
  /** how often it was deferred because its log entry was not there yet */
  readonly deferrals: number;
}

/** A run as lists show it. */
export interface Listing {
  readonly runId: ExternalRunId;
  readonly createdAt: Instant;
  readonly workflowName: string;
  readonly version: string | null;
  readonly status: ExternalStatus;
  /** when the run fails if it has not ended */
  readonly deadlineAt: Instant;
  /** of a pending run: when a worker may claim it */
  readonly availableAt?: Instant;
  readonly endedAt?: Instant;
  /** of the failed run, or of the last failure of a pending one; the message is bounded */
  readonly error?: Pick<Failure, 'code' | 'message'>;
  /** the step attempt that called it */
  readonly parent?: string;
  /** the number of the last fact that this state includes */
  readonly asOf: number;
}

export type ListingPosition = Pick<Listing, 'createdAt' | 'runId'>;

export interface ListingPage {
  /** only runs after this position, in the given order */
  readonly from?: ListingPosition;
  readonly order: 'newest first' | 'oldest first';
  readonly limit: number;
}

/** The run that an idempotency key belongs to. */
export interface KeyReservation {
  readonly runId: ExternalRunId;
  readonly at: Instant;
}

export type KeyReservationResult = { readonly kind: 'reserved' } | { readonly kind: 'taken'; readonly by: KeyReservation };

/** A run that may wait for the signal. `since` is the number of the fact with which the wait began. */
export interface SignalWaiter {
  readonly runId: ExternalRunId;
  readonly since: number;
}

/** A signal that is sent under an idempotency key: its target runs and, after the delivery, the runs that it reached. */
export interface Sending {
  readonly data: JsonValue;
  readonly targets: readonly { readonly runId: ExternalRunId; readonly waits: readonly StepAttemptId[] }[];
  readonly reached?: readonly ExternalRunId[];
}

export interface ExternalLogs {
  /** The entries after the fact `after` (the last fact of its entry), in order, up to the first gap. Strongly consistent. */
  entries(run: ExternalRunAddress, after: number): Promise<readonly ExternalEntry[]>;
}

export interface ExternalRuns extends ExternalLogs {
  /** Writes the entry if its number is free. Also `written` if this entry was written before. */
  append(run: ExternalRunAddress, entry: ExternalEntry, retainUntil: Instant): Promise<'written' | 'taken'>;

  addReminder(namespaceId: string, reminder: Reminder, retainUntil: Instant): Promise<void>;
  /** Due reminders, unordered, with at least the earliest `limit` of them. Strongly consistent. */
  reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]>;
  deleteReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void>;

  /** Ignores an older state of the run. */
  putListing(namespaceId: string, listing: Listing, retainUntil: Instant): Promise<void>;
  /** Ordered by creation time and id. */
  listings(namespaceId: string, page: ListingPage): Promise<readonly Listing[]>;

  /** Reserves the key, unless a run reserved it at or after `notBefore`. */
  reserveKey(
    namespaceId: string,
    key: string,
    reservation: KeyReservation,
    notBefore: Instant,
    retainUntil: Instant,
  ): Promise<KeyReservationResult>;

  /** A later `since` replaces an earlier one. */
  addWaiter(namespaceId: string, signal: string, waiter: SignalWaiter, retainUntil: Instant): Promise<void>;
  waiters(namespaceId: string, signal: string): Promise<readonly SignalWaiter[]>;
  /** Deletes the waiter, unless the run waits since a later fact. */
  deleteWaiter(namespaceId: string, signal: string, waiter: SignalWaiter): Promise<void>;

  sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined>;
  /** Stores the sending under its key and returns it; returns the stored one if the key has one already. */
  beginSending(namespaceId: string, signal: string, key: string, sending: Sending, retainUntil: Instant): Promise<Sending>;
  endSending(namespaceId: string, signal: string, key: string, reached: readonly ExternalRunId[]): Promise<void>;
  deleteSending(namespaceId: string, signal: string, key: string): Promise<void>;
}
