/**
 * The events of a run. Pages are read when a list shows them, so a log of any length opens at once; new events come over the stream,
 * from which a lost connection resumes without a gap.
 */
import { useEffect, useReducer, useRef } from 'react';
import { derivedEventKey } from '../../client/derived-event-key.ts';
import { derivedEventNames, finalEventNames, publicEventNames } from '../../engine/log/event-names.ts';
import { type Run, type RunEvent, api } from '../api.ts';
import { isOpenRun } from '../runs/open-run.ts';

export type Connection = 'live' | 'connecting' | 'reconnecting' | 'complete';

/** An event of the log, and what follows from it: printed lines, cancelled nodes, starts that no commit records. */
export interface LoggedEvent {
  readonly event: RunEvent | undefined;
  readonly derived: readonly RunEvent[];
}

export interface RunEvents {
  readonly connection: Connection;
  /** the id of the last event that is known; ids count from 1 without gaps */
  readonly last: number;
  /** the events of the stream, in order; it only grows */
  readonly streamed: readonly RunEvent[];
  /** of the last page that could not be read */
  readonly error: unknown;
  readonly at: (eventId: number) => LoggedEvent | undefined;
  /** reads what is not known of these events */
  readonly load: (from: number, to: number) => void;
  /** how many events of the log are known */
  readonly known: number;
}

/** Changes of the page are at most this often, however many events arrive. */
const flushMs = 100;
const pageSize = 200;
const pagesAtOnce = 3;
/** A hidden page ends its stream: the browser opens six connections to a server at most. */
const hiddenMs = 30_000;
const maxReopenMs = 15_000;

const finalNames: ReadonlySet<string> = new Set(finalEventNames);

/** @param onNews after events arrived over the stream, or the stream was lost */
export function useRunEvents(run: Run, onNews: () => void): { readonly reader: RunEvents; readonly version: number } {
  const [version, rerender] = useReducer((count: number) => count + 1, 0);
  const reader = useRef<EventReader | undefined>(undefined);
  const news = useRef(onNews);
  news.current = onNews;
  reader.current ??= new EventReader(run.runId, run.lastEventId);
  const current = reader.current;
  useEffect(() => {
    current.start(isOpenRun(run), (hasNews) => {
      rerender();
      if (hasNews) news.current();
    });
    return () => current.stop();
    // Whether it is open matters at the start alone: the stream tells the end of the run by itself.
  }, [current]);
  const hasEnded = !isOpenRun(run);
  useEffect(() => {
    if (hasEnded) current.end(run.lastEventId);
  }, [current, hasEnded, run.lastEventId]);
  return { reader: current, version };
}

class EventReader implements RunEvents {
  readonly #runId: string;
  readonly #events = new Map<number, RunEvent>();
  readonly #derived = new Map<number, RunEvent[]>();
  readonly #derivedKeys = new Set<string>();
  readonly #reading = new Set<number>();
  #wanted: number[] = [];
  readonly streamed: RunEvent[] = [];
  connection: Connection = 'connecting';
  last: number;
  error: unknown;
  #show: (hasNews: boolean) => void = () => {};
  #flushing: ReturnType<typeof setTimeout> | undefined;
  #hasNews = false;
  #stream: EventSource | undefined;
  #reopening: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #reopenMs = 1_000;
  #stopping = new AbortController();

  constructor(runId: string, last: number) {
    this.#runId = runId;
    this.last = last;
  }

  get known(): number {
    return this.#events.size;
  }

