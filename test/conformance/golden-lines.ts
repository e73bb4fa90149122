/**
 * Public events as readable lines: the type, the node with its attempt, and the facts. Ids, times and messages are left out; a
 * future time is written as the delay until then.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../../lib/engine/json.ts';
import type { PublicEvent } from '../../lib/engine/log/public-event.ts';
import type { RunRecord } from './run-record.ts';

/** Times of the writer's clock, or times that another field gives: `retryAt` by `delayMs`. */
const omitted: ReadonlySet<string> = new Set(['startedAt', 'endedAt', 'retryAt', 'message']);
const toCome: ReadonlySet<string> = new Set(['wakeAt', 'expiresAt', 'notBefore']);
const unlike: ReadonlySet<string> = new Set(['signalId', 'receivedAt', 'childRunId']);
const anyRunId = /\bwrun_[0-9A-Z]{26}\b/g;

/** The lines of a run, followed by those of its child runs under the names of their workflows. */
export const goldenLines = ({ events, called }: RunRecord): readonly string[] => [
  ...linesOf(events),
  ...called.flatMap((each) => goldenLines(each).map((line) => `${each.workflow}: ${line}`)),
];

const linesOf = (events: readonly PublicEvent[]): readonly string[] => events.map(lineOf);

const lineOf = (event: PublicEvent): string => {
  const { nodeId, attempt, ...payload } = event.payload;
  const node = typeof nodeId === 'string' ? [typeof attempt === 'number' ? `${nodeId}#${attempt}` : nodeId] : [];
  const facts = Object.entries(reduced(payload, event)).map(([key, value]) => `${key}=${quoted(value)}`);
  return [event.type, ...node, ...facts].join(' ');
};

const quoted = (value: JsonValue): string => JSON.stringify(value).replaceAll('"', "'");

const reduced = (value: JsonObject, event: PublicEvent): JsonObject =>
  Object.fromEntries(
    Object.keys(value)
      .filter((key) => !omitted.has(key))
      .toSorted()
      .map((key) => [key, fact(key, value[key] ?? null, event)]),
  );

const fact = (key: string, value: JsonValue, event: PublicEvent): JsonValue => {
  if (value === null) return null;
  if (toCome.has(key) && typeof value === 'string') return `in ${(Date.parse(value) - Date.parse(event.timestamp)) / 1_000} s`;
  if (unlike.has(key)) return `(${key})`;
  if (typeof value === 'string') return value.replaceAll(anyRunId, '(runId)');
  if (Array.isArray(value)) return value.map((item: JsonValue) => fact('', item, event));
  if (!isJsonObject(value)) return value;
  // An offloaded value is named by its content and the run's id.
  if (typeof value['ref'] === 'string') return { apart: value['bytes'] ?? null };
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === 'value' ? fact('', value['value'] ?? null, event) : reduced(value, event);
};
