/**
 * Where runs lie that another library's workers poll for: a log for each, which alone is the truth, and beside it what finds
 * them: reminders, a list, the waits for a signal. Those may be late, doubled or of yesterday; they are looked up in the log.
 */
import type { JsonValue } from '../engine/json.ts';
import type { PolledEntry } from '../engine/polled/entry.ts';
import type { Look } from '../engine/polled/fold.ts';
import type { PolledRunId, StepAttemptId } from '../engine/polled/ids.ts';
import type { PolledStatus } from '../engine/polled/run.ts';
import type { Instant } from '../engine/time.ts';

/** Namespaces share nothing. */
export interface PolledAddress {
  readonly namespaceId: string;
  readonly runId: PolledRunId;
}

/** Somebody must look at the run then. Two with the same time, run and nonce are one. */
export interface Reminder extends Look {
  readonly runId: PolledRunId;
  readonly isPending: boolean;
  readonly availableAt: Instant;
  readonly endOfLife: Instant;
  readonly createdAt: Instant;
  /** how often it was put off, because the entry that it belongs to was not there */
  readonly deferrals: number;
}

/** A run as the list has it. */
export interface Listing {
  readonly runId: PolledRunId;
  readonly createdAt: Instant;
  readonly workflowName: string;
  readonly status: PolledStatus;
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
export interface KeyHolder {
  readonly runId: PolledRunId;
  readonly at: Instant;
}

export type Holding = { readonly kind: 'held' } | { readonly kind: 'taken'; readonly by: KeyHolder };

/** A run may wait for the signal, since the fact of that number. */
export interface SignalWaiter {
  readonly runId: PolledRunId;
  readonly since: number;
}

/** A signal that is sent under a key: whom it is meant for, and once it is through, whom it has reached. */
export interface Sending {
  readonly data: JsonValue;
  readonly targets: readonly { readonly runId: PolledRunId; readonly waits: readonly StepAttemptId[] }[];
  readonly reached?: readonly PolledRunId[];
}

export interface PolledRuns {
  /** The entries behind the fact of that number, which is the last of its entry, strongly read, in their order, up to the first gap. */
  entries(run: PolledAddress, after: number): Promise<readonly PolledEntry[]>;
  /** `written` too where it stands there already. */
  append(run: PolledAddress, entry: PolledEntry, forgetAt: Instant): Promise<'written' | 'taken'>;

  remind(namespaceId: string, reminder: Reminder, forgetAt: Instant): Promise<void>;
  /** Those that are due: at least the earliest `limit` of them, strongly read, in no order. */
  reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]>;
  dropReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void>;

  /** An older state of the run changes nothing. */
  enlist(namespaceId: string, listing: Listing, forgetAt: Instant): Promise<void>;
  /** By the time of creation and the id. */
  listings(namespaceId: string, page: ListingPage): Promise<readonly Listing[]>;

  /** The key is the run's, unless another has held it since `notBefore`. */
  hold(namespaceId: string, key: string, holder: KeyHolder, notBefore: Instant, forgetAt: Instant): Promise<Holding>;

  /** Once more from a later entry on changes the number. */
  await(namespaceId: string, signal: string, waiter: SignalWaiter, forgetAt: Instant): Promise<void>;
  waiters(namespaceId: string, signal: string): Promise<readonly SignalWaiter[]>;
  /** Drops it, unless the run waits since a later entry. */
  dropWaiter(namespaceId: string, signal: string, waiter: SignalWaiter): Promise<void>;

  sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined>;
  /** The first stands. */
  beginSending(namespaceId: string, signal: string, key: string, sending: Sending, forgetAt: Instant): Promise<Sending>;
  endSending(namespaceId: string, signal: string, key: string, reached: readonly PolledRunId[]): Promise<void>;
  dropSending(namespaceId: string, signal: string, key: string): Promise<void>;
}
