/**
 * Counts executions of step functions, node attempts and rollbacks, independently of the log (invariant 12). Each execution
 * needs a commit that dispatched it. No process that could know the result executes it again, and no process executes it
 * twice. The number of executions must not exceed the redeliveries and resends of the run. An idempotent node may be executed before
 * the commit of a pack, and again if another writer's commit drops the pack.
 */
import { rollbackPrefix, stepNodeId } from '../../lib/engine/durable/step.ts';
import { type RunAddress, firstCommit, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { Process } from './process.ts';
import { runInvariant } from './violation.ts';

interface Attempt {
  readonly runId: string;
  begun: number;
  readonly by: Set<Process>;
  /** it was executed before its commit, so a dropped pack explains another execution */
  wasPacked: boolean;
  /** its node is idempotent, and a worker was called to create its run: another process may have created it at the same time */
  mayBeTwice: boolean;
}

type Event = Commit['events'][number];

const isEnd = (event: Event): event is Extract<Event, { type: 'NODE_COMPLETED' | 'NODE_FAILED' | 'NODE_RETRIED' }> =>
  event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED' || event.type === 'NODE_RETRIED';

/** Of a result, until its commit, where nothing goes wrong: the age of a pack, and the results of many siblings. */
const longestPlainHoldMs = 5_000;

const stepOf = (runId: string, key: string): string => `${runId}/${nodeKey({ nodeId: stepNodeId(key), iteration: topLevel })}`;

const runEnds: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED']);

export class EffectChecker {
  readonly #asked = new Set<string>();
  readonly #finishedAt = new Map<string, number>();
  readonly #attempts = new Map<string, Attempt>();
  /** keys of steps whose undoing began, by run, in that order */
  readonly #undone = new Map<string, string[]>();
  readonly #given = new WeakSet<Job>();
  /** by run: redeliveries, and messages that were sent again */
  readonly #givenAgain = new Map<string, number>();
  readonly #isOnlyMessages: boolean;
  /** when workers had the results of node attempts */
  readonly #endedAt = new Map<string, number>();
  /** when the functions of steps ended */
  readonly #stepEndedAt = new Map<string, number>();
  /** by process: its results of nodes with side effects */
  readonly #resultsOf = new WeakMap<Process, Set<string>>();
  readonly #endedRuns = new Set<string>();
  readonly #isPlain: boolean;
  /** steps that began: whether their results may share a commit with those of the steps after them */
  readonly #mayShare = new Map<string, boolean>();
  /** by run: commits that may have dropped the pack of another writer */
  readonly #commits = new Map<string, number>();
  /** runs that a worker was called to create */
  readonly #calledUnwritten = new Set<string>();
  executions = 0;
  /** executions of idempotent nodes before the commit that dispatched them */
  packed = 0;
  /** executions of an attempt beyond its first */
  repeated = 0;
  rolledBack = 0;

  /**
   * @param isOnlyMessages messages are late, reordered or delivered twice, and nothing else goes wrong
   * @param isPlain no faults and no delays
   */
  constructor(isOnlyMessages: boolean, isPlain: boolean) {
    this.#isOnlyMessages = isOnlyMessages;
    this.#isPlain = isPlain;
  }

  committed({ runId }: RunAddress, { number, events, by }: Commit, now: number): void {
    // Where nothing goes wrong, no other worker commits beside a pack.
    if (number > firstCommit && (!this.#isPlain || by !== 'worker'))
      this.#commits.set(runId, (this.#commits.get(runId) ?? 0) + 1);
    for (const event of events) {
      if (runEnds.has(event.type)) this.#endedRuns.add(runId);
      if (!('nodeId' in event)) continue;
      const node = `${runId}/${nodeKey(event)}`;
      if (event.type === 'NODE_DISPATCHED') this.#asks(`${node}#${event.attempt}`);
      if (event.type === 'NODE_RETRIED') this.#asks(`${node}#${event.attempt + 1}`);
      if (isEnd(event)) this.#finishes(`${node}#${event.attempt}`, now);
    }
    this.#checkSharedCommit(runId, events);
  }

  /** A step that ended in the commit that requested it began before that commit, and so did the end of the step before it. */
  #checkSharedCommit(runId: string, events: readonly Event[]): void {
    const nodesOf = (wanted: (event: Event) => boolean): readonly string[] =>
      events.flatMap((event) => ('nodeId' in event && wanted(event) ? [`${runId}/${nodeKey(event)}`] : []));
    const requested = new Set(nodesOf(({ type }) => type === 'NODE_DISPATCHED'));
    const ended = nodesOf(isEnd).filter((node) => this.#mayShare.has(node));
    const shared = ended.filter((node) => requested.has(node));
    this.packed += shared.length;
    const others = ended.filter((node) => this.#mayShare.get(node) !== true);
    runInvariant(
      12,
      shared.length === 0 || others.length === 0,
      `the result of ${others.join(', ')} shares a commit with ${shared.join(', ')}, which began before it`,
    );
  }

  #finishes(name: string, now: number): void {
    this.#finishedAt.set(name, now);
    const heldMs = now - (this.#endedAt.get(name) ?? this.#stepEndedAt.get(name) ?? now);
    runInvariant(12, !this.#isPlain || heldMs <= longestPlainHoldMs, `a worker held the result of ${name} for ${heldMs} ms`);
  }

  #asks(name: string): void {
    this.#asked.add(name);
    // A retried code workflow starts its failed steps again.
    if (this.#finishedAt.delete(name)) this.#attempts.delete(name);
  }

  /** A start called a worker with a run that it has not written. */
  calledUnwritten({ runId }: RunAddress): void {
    this.#calledUnwritten.add(runId);
  }

  /** A queue delivered the message. A redelivery is the same object; a message resent after a heartbeat timeout has `resend`. */
  delivered(job: Job): void {
    const isAgain = this.#given.has(job) || ('resend' in job && job.resend > 0);
    this.#given.add(job);
    const { runId } = job.run;
    if (isAgain) this.#givenAgain.set(runId, (this.#givenAgain.get(runId) ?? 0) + 1);
  }

  /**
   * @param token identifies the node and its run to the worker
   * @param mayBePacked its node is idempotent, and neither its message nor its job was sent again
   */
  begins(token: string, attempt: number, by: Process, mayBePacked: boolean): void {
    const name = `${token}#${attempt}`;
    const isPacked = mayBePacked && attempt === 1 && !this.#asked.has(name);
    for (const result of this.#resultsOf.get(by) ?? [])
      runInvariant(
        12,
        this.#finishedAt.has(result) || this.#hasEnded(result),
        `${name} was executed before the result of ${result} was recorded`,
      );
    if (isPacked) this.packed += 1;
    const runId = token.slice(0, token.indexOf('/'));
    const mayBeTwice = mayBePacked && attempt === 1 && this.#calledUnwritten.has(runId);
    this.#begins(token, attempt, by, { mayOverlap: false, isPacked, mayBeTwice });
  }

  /** A run that another branch has ended records no results. */
  #hasEnded(result: string): boolean {
    return this.#endedRuns.has(result.slice(0, result.indexOf('/')));
  }

  #begins(
    token: string,
    number: number,
    by: Process,
    {
      mayOverlap,
      isPacked,
      mayBeTwice = false,
    }: { readonly mayOverlap: boolean; readonly isPacked: boolean; readonly mayBeTwice?: boolean },
  ): void {
    const name = `${token}#${number}`;
    runInvariant(12, mayOverlap || isPacked || this.#asked.has(name), `${name} was executed without a commit that dispatched it`);
    const finishedAt = this.#finishedAt.get(name) ?? Infinity;
    const runId = token.slice(0, token.indexOf('/'));
    // What is begun before its turn is committed may bear the number of an attempt that an earlier attempt of the workflow finished.
    runInvariant(
      12,
      mayOverlap || finishedAt >= by.lastReadAt(runId),
      `${name} was executed by a process that had read its result`,
    );
    this.executions += 1;
    // What may be done twice is begun before its turn is committed, and again when the turn is not.
    if (mayOverlap) return;
    const attempt = this.#attempts.get(name) ?? {
      runId,
      begun: 0,
      by: new Set<Process>(),
      wasPacked: false,
      mayBeTwice: false,
    };
    this.#attempts.set(name, attempt);
    runInvariant(12, attempt.wasPacked || !attempt.by.has(by), `${name} was executed twice by one process`);
    // The message with the result of an ended attempt may be so late that its job is sent again.
    const isExplained =
      attempt.begun === 0 || attempt.wasPacked || mayBeTwice || !this.#isOnlyMessages || this.#endedAt.has(name);
    runInvariant(12, isExplained, `${name} was executed twice at once although no worker crashed`);
    if (attempt.begun > 0) this.repeated += 1;
    attempt.begun += 1;
    attempt.wasPacked ||= isPacked;
    attempt.mayBeTwice ||= mayBeTwice;
    attempt.by.add(by);
  }

  /** The execution used up its slice, so it had no effect, and begins again. */
  interrupts(token: string, attempt: number, by: Process): void {
    const interrupted = this.#attempts.get(`${token}#${attempt}`);
    if (interrupted === undefined) return;
    interrupted.begun -= 1;
    interrupted.by.delete(by);
  }

  /** A worker has the result of the attempt. */
  ends(token: string, attempt: number, by: Process, { now, isIdempotent }: { now: number; isIdempotent: boolean }): void {
    const name = `${token}#${attempt}`;
    this.#endedAt.set(name, now);
    const results = this.#resultsOf.get(by) ?? new Set<string>();
    if (!isIdempotent) this.#resultsOf.set(by, results.add(name));
  }

  /** The handling of a job has failed, and the process goes on with the next job of its message: it records no result of the failed one. */
  failed(by: Process): void {
    this.#resultsOf.delete(by);
  }

  /** The body of a step of code has begun. */
  beginsStep(
    runId: string,
    key: string,
    attempt: number,
    { by, mayOverlap, mayShare = false }: { by: Process; mayOverlap: boolean; mayShare?: boolean },
  ): void {
    const node = stepOf(runId, key);
    this.#mayShare.set(node, mayShare);
    this.#begins(node, attempt, by, { mayOverlap, isPacked: false });
  }

  /** The body of a step of code has ended. */
  endsStep(runId: string, key: string, attempt: number, now: number): void {
    this.#stepEndedAt.set(`${stepOf(runId, key)}#${attempt}`, now);
  }

  /** What a step did is undone: a step of its own, done again for the same reasons as others. */
  undoes(runId: string, key: string, attempt: number, by: Process): void {
    this.rolledBack += 1;
    const undone = this.#undone.get(runId) ?? [];
    this.#undone.set(runId, undone);
    const name = key.startsWith(rollbackPrefix) ? key : `${rollbackPrefix}${key}`;
    if (!undone.includes(name)) undone.push(name);
    this.beginsStep(runId, name, attempt, { by, mayOverlap: false });
  }

  /** Keys of steps whose undoing began, in that order, once each. */
  undoneIn(runId: string): readonly string[] {
    return this.#undone.get(runId) ?? [];
  }

  check(): void {
    for (const [name, { runId, begun, wasPacked, mayBeTwice }] of this.#attempts) {
      const droppedPacks = (wasPacked ? (this.#commits.get(runId) ?? 0) : 0) + (mayBeTwice ? 1 : 0);
      const reasons = (this.#givenAgain.get(runId) ?? 0) + droppedPacks;
      runInvariant(
        12,
        begun <= 1 + reasons,
        `${name} was executed ${begun} times with ${reasons} redeliveries and resends of its run`,
      );
    }
  }
}
