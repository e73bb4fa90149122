/**
 * Where runs lie that another library's workers poll for: a log for each, which alone is the truth, and beside it what finds
 * them: reminders, a list, the waits for a signal. Those may be late, doubled or of yesterday; they are looked up in the log.
 */
import type { JsonValue } from '../engine/json.ts';
import type { ExternalEntry } from '../engine/external/entry.ts';
import type { NextCheck } from '../engine/external/fold.ts';
import type { ExternalRunId, StepAttemptId } from '../engine/external/ids.ts';
import type { ExternalStatus } from '../engine/external/run.ts';
import type { Instant } from '../engine/time.ts';

/** Namespaces share nothing. */
export interface ExternalRunAddress {
  readonly namespaceId: string;
  readonly runId: ExternalRunId;
}

/** Somebody must look at the run then. Two with the same time, run and nonce are one. */
export interface Reminder extends NextCheck {
  readonly runId: ExternalRunId;
  readonly isPending: boolean;
  readonly availableAt: Instant;
  readonly endOfLife: Instant;
  readonly createdAt: Instant;
  /** how often it was put off, because the entry that it belongs to was not there */
  readonly deferrals: number;
}

/** A run as the list has it. */
export interface Listing {
  readonly runId: ExternalRunId;
  readonly createdAt: Instant;
  readonly workflowName: string;
  readonly status: ExternalStatus;
  /** the number of the last fact */
  readonly asOf: number;
}

export type ListingPosition = Pick<Listing, 'createdAt' | 'runId'>;

export interface ListingPage {
  /** only what comes behind it, in the order that is asked for */
  readonly from?: ListingPosition;
  readonly order: 'newest first' | 'oldest first';
  readonly limit: number;
}

/** Whose run an idempotency key stands for. */
export interface KeyReservation {
  readonly runId: ExternalRunId;
  readonly at: Instant;
}

export type KeyReservationResult = { readonly kind: 'reserved' } | { readonly kind: 'taken'; readonly by: KeyReservation };

/** A run may wait for the signal, since the fact of that number. */
export interface SignalWaiter {
  readonly runId: ExternalRunId;
  readonly since: number;
}

/** A signal that is sent under a key: whom it is meant for, and once it is through, whom it has reached. */
export interface Sending {
  readonly data: JsonValue;
  readonly targets: readonly { readonly runId: ExternalRunId; readonly waits: readonly StepAttemptId[] }[];
  readonly reached?: readonly ExternalRunId[];
}

export interface ExternalRuns {
  /** The entries behind the fact of that number, which is the last of its entry, strongly read, in their order, up to the first gap. */
  entries(run: ExternalRunAddress, after: number): Promise<readonly ExternalEntry[]>;
  /** `written` too where it stands there already. */
  append(run: ExternalRunAddress, entry: ExternalEntry, retainUntil: Instant): Promise<'written' | 'taken'>;

  addReminder(namespaceId: string, reminder: Reminder, retainUntil: Instant): Promise<void>;
  /** Those that are due: at least the earliest `limit` of them, strongly read, in no order. */
  reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]>;
  deleteReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void>;

  /** An older state of the run changes nothing. */
  putListing(namespaceId: string, listing: Listing, retainUntil: Instant): Promise<void>;
  /** By the time of creation and the id. */
  listings(namespaceId: string, page: ListingPage): Promise<readonly Listing[]>;

  /** The key is the run's, unless another has held it since `notBefore`. */
  reserveKey(
    namespaceId: string,
    key: string,
    reservation: KeyReservation,
    notBefore: Instant,
    retainUntil: Instant,
  ): Promise<KeyReservationResult>;

  /** Once more from a later entry on changes the number. */
  addWaiter(namespaceId: string, signal: string, waiter: SignalWaiter, retainUntil: Instant): Promise<void>;
  waiters(namespaceId: string, signal: string): Promise<readonly SignalWaiter[]>;
  /** Drops it, unless the run waits since a later entry. */
  deleteWaiter(namespaceId: string, signal: string, waiter: SignalWaiter): Promise<void>;

  sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined>;
  /** The first stands. */
  beginSending(namespaceId: string, signal: string, key: string, sending: Sending, retainUntil: Instant): Promise<Sending>;
  endSending(namespaceId: string, signal: string, key: string, reached: readonly ExternalRunId[]): Promise<void>;
  deleteSending(namespaceId: string, signal: string, key: string): Promise<void>;
}
