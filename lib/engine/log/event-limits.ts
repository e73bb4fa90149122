/**
 * Bounds for the text in an event that comes from outside the engine and is never offloaded. A payload is offloaded when its commit
 * becomes too large; such text is not, so each kind has its own bound and their sum per commit stays limited.
 */
import { failureLimits, reportedFailure, reportedGate } from './failure-limits.ts';
import type { Failure, RunEvent } from './events.ts';
import { boundPrintedLines } from './printed-lines.ts';

export const eventLimits = {
  /** of a reason, in UTF-16 units */
  reason: failureLimits.message,
  /** node ids named in one event */
  nodes: 200,
  /** bytes assumed for each event besides text and names: more than they take in a compressed commit */
  overhead: 20,
} as const;

/** The event with its text truncated to the bounds. */
export function truncateEvent(event: RunEvent): RunEvent {
  switch (event.type) {
    case 'NODE_COMPLETED':
      return event.printed === undefined ? event : { ...event, printed: boundPrintedLines(event.printed) };
    case 'NODE_FAILED':
    case 'NODE_RETRIED': {
      const failure = reportedFailure(event.failure);
      return event.printed === undefined
        ? { ...event, failure }
        : { ...event, failure, printed: boundPrintedLines(event.printed) };
    }
    case 'RUN_RETRIED':
      return { ...event, failure: reportedFailure(event.failure) };
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return { ...event, error: reportedFailure(event.error) };
    case 'ROLLBACK_STARTED':
      return { ...event, runOutcome: truncateRunOutcome(event.runOutcome) };
    case 'CONTRACT_VIOLATED': {
      const gate = reportedGate({ kind: 'contract', phase: event.phase, errors: event.errors });
      return gate.kind === 'contract' ? { ...event, errors: gate.errors } : event;
    }
    case 'MODERATION_FLAGGED': {
      const gate = reportedGate({ kind: 'moderation', phase: event.phase, decision: event.decision });
      return gate.kind === 'moderation' ? { ...event, decision: gate.decision } : event;
    }
    case 'RUN_CANCELLED':
    case 'RUN_RESUMED':
      return event.reason === undefined ? event : { ...event, reason: truncate(event.reason) };
    case 'RUN_RECOVERED':
      return event.nodes.length <= eventLimits.nodes ? event : { ...event, nodes: event.nodes.slice(0, eventLimits.nodes) };
    default:
      return event;
  }
}

type RunOutcome = Extract<RunEvent, { type: 'ROLLBACK_STARTED' }>['runOutcome'];

const truncateRunOutcome = (runOutcome: RunOutcome): RunOutcome => {
  if ('error' in runOutcome) return { ...runOutcome, error: reportedFailure(runOutcome.error) };
  return runOutcome.reason === undefined ? runOutcome : { ...runOutcome, reason: truncate(runOutcome.reason) };
};

const truncate = (text: string): string =>
  text.length <= eventLimits.reason ? text : text.slice(0, eventLimits.reason).toWellFormed();

/** Bytes of a commit that the event needs even when its payloads are offloaded. */
export function inlineBytesOf(event: RunEvent): number {
  const names = 'nodeId' in event ? event.nodeId.length + event.iteration.length : 0;
  const variableLength = 'variable' in event ? (event.variable?.length ?? 0) : 0;
  const handleLength = 'handle' in event ? (event.handle?.length ?? 0) : 0;
  return eventLimits.overhead + names + variableLength + handleLength + textBytesOf(event);
}

/**
 * Upper bound of the event's text from outside, in bytes. A UTF-16 unit takes up to three bytes in UTF-8, or up to six where JSON
 * escapes it.
 */
function textBytesOf(event: RunEvent): number {
  switch (event.type) {
    case 'NODE_COMPLETED':
      return printedBytes(event.printed);
    case 'NODE_FAILED':
    case 'NODE_RETRIED':
      return failureBytes(event.failure) + printedBytes(event.printed);
    case 'RUN_RETRIED':
      return failureBytes(event.failure);
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return failureBytes(event.error);
    case 'CONTRACT_VIOLATED':
      return jsonBytes(event.errors);
    case 'MODERATION_FLAGGED':
      return jsonBytes(event.decision);
    case 'SIGNAL_AWAITED':
    case 'SIGNAL_RECEIVED':
      return jsonBytes([event.name, event.correlation]);
    case 'ITERATION_STARTED':
      return event.item === undefined || 'ref' in event.item ? 0 : jsonBytes(event.item.value);
    case 'RUN_CANCELLED':
    case 'RUN_RESUMED':
      return event.reason === undefined ? 0 : jsonBytes(event.reason);
    default:
      return 0;
  }
}

export const printedBytes = (printed: readonly string[] | undefined): number => (printed === undefined ? 0 : jsonBytes(printed));

export const failureBytes = ({ message, code, details }: Failure): number => jsonBytes([message, code ?? '', details ?? null]);

const jsonBytes = (value: unknown): number => utf8Length(JSON.stringify(value));

/** Length in bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) bytes += unit < 0x800 || (unit & 0xf800) === 0xd800 ? 1 : 2;
  }
  return bytes;
}
