/** Derives span ids from runs and attempts, so that every process computes the same id and a repeated export sends the same spans. */
import { createHash } from 'node:crypto';
import { type Attempt, type CorrelationId, type NodeRef, type RunId, nodeKey } from '../../engine/ids.ts';
import { type Trace, spanIdOf, traceIdOf } from '../../engine/trace.ts';

const spanIdLength = 16;
const traceIdLength = 32;

const digest = (text: string, length: number): string => createHash('sha256').update(text).digest('hex').slice(0, length);

export const runSpanId = (runId: RunId): string => digest(runId, spanIdLength);

export const attemptSpanId = (runId: RunId, node: NodeRef, attempt: Attempt): string =>
  digest(`${runId}/${nodeKey(node)}/${attempt}`, spanIdLength);

/** The trace id of a run without a trace context, such as a scheduled run. */
export const derivedTraceId = (runId: RunId): string => digest(`trace/${runId}`, traceIdLength);

/** The span id that stands for no span: W3C trace contexts forbid it. */
const noSpan = '0'.repeat(spanIdLength);

/**
 * The span id of a request. It is the caller's span id combined (XOR) with a digest of trace id and correlation id. So the run stores
 * one span id, as before, and `callerSpanId` finds both in it.
 * @param caller the caller's span id; absent: the request brought no trace
 */
export function requestSpanId(traceId: string, correlationId: CorrelationId, caller: string = noSpan): string {
  const mask = digest(`request/${traceId}/${correlationId}`, spanIdLength);
  const combined = xor(mask, caller);
  return combined === noSpan ? mask : combined;
}

/** The caller's span id in the trace of a request; undefined if the request brought no trace. */
export function callerSpanId({ traceparent, correlationId }: Trace): string | undefined {
  const mask = requestSpanId(traceIdOf(traceparent), correlationId);
  const caller = xor(mask, spanIdOf(traceparent));
  return caller === noSpan ? undefined : caller;
}

/** @param one hex digits; `other` has the same length */
const xor = (one: string, other: string): string =>
  (BigInt(`0x${one}`) ^ BigInt(`0x${other}`)).toString(16).padStart(one.length, '0');
