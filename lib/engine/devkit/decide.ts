/**
 * Requests in, events or a named refusal out: the state machine of the Workflow DevKit, for its three version lines. It decides on a
 * fold that may be older than the log: the conditional put finds that out for a decision with events, and the caller for the others.
 */
import { defined } from '../../base/defined.ts';
import { type Decision, emit } from '../decision.ts';
import { type EventId, eventId } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import { isTerminal } from '../log/fold.ts';
import { between } from '../time.ts';
import { attributeError } from './attributes.ts';
import {
  type CreatableEvent,
  type DevKitEvent,
  defaultSpecVersion,
  eventMargin,
  isTerminalRunEvent,
  legacySpecVersion,
  maxEvents,
  maxSpecVersion,
} from './events.ts';
import { changesIn, isOfWorkflow, textIn } from './fold.ts';
import type { DevKitState, DevKitStep } from './state.ts';

/** What an application asks to record. */
export interface WorldRequest extends Omit<DevKitEvent, 'type' | 'event' | 'specVersion' | 'afterEnd'> {
  readonly event: CreatableEvent;
  readonly specVersion?: number;
  /** the run whose live hook has the token of this hook */
  readonly tokenOwner?: string;
}

export type WorldRefusal =
  | 'entity_conflict'
  | 'run_expired'
  | 'too_early'
  | 'run_not_found'
  | 'hook_not_found'
  | 'step_not_found'
  | 'wait_not_found'
  | 'run_not_supported'
  | 'event_not_supported'
  | 'attributes_invalid'
  | 'event_limit';

export interface Refused {
  readonly kind: 'refused';
  readonly code: WorldRefusal;
  readonly message: string;
  /** for `too_early` */
  readonly retryAfterSeconds?: number;
}

export type Decided =
  /** the events are in the decision; the last one is the requested one */
  | { readonly kind: 'accepted'; readonly eventId: EventId; readonly createdStep?: true }
  /** the log has it already: nothing to record */
  | { readonly kind: 'known'; readonly eventId?: EventId }
  | Refused;

/** @param draft gets the events of an accepted request */
export function decideRequest(draft: Decision, request: WorldRequest): Decided {
  const { devkit } = draft.state;
  if (devkit === undefined) return refuse('run_not_found', 'the run does not exist');
  return (
    checkVersion(devkit, request) ??
    checkLimit(draft, request) ??
    checkEnd(draft, devkit, request) ??
    decideOpen(draft, devkit, request)
  );
}

/** The first events of a run: `run_created`, and `run_started` where the message came before it. */
export function decideCreation(draft: Decision, request: WorldRequest): Decided {
  const { specVersion = defaultSpecVersion } = request;
  if (specVersion > maxSpecVersion) return refuse('run_not_supported', notSupported(specVersion));
  const changes = Object.entries(request.data?.['attributes'] ?? {}).flatMap(([key, value]) =>
    typeof value === 'string' ? [{ key, value }] : [],
  );
  const wrong = attributeError(changes, {}, request.data?.['allowReservedAttributes'] === true);
  if (wrong !== undefined) return refuse('attributes_invalid', wrong);
  record(draft, { ...request, event: 'run_created' });
  if (request.event === 'run_started') record(draft, { event: 'run_started', ...defined({ specVersion: request.specVersion }) });
  return accepted(draft);
}

const refuse = (code: WorldRefusal, message: string): Refused => ({ kind: 'refused', code, message });
const conflict = (message: string): Refused => refuse('entity_conflict', message);
const notSupported = (specVersion: number): string =>
  `the run has spec version ${specVersion}, and this version of Stepwell stores runs up to spec version ${maxSpecVersion}`;

const accepted = ({ state }: Decision): Decided => ({ kind: 'accepted', eventId: eventId(state.nextEventId - 1) });

/** Records the event in the decision. */
function record(draft: Decision, request: WorldRequest, change: Partial<DevKitEvent> = {}): void {
  const { tokenOwner: _owner, specVersion = draft.state.devkit?.run.specVersion ?? defaultSpecVersion, ...fields } = request;
  const { progress } = draft.state;
  emit(draft, {
    ...fields,
    type: 'DEVKIT',
    specVersion,
    ...change,
    ...(isTerminal(progress) ? { afterEnd: progress.status } : {}),
  });
}

