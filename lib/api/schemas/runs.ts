/** Bodies about runs. */
import * as z from 'zod';
import { runStatuses } from '../../engine/log/head.ts';
import { deltaEventName, publicEventNames } from '../../engine/log/event-names.ts';
import {
  cursor,
  deploymentId,
  failure,
  json,
  jsonObject,
  limit,
  utcTimestamp,
  nodeId,
  page,
  runId,
  timestampInput,
  workflowName,
} from './parts.ts';

export const startRunBody = z
  .strictObject({
    workflowName,
    input: json.exactOptional(),
    runId: runId.exactOptional(),
    deploymentId: deploymentId.exactOptional(),
    specVersion: z.int().default(1),
    availableAt: timestampInput.exactOptional(),
    deadlineAt: timestampInput.exactOptional(),
  })
  .meta({ id: 'StartRun' });

export const startedResponse = z.strictObject({
  runId: z.string(),
  status: z.literal('pending'),
  deploymentId: z.string().nullable(),
});

export const runParams = z.strictObject({ runId });
export const cancelRunBody = z.strictObject({ reason: z.string().min(1).max(1_024).exactOptional() }).meta({ id: 'CancelRun' });
export const cancelledResponse = z.strictObject({ runId: z.string(), status: z.literal('cancelled') });

export const wakeRunBody = z
  .strictObject({
    nodeIds: z
      .array(nodeId)
      .min(1)
      .max(1_000)
      .exactOptional()
      .meta({ description: 'only these; absent: every node that sleeps' }),
  })
  .meta({ id: 'WakeRun' });
export const wokenResponse = z.strictObject({
  accepted: z.literal(true),
  woken: z.array(z.string()).readonly().meta({ description: 'the nodes that this call woke' }),
});

export const resumeRunBody = z
  .strictObject({
    runId,
    reason: z.string().min(1).max(1_024).exactOptional(),
    payload: json.exactOptional(),
  })
  .meta({ id: 'ResumeRun' });
export const resumedResponse = z.strictObject({ accepted: z.literal(true) });

export const rerunRunBody = z
  .strictObject({
    input: json.exactOptional().meta({ description: 'absent: what the run was given' }),
    version: z.int().min(1).exactOptional().meta({ description: 'absent: the version that the run was pinned to' }),
    deploymentId: deploymentId.exactOptional().meta({ description: 'absent: the deployment that the run was on' }),
    fromNode: nodeId.exactOptional().meta({ description: 'goes on from this node; the results before it stand' }),
  })
  .meta({ id: 'RerunRun' });
export const rerunResponse = startedResponse.extend({ rerunOf: z.string() });

export const listRunsQuery = z.strictObject({
  limit: limit.default(25),
  cursor: cursor.exactOptional(),
  status: z.enum(runStatuses).exactOptional(),
  workflowName: workflowName.exactOptional(),
  createdAfter: timestampInput.exactOptional(),
  createdBefore: timestampInput.exactOptional(),
  attention: z.enum(['waiting', 'retrying']).exactOptional(),
  rerunOf: runId.exactOptional(),
  includeTests: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: 'test runs too' }),
});

const runFields = {
  runId: z.string(),
  status: z.enum(runStatuses),
  workflowName: z.string(),
  workflowVersion: z.int().nullable().meta({ description: "null: the run is of a deployment's code, or a test" }),
  version: z
    .string()
    .nullable()
    .exactOptional()
    .meta({ description: 'of code that is replayed: the version as its author named it; null: they named none' }),
  isTest: z.literal(true).exactOptional().meta({ description: 'of a graph that nobody has published' }),
  deploymentId: z.string().nullable(),
  rerunOf: z.string().exactOptional().meta({ description: 'the run that this one runs again' }),
  rerunFrom: z.string().exactOptional().meta({ description: 'the node that it went on from' }),
  calledBy: z
    .strictObject({ runId: z.string(), nodeId: z.string() })
    .exactOptional()
    .meta({ description: 'the node that called this run as its subflow' }),
  scheduleId: z.string().exactOptional().meta({ description: 'the schedule that started it' }),
  scheduledAt: utcTimestamp.exactOptional().meta({ description: 'the time at which that schedule was due' }),
  specVersion: z.literal(1),
  createdAt: utcTimestamp,
  availableAt: utcTimestamp.exactOptional(),
  deadlineAt: utcTimestamp,
  completedAt: utcTimestamp.exactOptional(),
  error: failure.exactOptional(),
  correlationId: z.string().exactOptional().meta({ description: 'of the request that asked for the run' }),
};

const runSummary = z
  .strictObject({ ...runFields, attention: z.enum(['waiting', 'retrying']).exactOptional() })
  .meta({ id: 'RunSummary' });
export const runList = page(runSummary);

const nodeStatuses = [
  'pending',
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'timed_out',
  'blocked',
  'invalidated',
  'skipped',
  'cancelled',
] as const;

