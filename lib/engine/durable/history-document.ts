/**
 * A run's history as a document: the commands of its code and their results, in order, so that later versions of the code can be
 * replayed on it. It is built from public events, so anyone who can read those can build it.
 */
import { defined } from '../../base/defined.ts';
import { invariant } from '../invariant.ts';
import type { JsonValue } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { PublicEventName } from '../log/event-names.ts';
import { type StepKind, stepKinds } from './step.ts';
import { replayVersionKey } from './command-batch.ts';

export const historyFormat = 'stepwell.history';
/** Version of the document's format. Readers reject unknown versions. */
export const historyVersion = 1;

/** Times are RFC 3339 in UTC. */
type DocumentResult =
  | { readonly status: 'completed'; readonly output: JsonValue; readonly endedAt: string }
  | { readonly status: 'failed'; readonly failure: Failure; readonly endedAt: string };

export type DocumentEntry =
  | { readonly kind: 'scheduled'; readonly key: string; readonly step: StepKind; readonly target?: string }
  | { readonly kind: 'settled'; readonly key: string; readonly result: DocumentResult };

type DocumentEnd =
  | { readonly status: 'open' }
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: Failure }
  | { readonly status: 'cancelled' };

export interface HistoryDocument {
  readonly format: typeof historyFormat;
  readonly version: typeof historyVersion;
  /** how the run is replayed (`replay-version.ts`) */
  readonly replayVersion: number;
  readonly run: {
    readonly id: string;
    readonly workflowName: string;
    readonly version: string | null;
    readonly createdAt: string;
    readonly deadlineAt: string;
  };
  readonly input: JsonValue;
  /** of the workflow, from 1 */
  readonly attempt: number;
  /** results of steps that earlier attempts of the workflow completed */
  readonly priorResults: readonly {
    readonly key: string;
    readonly step: StepKind;
    readonly output: JsonValue;
    readonly endedAt: string;
  }[];
  /** of this attempt, without its rollback */
  readonly entries: readonly DocumentEntry[];
  readonly end: DocumentEnd;
}

interface ReadableEvent {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Which value of the run a reference belongs to. */
export type ValueSource = 'input' | 'output' | { readonly nodeId: string };

const startEvents: ReadonlySet<string> = new Set<PublicEventName>([
  'node.queued',
  'node.waiting',
  'signal.awaited',
  'subflow.called',
]);
const failureEvents: ReadonlySet<string> = new Set<PublicEventName>([
  'node.failed',
  'node.timed_out',
  'node.blocked',
  'node.invalidated',
]);

/**
 * @param events all events of the run, in order
 * @param valueAt returns the value of a reference in an event
 */
export function historyDocument(
  run: HistoryDocument['run'],
  events: readonly ReadableEvent[],
  valueAt: (source: ValueSource, ref: string) => JsonValue,
): HistoryDocument {
  const value = (payload: unknown, source: ValueSource): JsonValue => valueIn(payload, (ref) => valueAt(source, ref));
  const steps = new Map<string, { readonly key: string; readonly step: StepKind }>();
  const priorResults = new Map<string, HistoryDocument['priorResults'][number]>();
  let [entries, attempt, isRollingBack]: [DocumentEntry[], number, boolean] = [[], 1, false];
  let [input, end, replayVersion]: [JsonValue, DocumentEnd, number] = [null, { status: 'open' }, 1];
  for (const { type, payload } of events) {
    const node = typeof payload['nodeId'] === 'string' ? payload['nodeId'] : undefined;
    const step = node === undefined ? undefined : steps.get(node);
    if (type === 'input.set') input = value(payload['input'], 'input');
    else if (type === 'system.set' && payload['key'] === replayVersionKey)
      replayVersion = Number(value(payload['value'], 'input'));
    else if (type === 'run.completed') end = { status: 'completed', output: value(payload['output'], 'output') };
    else if (type === 'run.failed' || type === 'run.timed_out') end = { status: 'failed', error: failureIn(payload['error']) };
    else if (type === 'run.cancelled') end = { status: 'cancelled' };
    else if (type === 'rollback.started') isRollingBack = true;
    else if (isRollingBack || node === undefined) {
      if (type !== 'run.retried') continue;
      for (const each of entries) addPriorResult(each);
      [entries, attempt] = [[], attempt + 1];
      steps.clear();
    } else if (startEvents.has(type) && step === undefined) addScheduled(node, recordOf(payload['step']));
    else if (step !== undefined && (type === 'node.completed' || failureEvents.has(type))) {
      const endedAt = String(payload['endedAt']);
      const result: DocumentResult =
        type === 'node.completed'
          ? { status: 'completed', output: value(payload['output'], { nodeId: node }), endedAt }
          : { status: 'failed', failure: failureIn(payload['failure']), endedAt };
      entries.push({ kind: 'settled', key: step.key, result });
    }
  }
  return {
    format: historyFormat,
    version: historyVersion,
    replayVersion,
    run,
    input,
    attempt,
    priorResults: [...priorResults.values()],
    entries,
    end,
  };

  function addScheduled(nodeId: string, stepInfo: Readonly<Record<string, unknown>>): void {
    const { key, target } = stepInfo;
    const kind = stepKinds.find((each) => each === stepInfo['kind']);
    if (kind === undefined || kind === 'workflow_task' || typeof key !== 'string') return;
    steps.set(nodeId, { key, step: kind });
    entries.push(defined({ kind: 'scheduled', key, step: kind, target: typeof target === 'string' ? target : undefined }));
  }

  function addPriorResult(entry: DocumentEntry): void {
    if (entry.kind === 'scheduled' || entry.result.status === 'failed') return;
    const { key, result } = entry;
    const step = [...steps.values()].find((each) => each.key === key)?.step;
    if (step !== undefined) priorResults.set(key, { key, step, output: result.output, endedAt: result.endedAt });
  }
}

function valueIn(payload: unknown, valueAt: (ref: string) => JsonValue): JsonValue {
  const record = recordOf(payload);
  const { ref } = record;
  if (typeof ref === 'string') return valueAt(ref);
  invariant('value' in record, 'an event of the run has neither a value nor a reference');
  return record['value'] as JsonValue;
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** A failure as the log's events contain it. */
const failureIn = (record: unknown): Failure => {
  const { cause, message } = recordOf(record);
  invariant(typeof cause === 'string' && typeof message === 'string', 'a failure in the events has no cause or no message');
  return record as Failure;
};
