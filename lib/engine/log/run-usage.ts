/**
 * What a run used of AWS, counted from its log. It is an estimate: lost puts, snapshots, redeliveries, execution time and the reads of
 * people are not in the log. docs/BENCH.md has the exact bills of some workflows; a test compares them.
 */
import type { Commit } from './commit.ts';
import type { RunEvent } from './events.ts';
import { isPublished, type RunEvents } from '../run-events.ts';
import { firstCommit } from '../ids.ts';
import { type Head, type TerminalStatus, isHeldByHead, isTestRun } from './head.ts';
import { callerOf, scheduleOf, triggerOf } from './lineage.ts';

/** In the units of the price table. */
export interface RunUsage {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly queueRequests: number;
  readonly invocations: number;
  readonly apiRequests: number;
  readonly busEvents: number;
  readonly schedules: number;
  readonly objects: number;
}

/** A write is billed by whole KB. */
const writeUnitBytes = 1_024;
/** A batch of SQS. */
const batchSize = 10;

const unitsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / writeUnitBytes));

/** The start: the entry of the list, the due entry of the sweep; of a request also its idempotency record and its audit entry; of a trigger its idempotency record. */
const startWrites = { ofEveryRun: 2, ofRequest: 2, ofTrigger: 1 } as const;
/**
 * The start reads the number of the latest version, and the first message carries a small graph run. A run that begins with a node with side
 * effects reads one unit more, which is not counted here. The function of the code reads the log and the deployment. A later message reads
 * the log.
 */
const firstReads = { graph: 1, code: 6 } as const;
/** A message is sent in a batch, received and deleted. */
const requestsPerMessage = 2;

export class UsageCounter {
  readonly #head: Head;
  /** delays up to this many ms are messages, longer ones schedules */
  readonly #maxQueueDelayMs: number;
  #bytes = 0;
  /** of the head, with each commit that is a part of it */
  #headBytes = 0;
  #writeUnits = 0;
  #messages = 0;
  #sends = 0;
  #results = 0;
  #batches = 0;
  #schedules = 0;
  /** undefined while it is open */
  #end: TerminalStatus | undefined;
  /** the write of the commit that ends the run also records the end in the head */
  #isEndRecorded = false;
  readonly #runEvents: RunEvents;
  readonly #objects = new Set<string>();

  /** @param runEvents what the installation publishes */
  constructor(head: Head, maxQueueDelayMs: number, runEvents: RunEvents) {
    this.#head = head;
    this.#runEvents = runEvents;
    this.#maxQueueDelayMs = maxQueueDelayMs;
  }

