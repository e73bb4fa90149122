/** Job and result messages, as queues and schedules carry them. */
import * as z from 'zod';
import type { Outcome } from '../engine/graph/outcome.ts';
import { type Hops, hops, noHops } from '../engine/hops.ts';
import { type RunAddress, maxSignalTextLength, firstCommit } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { CodeCreation, BundleCreation, DevKitCreation, GraphCreation } from '../engine/log/head.ts';
import type { Trace } from '../engine/trace.ts';
import type {
  AttemptResult,
  CarriedRun,
  ChildJob,
  ChildResult,
  DevKitJob,
  WorkflowTaskJob,
  Job,
  JobsTogether,
  MessageJob,
  NodeJob,
  RecheckJob,
  SlotJob,
  RetentionJob,
  ResultMessage,
  SignalJob,
  WaitsJob,
  WakeJob,
} from '../ports/jobs.ts';
import { jsonValue, runEvent, failure, gate, loopSettings, payload, tokens } from './events.ts';
import { exactly } from './exact.ts';
import {
  attempt,
  commitNo,
  instant,
  iterationKey,
  nodeId,
  runId,
  workflowName,
  correlationId,
  deploymentId,
  environment,
  eventId,
  nonce,
  projectId,
  traceparent,
  durationMs,
} from './ids.ts';
import { readJson } from './unreadable.ts';

export const runAddress = exactly<RunAddress>()(z.strictObject({ projectId, environment, runId }));

const trace = exactly<Trace>()(z.strictObject({ correlationId, traceparent }));

const commitFields = {
  firstEventId: eventId,
  events: z.array(runEvent).readonly(),
  at: instant,
  by: z.string(),
  nonce,
};

const commit = exactly<Commit>()(z.strictObject({ number: z.literal(1).transform(() => firstCommit), ...commitFields }));

/** The creation record of a run, as messages carry it to the function that executes its jobs. */
const creationFields = {
  address: runAddress,
  createdAt: instant,
  deadlineAt: instant,
  deadlineLimitAt: instant.exactOptional(),
  availableAt: instant.exactOptional(),
  expiresAt: instant,
  bodyHash: z.string(),
  trace: trace.exactOptional(),
  commit,
  deploymentId,
};

export const graphCreation = exactly<GraphCreation>()(
  z.strictObject({
    ...creationFields,
    kind: z.literal('graph'),
    workflow: z.strictObject({ name: workflowName, version: z.int() }),
    deploymentId: z.null(),
    isTest: z.literal(true).exactOptional(),
    holdsSecondCommit: z.literal(true).exactOptional(),
  }),
);

export const laterCommit = exactly<Commit>()(z.strictObject({ number: commitNo, ...commitFields }));

const carriedRun = exactly<CarriedRun>()(z.strictObject({ creation: graphCreation, commits: z.array(laterCommit).readonly() }));

const bundleCreation = exactly<BundleCreation>()(
  z.strictObject({ ...creationFields, kind: z.literal('bundle'), workflow: z.strictObject({ name: z.string() }) }),
);

const codeCreation = exactly<CodeCreation>()(
  z.strictObject({
    ...creationFields,
    kind: z.literal('code'),
    workflow: z.strictObject({ name: z.string(), version: z.string().exactOptional() }),
  }),
);

const devKitCreation = exactly<DevKitCreation>()(
  z.strictObject({
    ...creationFields,
    kind: z.literal('devkit'),
    workflow: z.strictObject({ name: z.string() }),
    queueNamespace: z.string().exactOptional(),
  }),
);

/** The outcome of an attempt, as a result message carries it. */
type Of<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

const members = {
  finished: exactly<Of<'finished'>>()(
    z.strictObject({
      kind: z.literal('finished'),
      output: payload,
      handle: z.string().nullable(),
      end: z.enum(['success', 'error']).exactOptional(),
      ...tokens,
    }),
  ),
  failed: exactly<Of<'failed'>>()(
    z.strictObject({
      kind: z.literal('failed'),
      failure,
      retryAfterMs: durationMs.exactOptional(),
      gate: gate.exactOptional(),
      ...tokens,
    }),
  ),
  sleeping: exactly<Of<'sleeping'>>()(z.strictObject({ kind: z.literal('sleeping'), wakeAt: instant, output: payload })),
  expanding: exactly<Of<'expanding'>>()(z.strictObject({ kind: z.literal('expanding'), ...loopSettings, items: payload })),
  awaiting: exactly<Of<'awaiting'>>()(
    z.strictObject({
      kind: z.literal('awaiting'),
      name: z.string(),
      correlation: z.string().exactOptional(),
      expiresAt: instant.exactOptional(),
      expiryHandle: z.string().exactOptional(),
    }),
  ),
  calling: exactly<Of<'calling'>>()(
    z.strictObject({
      kind: z.literal('calling'),
      workflowName: z.string(),
      version: z.int().exactOptional(),
      input: payload,
      expiresAt: instant.exactOptional(),
      parentClosePolicy: z.enum(['cancel', 'abandon']),
      onChildCancelled: z.enum(['fail', 'cancel']),
    }),
  ),
} satisfies { [Kind in Outcome['kind']]: z.ZodType<Of<Kind>> };

const outcome: z.ZodType<Outcome> = z.discriminatedUnion('kind', [
  members.finished,
  members.failed,
  members.sleeping,
  members.awaiting,
  members.calling,
  members.expanding,
]);

/** The format of the message. A message may wait in a schedule for a year, so every version must stay readable. */
const messageVersion = 1;
const version = { v: z.literal(messageVersion) };

const traced = { trace: trace.exactOptional() };

const attemptFields = { run: runAddress, commit: commitNo, nodeId, iteration: iterationKey, attempt, ...traced };

