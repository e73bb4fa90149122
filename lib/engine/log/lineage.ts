/** The run, node, schedule or trigger that created a run. The first commit records it, so the head alone suffices to read it. */
import {
  type Attempt,
  type IterationKey,
  type NodeId,
  type RunId,
  type ScheduleId,
  attempt,
  iterationKey,
  nodeId,
  nodeIdPattern,
  runId,
  runIdPattern,
  scheduleId,
  scheduleIdPattern,
} from '../ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';
import { type Instant, instant } from '../time.ts';
import type { Commit } from './commit.ts';

/** A run, or the first commit of one. */
interface OfFirstCommit {
  readonly commit: Pick<Commit, 'events'>;
}

const rerunOfKey = '__rerunOf';
const rerunFromKey = '__rerunFrom';

export const rerunSystemValues = (of: RunId, from?: NodeId): Readonly<Record<string, JsonValue>> => ({
  [rerunOfKey]: of,
  ...(from === undefined ? {} : { [rerunFromKey]: from }),
});

/** The run that this one repeats; undefined if it is not a rerun. */
export function rerunOf(run: OfFirstCommit): RunId | undefined {
  const value = systemText(run, rerunOfKey);
  return value !== undefined && runIdPattern.test(value) ? runId(value) : undefined;
}

/** The node that this rerun started from; undefined if it started from the beginning. */
export function rerunFrom(run: OfFirstCommit): NodeId | undefined {
  const value = systemText(run, rerunFromKey);
  return value !== undefined && nodeIdPattern.test(value) ? nodeId(value) : undefined;
}

/** The attempt of a node that called this run. */
export interface Caller {
  readonly runId: RunId;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  /** depth of the call chain, this caller included */
  readonly depth: number;
  readonly parentClosePolicy: 'cancel' | 'abandon';
  /** the caller is a code run; absent: a run of another kind */
  readonly isCode?: true;
}

const callerKey = '__calledBy';

export const callerSystemValues = (caller: Caller): Readonly<Record<string, JsonValue>> => ({ [callerKey]: { ...caller } });

/** The caller of this run; undefined if no workflow called it. */
export function callerOf(run: OfFirstCommit): Caller | undefined {
  const value = systemValue(run, callerKey);
  return value !== undefined && isJsonObject(value) ? parseCaller(value) : undefined;
}

function parseCaller(value: JsonObject): Caller | undefined {
  const { runId: run, nodeId: node, iteration, attempt: number, depth, parentClosePolicy, isCode } = value;
  if (typeof run !== 'string' || typeof node !== 'string' || typeof iteration !== 'string') return undefined;
  if (typeof number !== 'number' || typeof depth !== 'number') return undefined;
  return {
    runId: runId(run),
    nodeId: nodeId(node),
    iteration: iterationKey(iteration),
    attempt: attempt(number),
    depth,
    parentClosePolicy: parentClosePolicy === 'abandon' ? 'abandon' : 'cancel',
    ...(isCode === true ? { isCode } : {}),
  };
}

const scheduleIdKey = '__scheduleId';
const scheduledAtKey = '__scheduledAt';

export const scheduleSystemValues = (id: ScheduleId, scheduledAt: Instant): Readonly<Record<string, JsonValue>> => ({
  [scheduleIdKey]: id,
  [scheduledAtKey]: String(scheduledAt),
});

/** The schedule that started this run, and its due time; undefined if no schedule did. */
export function scheduleOf(run: OfFirstCommit): { readonly scheduleId: ScheduleId; readonly scheduledAt: Instant } | undefined {
  const id = systemText(run, scheduleIdKey);
  const at = systemText(run, scheduledAtKey);
  if (id === undefined || at === undefined || !scheduleIdPattern.test(id) || !/^\d{1,15}$/.test(at)) return undefined;
  return { scheduleId: scheduleId(id), scheduledAt: instant(Number(at)) };
}

const triggerKey = '__trigger';
const triggerMessageKey = '__triggerMessage';

/** @param messageId the idempotency key of the message: by default its id, or the id of the event */
export const triggerSystemValues = (trigger: string, messageId: string): Readonly<Record<string, JsonValue>> => ({
  [triggerKey]: trigger,
  [triggerMessageKey]: messageId,
});

/** The trigger that started this run, and its message; undefined if no trigger did. */
export function triggerOf(run: OfFirstCommit): { readonly trigger: string; readonly messageId: string } | undefined {
  const trigger = systemText(run, triggerKey);
  const messageId = systemText(run, triggerMessageKey);
  return trigger === undefined || messageId === undefined ? undefined : { trigger, messageId };
}

function systemText(run: OfFirstCommit, key: string): string | undefined {
  const value = systemValue(run, key);
  return typeof value === 'string' ? value : undefined;
}

function systemValue({ commit }: OfFirstCommit, key: string): JsonValue | undefined {
  for (const event of commit.events) {
    if (event.type === 'SYSTEM_SET' && event.key === key && 'value' in event.value) return event.value.value;
    // Applications cannot set names of this form.
    if (event.type === 'DEVKIT' && event.data?.[key] !== undefined) return event.data[key];
  }
  return undefined;
}
