/** The events of a run as they are stored. Every version must read all events that earlier versions wrote. */
import * as z from 'zod';
import type { JsonObject, JsonValue, Payload, PayloadRef } from '../engine/json.ts';
import {
  type RunOutcome,
  type Failure,
  type Gate,
  type RunEvent,
  type RunEventType,
  type TokenCount,
  gatePhases,
  itemFailurePolicies,
} from '../engine/log/events.ts';
import { type StepInfo, type StepRetry, stepKinds } from '../engine/durable/step.ts';
import { devKitEvents } from '../engine/devkit/events.ts';
import { failureCauses } from '../engine/retry.ts';
import { exactly } from './exact.ts';
import { attempt, durationMs, instant, iterationKey, nodeId, runId, signalId } from './ids.ts';

/** The input comes from `JSON.parse`, so only a missing value can be invalid. */
export const jsonValue = z.custom<JsonValue>((value) => value !== undefined);
export const jsonObject = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value));

const payloadRef = z.custom<PayloadRef>((ref) => typeof ref === 'string' && /^(item|blob):./.test(ref));

export const payload = z.union([
  exactly<Extract<Payload, { value: JsonValue }>>()(z.strictObject({ value: jsonValue })),
  exactly<Extract<Payload, { bytes: number }>>()(z.strictObject({ ref: payloadRef, bytes: z.number() })),
]);

export const failure = exactly<Failure>()(
  z.strictObject({
    cause: z.enum(failureCauses),
    message: z.string(),
    code: z.string().exactOptional(),
    details: jsonObject.exactOptional(),
    status: z.enum(['blocked', 'invalidated']).exactOptional(),
  }),
);

type GateOf<Kind extends Gate['kind']> = Extract<Gate, { kind: Kind }>;
export const gate = z.discriminatedUnion('kind', [
  exactly<GateOf<'contract'>>()(
    z.strictObject({ kind: z.literal('contract'), phase: z.enum(gatePhases), errors: z.array(jsonObject).readonly() }),
  ),
  exactly<GateOf<'moderation'>>()(
    z.strictObject({ kind: z.literal('moderation'), phase: z.enum(gatePhases), decision: jsonObject }),
  ),
]);

const tokenCount = exactly<TokenCount>()(z.strictObject({ input: z.number(), output: z.number() }));
export const tokens = { tokens: tokenCount.exactOptional() };

/** The schema of one member of the union, with exactly its keys. */
const eventSchema = <Type extends RunEventType>() => exactly<Extract<RunEvent, { type: Type }>>();

const nodeFields = { nodeId, iteration: iterationKey };
const attemptFields = { ...nodeFields, attempt };
const span = { startedAt: instant, endedAt: instant };
const printed = { printed: z.array(z.string()).readonly().exactOptional() };
const variable = { variable: z.string().exactOptional() };
const phase = z.enum(gatePhases);
const via = z.enum(['inline', 'queue', 'collect']);

/** The settings of a loop. */
export const loopSettings = {
  itemVariable: z.string(),
  indexVariable: z.string(),
  concurrency: z.number(),
  delayMs: durationMs,
  onItemFailure: z.enum(itemFailurePolicies),
};

const stepRetry = exactly<StepRetry>()(
  z.strictObject({
    maximumAttempts: z.int().exactOptional(),
    initialIntervalMs: durationMs.exactOptional(),
    backoffCoefficient: z.number().exactOptional(),
    maximumIntervalMs: durationMs.exactOptional(),
  }),
);

export const stepInfo = exactly<StepInfo>()(
  z.strictObject({
    kind: z.enum(stepKinds),
    key: z.string(),
    target: z.string().exactOptional(),
    retry: stepRetry.exactOptional(),
    hasRollback: z.literal(true).exactOptional(),
  }),
);
const step = { step: stepInfo.exactOptional() };

export const runOutcome = z.discriminatedUnion('status', [
  exactly<Extract<RunOutcome, { error: Failure }>>()(z.strictObject({ status: z.enum(['failed', 'timed_out']), error: failure })),
  exactly<Extract<RunOutcome, { status: 'cancelled' }>>()(
    z.strictObject({ status: z.literal('cancelled'), reason: z.string().exactOptional() }),
  ),
]);

const devKitEvent = eventSchema<'DEVKIT'>()(
  z.strictObject({
    type: z.literal('DEVKIT'),
    event: z.enum(devKitEvents),
    correlationId: z.string().exactOptional(),
    specVersion: z.number(),
    occurredAt: instant.exactOptional(),
    resumeId: z.string().exactOptional(),
    resumeDigest: z.string().exactOptional(),
    data: jsonObject.exactOptional(),
    until: instant.exactOptional(),
    payload: payload.exactOptional(),
    afterEnd: z.enum(['completed', 'failed', 'cancelled']).exactOptional(),
  }),
);