/** A value that was left out because the answer would have become too large for the gateway. */
const omitted = z.strictObject({ bytes: z.int() }).meta({ id: 'Omitted' });

const waitingFor = z
  .strictObject({
    signal: z.string(),
    correlation: z.string(),
    until: utcTimestamp.exactOptional().meta({ description: 'absent: as long as the run lasts' }),
  })
  .meta({ id: 'WaitingFor' });

const waitingForSlot = z
  .strictObject({ kind: z.literal('slot'), slots: z.int() })
  .meta({ id: 'WaitingForSlot', description: 'so many runs of the workflow may be at work, and this one waits for its turn' });

const iterationCounts = z
  .strictObject({ items: z.int(), started: z.int(), ended: z.int(), failed: z.int() })
  .meta({ id: 'Iterations', description: 'how far a loop has come' });

const runNode = z
  .strictObject({
    nodeId: z.string(),
    type: z.string(),
    label: z.string().exactOptional(),
    iteration: z.string().exactOptional().meta({ description: 'the pass of a loop that the node is in' }),
    isPinned: z.literal(true).exactOptional().meta({ description: 'it was not run: a test said what it ends with' }),
    status: z.enum(nodeStatuses),
    attempt: z.int(),
    startedAt: utcTimestamp.exactOptional(),
    completedAt: utcTimestamp.exactOptional(),
    wakeAt: utcTimestamp.exactOptional(),
    childRunId: z.string().exactOptional().meta({ description: 'the run that it called last' }),
    waitingFor: waitingFor.exactOptional(),
    iterations: iterationCounts.exactOptional(),
    durationMs: z.number().exactOptional(),
    output: json.exactOptional(),
    outputOmitted: omitted.exactOptional(),
    error: failure.exactOptional(),
    skipReason: z.string().exactOptional(),
  })
  .meta({ id: 'RunNode' });

export const getRunQuery = z.strictObject({
  resolveData: z.enum(['all', 'none']).default('all').meta({ description: '`none` leaves input and outputs away' }),
});

export const runResponse = z
  .strictObject({
    ...runFields,
    startedAt: utcTimestamp.exactOptional(),
    cancelReason: z.string().exactOptional(),
    input: json.exactOptional(),
    inputOmitted: omitted.exactOptional(),
    output: json.exactOptional(),
    outputOmitted: omitted.exactOptional(),
    waitingFor: waitingForSlot.exactOptional(),
    used: z
      .strictObject({ nodeExecutions: z.int(), tokens: z.int() })
      .exactOptional()
      .meta({ description: 'of the budget that a workflow may set; absent: the run is of code that is given messages' }),
    nodes: z.array(runNode).readonly(),
    nodesOmitted: z
      .int()
      .exactOptional()
      .meta({ description: 'so many earlier steps of code have ended and are not shown: their events are' }),
    lastEventId: z.int(),
  })
  .meta({ id: 'Run' });

/** In characters. */
export const maxReaderNameLength = 64;

/** 0 is before the first event. */
export const listEventsQuery = z.strictObject({
  after: z.string().max(32).exactOptional().meta({ description: 'the id of the last event seen; only later ones are given' }),
  afterEventId: z.string().max(32).exactOptional().meta({ description: 'another name for `after`; the larger one counts' }),
  ticket: z.string().max(128).exactOptional().meta({ description: 'in place of a key, for a browser’s EventSource' }),
  reader: z
    .string()
    .min(1)
    .max(maxReaderNameLength)
    .exactOptional()
    .meta({ description: 'what the reader calls itself: a stream that it opens ends the one that it had of this run before' }),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
});

/** What stands around every event and every delta, beside its id, its type and its payload. */
const eventFields = {
  runId: z.string(),
  workflowId: z.string().exactOptional().meta({ description: 'the name of the run’s workflow' }),
  timestamp: utcTimestamp,
  correlation: z
    .strictObject({
      traceId: z.string().exactOptional().meta({ description: 'of the request that asked for the run' }),
      wave: z.int().exactOptional().meta({ description: 'the node’s longest distance from a root' }),
    })
    .exactOptional(),
};

export const runEvent = z
  .strictObject({
    eventId: z.int(),
    sequence: z.int(),
    type: z.enum(publicEventNames),
    ...eventFields,
    payload: jsonObject,
  })
  .meta({ id: 'RunEvent' });
/** A piece of what a node says while it is at work; in streams alone. */
export const runDelta = z.strictObject({
  eventId: z.int(),
  sequence: z.int(),
  type: z.literal(deltaEventName),
  ...eventFields,
  payload: z.strictObject({
    nodeId: z.string(),
    iteration: z.string().exactOptional(),
    attempt: z.int(),
    deltaIndex: z.int(),
    text: z.string(),
    reset: z.literal(true).exactOptional(),
  }),
});
export const eventList = z.strictObject({
  data: z.array(runEvent).readonly(),
  cursor: z.string().meta({ description: 'pass it as `after` to go on, now or later' }),
  hasMore: z.boolean(),
});
