/** Derives span ids from runs and attempts, so that every process computes the same id and a repeated export sends the same spans. */
import { createHash } from 'node:crypto';
import { type Attempt, type NodeRef, type RunId, nodeKey } from '../../engine/ids.ts';

const spanIdLength = 16;
const traceIdLength = 32;

const digest = (text: string, length: number): string => createHash('sha256').update(text).digest('hex').slice(0, length);

export const runSpanId = (runId: RunId): string => digest(runId, spanIdLength);

export const attemptSpanId = (runId: RunId, node: NodeRef, attempt: Attempt): string =>
  digest(`${runId}/${nodeKey(node)}/${attempt}`, spanIdLength);

/** The trace id of a run without a trace context, such as a scheduled run. */
export const derivedTraceId = (runId: RunId): string => digest(`trace/${runId}`, traceIdLength);