const legacyEvents: ReadonlySet<CreatableEvent> = new Set(['run_cancelled', 'wait_completed', 'hook_received']);

function checkVersion({ run: { specVersion } }: DevKitState, { event }: WorldRequest): Refused | undefined {
  if (specVersion > maxSpecVersion) return refuse('run_not_supported', notSupported(specVersion));
  if (specVersion <= legacySpecVersion && !legacyEvents.has(event) && event !== 'run_created')
    return refuse('event_not_supported', `a run of spec version ${specVersion} has no events of type ${event}`);
  return undefined;
}

function checkLimit({ state }: Decision, { event }: WorldRequest): Refused | undefined {
  if (state.nextEventId <= maxEvents + eventMargin || isTerminalRunEvent(event)) return undefined;
  return refuse('event_limit', `the run has more than ${maxEvents} events`);
}

/** What an ended run refuses. */
function checkEnd({ state }: Decision, { run }: DevKitState, request: WorldRequest): Decided | undefined {
  const { progress } = state;
  if (!isTerminal(progress)) return undefined;
  const { event } = request;
  const ended = `the run has ended as ${progress.status}`;
  if (event === 'run_created') return conflict('the run exists already');
  if (event === 'run_started') return refuse('run_expired', ended);
  if (event === 'run_cancelled' && progress.status === 'cancelled') return defined({ kind: 'known', eventId: run.endedBy });
  // The end of a run ended its waits.
  const isOfWait = event === 'wait_created' || event === 'wait_completed';
  const creates = event === 'step_created' || event === 'hook_created' || isOfWait || isLazyStart(request);
  return isTerminalRunEvent(event) || creates || event === 'attr_set' ? conflict(ended) : undefined;
}

/** A start that carries what its step is created from. */
const isLazyStart = (request: WorldRequest): boolean =>
  request.event === 'step_started' && textIn(request, 'stepName') !== undefined && request.payload !== undefined;

function decideOpen(draft: Decision, devkit: DevKitState, request: WorldRequest): Decided {
  switch (request.event) {
    case 'run_created':
      return conflict('the run exists already');
    case 'run_started':
      if (draft.state.progress.status === 'running') return { kind: 'known' };
      // What it carries belongs to the event that created the run.
      record(draft, { event: 'run_started', ...defined({ specVersion: request.specVersion, occurredAt: request.occurredAt }) });
      return accepted(draft);
    case 'run_completed':
    case 'run_failed':
    case 'run_cancelled':
      record(draft, request);
      return accepted(draft);
    case 'attr_set':
      return setAttributes(draft, devkit, request);
    case 'step_created':
    case 'step_started':
    case 'step_completed':
    case 'step_failed':
    case 'step_retrying':
      return decideStep(draft, devkit, request);
    case 'hook_created':
    case 'hook_received':
    case 'hook_disposed':
      return decideHook(draft, devkit, request);
    case 'wait_created':
    case 'wait_completed':
      return decideWait(draft, devkit, request);
    default:
      return unreachable(request.event);
  }
}

function setAttributes(draft: Decision, { run, attributeWrites }: DevKitState, request: WorldRequest): Decided {
  const { data, correlationId } = request;
  const wrong = attributeError(changesIn(data?.['changes']), run.attributes, data?.['allowReservedAttributes'] === true);
  if (wrong !== undefined) return refuse('attributes_invalid', wrong);
  if (correlationId !== undefined && isOfWorkflow(request) && attributeWrites.has(correlationId))
    return conflict(`the attributes of ${correlationId} are set already`);
  record(draft, request);
  return accepted(draft);
}

const idOf = ({ event, correlationId }: WorldRequest): string => {
  invariant(correlationId !== undefined, () => `a ${event} without a correlation id`);
  return correlationId;
};

