/**
 * Checks notifications and responses: the end of a child run that its parent receives, the runs and cancels that a client's
 * responses report, the status changes on the event bus, and the number of resends to workers.
 */
import { type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import type { RunEvents } from '../../lib/engine/run-events.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { RunStatusNotice } from '../../lib/ports/notices.ts';
import type { Heartbeat } from '../../lib/engine/log/heartbeat-timeout.ts';
import type { Checker } from './checker.ts';
import { runInvariant } from './violation.ts';

/** The documented meaning of the setting `runEvents`, without the product's code. */
const busStatuses: Readonly<Record<RunEvents, readonly string[]>> = {
  none: [],
  failed: ['failed'],
  ended: ['completed', 'failed', 'cancelled'],
  all: ['running', 'completed', 'failed', 'cancelled'],
};
const ends: Readonly<Partial<Record<RunEvent['type'], string>>> = {
  RUN_COMPLETED: 'completed',
  RUN_FAILED: 'failed',
  RUN_TIMED_OUT: 'failed',
  RUN_CANCELLED: 'cancelled',
};

/** What engine/log/silence.ts says of patience, with what clocks and queues may take from it. */
const firstPatienceMs = 100_000;
const longestPatienceMs = 3_600_000;
/** A heartbeat written during a check may be too late for it; it has the time from before it was written. */
const lookMs = 10_000;

export class NotificationChecker {
  readonly #wrongClockMs: number;
  readonly #checker: Pick<Checker, 'endOf' | 'stateOf' | 'runs'>;
  readonly #askedOfBus: readonly string[];
  /** by run: the ends that its log had, more than one after a resume */
  readonly #ends = new Map<string, Set<string>>();
  /** by run: the statuses on the bus */
  readonly #onBus = new Map<string, Set<string>>();
  readonly #calls = new Map<string, string>();
  /** by attempt: the resends since its last delivery */
  readonly #undelivered = new Map<string, Set<number>>();
  readonly #keys = new Map<number, Set<string>>();
  readonly #started = new Map<number, number>();
  /** by run: the client in its input */
  readonly #clientOf = new Map<string, number>();
  /** by run with a successful cancel response: whether it was already failing and being rolled back */
  readonly #cancelled = new Map<string, boolean>();
  /** by code run in rollback: its status after the rollback */
  readonly #endings = new Map<string, string>();
  /** by failed run: the code of its error */
  readonly #failedBy = new Map<string, string | undefined>();
  /** by attempt: the time in its commit, from which the product counts. A throttled store takes the commit later. */
  readonly #askedAt = new Map<string, number>();
  /** by node: the time of its last heartbeat */
  readonly #signedAt = new Map<string, number>();

  /**
   * @param checker knows the ends of runs from their logs
   * @param runEvents what the owner asked the bus for
   */
  constructor(areClocksRight: boolean, checker: Pick<Checker, 'endOf' | 'stateOf' | 'runs'>, runEvents: RunEvents) {
    this.#askedOfBus = busStatuses[runEvents];
    this.#wrongClockMs = areClocksRight ? 0 : 180_000;
    this.#checker = checker;
  }

  committed({ runId }: RunAddress, { number, at, events }: Commit): void {
    for (const event of events) {
      if (number === 1 && event.type === 'INPUT_SET') this.#starts(runId, event.input);
      const end = ends[event.type];
      if (end !== undefined) this.#ends.set(runId, (this.#ends.get(runId) ?? new Set()).add(end));
      if (event.type === 'ROLLBACK_STARTED') this.#endings.set(runId, event.runOutcome.status);
      if (event.type === 'RUN_FAILED' || event.type === 'RUN_TIMED_OUT') this.#failedBy.set(runId, event.error.code);
      if (!('nodeId' in event)) continue;
      const node = `${runId}/${nodeKey(event)}`;
      if (event.type === 'SUBFLOW_CALLED') this.#calls.set(node, event.childRunId);
      if (event.type === 'NODE_DISPATCHED') this.#askedAt.set(`${node}#${event.attempt}`, at);
      if (event.type === 'NODE_RETRIED') this.#askedAt.set(`${node}#${event.attempt + 1}`, at);
      const child = this.#calls.get(node);
      if (child !== undefined && event.type === 'NODE_COMPLETED') this.#tells(node, child, 'completed');
      if (event.type !== 'NODE_FAILED' && event.type !== 'NODE_RETRIED') continue;
      const { code } = event.failure;
      if (child !== undefined && code === 'subflow_failed') this.#tells(node, child, 'failed');
      if (child !== undefined && code === 'subflow_cancelled') this.#tells(node, child, 'cancelled');
    }
  }

  /** A worker received the job and may start its attempt; from then on its heartbeats determine the timeout. */
  delivered(job: Job, isRedelivered: boolean): void {
    // A first delivery records nothing: only heartbeats show whether its worker is running.
    if ((job.kind === 'node' || job.kind === 'workflow_task') && (isRedelivered || job.resend > 0))
      this.#undelivered.delete(`${job.run.runId}/${nodeKey(job)}#${job.attempt}`);
  }

  signed({ runId }: RunAddress, { node }: Heartbeat, now: number): void {
    this.#signedAt.set(`${runId}/${node}`, now);
  }

  /** A job was sent again. The wait grows with each resend without a delivery; after a delivery it is at least 100 s. */
  sent(job: Job, now: number): void {
    if (job.kind !== 'node' && job.kind !== 'workflow_task') return;
    // With wrong clocks, a heartbeat of the previous attempt counts for this one.
    const since = this.#wrongClockMs === 0 ? job.attempt : 1;
    const name = `${job.run.runId}/${nodeKey(job)}`;
    const askedAt = this.#askedAt.get(`${name}#${since}`);
    if (askedAt === undefined || job.resend === 0) return;
    const signedAt = this.#signedAt.get(name);
    const silentMs = signedAt === undefined ? Infinity : now - signedAt;
    runInvariant(
      5,
      this.#wrongClockMs > 0 || silentMs <= lookMs || silentMs >= firstPatienceMs - lookMs,
      `${name} was resent (number ${job.resend}) ${silentMs} ms after its last heartbeat`,
    );
    // Concurrent checks send it with one deduplication id.
    const undelivered = this.#undelivered.get(`${name}#${job.attempt}`) ?? new Set<number>();
    this.#undelivered.set(`${name}#${job.attempt}`, undelivered.add(job.resend));
    const sends = undelivered.size - 1;
    const leastMs = firstPatienceMs * job.resend;
    const waitedMs = now - askedAt + this.#wrongClockMs * job.resend;
    runInvariant(5, waitedMs >= leastMs, `${name} was resent (number ${job.resend}) after ${now - askedAt} ms`);
    let undeliveredMs = 0;
    for (let send = 0; send < sends; send += 1) undeliveredMs += Math.min(longestPatienceMs, firstPatienceMs * 2 ** send);
    runInvariant(5, waitedMs >= undeliveredMs, `${name} was resent ${sends} times within ${waitedMs} ms and never delivered`);
  }

  /** The event bus accepted a status change. */
  published({ run: { runId }, status, endedAt }: RunStatusNotice): void {
    runInvariant(3, this.#askedOfBus.includes(status), `${runId} was published as ${status}, which the owner did not ask for`);
    // A run of the Workflow DevKit ends by an event of its own, and is never resumed.
    const hasEnded = this.#ends.get(runId)?.has(status) === true || this.#checker.endOf(runId) === status;
    const isTrue = endedAt === undefined ? status === 'running' : hasEnded;
    runInvariant(3, isTrue, `${runId} was published as ${status}, which its log never was`);
    this.#onBus.set(runId, (this.#onBus.get(runId) ?? new Set()).add(status));
  }

  asked(client: number, key: string): void {
    this.#keys.set(client, (this.#keys.get(client) ?? new Set()).add(key));
  }

  /** A client got the response that this is its run. */
  toldStarted(client: number, runId: string): void {
    const actual = this.#clientOf.get(runId);
    runInvariant(9, (actual ?? client) === client, `client ${client} received ${runId}, the run of client ${actual}`);
  }

  /** A client got the response that its run is cancelled. */
  toldCancelled(runId: string): void {
    const ending = this.#endings.get(runId);
    const end = this.#checker.endOf(runId);
    runInvariant(7, end === 'cancelled' || ending !== undefined, `${runId} was reported as cancelled but is ${end ?? 'open'}`);
    if (!this.#cancelled.has(runId)) this.#cancelled.set(runId, ending !== undefined && ending !== 'cancelled');
  }

  /** A client got the response that its run cannot be cancelled because it has ended with this status. */
  toldEnded(runId: string, status: string): void {
    const end = this.#checker.endOf(runId);
    runInvariant(7, end === status, `the cancel response reported ${runId} as ${status}, but it is ${end ?? 'open'}`);
  }

  check(): void {
    for (const { address } of this.#checker.runs) {
      const end = this.#checker.endOf(address.runId);
      const isAsked = end !== undefined && this.#askedOfBus.includes(end);
      const isOnBus = end !== undefined && this.#onBus.get(address.runId)?.has(end) === true;
      runInvariant(5, isOnBus || !isAsked, `${address.runId} ended as ${end}, which the owner asked for and was never published`);
    }
    for (const [client, runs] of this.#started) {
      const keys = this.#keys.get(client)?.size ?? 0;
      runInvariant(9, runs <= keys, `client ${client} used ${keys} idempotency keys, but ${runs} runs exist`);
    }
    for (const [runId, wasFailing] of this.#cancelled) {
      const end = this.#checker.endOf(runId);
      // A run fails if its rollback fails, or if it was already failing at the cancel.
      const hasFailed = end === 'failed' && (wasFailing || this.#failedBy.get(runId) === 'rollback_failed');
      runInvariant(7, end === 'cancelled' || hasFailed, `${runId} was reported as cancelled but ended as ${end}`);
    }
  }

  #starts(runId: string, input: unknown): void {
    const client: unknown = Object(Object(input).value).client;
    if (typeof client !== 'number') return;
    this.#clientOf.set(runId, client);
    this.#started.set(client, (this.#started.get(client) ?? 0) + 1);
  }

  #tells(node: string, child: string, status: string): void {
    const end = this.#checker.endOf(child);
    runInvariant(3, end === status, `${node} was notified that ${child} is ${status}, but it is ${end}`);
  }
}