  /** @param bytes of the item as it is stored */
  add(commit: Commit, bytes: number): void {
    const isInHead = commit.number === firstCommit || isHeldByHead(this.#head, commit);
    this.#bytes += bytes;
    if (isInHead) this.#headBytes += bytes;
    // An update is billed by the size of the whole item.
    this.#writeUnits += unitsOf(isInHead ? this.#headBytes : bytes);
    const queued = commit.events.filter((event) => isQueued(event, this.#head)).length;
    this.#messages += queued;
    this.#sends += Math.ceil(queued / batchSize);
    this.#results += commit.events.filter((event) => event.type === 'NODE_DISPATCHED' && event.via === 'collect').length;
    if (commit.by === 'collect') this.#batches += 1;
    for (const event of commit.events) this.#take(event, commit.at);
    // Of commit 1, only a worker that a waiting start has called writes the end too.
    const isWholeWrite = isInHead && (commit.number !== firstCommit || commit.by === 'worker');
    if (isWholeWrite && this.#end !== undefined && !this.#isEndPublished) this.#isEndRecorded = true;
  }

  get #isEndPublished(): boolean {
    return this.#end !== undefined && isPublished(this.#runEvents, this.#head, this.#end);
  }

  /** of the log */
  get bytes(): number {
    return this.#bytes;
  }

  get usage(): RunUsage {
    const head = this.#head;
    const isTriggered = triggerOf(head) !== undefined;
    const isRequested = callerOf(head) === undefined && scheduleOf(head) === undefined && !isTriggered && !isTestRun(head);
    const isCode = head.kind === 'code';
    const requests = isRequested ? 1 : 0;
    // Ten messages may share an invocation and their requests to the queue. This counts one message alone.
    const triggers = isTriggered ? 1 : 0;
    return {
      // The code of a run reads its deployment four times, and pins it with two writes.
      writeUnits:
        this.#writeUnits +
        startWrites.ofEveryRun +
        requests * startWrites.ofRequest +
        triggers * startWrites.ofTrigger +
        (this.#end === undefined || this.#isEndRecorded ? 0 : unitsOf(this.#headBytes)) +
        (isCode ? 2 : 0),
      readUnits: (isCode ? firstReads.code : firstReads.graph) + Math.max(0, this.#messages - 1),
      queueRequests: this.#sends + this.#results + (this.#messages + this.#batches + triggers) * requestsPerMessage,
      invocations: requests + triggers + this.#messages + this.#batches,
      apiRequests: requests,
      busEvents: this.#isEndPublished ? 1 : 0,
      schedules: this.#schedules,
      objects: this.#objects.size,
    };
  }

  #take(event: RunEvent, at: number): void {
    const wakeAt = delayOf(event);
    if (wakeAt !== undefined) this.#delay(wakeAt - at);
    // The due entry of a wait, and the record by which a signal finds the run.
    if (event.type === 'SLEEP_STARTED' || event.type === 'SUBFLOW_CALLED') this.#writeUnits += 1;
    if (event.type === 'SIGNAL_AWAITED') this.#writeUnits += 2;
    this.#end = endOf(event) ?? this.#end;
    if (event.type === 'RUN_FAILED' || event.type === 'RUN_TIMED_OUT' || event.type === 'RUN_CANCELLED') this.#writeUnits += 1;
    for (const ref of refsIn(event)) this.#store(ref);
  }

  #delay(ms: number): void {
    if (ms > this.#maxQueueDelayMs) this.#schedules += 1;
    this.#messages += 1;
    this.#sends += 1;
  }

  #store({ ref, bytes }: { readonly ref: string; readonly bytes: number }): void {
    if (this.#objects.has(ref)) return;
    if (ref.startsWith('item:')) this.#writeUnits += unitsOf(bytes);
    else this.#objects.add(ref);
  }
}

/** A step of code runs in the workflow task that commits it; only the task has a message. */
function isQueued(event: RunEvent, { kind }: Head): boolean {
  if (event.type !== 'NODE_DISPATCHED' && event.type !== 'NODE_RETRIED') return false;
  if (kind === 'code') return event.type === 'NODE_DISPATCHED' && event.step?.kind === 'workflow_task';
  return event.via !== 'inline' && (event.type === 'NODE_DISPATCHED' || event.delayMs === 0);
}

/** When a delayed message or a schedule wakes the run. */
function delayOf(event: RunEvent): number | undefined {
  switch (event.type) {
    case 'SLEEP_STARTED':
    case 'LOOP_PAUSED':
      return event.wakeAt;
    case 'SIGNAL_AWAITED':
    case 'SUBFLOW_CALLED':
      return event.expiresAt;
    case 'NODE_RETRIED':
      return event.delayMs > 0 && event.via !== 'inline' ? event.retryAt : undefined;
    default:
      return undefined;
  }
}

function endOf({ type }: RunEvent): TerminalStatus | undefined {
  if (type === 'RUN_COMPLETED') return 'completed';
  if (type === 'RUN_CANCELLED') return 'cancelled';
  return type === 'RUN_FAILED' || type === 'RUN_TIMED_OUT' ? 'failed' : undefined;
}

/** The offloaded payloads that the event names. */
const refsIn = (event: RunEvent): readonly { readonly ref: string; readonly bytes: number }[] =>
  Object.values(event)
    .flatMap((value: unknown) => (Array.isArray(value) ? value : [value]))
    .filter(isOffloaded);

const isOffloaded = (value: unknown): value is { readonly ref: string; readonly bytes: number } =>
  typeof value === 'object' &&
  value !== null &&
  'ref' in value &&
  typeof value.ref === 'string' &&
  'bytes' in value &&
  typeof value.bytes === 'number';
