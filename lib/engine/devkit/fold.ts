/**
 * Folds an event of the Workflow DevKit into the state of its run: into what the World API shows, and into the nodes that every kind of
 * run has. A step is a node, a wait is a sleep, and a hook is a wait for a signal.
 */
import { defined } from '../../base/defined.ts';
import { attempt, type EventId, type NodeRef, firstAttempt, nodeId, nodeKey, topLevel } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import { type JsonValue, type Payload, inline, isJsonArray, isJsonObject } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { defaultDeadline, maxDeadline } from '../log/head.ts';
import { isOpen } from '../log/node-state.ts';
import {
  type RunProgress,
  type RunState,
  type Stamp,
  countExecution,
  dispatchRecord,
  isTerminal,
  recordWaitEnd,
  setEndedNode,
  setOpenNode,
  writeContext,
} from '../log/run-state.ts';
import { type Instant, after, days, instant } from '../time.ts';
import type { DevKitEvent } from './events.ts';
import { type DevKitState, type DevKitStep, liveHooks, newDevKitState } from './state.ts';

/** @param endRun ends the run and cancels its open nodes */
export function applyDevKitEvent(
  state: RunState,
  event: DevKitEvent,
  stamp: Stamp,
  endRun: (progress: RunProgress) => void,
): void {
  const devkit = devKitOf(state, event, stamp);
  const change: Change = { state, devkit, event, stamp, id: state.nextEventId };
  devkit.run = { ...devkit.run, updatedAt: stamp.at, lastEvent: { event: event.event, at: stamp.at } };
  switch (event.event) {
    case 'run_created':
      return writeContext(state, topLevel, 'input', change.id, event.payload ?? inline(null));
    case 'run_started':
      devkit.run = { ...devkit.run, startedAt: devkit.run.startedAt ?? stamp.at };
      state.progress = { status: 'running', startedAt: stamp.at };
      return;
    case 'run_completed':
    case 'run_failed':
    case 'run_cancelled':
      return applyEnd(change, endRun);
    case 'attr_set':
      return applyAttributes(change);
    case 'step_created':
    case 'step_started':
    case 'step_completed':
    case 'step_failed':
    case 'step_retrying':
      return applyStep(change);
    case 'hook_created':
    case 'hook_received':
    case 'hook_disposed':
    case 'hook_conflict':
      return applyHook(change);
    case 'wait_created':
    case 'wait_completed':
      return applyWait(change);
    default:
      return unreachable(event.event);
  }
}

interface Change {
  readonly state: RunState;
  readonly devkit: DevKitState;
  readonly event: DevKitEvent;
  readonly stamp: Stamp;
  readonly id: EventId;
}

function devKitOf(state: RunState, event: DevKitEvent, { at }: Stamp): DevKitState {
  if (state.devkit !== undefined) return state.devkit;
  invariant(event.event === 'run_created', () => `the log of a DevKit run begins with ${event.event}`);
  state.devkit = newDevKitState({
    specVersion: event.specVersion,
    updatedAt: at,
    attributes: attributesIn(event.data?.['attributes']),
    deadlineAt: after(at, defaultDeadline),
    lastEvent: { event: event.event, at },
  });
  return state.devkit;
}

const attributesIn = (value: JsonValue | undefined): Readonly<Record<string, string>> =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).filter(isTextEntry)) : {};
const isTextEntry = (entry: readonly [string, JsonValue]): entry is [string, string] => typeof entry[1] === 'string';

export const textIn = ({ data }: Pick<DevKitEvent, 'data'>, name: string): string | undefined => {
  const value = data?.[name];
  return typeof value === 'string' ? value : undefined;
};

function applyEnd({ devkit, event, stamp, id, state }: Change, endRun: (progress: RunProgress) => void): void {
  const endedAt = stamp.at;
  devkit.run = { ...devkit.run, endedBy: id };
  // The run needs no later deadline any more, so what it has stored expires as if it had not waited.
  if (state.deadlineExtension !== undefined) state.deadlineExtension = { deadlineAt: stamp.at, at: stamp.at };
  if (event.event === 'run_completed') return endRun({ status: 'completed', endedAt, output: event.payload ?? inline(null) });
  if (event.event === 'run_cancelled')
    return endRun(defined({ status: 'cancelled', endedAt, reason: textIn(event, 'cancelReason') }));
  devkit.run = { ...devkit.run, ...defined({ error: event.payload, errorCode: textIn(event, 'errorCode') }) };
  return endRun({ status: 'failed', endedAt, error: failureOf(event) });
}

