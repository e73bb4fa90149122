/**
 * Which words of an event come from outside and stay in it: a value is stored apart where its commit becomes too large, and
 * these are not. Each has a bound of its own, so that their sum over a commit can be kept.
 */
import { failureLimits, toldFailure, toldGate } from './failure-limits.ts';
import type { Failure, RunEvent } from './events.ts';
import { keptLines } from './printed.ts';

export const eventLimits = {
  /** of a reason or another remark, in UTF-16 units */
  remark: failureLimits.message,
  /** ids of nodes that one event names */
  nodes: 200,
  /** what is counted of any event beside its words and names, in bytes: more than the rest of it takes in a compressed commit */
  frame: 20,
} as const;

/** The event as it may be stored, whoever made it. */
export function boundEvent(event: RunEvent): RunEvent {
  switch (event.type) {
    case 'NODE_COMPLETED':
      return event.printed === undefined ? event : { ...event, printed: keptLines(event.printed) };
    case 'NODE_FAILED':
    case 'NODE_RETRIED': {
      const failure = toldFailure(event.failure);
      return event.printed === undefined ? { ...event, failure } : { ...event, failure, printed: keptLines(event.printed) };
    }
    case 'RUN_RETRIED':
      return { ...event, failure: toldFailure(event.failure) };
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return { ...event, error: toldFailure(event.error) };
    case 'ROLLBACK_STARTED':
      return { ...event, ending: boundEnding(event.ending) };
    case 'CONTRACT_VIOLATED': {
      const gate = toldGate({ kind: 'contract', phase: event.phase, errors: event.errors });
      return gate.kind === 'contract' ? { ...event, errors: gate.errors } : event;
    }
    case 'MODERATION_FLAGGED': {
      const gate = toldGate({ kind: 'moderation', phase: event.phase, decision: event.decision });
      return gate.kind === 'moderation' ? { ...event, decision: gate.decision } : event;
    }
    case 'RUN_CANCELLED':
    case 'RUN_RESUMED':
      return event.reason === undefined ? event : { ...event, reason: cut(event.reason) };
    case 'RUN_RECOVERED':
      return event.nodes.length <= eventLimits.nodes ? event : { ...event, nodes: event.nodes.slice(0, eventLimits.nodes) };
    default:
      return event;
  }
}

type Ending = Extract<RunEvent, { type: 'ROLLBACK_STARTED' }>['ending'];

const boundEnding = (ending: Ending): Ending => {
  if ('error' in ending) return { ...ending, error: toldFailure(ending.error) };
  return ending.reason === undefined ? ending : { ...ending, reason: cut(ending.reason) };
};

const cut = (text: string): string =>
  text.length <= eventLimits.remark ? text : text.slice(0, eventLimits.remark).toWellFormed();

/** How much an event takes of a commit that no value of it can give back by being stored apart, in bytes. */
export function wordsIn(event: RunEvent): number {
  const names = 'nodeId' in event ? event.nodeId.length + event.iteration.length : 0;
  const written = 'variable' in event ? (event.variable?.length ?? 0) : 0;
  const way = 'handle' in event ? (event.handle?.length ?? 0) : 0;
  return eventLimits.frame + names + written + way + saidIn(event);
}

/**
 * How many bytes of an event are words from outside, at most: a UTF-16 unit is up to three bytes in UTF-8, and up to six where
 * JSON escapes it.
 */
function saidIn(event: RunEvent): number {
  switch (event.type) {
    case 'NODE_COMPLETED':
      return wordsOf(event.printed);
    case 'NODE_FAILED':
    case 'NODE_RETRIED':
      return failureWords(event.failure) + wordsOf(event.printed);
    case 'RUN_RETRIED':
      return failureWords(event.failure);
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return failureWords(event.error);
    case 'CONTRACT_VIOLATED':
      return sizeOf(event.errors);
    case 'MODERATION_FLAGGED':
      return sizeOf(event.decision);
    case 'SIGNAL_AWAITED':
    case 'SIGNAL_RECEIVED':
      return sizeOf([event.name, event.correlation]);
    case 'ITERATION_STARTED':
      return event.item === undefined || 'ref' in event.item ? 0 : sizeOf(event.item.value);
    case 'RUN_CANCELLED':
    case 'RUN_RESUMED':
      return event.reason === undefined ? 0 : sizeOf(event.reason);
    default:
      return 0;
  }
}

export const wordsOf = (printed: readonly string[] | undefined): number => (printed === undefined ? 0 : sizeOf(printed));

export const failureWords = ({ message, code, details }: Failure): number => sizeOf([message, code ?? '', details ?? null]);

const sizeOf = (value: unknown): number => utf8Length(JSON.stringify(value));

/** In bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) bytes += unit < 0x800 || (unit & 0xf800) === 0xd800 ? 1 : 2;
  }
  return bytes;
}
