/**
 * The attempts of a run's nodes, from its public events: one row for each attempt, with the times between which it was in the queue, and
 * worked or waited. Servers and the console build it alike: the server from the log, the console from the stream after that.
 */
import { defined } from '../../base/defined.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { derivedEventNames, mapEngineEventToSse } from './event-names.ts';

export const attemptStatuses = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'timed_out',
  'blocked',
  'invalidated',
  'skipped',
  'cancelled',
] as const;
type AttemptStatus = (typeof attemptStatuses)[number];

/** For what an attempt waits, or waited. */
export const waitKinds = ['time', 'signal', 'child', 'iterations'] as const;
type WaitKind = (typeof waitKinds)[number];

/** Times are in ms since the epoch. @typeParam Other words of a newer service, which a reader may receive */
export interface AttemptRow<Other extends string = never> {
  /** the loop itself in the row of one of its iterations */
  readonly nodeId: string;
  readonly iteration?: string;
  /** 0: skipped, or the row of an iteration */
  readonly attempt: number;
  readonly queued?: number;
  readonly started?: number;
  readonly ended?: number;
  readonly status: AttemptStatus | Other;
  readonly wait?: WaitKind | Other;
  /** the last event that changed it */
  readonly eventId: number;
}

export interface TimelineEvent {
  readonly eventId: number;
  readonly type: string;
  readonly timestamp: string;
  readonly payload: JsonObject;
}

const names = {
  queued: mapEngineEventToSse({ type: 'NODE_DISPATCHED' }),
  started: mapEngineEventToSse({ type: 'NODE_STARTED' }),
  retried: mapEngineEventToSse({ type: 'NODE_RETRIED' }),
  skipped: mapEngineEventToSse({ type: 'NODE_SKIPPED' }),
  iterationStarted: mapEngineEventToSse({ type: 'ITERATION_STARTED' }),
  iterationEnded: mapEngineEventToSse({ type: 'ITERATION_ENDED' }),
} as const;

const failure = (cause: string, status?: 'blocked' | 'invalidated') =>
  mapEngineEventToSse({ type: 'NODE_FAILED', failure: status === undefined ? { cause } : { cause, status } });

const ends: ReadonlyMap<string, AttemptStatus> = new Map([
  [mapEngineEventToSse({ type: 'NODE_COMPLETED' }), 'completed'],
  [failure('error'), 'failed'],
  [failure('timeout'), 'timed_out'],
  [failure('error', 'blocked'), 'blocked'],
  [failure('error', 'invalidated'), 'invalidated'],
  [derivedEventNames.cancelled, 'cancelled'],
]);

const waits: ReadonlyMap<string, WaitKind> = new Map([
  [mapEngineEventToSse({ type: 'SLEEP_STARTED' }), 'time'],
  [mapEngineEventToSse({ type: 'SIGNAL_AWAITED' }), 'signal'],
  [mapEngineEventToSse({ type: 'SUBFLOW_CALLED' }), 'child'],
  [mapEngineEventToSse({ type: 'LOOP_STARTED' }), 'iterations'],
]);

const text = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
type Change = Partial<Omit<AttemptRow, 'nodeId' | 'iteration' | 'attempt' | 'eventId'>>;

export class Timeline<Other extends string = never> {
  readonly #rows = new Map<string, AttemptRow<Other>>();
  readonly #parseTime: (text: string) => number;

  /** @param parseTime ms since the epoch, of an ISO time; NaN for another text */
  constructor(parseTime: (text: string) => number) {
    this.#parseTime = parseTime;
  }

  /** Rows that a server sent. A later row of the same attempt replaces it. */
  put(rows: readonly AttemptRow<Other>[]): void {
    for (const row of rows) this.#rows.set(keyOf(row), row);
  }

  /** Add each event once, in order. An event that the rows contain already changes nothing but a start. */
  add({ eventId, type, timestamp, payload }: TimelineEvent): void {
    const nodeId = text(payload['nodeId']);
    // Workflow tasks are not steps of the author.
    if (nodeId === undefined || nodeId.startsWith('.')) return;
    const attempt = typeof payload['attempt'] === 'number' ? payload['attempt'] : 1;
    const at = this.#parseTime(timestamp);
    const ref = defined({ nodeId, iteration: text(payload['iteration']) });
    const put = (number: number, change: Change): void => this.#put({ ...ref, attempt: number }, eventId, change);
    const startedAt = this.#timeOf(payload['startedAt']);
    const endedAt = this.#timeOf(payload['endedAt']) ?? at;
    const [end, wait] = [ends.get(type), waits.get(type)];
    if (type === names.queued) put(attempt, { queued: at, status: 'queued' });
    else if (type === names.started) put(attempt, { started: startedAt ?? at, status: 'running' });
    else if (wait !== undefined) put(attempt, { started: at, status: 'waiting', wait });
    else if (end !== undefined) put(attempt, defined({ started: startedAt, ended: endedAt, status: end }));
    else if (type === names.retried) {
      put(attempt, defined({ started: startedAt, ended: endedAt, status: 'failed' as const }));
      put(attempt + 1, { queued: endedAt, status: 'queued' });
    } else if (type === names.skipped) put(0, { ended: at, status: 'skipped' });
    else this.#addIteration(type, ref, payload, eventId, at);
  }

  /** In the order of the first event of each attempt. */
  rows(): readonly AttemptRow<Other>[] {
    return [...this.#rows.values()];
  }

  #timeOf(value: JsonValue | undefined): number | undefined {
    const ms = this.#parseTime(text(value) ?? '');
    return Number.isNaN(ms) ? undefined : ms;
  }

  #addIteration(
    type: string,
    loop: Pick<AttemptRow, 'nodeId' | 'iteration'>,
    { index, status }: JsonObject,
    eventId: number,
    at: number,
  ): void {
    if (typeof index !== 'number') return;
    const enclosing = loop.iteration === undefined ? '' : `${loop.iteration}/`;
    const ref = { nodeId: loop.nodeId, iteration: `${enclosing}${loop.nodeId}[${index}]`, attempt: 0 };
    if (type === names.iterationStarted) this.#put(ref, eventId, { started: at, status: 'running' });
    if (type === names.iterationEnded)
      this.#put(ref, eventId, { ended: at, status: status === 'failed' ? 'failed' : 'completed' });
  }

  #put(ref: Pick<AttemptRow, 'nodeId' | 'iteration' | 'attempt'>, eventId: number, change: Change): void {
    const key = keyOf(ref);
    const known = this.#rows.get(key);
    if (known?.ended !== undefined) return;
    const { started: before } = known ?? {};
    // The outcome says more exactly than the events before it when an attempt began; a wait began when its event says so.
    const started = known?.wait === undefined ? (change.started ?? before) : (before ?? change.started);
    const row = { ...ref, status: change.status ?? 'queued', ...known, ...change, eventId };
    if (started === undefined) return void this.#rows.set(key, row);
    // Results that were committed together have the time of their commit: their attempts were dispatched before that, when they began.
    const queued = row.queued === undefined ? {} : { queued: Math.min(row.queued, started) };
    this.#rows.set(key, { ...row, started, ...queued });
  }
}

const keyOf = ({ nodeId, iteration = '', attempt }: Pick<AttemptRow, 'nodeId' | 'iteration' | 'attempt'>): string =>
  `${nodeId}\u0000${iteration}\u0000${attempt}`;