/** The failure that every reader of runs understands. A serialized error is opaque. */
function failureOf(event: DevKitEvent): Failure {
  const code = textIn(event, 'errorCode');
  return defined({
    cause: code === 'deadline_exceeded' ? 'deadline' : 'error',
    code,
    message: messageIn(event.payload) ?? 'the code reported an error, whose value only the code can read',
  });
}

function messageIn(payload: Payload | undefined): string | undefined {
  if (payload === undefined || !('value' in payload)) return undefined;
  if (typeof payload.value === 'string') return payload.value;
  const message = isJsonObject(payload.value) ? payload.value['message'] : undefined;
  return typeof message === 'string' ? message : undefined;
}

function applyAttributes({ devkit, event }: Change): void {
  const attributes: Record<string, string> = { ...devkit.run.attributes };
  for (const { key, value } of changesIn(event.data?.['changes'])) {
    if (value === null) delete attributes[key];
    else attributes[key] = value;
  }
  devkit.run = { ...devkit.run, attributes };
  if (event.correlationId !== undefined && isOfWorkflow(event)) devkit.attributeWrites.set(event.correlationId, true);
}

export const isOfWorkflow = ({ data }: Pick<DevKitEvent, 'data'>): boolean => {
  const writer = data?.['writer'];
  return isJsonObject(writer) && writer['type'] === 'workflow';
};

export interface AttributeChange {
  readonly key: string;
  /** null removes the attribute */
  readonly value: string | null;
}

export const changesIn = (value: JsonValue | undefined): readonly AttributeChange[] =>
  isJsonArray(value) ? value.flatMap(changeIn) : [];

function changeIn(change: JsonValue): readonly AttributeChange[] {
  if (!isJsonObject(change)) return [];
  const { key, value } = change;
  return typeof key === 'string' && (typeof value === 'string' || value === null) ? [{ key, value }] : [];
}

const refOf = (correlationId: string): NodeRef => ({ nodeId: nodeId(correlationId), iteration: topLevel });

const correlationOf = ({ event: { event, correlationId } }: Change): string => {
  invariant(correlationId !== undefined, () => `${event} names no step, hook or wait`);
  return correlationId;
};

function requireStep(change: Change): DevKitStep {
  const id = correlationOf(change);
  const step = change.devkit.steps.get(id);
  invariant(step !== undefined, () => `${change.event.event} of ${id}, which is not in the log`);
  return step;
}

function applyStep(change: Change): void {
  const { devkit, event, stamp } = change;
  const { at, commit } = stamp;
  if (event.event === 'step_created') {
    const stepId = correlationOf(change);
    devkit.steps.set(
      stepId,
      defined({
        stepId,
        stepName: textIn(event, 'stepName') ?? '',
        status: 'pending',
        attempt: 0,
        specVersion: event.specVersion,
        createdAt: at,
        updatedAt: at,
        input: event.payload,
        createdIn: commit,
      }),
    );
    return openStepNode(change, 0);
  }
  const { retryAfter: _before, ...step } = requireStep(change);
  if (event.event === 'step_started') {
    const number = step.attempt + 1;
    devkit.steps.set(step.stepId, {
      ...step,
      status: 'running',
      attempt: number,
      startedAt: step.startedAt ?? at,
      updatedAt: at,
    });
    return openStepNode(change, number);
  }
  if (event.event === 'step_retrying') {
    const retrying = defined({ ...step, status: 'pending', updatedAt: at, outcomeIn: commit, retryAfter: event.until });
    devkit.steps.set(step.stepId, retrying);
    if (event.until !== undefined) keepUntil(change, event.until);
    return openStepNode(change, step.attempt, event.until);
  }
  const { input: _input, ...ended } = step;
  const status = event.event === 'step_completed' ? 'completed' : 'failed';
  devkit.steps.set(step.stepId, { ...ended, status, completedAt: at, updatedAt: at, outcomeIn: commit });
  endStepNode(change, step);
}

/** @param started attempts that have started; the node of a step that waits for its retry shows the next attempt */
function openStepNode(change: Change, started: number, notBefore?: Instant): void {
  const { state, event, stamp, id } = change;
  if (isTerminal(state.progress)) return;
  const ref = refOf(correlationOf(change));
  const isRunning = event.event === 'step_started';
  const number = attempt(isRunning ? started : started + 1);
  const record = dispatchRecord(ref, number, 'queue', 0, id, stamp);
  if (isRunning) countExecution(state);
  setOpenNode(
    state,
    isRunning ? { ...record, status: 'running', startedAt: stamp.at } : defined({ ...record, status: 'queued', notBefore }),
  );
}

