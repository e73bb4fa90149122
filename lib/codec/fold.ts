/** A stored fold. Only folds of the current schema are read; a fold of another schema is ignored. */
import * as z from 'zod';
import { devKitEvents } from '../engine/devkit/events.ts';
import type { DevKitHook, DevKitResumption, DevKitStep, DevKitWait, StoredDevKit } from '../engine/devkit/state.ts';
import type { NodeRef } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Admission, RunEnd, RunProgress, BudgetUsage, CodeState, ContextWrite } from '../engine/log/fold.ts';
import type {
  LoopState,
  IterationCounts,
  IterationResult,
  ChildWait,
  EndedNode,
  LoopWait,
  OpenNode,
  SignalWait,
  WaitingNode,
} from '../engine/log/node-state.ts';
import type { StoredFold } from '../engine/log/stored-fold.ts';
import { runOutcome, failure, loopSettings, payload, stepInfo } from './events.ts';
import { exactly } from './exact.ts';
import { attempt, commitNo, eventId, instant, iterationKey, nodeId, nodeKey, runId, signalId } from './ids.ts';
import { read } from './unreadable.ts';

const nodeFields = { nodeId, iteration: iterationKey };
const dispatchRecord = {
  ...nodeFields,
  attempt,
  via: z.enum(['inline', 'queue', 'collect']),
  dispatchedIn: commitNo,
  dispatchedAt: instant,
  pinnedAt: eventId,
  wave: z.number(),
  step: stepInfo.exactOptional(),
  lostAttempts: z.number().exactOptional(),
};
const failedItems = z.array(z.number()).readonly().exactOptional();

const iterations = exactly<IterationCounts>()(
  z.strictObject({ items: z.number(), started: z.number(), ended: z.number(), failed: z.number(), failedItems }),
);
const ended = {
  ...nodeFields,
  attempt,
  endedAt: instant,
  endedBy: eventId,
  startedAt: instant.exactOptional(),
  childRunId: runId.exactOptional(),
  iterations: iterations.exactOptional(),
  step: stepInfo.exactOptional(),
  begunBy: eventId.exactOptional(),
};
const contextWrites = exactly<ContextWrite>()(z.strictObject({ writtenBy: eventId, payload }));

const loop = exactly<LoopState>()(
  z.strictObject({
    ...loopSettings,
    startedAt: instant,
    items: z.number(),
    pages: z.array(payload).readonly(),
    pageSize: z.number(),
    next: z.number(),
    open: z.array(z.number()).readonly(),
    failed: z.number(),
    failedItems,
    pendingResults: z.array(exactly<IterationResult>()(z.strictObject({ index: z.number(), payload }))).readonly(),
    pendingSize: z.number(),
    totalSize: z.number(),
    stored: z.array(payload).readonly(),
    wakeAt: instant.exactOptional(),
  }),
);

type Open<Status extends OpenNode['status']> = Extract<OpenNode, { status: Status }>;
type Ended<Status extends EndedNode['status']> = Extract<EndedNode, { status: Status }>;

const node = z.discriminatedUnion('status', [
  exactly<Open<'queued'>>()(
    z.strictObject({ ...dispatchRecord, status: z.literal('queued'), notBefore: instant.exactOptional() }),
  ),
  exactly<Open<'running'>>()(z.strictObject({ ...dispatchRecord, status: z.literal('running'), startedAt: instant })),
  z.discriminatedUnion('for', [
    exactly<Extract<WaitingNode, { for: 'time' }>>()(
      z.strictObject({
        ...dispatchRecord,
        status: z.literal('waiting'),
        for: z.literal('time'),
        wakeAt: instant,
        output: payload,
      }),
    ),
    exactly<SignalWait>()(
      z.strictObject({
        ...dispatchRecord,
        status: z.literal('waiting'),
        for: z.literal('signal'),
        name: z.string(),
        correlation: z.string(),
        expiresAt: instant.exactOptional(),
        expiryHandle: z.string().exactOptional(),
        signalId: signalId.exactOptional(),
      }),
    ),
    exactly<ChildWait>()(
      z.strictObject({
        ...dispatchRecord,
        status: z.literal('waiting'),
        for: z.literal('child'),
        childRunId: runId,
        workflowName: z.string(),
        version: z.int().exactOptional(),
        input: payload,
        expiresAt: instant.exactOptional(),
        parentClosePolicy: z.enum(['cancel', 'abandon']),
        onChildCancelled: z.enum(['fail', 'cancel']),
      }),
    ),
    exactly<LoopWait>()(z.strictObject({ ...dispatchRecord, status: z.literal('waiting'), for: z.literal('iterations'), loop })),
  ]),
  exactly<Ended<'completed'>>()(
    z.strictObject({
      ...ended,
      status: z.literal('completed'),
      handle: z.string().nullable(),
      output: payload,
      variable: z.string().exactOptional(),
      end: z.enum(['success', 'error']).exactOptional(),
      signalId: signalId.exactOptional(),
    }),
  ),
  exactly<Ended<'failed' | 'timed_out'>>()(
    z.strictObject({ ...ended, status: z.enum(['failed', 'timed_out']), failure, isHandled: z.boolean() }),
  ),
  exactly<Ended<'skipped'>>()(
    z.strictObject({
      ...nodeFields,
      status: z.literal('skipped'),
      reason: z.enum(['branch_not_taken', 'parent_not_successful']),
      endedAt: instant,
      endedBy: eventId,
    }),
  ),
  exactly<Ended<'cancelled'>>()(z.strictObject({ ...ended, status: z.literal('cancelled') })),
]);

