/** The events that a World records, as the Workflow DevKit sends them. The DevKit's own fields pass; unknown ones are left out. */
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import type { WorldRequest } from '../../engine/devkit/decide.ts';
import { type CreatableEvent, creatableEvents, payloadFields, timeFields } from '../../engine/devkit/events.ts';
import { nodeIdPattern } from '../../engine/ids.ts';
import { type JsonObject, type JsonValue, inline } from '../../engine/json.ts';
import { type Instant, instant } from '../../engine/time.ts';
import { json, jsonObject } from './parts.ts';

/** A time with its tag. Plain text passes too. */
const date = z
  .union([
    z.strictObject({ $date: z.iso.datetime({ offset: true }) }).transform(({ $date }) => $date),
    z.iso.datetime({ offset: true }),
  ])
  .transform((text): Instant => instant(Date.parse(text)))
  .meta({ override: { type: 'object', description: 'a time: `{ "$date": "<ISO 8601>" }`' } });

const maxTextLength = 4_096;
const text = z.string().max(maxTextLength);
const flag = z.boolean();
const count = z.number();

/** The fields of `eventData` besides the payload and the time. */
const fields = {
  deploymentId: text,
  workflowName: text,
  executionContext: jsonObject,
  attributes: z.record(z.string(), z.string()),
  allowReservedAttributes: flag,
  encryptionPublicKey: text,
  errorCode: text,
  stack: z.string(),
  cancelReason: text,
  changes: z.array(z.strictObject({ key: z.string(), value: z.string().nullable() })),
  writer: jsonObject,
  stepName: text,
  attempt: count,
  ownerMessageId: text,
  token: text,
  isWebhook: flag,
  isSystem: flag,
  tokenRetentionUntil: json,
} as const;
type Field = keyof typeof fields;
const schemas: { readonly [Name in Field]: z.ZodType } = fields;

const runFields = [
  'deploymentId',
  'workflowName',
  'executionContext',
  'attributes',
  'allowReservedAttributes',
  'encryptionPublicKey',
] as const;

const fieldsOf: { readonly [Event in CreatableEvent]: readonly Field[] } = {
  run_created: runFields,
  run_started: runFields,
  run_completed: [],
  run_failed: ['errorCode', 'stack'],
  run_cancelled: ['cancelReason'],
  attr_set: ['changes', 'writer', 'allowReservedAttributes'],
  step_created: ['stepName', 'workflowName'],
  step_started: ['stepName', 'attempt', 'workflowName', 'ownerMessageId'],
  step_completed: ['stepName', 'workflowName'],
  step_failed: ['stepName', 'stack'],
  step_retrying: ['stepName', 'stack'],
  hook_created: ['token', 'isWebhook', 'isSystem', 'tokenRetentionUntil'],
  hook_received: ['token'],
  hook_disposed: ['token'],
  wait_created: [],
  wait_completed: [],
};

/** Fields without which an event means nothing. */
const requiredFields: { readonly [Event in CreatableEvent]?: readonly Field[] } = {
  run_created: ['deploymentId', 'workflowName'],
  attr_set: ['changes', 'writer'],
  step_created: ['stepName'],
  hook_created: ['token'],
};

const isOfEntity = (event: CreatableEvent): boolean => /^(?:step|hook|wait)_/.test(event);

export const worldEvent = z
  .looseObject({
    eventType: z.enum(creatableEvents),
    correlationId: z.string().regex(nodeIdPattern, 'must be an id of a step, hook or wait').nullish(),
    specVersion: z.int().min(0).nullish(),
    eventData: jsonObject.nullish(),
  })
  .transform((event, context): WorldRequest => {
    const { eventType, correlationId, specVersion, eventData } = event;
    const fail = (path: readonly string[], message: string): void =>
      context.addIssue({ code: 'custom', path: [...path], message });
    if (isOfEntity(eventType) && (correlationId === undefined || correlationId === null))
      fail(['correlationId'], `is required for ${eventType}`);
    const data = dataOf(eventType, eventData ?? {}, fail);
    const timeField = timeFields[eventType];
    const payloadField = payloadFields[eventType];
    const until = timeField === undefined ? undefined : timeIn(eventData?.[timeField], ['eventData', timeField], fail);
    const payload = payloadField === undefined ? undefined : eventData?.[payloadField];
    return defined({
      event: eventType,
      correlationId: correlationId ?? undefined,
      specVersion: specVersion ?? undefined,
      data: Object.keys(data).length === 0 ? undefined : data,
      until,
      payload: payload === undefined ? undefined : inline(payload),
    });
  })
  .meta({
    id: 'WorldEvent',
    override: {
      type: 'object',
      required: ['eventType'],
      properties: {
        eventType: { type: 'string', enum: [...creatableEvents] },
        correlationId: { type: 'string' },
        specVersion: { type: 'integer' },
        eventData: { type: 'object' },
      },
    },
  });

type Fail = (path: readonly string[], message: string) => void;

function dataOf(event: CreatableEvent, eventData: JsonObject, fail: Fail): JsonObject {
  const data: Record<string, JsonValue> = {};
  for (const name of fieldsOf[event]) {
    const value = eventData[name];
    if (value === undefined || value === null) {
      if (requiredFields[event]?.includes(name) === true) fail(['eventData', name], `is required for ${event}`);
      continue;
    }
    const parsed = schemas[name].safeParse(value);
    if (parsed.success) data[name] = value;
    else fail(['eventData', name], parsed.error.issues[0]?.message ?? 'is invalid');
  }
  return data;
}

function timeIn(value: JsonValue | undefined, path: readonly string[], fail: Fail): Instant | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = date.safeParse(value);
  if (parsed.success) return parsed.data;
  fail(path, 'must be a time');
  return undefined;
}

const resolveData = z.enum(['all', 'none']);

/** The DevKit sends more, which only its own backends use. */
export const eventParams = z
  .looseObject({
    resolveData: resolveData.nullish(),
    occurredAt: date.nullish(),
    sinceCursor: z.string().nullish(),
    eventCount: z.int().min(0).nullish(),
    skipPreload: z.boolean().nullish(),
    preloadEvents: z.boolean().nullish(),
    resumeId: z.string().max(maxTextLength).nullish(),
    resumePayloadDigest: z.string().max(maxTextLength).nullish(),
  })
  .nullish();
export type WorldEventParams = z.output<typeof eventParams>;

/** The request with what the parameters add to its event. */
export function withParams(request: WorldRequest, params: WorldEventParams): WorldRequest {
  const { occurredAt, resumeId, resumePayloadDigest } = params ?? {};
  const isResumption = request.event === 'hook_received';
  return defined({
    ...request,
    occurredAt: occurredAt ?? undefined,
    resumeId: isResumption ? (resumeId ?? undefined) : undefined,
    resumeDigest: isResumption ? (resumePayloadDigest ?? undefined) : undefined,
  });
}
