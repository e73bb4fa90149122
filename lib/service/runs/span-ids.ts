/** Ids of spans follow from what they are of: whoever needs one knows it, and what is sent again is the same span. */
import { createHash } from 'node:crypto';
import { type Attempt, type NodeRef, type RunId, nodeKey } from '../../engine/ids.ts';

const spanIdLength = 16;
const traceIdLength = 32;

const digest = (text: string, length: number): string => createHash('sha256').update(text).digest('hex').slice(0, length);

export const runSpanId = (runId: RunId): string => digest(runId, spanIdLength);

export const attemptSpanId = (runId: RunId, node: NodeRef, attempt: Attempt): string =>
  digest(`${runId}/${nodeKey(node)}/${attempt}`, spanIdLength);

/** Of a run that no traced request asked for, such as one of a schedule. */
export const derivedTraceId = (runId: RunId): string => digest(`trace/${runId}`, traceIdLength);
