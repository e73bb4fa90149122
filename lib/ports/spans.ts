/** Spans of traces, in the terms of OpenTelemetry, and where they are sent. */
import type { Instant } from '../engine/time.ts';

export interface Span {
  /** 32 hex digits */
  readonly traceId: string;
  /** 16 hex digits; the same span has the same id however often it is sent */
  readonly spanId: string;
  /** absent: it is the first of its trace */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  /** absent: nothing is said of it, as of a run that was cancelled */
  readonly status?: 'ok' | 'error';
  /** ids, numbers and words of a small set; nothing that a user brought */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

export interface Spans {
  /**
   * Sends them in one request, within a bounded time.
   * @throws Unavailable where they were not taken: the same may be sent again
   */
  send(spans: readonly Span[]): Promise<void>;
}
