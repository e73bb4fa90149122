/**
 * The request that caused something: the caller's correlation id, and a W3C trace (https://www.w3.org/TR/trace-context/). Callers draw
 * the ids; this module parses and combines them.
 */
import type { CorrelationId } from './ids.ts';
import { invariant } from './invariant.ts';

declare const brand: unique symbol;
/** `00-<trace id>-<span id>-<flags>`, in lower-case hex */
export type Traceparent = string & { readonly [brand]: 'Traceparent' };

export interface Trace {
  readonly correlationId: CorrelationId;
  /** its span is that of the original request */
  readonly traceparent: Traceparent;
}

/** Ids of only zeros and version `ff` are invalid; a later version may append fields. */
const headerPattern = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export const traceparent = (text: string): Traceparent => {
  invariant(
    traceparentPattern.test(text),
    `a traceparent must match ${traceparentPattern.source}, and is ${JSON.stringify(text)}`,
  );
  return text as Traceparent;
};

/** Parses a caller's header into this version's format; undefined if it is not usable. */
export const readTraceparent = (header: string): Traceparent | undefined => {
  const [, version, traceId, spanId, flags, suffix] = headerPattern.exec(header.trim()) ?? [];
  return version === undefined || (version === '00' && suffix !== undefined)
    ? undefined
    : traceparent(`00-${traceId}-${spanId}-${flags}`);
};

export const traceIdOf = (parent: Traceparent): string => parent.slice(3, 35);

export const spanIdOf = (parent: Traceparent): string => parent.slice(36, 52);

/** Fields of a request in log lines and audit records. */
export const traceFields = (trace: Trace) => ({ correlationId: trace.correlationId, traceId: traceIdOf(trace.traceparent) });

/** The same trace and sampling decision with another span. */
export const withSpan = (parent: Traceparent, spanId: string): Traceparent =>
  traceparent(`${parent.slice(0, 36)}${spanId}${parent.slice(52)}`);