function decideStep(draft: Decision, { steps }: DevKitState, request: WorldRequest): Decided {
  const id = idOf(request);
  const step = steps.get(id);
  const isLazy = isLazyStart(request);
  if (request.event === 'step_created' || isLazy) {
    // Only one of two concurrent starts owns the step.
    if (step !== undefined) return conflict(`step ${id} is created already`);
    record(draft, isLazy ? creationIn(request) : request, { event: 'step_created' });
    if (!isLazy) return accepted(draft);
    const { payload: _input, ...start } = request;
    record(draft, start);
    return { kind: 'accepted', eventId: eventId(draft.state.nextEventId - 1), createdStep: true };
  }
  if (step === undefined) return refuse('step_not_found', `step ${id} does not exist`);
  const refused = checkStep(draft, step, request);
  if (refused !== undefined) return refused;
  record(draft, request);
  return accepted(draft);
}

/** The creation that a lazy start implies: the name and the input. */
const creationIn = (request: WorldRequest): WorldRequest => {
  const { occurredAt: _when, ...fields } = request;
  return { ...fields, data: defined({ stepName: textIn(request, 'stepName') }) };
};

function checkStep({ state, tools: { now } }: Decision, step: DevKitStep, { event }: WorldRequest): Refused | undefined {
  if (step.status === 'completed' || step.status === 'failed') return conflict(`step ${step.stepId} has ended as ${step.status}`);
  if (isTerminal(state.progress) && step.status !== 'running')
    return refuse('run_expired', `the run has ended as ${state.progress.status}, and step ${step.stepId} does not run`);
  if (event !== 'step_started' || step.retryAfter === undefined || step.retryAfter <= now) return undefined;
  const retryAfterSeconds = Math.ceil(between(now, step.retryAfter) / 1_000);
  return { ...refuse('too_early', `step ${step.stepId} is retried in ${retryAfterSeconds} s`), retryAfterSeconds };
}

function decideHook(draft: Decision, { hooks, refusedHooks, resumptions }: DevKitState, request: WorldRequest): Decided {
  const id = idOf(request);
  const hook = hooks.get(id);
  if (request.event === 'hook_created') {
    if (hook !== undefined) return conflict(`hook ${id} is created already`);
    // The code has read, or will read, that the token belongs to another hook. It could not read the opposite later.
    const refusedBy = refusedHooks.get(id);
    if (refusedBy !== undefined) return { kind: 'known', eventId: refusedBy };
    if (request.tokenOwner === undefined) record(draft, request);
    else record(draft, conflictOf(request, request.tokenOwner), { event: 'hook_conflict' });
    return accepted(draft);
  }
  const known = request.resumeId === undefined ? undefined : resumptions.get(request.resumeId);
  if (request.event === 'hook_received' && known !== undefined) {
    const isSame = known.hookId === id && known.digest === request.resumeDigest;
    return isSame
      ? { kind: 'known', eventId: known.eventId }
      : conflict(`the resumption ${known.resumeId} is recorded for another hook or with another payload`);
  }
  if (hook === undefined) return refuse('hook_not_found', `hook ${id} does not exist`);
  if (hook.isDisposed === true)
    return request.event === 'hook_disposed'
      ? conflict(`hook ${id} is disposed already`)
      : refuse('hook_not_found', `hook ${id} is disposed`);
  if (isTerminal(draft.state.progress)) return refuse('hook_not_found', `hook ${id} ended with its run`);
  record(draft, request);
  return accepted(draft);
}

const conflictOf = ({ payload: _metadata, ...request }: WorldRequest, conflictingRunId: string): WorldRequest => ({
  ...request,
  data: defined({ token: textIn(request, 'token'), conflictingRunId }),
});

function decideWait(draft: Decision, { waits }: DevKitState, request: WorldRequest): Decided {
  const id = idOf(request);
  const wait = waits.get(id);
  if (request.event === 'wait_created') {
    if (wait !== undefined) return conflict(`wait ${id} exists already`);
  } else if (wait === undefined) {
    return refuse('wait_not_found', `wait ${id} does not exist`);
  } else if (wait.status === 'completed') {
    return conflict(`wait ${id} has ended already`);
  }
  record(draft, request);
  return accepted(draft);
}
