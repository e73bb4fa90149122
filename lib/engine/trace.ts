/**
 * Which request something goes back to: the caller's correlation id, and its trace by W3C Trace Context
 * (https://www.w3.org/TR/trace-context/). Ids are drawn at the door; here they are only read and put together.
 */
import type { CorrelationId } from './ids.ts';
import { invariant } from './invariant.ts';

declare const brand: unique symbol;
/** `00-<trace id>-<span id>-<flags>`, in lower-case hex */
export type Traceparent = string & { readonly [brand]: 'Traceparent' };

export interface Trace {
  readonly correlationId: CorrelationId;
  /** the span is that of the request that asked */
  readonly traceparent: Traceparent;
}

/** Ids of zeros alone are invalid, and so is version `ff`; a later version may say more behind what this one says. */
const headerPattern = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export const traceparent = (text: string): Traceparent => {
  invariant(
    traceparentPattern.test(text),
    `a traceparent must match ${traceparentPattern.source}, and is ${JSON.stringify(text)}`,
  );
  return text as Traceparent;
};

/** What a caller's header says, as this version writes it; undefined where it says nothing that can be followed. */
export const readTraceparent = (header: string): Traceparent | undefined => {
  const [, version, traceId, spanId, flags, suffix] = headerPattern.exec(header.trim()) ?? [];
  return version === undefined || (version === '00' && suffix !== undefined)
    ? undefined
    : traceparent(`00-${traceId}-${spanId}-${flags}`);
};

export const traceIdOf = (parent: Traceparent): string => parent.slice(3, 35);

/** What every log line and audit record says of a request. */
export const traceFields = (trace: Trace) => ({ correlationId: trace.correlationId, traceId: traceIdOf(trace.traceparent) });

/** The same trace, and the same decision whether it is sampled, under another span. */
export const withSpan = (parent: Traceparent, spanId: string): Traceparent =>
  traceparent(`${parent.slice(0, 36)}${spanId}${parent.slice(52)}`);
