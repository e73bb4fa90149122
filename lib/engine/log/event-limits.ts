/**
 * Bounds for the text in an event that comes from outside the engine and is never offloaded. A payload is offloaded when its commit
 * becomes too large; such text is not, so each kind has its own bound and their sum per commit stays limited.
 */
import { defined } from '../../base/defined.ts';
import type { Outcome } from '../graph/outcome.ts';
import { type JsonObject, type JsonValue, isJsonArray } from '../json.ts';
import { findOutputError } from '../validate-json.ts';
import type { Failure, RunEvent, Gate } from './events.ts';

/**
 * Of a failure, in UTF-16 units. Its text can come from any source, such as a model's response or an error of the author's code. A
 * failure is part of its commit and of every report of it.
 */
export const failureLimits = {
  message: 2_000,
  code: 128,
  /** of the details, a gate's errors and its decision, each as JSON; the failures of ten results in one commit fit together */
  details: 4_096,
} as const;

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
      return event.reason === undefined ? event : { ...event, reason: truncate(event.reason, eventLimits.reason) };
    case 'RUN_RECOVERED':
      return event.nodes.length <= eventLimits.nodes ? event : { ...event, nodes: event.nodes.slice(0, eventLimits.nodes) };
    default:
      return event;
  }
}

type RunOutcome = Extract<RunEvent, { type: 'ROLLBACK_STARTED' }>['runOutcome'];

const truncateRunOutcome = (runOutcome: RunOutcome): RunOutcome => {
  if ('error' in runOutcome) return { ...runOutcome, error: reportedFailure(runOutcome.error) };
  return runOutcome.reason === undefined
    ? runOutcome
    : { ...runOutcome, reason: truncate(runOutcome.reason, eventLimits.reason) };
};

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

/** The failure, shortened to the limits. `omitted` names the detail entries that do not fit. */
export function reportedFailure({ message, code, details, ...rest }: Failure): Failure {
  return defined({
    ...rest,
    message: truncate(message, failureLimits.message),
    code: code === undefined ? undefined : truncate(code, failureLimits.code),
    details: details === undefined ? undefined : boundDetails(details),
  });
}

/** The outcome of an attempt, shortened to what a commit may contain. */
export const reportedOutcome = (outcome: Outcome): Outcome =>
  outcome.kind !== 'failed'
    ? outcome
    : {
        ...outcome,
        failure: reportedFailure(outcome.failure),
        ...(outcome.gate === undefined ? {} : { gate: reportedGate(outcome.gate) }),
      };

const reportedGate = (gate: Gate): Gate =>
  gate.kind === 'contract' ? { ...gate, errors: takeFitting(gate.errors) } : { ...gate, decision: boundDetails(gate.decision) };

/** Small entries go first. An entry that is too long for the remaining space is shortened, or omitted and named. */
function boundDetails(details: JsonObject): JsonObject {
  const storable = Object.entries(details).filter(([, value]) => isStorable(value));
  if (storable.length === Object.keys(details).length && sizeOf(details) <= failureLimits.details) return details;
  const bySize = storable.toSorted(([, one], [, other]) => sizeOf(one) - sizeOf(other));
  const included = new Map<string, JsonValue>();
  let available = failureLimits.details - reservedForOmittedNames;
  for (const [key, value] of bySize) {
    const shortenedValue = shorten(value, available - sizeOf(key) - entryOverhead);
    const entrySize = sizeOf({ [key]: shortenedValue });
    if (entrySize > available) continue;
    included.set(key, shortenedValue);
    available -= entrySize;
  }
  const keys = Object.keys(details);
  const omitted = keys.filter((key) => !included.has(key)).map((key) => truncate(key, maxOmittedNameLength));
  const all = keys.flatMap((key): [string, JsonValue][] => {
    const value = included.get(key);
    return value === undefined ? [] : [[key, value]];
  });
  return { ...Object.fromEntries(all), ...(omitted.length === 0 ? {} : { omitted: omitted.slice(0, maxOmittedNames) }) };
}

/** A value that JSON cannot represent, or that is nested too deeply, is omitted like one that is too large. */
const isStorable = (value: JsonValue): boolean => findOutputError(value) === undefined;

/** Two braces and a colon. */
const entryOverhead = 3;

const maxOmittedNames = 4;
const maxOmittedNameLength = 40;
/** JSON may escape each character of a name as six. */
const reservedForOmittedNames = maxOmittedNames * (maxOmittedNameLength * 6 + 3) + 16;

/** Cuts the end of a string or a list that is too long; other values stay as they are. */
function shorten(value: JsonValue, available: number): JsonValue {
  if (typeof value === 'string')
    return sizeOf(value) <= available ? value : truncate(value, Math.max(0, Math.floor(available / 6)));
  return isJsonArray(value) ? takeFitting(value, available) : value;
}

/** The items that fit, in order. */
function takeFitting<Item extends JsonValue>(items: readonly Item[], available: number = failureLimits.details): readonly Item[] {
  let remaining = available - 2;
  return items.filter((item) => {
    if (!isStorable(item)) return false;
    const entrySize = sizeOf(item) + 1;
    if (entrySize > remaining) return false;
    remaining -= entrySize;
    return true;
  });
}

const sizeOf = (value: JsonValue): number => JSON.stringify(value).length;

/** Never splits a character. */
const truncate = (text: string, length: number): string => (text.length <= length ? text : text.slice(0, length).toWellFormed());

/** The lines that an attempt printed, with one bound for every node type. */
export const printedLimits = {
  lines: 200,
  /** in UTF-8 */
  bytes: 16_384,
} as const;

/** Replaces the last line if lines were dropped. */
const truncationMark = '… more was printed and is not stored';

export interface PrintedLines {
  add(line: string): void;
  lines(): readonly string[];
}

export function collectPrintedLines(): PrintedLines {
  const lines: string[] = [];
  let bytes = bytesOf(truncationMark);
  let isTruncated = false;
  return {
    add: (line) => {
      // Measured only if it may fit: a line may be far longer than the whole bound.
      const size = isTruncated || line.length > printedLimits.bytes ? Infinity : bytesOf(line);
      bytes += size;
      isTruncated ||= lines.length >= printedLimits.lines - 1 || bytes > printedLimits.bytes;
      if (!isTruncated) lines.push(line);
    },
    lines: () => (isTruncated ? [...lines, truncationMark] : lines),
  };
}

/** The lines within the bound. Lines that were already truncated may be truncated again and carry one mark. */
export function boundPrintedLines(lines: readonly string[]): readonly string[] {
  if (lines.length <= printedLimits.lines && lines.reduce((sum, line) => sum + bytesOf(line), 0) <= printedLimits.bytes)
    return lines;
  const printed = collectPrintedLines();
  for (const line of lines) printed.add(line);
  return printed.lines();
}

/** Length in UTF-8. A lone surrogate counts as the three bytes that encode it. */
function bytesOf(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const isPair = unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    if (isPair) at += 1;
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : isPair ? 4 : 3;
  }
  return bytes;
}
