/** The events of a run: those that exist, in pages, and then the stream, from which a lost connection resumes without a gap. */
import { useEffect, useReducer, useRef } from 'react';
import { derivedEventKey } from '../../client/derived-event-key.ts';
import { derivedEventNames, finalEventNames, publicEventNames } from '../../engine/log/event-names.ts';
import { type RunEvent, api } from '../api.ts';

export interface RunEvents {
  readonly events: readonly RunEvent[];
  readonly connection: 'loading' | 'live' | 'reconnecting' | 'complete' | 'failed';
  readonly error?: unknown;
}

/** Changes of the page are at most this often, however many events arrive. */
const flushMs = 100;
const pageSize = 1_000;

const finalNames: ReadonlySet<string> = new Set(finalEventNames);

/** @param onNews after events arrived over the stream */
export function useRunEvents(runId: string, onNews: () => void): RunEvents {
  const state = useRef<RunEvents>({ events: [], connection: 'loading' });
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  const news = useRef(onNews);
  news.current = onNews;
  useEffect(() => {
    const reader = new EventReader(runId, (next, hasNews) => {
      state.current = next;
      rerender();
      if (hasNews) news.current();
    });
    return () => reader.stop();
  }, [runId]);
  return state.current;
}

/** Reads the pages, then follows the stream until the run ends or the page no longer shows it. */
class EventReader {
  readonly #events: RunEvent[] = [];
  readonly #runId: string;
  readonly #show: (state: RunEvents, hasNews: boolean) => void;
  readonly #stopping = new AbortController();
  readonly #derived = new Set<string>();
  #last = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stream: EventSource | undefined;

  constructor(runId: string, show: (state: RunEvents, hasNews: boolean) => void) {
    this.#runId = runId;
    this.#show = show;
    this.#read().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) show({ events: [...this.#events], connection: 'failed', error }, false);
    });
  }

  stop(): void {
    this.#stopping.abort();
    this.#stream?.close();
    clearTimeout(this.#timer);
  }

  async #read(): Promise<void> {
    for (let hasMore = true; hasMore;) {
      const page = await api.events(this.#runId, { after: String(this.#last), limit: pageSize }, this.#stopping.signal);
      for (const event of page.data) this.#take(event);
      hasMore = page.hasMore;
      this.#show({ events: [...this.#events], connection: 'loading' }, false);
    }
    if (this.#isComplete()) this.#show({ events: [...this.#events], connection: 'complete' }, false);
    else this.#follow();
  }

  #isComplete(): boolean {
    return this.#events.some(({ type }) => finalNames.has(type));
  }

  /** The browser reconnects by itself, with the id of the last event. A second event with an id is dropped. */
  #follow(): void {
    const stream = new EventSource(`v1/runs/${encodeURIComponent(this.#runId)}/events?after=${this.#last}`);
    this.#stream = stream;
    stream.addEventListener('open', () => this.#flushSoon('live', false));
    stream.addEventListener('error', () => {
      if (stream.readyState === EventSource.CLOSED) this.#flushSoon(this.#isComplete() ? 'complete' : 'failed', true);
      else this.#flushSoon('reconnecting', false);
    });
    const receive = ({ data }: MessageEvent<string>): void => {
      const event: RunEvent = JSON.parse(data);
      if (this.#take(event)) this.#flushSoon('live', true);
      if (!finalNames.has(event.type)) return;
      stream.close();
      this.#flushSoon('complete', true);
    };
    for (const type of streamedNames) stream.addEventListener(type, receive);
  }

  /** @returns whether the event is new. Derived events have the id of the event before them. */
  #take(event: RunEvent): boolean {
    if (event.eventId > this.#last) {
      this.#last = event.eventId;
      this.#events.push(event);
      return true;
    }
    if (event.type !== 'node.log' && event.type !== 'node.cancelled' && event.type !== 'node.started') return false;
    const name = derivedEventKey(event);
    if (this.#derived.has(name)) return false;
    this.#derived.add(name);
    this.#events.push(event);
    return true;
  }

  #flushSoon(connection: RunEvents['connection'], hasNews: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#show({ events: [...this.#events], connection }, hasNews), flushMs);
  }
}

/** `EventSource` needs each name. An event that only a newer service has appears when the page is loaded again. */
const streamedNames: readonly string[] = [...publicEventNames, ...Object.values(derivedEventNames)];