  start(isOpen: boolean, show: (hasNews: boolean) => void): void {
    this.#show = show;
    this.#stopping = new AbortController();
    this.#reading.clear();
    this.#wanted = [];
    if (isOpen && this.connection !== 'complete') this.#follow();
    else this.connection = 'complete';
    document.addEventListener('visibilitychange', this.#onVisibility);
  }

  stop(): void {
    this.#stopping.abort();
    this.#stream?.close();
    for (const timer of [this.#flushing, this.#reopening, this.#hiding]) clearTimeout(timer);
    document.removeEventListener('visibilitychange', this.#onVisibility);
  }

  /** The run has ended: the stream may still bring its last events, and ends by itself. */
  end(last: number): void {
    this.last = Math.max(this.last, last);
    if (this.#stream === undefined) this.connection = 'complete';
  }

  readonly at = (eventId: number): LoggedEvent | undefined => {
    const event = this.#events.get(eventId);
    const derived = this.#derived.get(eventId) ?? [];
    return event === undefined && derived.length === 0 ? undefined : { event, derived };
  };

  readonly load = (from: number, to: number): void => {
    for (let page = Math.floor((from - 1) / pageSize); page * pageSize < to; page += 1) {
      if (page < 0 || this.#reading.has(page) || this.#wanted.includes(page) || this.#isKnown(page)) continue;
      this.#wanted.push(page);
    }
    this.#readNext();
  };

  /** The page that was asked for last is in view, so it comes first. */
  #readNext(): void {
    while (this.#reading.size < pagesAtOnce) {
      const page = this.#wanted.pop();
      if (page === undefined) return;
      this.#reading.add(page);
      void this.#read(page);
    }
  }

  #isKnown(page: number): boolean {
    const end = Math.min((page + 1) * pageSize, this.last);
    for (let id = page * pageSize + 1; id <= end; id += 1) if (!this.#events.has(id)) return false;
    return true;
  }

  async #read(page: number): Promise<void> {
    try {
      const query = { after: String(page * pageSize), limit: pageSize };
      const { data } = await api.events(this.#runId, query, this.#stopping.signal);
      for (const event of data) this.#take(event);
      this.error = undefined;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.error = error;
      this.#wanted = [];
    }
    // The next load of a page that failed, or of one that grows, reads it again.
    this.#reading.delete(page);
    this.#readNext();
    this.#flushSoon(false);
  }

  /** The browser reconnects by itself, with the id of the last event. A stream that it gave up is opened again, later each time. */
  #follow(): void {
    clearTimeout(this.#reopening);
    const stream = new EventSource(`v1/runs/${encodeURIComponent(this.#runId)}/events?after=${this.last}`);
    this.#stream = stream;
    stream.addEventListener('open', () => {
      this.#reopenMs = 1_000;
      this.#become('live', false);
    });
    stream.addEventListener('error', () => {
      if (stream.readyState === EventSource.CLOSED) this.#reopenLater();
      // What happened meanwhile is read when the connection is back, or by a poll.
      this.#become('reconnecting', true);
    });
    const receive = ({ data }: MessageEvent<string>): void => {
      const event: RunEvent = JSON.parse(data);
      if (!this.#take(event, true)) return;
      this.streamed.push(event);
      this.#become('live', true);
      if (!finalNames.has(event.type)) return;
      stream.close();
      this.#stream = undefined;
      this.#become('complete', true);
    };
    for (const type of streamedNames) stream.addEventListener(type, receive);
  }

  #reopenLater(): void {
    this.#stream = undefined;
    if (this.connection === 'complete') return;
    this.#reopening = setTimeout(() => {
      if (this.connection !== 'complete') this.#follow();
    }, this.#reopenMs);
    this.#reopenMs = Math.min(2 * this.#reopenMs, maxReopenMs);
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiding);
    if (document.visibilityState === 'hidden') {
      this.#hiding = setTimeout(() => {
        this.#stream?.close();
        this.#stream = undefined;
      }, hiddenMs);
    } else if (this.#stream === undefined && this.connection !== 'complete') this.#follow();
  };

  /** @returns whether the event is new */
  #take(event: RunEvent, isStreamed = false): boolean {
    const { eventId } = event;
    // A start that no commit records has the id of the event before it, and comes after it.
    const isStart = event.type === 'node.started' && (isStreamed ? eventId <= this.last : this.#events.has(eventId));
    // Printed lines and cancellations precede the event from which they follow, and have the id before it.
    if (derivedNames.has(event.type)) return this.#takeDerived(event, eventId + 1);
    if (isStart && this.#events.get(eventId)?.type !== event.type) return this.#takeDerived(event, eventId);
    if (this.#events.has(eventId)) return false;
    this.#events.set(eventId, event);
    this.last = Math.max(this.last, eventId);
    return true;
  }

  #takeDerived(event: RunEvent, owner: number): boolean {
    const key = derivedEventKey(event);
    if (this.#derivedKeys.has(key)) return false;
    this.#derivedKeys.add(key);
    this.#derived.set(owner, [...(this.#derived.get(owner) ?? []), event]);
    return true;
  }

  #become(connection: Connection, hasNews: boolean): void {
    if (this.connection !== 'complete') this.connection = connection;
    this.#flushSoon(hasNews);
  }

  #flushSoon(hasNews: boolean): void {
    this.#hasNews ||= hasNews;
    this.#flushing ??= setTimeout(() => {
      this.#flushing = undefined;
      const news = this.#hasNews;
      this.#hasNews = false;
      this.#show(news);
    }, flushMs);
  }
}

const derivedNames: ReadonlySet<string> = new Set(Object.values(derivedEventNames));

/** `EventSource` needs each name. An event that only a newer service has appears when the page is loaded again. */
const streamedNames: readonly string[] = [...publicEventNames, ...Object.values(derivedEventNames)];