function endStepNode({ state, event, stamp, id }: Change, step: Pick<DevKitStep, 'stepId' | 'startedAt' | 'attempt'>): void {
  const ref = refOf(step.stepId);
  const node = state.nodes.get(nodeKey(ref));
  // The end of the run has cancelled it.
  if (node === undefined || !isOpen(node)) return;
  const ended = { ...ref, attempt: attempt(Math.max(1, step.attempt)), endedAt: stamp.at, endedBy: id };
  const startedAt = step.startedAt ?? stamp.at;
  setEndedNode(
    state,
    event.event === 'step_completed'
      ? { ...ended, startedAt, status: 'completed', handle: null, output: inline(null) }
      : { ...ended, startedAt, status: 'failed', failure: failureOf(event), isHandled: true },
  );
}

function applyHook(change: Change): void {
  const { devkit, event, stamp, id, state } = change;
  const hookId = correlationOf(change);
  const hook = devkit.hooks.get(hookId);
  if (event.event === 'hook_created') {
    const token = textIn(event, 'token') ?? '';
    const { specVersion, data, payload: metadata } = event;
    const kept = defined({ hookId, token, specVersion, createdAt: stamp.at, metadata });
    devkit.hooks.set(hookId, { ...kept, isWebhook: data?.['isWebhook'] === true, isSystem: data?.['isSystem'] === true });
    const record = dispatchRecord(refOf(hookId), firstAttempt, 'queue', 0, id, stamp);
    setOpenNode(state, { ...record, status: 'waiting', for: 'signal', name: 'hook', correlation: hookId });
    // A hook has no end, so the run may last as long as any run.
    extendTo(state, after(stamp.at, maxDeadline), stamp.at);
  } else if (event.event === 'hook_conflict') {
    devkit.refusedHooks.set(hookId, id);
  } else if (event.event === 'hook_received') {
    if (event.resumeId !== undefined)
      devkit.resumptions.set(
        event.resumeId,
        defined({ resumeId: event.resumeId, hookId, eventId: id, digest: event.resumeDigest }),
      );
  } else if (event.event === 'hook_disposed' && hook !== undefined) {
    devkit.hooks.set(hookId, { ...hook, isDisposed: true });
    endWaitNode(change, hookId, hook.createdAt);
    // Without a hook the run has the time of its last wait.
    if (liveHooks(devkit).length === 0 && state.deadlineExtension !== undefined)
      state.deadlineExtension = { deadlineAt: after(stamp.at, defaultDeadline), at: stamp.at };
  }
}

function applyWait(change: Change): void {
  const { devkit, event, stamp, id, state } = change;
  const correlationId = correlationOf(change);
  const { at } = stamp;
  const wait = devkit.waits.get(correlationId);
  if (event.event === 'wait_created') {
    const { specVersion, until: resumeAt } = event;
    const created = { correlationId, status: 'waiting', specVersion, createdAt: at, updatedAt: at } as const;
    devkit.waits.set(correlationId, defined({ ...created, resumeAt }));
    const wakeAt = resumeAt ?? at;
    const record = dispatchRecord(refOf(correlationId), firstAttempt, 'queue', 0, id, stamp);
    setOpenNode(state, { ...record, status: 'waiting', for: 'time', wakeAt, output: inline(null) });
    keepUntil(change, wakeAt);
  } else if (wait !== undefined) {
    devkit.waits.set(correlationId, { ...wait, status: 'completed', completedAt: at, updatedAt: at });
    endWaitNode(change, correlationId, wait.createdAt);
  }
}

function endWaitNode({ state, stamp, id }: Change, correlationId: string, startedAt: Instant): void {
  const ref = refOf(correlationId);
  const node = state.nodes.get(nodeKey(ref));
  if (node === undefined || !isOpen(node)) return;
  recordWaitEnd(state, stamp.at);
  const { attempt: number } = node;
  const ended = { ...ref, attempt: number, endedAt: stamp.at, endedBy: id, startedAt };
  setEndedNode(state, { ...ended, status: 'completed', handle: null, output: inline(null) });
}

/** A run that begins a wait has at least this much time after it. */
const leastTimeAfterWait = days(1);

/** Moves the deadline if a wait ends shortly before it or later. It then is the usual time after the end of the wait. */
function keepUntil({ state, devkit, stamp }: Change, until: Instant): void {
  recordWaitEnd(state, until);
  const deadlineAt = Math.max(devkit.run.deadlineAt, state.deadlineExtension?.deadlineAt ?? 0);
  if (after(until, leastTimeAfterWait) > deadlineAt) extendTo(state, after(until, defaultDeadline), stamp.at);
}

/** The limit in the head bounds what the log asks for. */
function extendTo(state: RunState, deadlineAt: Instant, at: Instant): void {
  const known = state.deadlineExtension?.deadlineAt ?? instant(0);
  if (deadlineAt > known) state.deadlineExtension = { deadlineAt, at };
}