const members = {
  DEVKIT: devKitEvent,
  INPUT_SET: eventSchema<'INPUT_SET'>()(z.strictObject({ type: z.literal('INPUT_SET'), input: payload })),
  SYSTEM_SET: eventSchema<'SYSTEM_SET'>()(z.strictObject({ type: z.literal('SYSTEM_SET'), key: z.string(), value: payload })),
  RUN_STARTED: eventSchema<'RUN_STARTED'>()(z.strictObject({ type: z.literal('RUN_STARTED') })),
  SLOT_AWAITED: eventSchema<'SLOT_AWAITED'>()(
    z.strictObject({ type: z.literal('SLOT_AWAITED'), slots: z.number(), notBefore: instant.exactOptional() }),
  ),
  SLOT_TAKEN: eventSchema<'SLOT_TAKEN'>()(z.strictObject({ type: z.literal('SLOT_TAKEN'), slot: z.number() })),
  RUN_STATUS_CHANGED: eventSchema<'RUN_STATUS_CHANGED'>()(
    z.strictObject({ type: z.literal('RUN_STATUS_CHANGED'), status: z.enum(['running', 'completed', 'failed', 'cancelled']) }),
  ),
  RUN_COMPLETED: eventSchema<'RUN_COMPLETED'>()(z.strictObject({ type: z.literal('RUN_COMPLETED'), output: payload })),
  RUN_FAILED: eventSchema<'RUN_FAILED'>()(z.strictObject({ type: z.literal('RUN_FAILED'), error: failure })),
  RUN_TIMED_OUT: eventSchema<'RUN_TIMED_OUT'>()(z.strictObject({ type: z.literal('RUN_TIMED_OUT'), error: failure })),
  RUN_CANCELLED: eventSchema<'RUN_CANCELLED'>()(
    z.strictObject({ type: z.literal('RUN_CANCELLED'), reason: z.string().exactOptional() }),
  ),
  RUN_RESUMED: eventSchema<'RUN_RESUMED'>()(
    z.strictObject({
      type: z.literal('RUN_RESUMED'),
      reason: z.string().exactOptional(),
      payload: payload.exactOptional(),
      token: z.string().exactOptional(),
    }),
  ),
  RUN_RECOVERED: eventSchema<'RUN_RECOVERED'>()(
    z.strictObject({ type: z.literal('RUN_RECOVERED'), nodes: z.array(z.string()).readonly() }),
  ),
  RUN_RETRIED: eventSchema<'RUN_RETRIED'>()(
    z.strictObject({ type: z.literal('RUN_RETRIED'), attempt, failure, delayMs: durationMs, retryAt: instant }),
  ),
  DEADLINE_EXTENDED: eventSchema<'DEADLINE_EXTENDED'>()(
    z.strictObject({ type: z.literal('DEADLINE_EXTENDED'), deadlineAt: instant }),
  ),
  ROLLBACK_STARTED: eventSchema<'ROLLBACK_STARTED'>()(z.strictObject({ type: z.literal('ROLLBACK_STARTED'), runOutcome })),
  NODE_DISPATCHED: eventSchema<'NODE_DISPATCHED'>()(
    z.strictObject({
      type: z.literal('NODE_DISPATCHED'),
      ...attemptFields,
      via,
      wave: z.number(),
      notBefore: instant.exactOptional(),
      isPure: z.literal(true).exactOptional(),
      ...step,
    }),
  ),
  NODE_STARTED: eventSchema<'NODE_STARTED'>()(
    z.strictObject({ type: z.literal('NODE_STARTED'), ...attemptFields, startedAt: instant }),
  ),
  SLEEP_STARTED: eventSchema<'SLEEP_STARTED'>()(
    z.strictObject({ type: z.literal('SLEEP_STARTED'), ...attemptFields, wakeAt: instant, output: payload, ...step }),
  ),
  NODE_WOKEN: eventSchema<'NODE_WOKEN'>()(z.strictObject({ type: z.literal('NODE_WOKEN'), ...attemptFields })),
  SIGNAL_AWAITED: eventSchema<'SIGNAL_AWAITED'>()(
    z.strictObject({
      type: z.literal('SIGNAL_AWAITED'),
      ...attemptFields,
      name: z.string(),
      correlation: z.string(),
      expiresAt: instant.exactOptional(),
      expiryHandle: z.string().exactOptional(),
      ...step,
    }),
  ),
  SIGNAL_RECEIVED: eventSchema<'SIGNAL_RECEIVED'>()(
    z.strictObject({
      type: z.literal('SIGNAL_RECEIVED'),
      ...attemptFields,
      signalId,
      name: z.string(),
      correlation: z.string(),
    }),
  ),
  SUBFLOW_CALLED: eventSchema<'SUBFLOW_CALLED'>()(
    z.strictObject({
      type: z.literal('SUBFLOW_CALLED'),
      ...attemptFields,
      childRunId: runId,
      workflowName: z.string(),
      version: z.int().exactOptional(),
      input: payload,
      expiresAt: instant.exactOptional(),
      parentClosePolicy: z.enum(['cancel', 'abandon']),
      onChildCancelled: z.enum(['fail', 'cancel']),
      ...step,
    }),
  ),
  NODE_COMPLETED: eventSchema<'NODE_COMPLETED'>()(
    z.strictObject({
      type: z.literal('NODE_COMPLETED'),
      ...attemptFields,
      ...span,
      ...variable,
      ...printed,
      ...tokens,
      output: payload,
      handle: z.string().nullable(),
      end: z.enum(['success', 'error']).exactOptional(),
      isPinned: z.literal(true).exactOptional(),
    }),
  ),
  CONTRACT_VIOLATED: eventSchema<'CONTRACT_VIOLATED'>()(
    z.strictObject({ type: z.literal('CONTRACT_VIOLATED'), ...attemptFields, phase, errors: z.array(jsonObject).readonly() }),
  ),
  MODERATION_FLAGGED: eventSchema<'MODERATION_FLAGGED'>()(
    z.strictObject({ type: z.literal('MODERATION_FLAGGED'), ...attemptFields, phase, decision: jsonObject }),
  ),
  NODE_RETRIED: eventSchema<'NODE_RETRIED'>()(
    z.strictObject({
      type: z.literal('NODE_RETRIED'),
      ...attemptFields,
      ...span,
      ...printed,
      ...tokens,
      failure,
      delayMs: durationMs,
      retryAt: instant,
      via,
    }),
  ),
  NODE_FAILED: eventSchema<'NODE_FAILED'>()(
    z.strictObject({
      type: z.literal('NODE_FAILED'),
      ...attemptFields,
      ...span,
      ...variable,
      ...printed,
      ...tokens,
      failure,
      handle: z.literal('error').exactOptional(),
    }),
  ),
  NODE_SKIPPED: eventSchema<'NODE_SKIPPED'>()(
    z.strictObject({
      type: z.literal('NODE_SKIPPED'),
      ...nodeFields,
      reason: z.enum(['branch_not_taken', 'parent_not_successful']),
    }),
  ),
  LOOP_STARTED: eventSchema<'LOOP_STARTED'>()(
    z.strictObject({
      type: z.literal('LOOP_STARTED'),
      ...attemptFields,
      ...loopSettings,
      items: z.number(),
      pages: z.array(payload).readonly(),
      pageSize: z.number(),
    }),
  ),
  LOOP_PAUSED: eventSchema<'LOOP_PAUSED'>()(
    z.strictObject({ type: z.literal('LOOP_PAUSED'), ...attemptFields, wakeAt: instant }),
  ),
  LOOP_RESULTS_STORED: eventSchema<'LOOP_RESULTS_STORED'>()(
    z.strictObject({ type: z.literal('LOOP_RESULTS_STORED'), ...attemptFields, results: payload }),
  ),
  ITERATION_STARTED: eventSchema<'ITERATION_STARTED'>()(
    z.strictObject({ type: z.literal('ITERATION_STARTED'), ...attemptFields, index: z.number(), item: payload.exactOptional() }),
  ),
  ITERATION_ENDED: eventSchema<'ITERATION_ENDED'>()(
    z.strictObject({
      type: z.literal('ITERATION_ENDED'),
      ...attemptFields,
      index: z.number(),
      status: z.enum(['completed', 'failed']),
      from: nodeId.exactOptional(),
      result: payload.exactOptional(),
    }),
  ),
} satisfies { [Type in RunEventType]: z.ZodType<Extract<RunEvent, { type: Type }>> };