type Progress<Status extends RunProgress['status']> = Extract<RunProgress, { status: Status }>;

const ends = [
  exactly<Progress<'completed'>>()(z.strictObject({ status: z.literal('completed'), endedAt: instant, output: payload })),
  exactly<Progress<'failed'>>()(z.strictObject({ status: z.literal('failed'), endedAt: instant, error: failure })),
  exactly<Progress<'cancelled'>>()(
    z.strictObject({ status: z.literal('cancelled'), endedAt: instant, reason: z.string().exactOptional() }),
  ),
] as const;
export const runEnd: z.ZodType<RunEnd> = z.discriminatedUnion('status', ends);

const progress = z.discriminatedUnion('status', [
  exactly<Progress<'pending'>>()(z.strictObject({ status: z.literal('pending') })),
  exactly<Progress<'running'>>()(z.strictObject({ status: z.literal('running'), startedAt: instant })),
  ...ends,
]);

const loopIteration = exactly<StoredFold['iterations'][number]>()(
  z.strictObject({
    iteration: iterationKey,
    loop: exactly<NodeRef>()(z.strictObject({ ...nodeFields })),
    index: z.number(),
    item: payload.exactOptional(),
    startedBy: eventId,
    members: z.array(nodeKey).readonly(),
    open: z.number(),
    contextWrites: z.record(z.string(), z.array(contextWrites).readonly()).readonly(),
  }),
);

const admission = exactly<Admission>()(
  z.strictObject({
    slots: z.number(),
    since: instant,
    notBefore: instant.exactOptional(),
    slot: z.number().exactOptional(),
  }),
);

const code = exactly<CodeState>()(
  z.strictObject({
    workflowTasks: z.number(),
    stepAttempts: z.number(),
    attempt,
    attemptStartedAfter: eventId,
    failedCalls: z.record(nodeId, z.number()).exactOptional(),
    workflowTasksAtRollback: z.number().exactOptional(),
    runOutcome: runOutcome.exactOptional(),
  }),
);

const devKitFields = { specVersion: z.number(), createdAt: instant, updatedAt: instant };
const devkit = exactly<StoredDevKit>()(
  z.strictObject({
    specVersion: z.number(),
    startedAt: instant.exactOptional(),
    updatedAt: instant,
    attributes: z.record(z.string(), z.string()),
    deadlineAt: instant,
    lastEvent: z.strictObject({ event: z.enum(devKitEvents), at: instant }),
    error: payload.exactOptional(),
    errorCode: z.string().exactOptional(),
    endedBy: eventId.exactOptional(),
    steps: z
      .array(
        exactly<DevKitStep>()(
          z.strictObject({
            ...devKitFields,
            stepId: z.string(),
            stepName: z.string(),
            status: z.enum(['pending', 'running', 'completed', 'failed']),
            attempt: z.number(),
            startedAt: instant.exactOptional(),
            completedAt: instant.exactOptional(),
            retryAfter: instant.exactOptional(),
            input: payload.exactOptional(),
            createdIn: commitNo,
            outcomeIn: commitNo.exactOptional(),
          }),
        ),
      )
      .readonly(),
    hooks: z
      .array(
        exactly<DevKitHook>()(
          z.strictObject({
            hookId: z.string(),
            token: z.string(),
            specVersion: z.number(),
            createdAt: instant,
            isWebhook: z.boolean(),
            isSystem: z.boolean(),
            metadata: payload.exactOptional(),
            isDisposed: z.literal(true).exactOptional(),
          }),
        ),
      )
      .readonly(),
    waits: z
      .array(
        exactly<DevKitWait>()(
          z.strictObject({
            ...devKitFields,
            correlationId: z.string(),
            status: z.enum(['waiting', 'completed']),
            resumeAt: instant.exactOptional(),
            completedAt: instant.exactOptional(),
          }),
        ),
      )
      .readonly(),
    refusedHooks: z.array(z.strictObject({ hookId: z.string(), eventId })).readonly(),
    resumptions: z
      .array(
        exactly<DevKitResumption>()(
          z.strictObject({ resumeId: z.string(), hookId: z.string(), eventId, digest: z.string().exactOptional() }),
        ),
      )
      .readonly(),
    attributeWrites: z.array(z.string()).readonly(),
  }),
);

const storedFold = exactly<StoredFold>()(
  z.strictObject({
    asOf: commitNo,
    nextEventId: eventId,
    progress,
    budgetUsage: exactly<BudgetUsage>()(z.strictObject({ executions: z.number(), tokens: z.number() })),
    deadlineExtension: z.strictObject({ deadlineAt: instant, at: instant }).exactOptional(),
    lastWaitEndsAt: instant.exactOptional(),
    admission: admission.exactOptional(),
    code: code.exactOptional(),
    devkit: devkit.exactOptional(),
    nodes: z.array(node).readonly(),
    contextWrites: z
      .array(
        z.strictObject({
          key: z.string(),
          values: z.array(contextWrites).readonly(),
        }),
      )
      .readonly(),
    iterations: z.array(loopIteration).readonly(),
  }),
);

/** A fold as JSON. It consists of JSON values only. */
export const foldBody = (fold: StoredFold): JsonValue => JSON.parse(JSON.stringify(fold)) as JsonValue;
/** @throws Unreadable */
export const parseFold = (body: JsonValue): StoredFold => read('a snapshot', storedFold, body);
