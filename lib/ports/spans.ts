/** Exports spans of traces, in the terms of OpenTelemetry. */
import type { Instant } from '../engine/time.ts';

export interface Span {
  /** 32 hex digits */
  readonly traceId: string;
  /** 16 hex digits; stable, so that a repeated export sends the same span */
  readonly spanId: string;
  /** absent for the root span */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  /** absent: unset, for example for a cancelled run */
  readonly status?: 'ok' | 'error';
  /** ids, numbers and enumerated values; no user data */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

export interface Spans {
  /**
   * Sends the spans in one request, with a time limit.
   * @throws Unavailable if the collector did not accept them; the caller may send them again
   */
  send(spans: readonly Span[]): Promise<void>;
}