const signalText = z.string().min(1).max(maxSignalTextLength);

const jobs = {
  node: exactly<NodeJob>()(
    z.strictObject({
      kind: z.literal('node'),
      ...attemptFields,
      resend: z.int().min(0),
      slowLane: z.int().min(0).exactOptional(),
      carried: carriedRun.exactOptional(),
    }),
  ),
  message: exactly<MessageJob>()(
    z.strictObject({ kind: z.literal('message'), ...attemptFields, resend: z.int().min(0), creation: bundleCreation }),
  ),
  workflow_task: exactly<WorkflowTaskJob>()(
    z.strictObject({ kind: z.literal('workflow_task'), ...attemptFields, resend: z.int().min(0), creation: codeCreation }),
  ),
  devkit: exactly<DevKitJob>()(
    z.strictObject({
      kind: z.literal('devkit'),
      run: runAddress,
      creation: devKitCreation.exactOptional(),
      deploymentId,
      queueName: z.string(),
      lane: z.string().exactOptional(),
      messageId: z.string(),
      deduplication: z.string(),
      attempt,
      message: z.union([
        z.strictObject({ value: jsonValue }),
        z.strictObject({ ref: z.templateLiteral(['blob:', z.string()]), bytes: z.number() }),
      ]),
      notBefore: instant.exactOptional(),
      ...traced,
    }),
  ),
  wake: exactly<WakeJob>()(z.strictObject({ kind: z.literal('wake'), ...attemptFields, resend: z.int().min(1).exactOptional() })),
  recheck: exactly<RecheckJob>()(z.strictObject({ kind: z.literal('recheck'), run: runAddress, ...traced })),
  child: exactly<ChildJob>()(
    z.strictObject({
      kind: z.literal('child'),
      run: runAddress,
      nodeId,
      iteration: iterationKey,
      attempt,
      childRunId: runId,
      ...traced,
    }),
  ),
  slot: exactly<SlotJob>()(
    z.strictObject({
      kind: z.literal('slot'),
      run: runAddress,
      workflowName,
      since: instant,
      isCheck: z.literal(true).exactOptional(),
      ...traced,
    }),
  ),
  signal: exactly<SignalJob>()(
    z.strictObject({
      kind: z.literal('signal'),
      run: runAddress,
      key: z.string().min(1),
      name: signalText,
      correlation: signalText,
      payload: jsonValue,
      ...traced,
    }),
  ),
  waits: exactly<WaitsJob>()(z.strictObject({ kind: z.literal('waits'), run: runAddress, ...traced })),
  retention: exactly<RetentionJob>()(z.strictObject({ kind: z.literal('retention'), run: runAddress, ...traced })),
} satisfies { [Kind in Job['kind']]: z.ZodType<Extract<Job, { kind: Kind }>> };

export const { child: childJob, workflow_task: workflowTaskJob } = jobs;

const job: z.ZodType<Job> = z.discriminatedUnion('kind', [
  jobs.node,
  jobs.message,
  jobs.workflow_task,
  jobs.devkit,
  jobs.wake,
  jobs.recheck,
  jobs.child,
  jobs.slot,
  jobs.signal,
  jobs.waits,
  jobs.retention,
]);

const attemptResult = exactly<AttemptResult>()(
  z.strictObject({
    ...attemptFields,
    outcome,
    startedAt: instant,
    endedAt: instant,
    printed: z.array(z.string()).readonly(),
  }),
);

const childResult = exactly<ChildResult>()(z.strictObject({ ...attemptFields, childRunId: runId }));

const result: z.ZodType<ResultMessage> = z.union([attemptResult, childResult]);

const jobMessage = z.strictObject({ ...version, job });
const togetherMessage = z.strictObject({ ...version, jobs: z.tuple([jobs.node]).rest(jobs.node) });
const resultMessage = z.strictObject({ ...version, result });

/**
 * JSON without the characters that queues refuse. SQS refuses U+FFFE and U+FFFF, and some emulators refuse characters
 * beyond U+FFFF, so all of these are escaped.
 */
const body = (message: object): string =>
  JSON.stringify(message).replaceAll(/[\ud800-\udfff\ufffe\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);

export const jobBody = (content: Job): string => body({ v: messageVersion, job: content });
/** @throws Unreadable */
export const parseJob = (text: string): Job => readJson('a job', jobMessage, text).job;

export const togetherBody = (content: JobsTogether): string => body({ v: messageVersion, ...content });
/** Undefined if the message is of another kind. @throws Unreadable if its jobs are not valid */
export const parseTogether = (text: string): JobsTogether | undefined =>
  text.startsWith(`{"v":${messageVersion},"jobs":`) ? { jobs: readJson('jobs together', togetherMessage, text).jobs } : undefined;

export const resultBody = (content: ResultMessage): string => body({ v: messageVersion, result: content });
/** @throws Unreadable */
export const parseResult = (text: string): ResultMessage => readJson('a result', resultMessage, text).result;

/**
 * Hops are a message attribute and not part of the body, so versions without hops can read the message. A message without
 * the attribute, for example from a schedule, has 0 hops.
 */
export const hopsAttribute = 'hops';
/** @param value of the attribute; an invalid one counts as 0, so that it cannot block the message */
export const parseHops = (value: string | undefined): Hops =>
  value !== undefined && /^\d{1,6}$/.test(value) ? hops(Number(value)) : noHops;

/** A message of a dead-letter queue: a job or a result. @throws Unreadable */
export const parseMessage = (body: string): Job | ResultMessage => {
  const message = readJson('a message', z.union([jobMessage, resultMessage]), body);
  return 'job' in message ? message.job : message.result;
};