export const runEvent: z.ZodType<RunEvent> = z.discriminatedUnion('type', [
  members.DEVKIT,
  members.INPUT_SET,
  members.SYSTEM_SET,
  members.RUN_STARTED,
  members.SLOT_AWAITED,
  members.SLOT_TAKEN,
  members.RUN_STATUS_CHANGED,
  members.RUN_COMPLETED,
  members.RUN_FAILED,
  members.RUN_TIMED_OUT,
  members.RUN_CANCELLED,
  members.RUN_RESUMED,
  members.RUN_RECOVERED,
  members.RUN_RETRIED,
  members.DEADLINE_EXTENDED,
  members.ROLLBACK_STARTED,
  members.NODE_DISPATCHED,
  members.NODE_STARTED,
  members.SLEEP_STARTED,
  members.NODE_WOKEN,
  members.SIGNAL_AWAITED,
  members.SIGNAL_RECEIVED,
  members.SUBFLOW_CALLED,
  members.NODE_COMPLETED,
  members.CONTRACT_VIOLATED,
  members.MODERATION_FLAGGED,
  members.NODE_RETRIED,
  members.NODE_FAILED,
  members.NODE_SKIPPED,
  members.LOOP_STARTED,
  members.LOOP_PAUSED,
  members.LOOP_RESULTS_STORED,
  members.ITERATION_STARTED,
  members.ITERATION_ENDED,
]);
