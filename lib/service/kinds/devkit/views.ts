/** Events, runs, steps, hooks and waits as the World answers them: JSON with tags for times. */
import { defined } from '../../../base/defined.ts';
import {
  type DevKitEvent,
  legacySpecVersion,
  opaqueErrorsFrom,
  payloadFields,
  slotId,
  timeFields,
} from '../../../engine/devkit/events.ts';
import type { DevKitHook, DevKitStep, DevKitWait } from '../../../engine/devkit/state.ts';
import type { EventId, RunAddress } from '../../../engine/ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../../engine/json.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import { type Instant, iso } from '../../../engine/time.ts';
import { type DevKitFold, devKitOf } from './world.ts';

const dateOf = (moment: Instant): JsonObject => ({ $date: iso(moment) });
const optionalDate = (moment: Instant | undefined): JsonObject | undefined => (moment === undefined ? undefined : dateOf(moment));

/** Values of the platform in the first event, such as the run that this one repeats. */
const systemPrefix = '__';

/** An event, with its place in the log. */
export interface PlacedEvent {
  readonly event: DevKitEvent;
  readonly id: EventId;
  readonly at: Instant;
  readonly commit: Commit['number'];
}

/** @param payload the value of the payload; undefined: the event has none, or it is left out */
export function eventView(
  { runId }: Pick<RunAddress, 'runId'>,
  { event, id, at }: PlacedEvent,
  payload: JsonValue | undefined,
): JsonObject {
  const { event: eventType, correlationId, specVersion, occurredAt, resumeId, data = {}, until } = event;
  const payloadField = payloadFields[eventType];
  const timeField = timeFields[eventType];
  const eventData: JsonObject = {
    ...Object.fromEntries(Object.entries(data).filter(([name]) => !name.startsWith(systemPrefix))),
    ...(timeField === undefined || until === undefined ? {} : { [timeField]: dateOf(until) }),
    ...(payloadField === undefined || payload === undefined ? {} : { [payloadField]: payload }),
  };
  return defined({
    eventType,
    runId,
    eventId: slotId(id),
    createdAt: dateOf(at),
    specVersion,
    correlationId,
    occurredAt: optionalDate(occurredAt),
    resumeId,
    eventData: Object.keys(eventData).length === 0 ? undefined : eventData,
  });
}

/** Below this version an error is a message with a stack; from it on, it is a serialized value. */
function errorView(specVersion: number, error: JsonValue | undefined, code?: string): JsonValue | undefined {
  if (error === undefined || specVersion >= opaqueErrorsFrom || specVersion <= legacySpecVersion) return error;
  const { message, stack } = isJsonObject(error) ? error : { message: error, stack: undefined };
  return defined({
    message: typeof message === 'string' ? message : 'Unknown error',
    stack: typeof stack === 'string' ? stack : undefined,
    code,
  });
}

export interface RunValues {
  readonly input?: JsonValue;
  readonly output?: JsonValue;
  readonly error?: JsonValue;
}

export function runView(fold: DevKitFold, { input, output, error }: RunValues): JsonObject {
  const { head, state } = fold;
  const { run } = devKitOf(fold);
  const [creation] = head.commit.events;
  const data = creation?.type === 'DEVKIT' ? (creation.data ?? {}) : {};
  const { progress } = state;
  return defined({
    runId: head.address.runId,
    status: progress.status,
    deploymentId: head.deploymentId,
    workflowName: head.workflow.name,
    specVersion: run.specVersion,
    executionContext: data['executionContext'],
    encryptionPublicKey: data['encryptionPublicKey'],
    attributes: run.attributes,
    input,
    output,
    error: errorView(run.specVersion, error, run.errorCode),
    errorCode: run.errorCode,
    createdAt: dateOf(head.commit.at),
    updatedAt: dateOf(run.updatedAt),
    startedAt: optionalDate(run.startedAt),
    completedAt: 'endedAt' in progress ? dateOf(progress.endedAt) : undefined,
  });
}

export const stepView = (
  { runId }: Pick<RunAddress, 'runId'>,
  step: DevKitStep,
  { input, output, error }: RunValues,
): JsonObject =>
  defined({
    runId,
    stepId: step.stepId,
    stepName: step.stepName,
    status: step.status,
    attempt: step.attempt,
    specVersion: step.specVersion,
    input,
    output,
    error: errorView(step.specVersion, error),
    createdAt: dateOf(step.createdAt),
    updatedAt: dateOf(step.updatedAt),
    startedAt: optionalDate(step.startedAt),
    completedAt: optionalDate(step.completedAt),
    retryAfter: optionalDate(step.retryAfter),
  });

export const hookView = (
  { runId, projectId, environment }: RunAddress,
  { hookId, token, specVersion, createdAt, isWebhook, isSystem }: DevKitHook,
  metadata: JsonValue | undefined,
): JsonObject =>
  defined({
    runId,
    hookId,
    token,
    ownerId: projectId,
    projectId,
    environment,
    metadata,
    createdAt: dateOf(createdAt),
    specVersion,
    isWebhook,
    isSystem,
  });

export const waitView = ({ runId }: Pick<RunAddress, 'runId'>, wait: DevKitWait): JsonObject =>
  defined({
    waitId: `${runId}-${wait.correlationId}`,
    runId,
    status: wait.status,
    specVersion: wait.specVersion,
    resumeAt: optionalDate(wait.resumeAt),
    completedAt: optionalDate(wait.completedAt),
    createdAt: dateOf(wait.createdAt),
    updatedAt: dateOf(wait.updatedAt),
  });
