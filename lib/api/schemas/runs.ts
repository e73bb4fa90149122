/** Schemas for runs, their events and tickets. */
import * as z from 'zod';
import {
  anyRunId,
  anyWorkflowName,
  correlationId,
  cursor,
  deploymentId,
  eventLimit,
  failure,
  iterationKey,
  json,
  jsonObject,
  limit,
  nodeId,
  page,
  payloadsHidden,
  runId,
  scheduleId,
  timestampInput,
  utcTimestamp,
} from './parts.ts';
import { deltaEventName, derivedEventNames, publicEventNames } from '../../engine/log/event-names.ts';
import { runStatuses, terminalStatuses } from '../../engine/log/head.ts';
import { attemptStatuses, waitKinds } from '../../engine/log/timeline.ts';
import { idempotencyKeyPattern } from '../idempotency.ts';
import { errorResponse } from './service.ts';
import { storedGraph } from './workflows.ts';

export const startRunBody = z
  .strictObject({
    workflowName: anyWorkflowName,
    input: json.exactOptional(),
    runId: runId.exactOptional(),
    deploymentId: deploymentId.exactOptional(),
    version: z
      .int()
      .min(1)
      .exactOptional()
      .meta({ description: 'a version of a published graph; absent: the latest one. Excludes deploymentId' }),
    specVersion: z.int().default(1),
    availableAt: timestampInput.exactOptional(),
    deadlineAt: timestampInput.exactOptional(),
  })
  .meta({ id: 'StartRun' });

/** The longest wait of a start, in seconds. The gateway ends a request after 29 seconds. */
export const maxWaitSeconds = 25;

export const startRunQuery = z.strictObject({
  wait: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxWaitSeconds)
    .exactOptional()
    .meta({ description: 'how many seconds the request waits for the end of the run; absent: it does not wait' }),
});

export const startedResponse = z.strictObject({
  runId: z.string(),
  status: z.literal('pending'),
  deploymentId: z.string().nullable(),
});

export const acceptedStartResponse = startedResponse.extend({ status: z.enum(['pending', 'running']) });

/** How many runs one request starts. Each is a reservation, a due entry and a head. */
export const maxBatchStarts = 100;

const batchStart = startRunBody
  .extend({
    idempotencyKey: z
      .string()
      .regex(idempotencyKeyPattern)
      .meta({ description: 'as the header Idempotency-Key of a start: the same key starts the same run once' }),
  })
  .meta({ id: 'BatchStart' });

export const startBatchBody = z.strictObject({ runs: z.array(batchStart).min(1).max(maxBatchStarts) }).meta({ id: 'StartBatch' });

export const startBatchResponse = z.strictObject({
  data: z
    .array(
      z.strictObject({
        idempotencyKey: z.string(),
        run: startedResponse
          .extend({ isReplay: z.literal(true).exactOptional().meta({ description: 'an earlier request started it' }) })
          .exactOptional(),
        error: errorResponse.exactOptional().meta({ description: 'why this start was refused; the others are not affected' }),
      }),
    )
    .readonly()
    .meta({ description: 'the outcome of each start, in the order of the request: `run` or `error`' }),
});

export const runParams = z.strictObject({ runId });
/** Of the routes that also apply to external-worker runs. */
export const anyRunParams = z.strictObject({ runId: anyRunId });
export const cancelRunBody = z.strictObject({ reason: z.string().min(1).max(1_024).exactOptional() }).meta({ id: 'CancelRun' });
export const cancelledResponse = z.strictObject({ runId: z.string(), status: z.literal('cancelled') });

export const wakeRunBody = z
  .strictObject({
    nodeIds: z
      .array(nodeId)
      .min(1)
      .max(1_000)
      .exactOptional()
      .meta({ description: 'only these nodes; absent: every sleeping node, or with `retries` every node in backoff' }),
    retries: z
      .literal(true)
      .exactOptional()
      .meta({ description: 'retries the nodes that wait for their next attempt now, and wakes no sleeping node' }),
  })
  .meta({ id: 'WakeRun' });
export const wokenResponse = z.strictObject({
  accepted: z.literal(true),
  woken: z.array(z.string()).readonly().meta({ description: 'the nodes that this call woke' }),
});

export const resumeRunBody = z
  .strictObject({
    runId: anyRunId,
    reason: z.string().min(1).max(1_024).exactOptional(),
    payload: json.exactOptional(),
  })
  .meta({ id: 'ResumeRun' });
export const resumedResponse = z.strictObject({ accepted: z.literal(true) });

/** Key of a step (its name, with a number from the second use on), or a node id. */
const stepName = z.string().min(1).max(300);
/** Steps whose results one rerun replaces. */
export const maxReplacedResults = 100;
const replacedResults = z
  .record(stepName, json)
  .refine((results) => Object.keys(results).length <= maxReplacedResults, `must name at most ${maxReplacedResults} steps`);

export const rerunRunBody = z
  .strictObject({
    input: json.exactOptional().meta({ description: 'absent: the input of the run' }),
    version: z.int().min(1).exactOptional().meta({ description: 'absent: the version of the run' }),
    deploymentId: deploymentId.exactOptional().meta({ description: 'absent: the deployment of the run' }),
    fromNode: stepName
      .exactOptional()
      .meta({ description: 'continue from this node, or this step of code by key or node id, and keep earlier results' }),
    results: replacedResults
      .exactOptional()
      .meta({ description: 'code runs only: values in place of the results of kept steps, by key or node id' }),
    replace: z
      .record(nodeId, z.strictObject({ output: json }))
      .refine((nodes) => Object.keys(nodes).length <= maxReplacedResults, `must name at most ${maxReplacedResults} nodes`)
      .exactOptional()
      .meta({
        description: 'graph runs only, with fromNode: outputs in place of those of kept nodes, also of a node that failed',
      }),
  })
  .meta({ id: 'RerunRun' });
export const rerunResponse = startedResponse.extend({ rerunOf: z.string() });

export const runsPerPage = 25;

export const listRunsQuery = z.strictObject({
  limit: limit.default(runsPerPage),
  cursor: cursor.exactOptional(),
  status: z.enum(runStatuses).exactOptional(),
  workflowName: anyWorkflowName.exactOptional(),
  createdAfter: timestampInput.exactOptional(),
  createdBefore: timestampInput.exactOptional(),
  attention: z.enum(['waiting', 'retrying']).exactOptional(),
  rerunOf: runId.exactOptional(),
  deploymentId: deploymentId.exactOptional(),
  scheduleId: scheduleId.exactOptional().meta({ description: 'runs that this schedule started' }),
  correlationId: correlationId.exactOptional().meta({ description: 'of the request that started the run' }),
  calledBy: anyRunId.exactOptional().meta({ description: 'the runs that this run called' }),
  version: z
    .string()
    .min(1)
    .max(256)
    .exactOptional()
    .meta({ description: 'the version of a graph, or the text that the author of the code declared' }),
  includeChildren: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: 'include runs that another run called' }),
  includeTests: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: 'include test runs' }),
  includeWaits: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: 'adds `waits` to open runs, for which their logs are read: a page then has at most 25 runs' }),
});

const runFields = {
  runId: z.string(),
  status: z.enum(runStatuses),
  workflowName: z.string(),
  workflowVersion: z
    .int()
    .nullable()
    .meta({ description: 'null: a run of deployed code, a test run, or an external-worker run' }),
  version: z
    .string()
    .nullable()
    .exactOptional()
    .meta({ description: 'code runs and external-worker runs only: the version that the author declared; null: none' }),
  isTest: z.literal(true).exactOptional().meta({ description: 'the graph of the run is unpublished' }),
  isExternal: z.literal(true).exactOptional().meta({ description: 'a worker of the package openworkflow executes it' }),
  deploymentId: z.string().nullable(),
  rerunOf: z.string().exactOptional().meta({ description: 'the run that this run repeats' }),
  rerunFrom: z.string().exactOptional().meta({ description: 'the node from which the rerun continued' }),
  calledBy: z
    .strictObject({ runId: z.string(), nodeId: z.string() })
    .exactOptional()
    .meta({ description: 'the node that called this run as its subflow' }),
  scheduleId: z.string().exactOptional().meta({ description: 'the schedule that started it' }),
  scheduledAt: utcTimestamp.exactOptional().meta({ description: 'the due time of that schedule' }),
  startedBy: z
    .strictObject({
      trigger: z.string(),
      messageId: z.string().exactOptional().meta({ description: 'the idempotency key of its message; absent: hidden' }),
    })
    .exactOptional()
    .meta({ description: 'the trigger that started it' }),
  specVersion: z.literal(1),
  createdAt: utcTimestamp,
  availableAt: utcTimestamp.exactOptional(),
  deadlineAt: utcTimestamp.meta({ description: 'the run fails at this time if it has not ended' }),
  deadlineLimitAt: utcTimestamp.exactOptional().meta({
    description:
      'present if no deadline was declared: a run that waits at `deadlineAt` continues, with a later one, at most this',
  }),
  completedAt: utcTimestamp.exactOptional(),
  error: failure.exactOptional(),
  correlationId: z.string().exactOptional().meta({ description: 'of the request that started the run' }),
};

const waitingFor = z
  .strictObject({
    signal: z.string(),
    correlation: z.string(),
    until: utcTimestamp.exactOptional().meta({ description: 'absent: until the run ends' }),
  })
  .meta({ id: 'WaitingFor' });

const signalWait = z
  .strictObject({
    nodeId: z.string(),
    iteration: z.string().exactOptional().meta({ description: 'the loop iteration of the node' }),
    since: utcTimestamp,
    ...waitingFor.shape,
  })
  .meta({ id: 'SignalWait' });

const runSummary = z
  .strictObject({
    ...runFields,
    attention: z.enum(['waiting', 'retrying']).exactOptional(),
    waits: z
      .array(signalWait)
      .readonly()
      .exactOptional()
      .meta({ description: 'with `includeWaits`: the signals for which its nodes wait, at most 100; present if there are any' }),
    waitsOmitted: z.int().exactOptional().meta({ description: 'further waits that are not shown' }),
  })
  .meta({ id: 'RunSummary' });
export const runList = page(runSummary).extend(payloadsHidden);

/** The kinds of an estimate. */
const estimatedKinds = [
  'writeUnits',
  'readUnits',
  'queueRequests',
  'invocations',
  'apiRequests',
  'busEvents',
  'schedules',
  'objects',
] as const;

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

/** A value that is omitted because the response would exceed the limit of the gateway. */
const omitted = z.strictObject({ bytes: z.int() }).meta({ id: 'Omitted' });

const waitingForSlot = z
  .strictObject({ kind: z.literal('slot'), slots: z.int() })
  .meta({ id: 'WaitingForSlot', description: 'the run waits for a concurrency slot; `slots` is the limit of its workflow' });

const iterationCounts = z
  .strictObject({
    items: z.int(),
    started: z.int(),
    ended: z.int(),
    failed: z.int(),
    failedItems: z
      .array(z.int())
      .readonly()
      .exactOptional()
      .meta({ description: 'the indexes of the first 20 items that failed, in the order of their ends' }),
  })
  .meta({ id: 'Iterations', description: 'the progress of a loop' });

const runNode = z
  .strictObject({
    nodeId: z.string(),
    type: z.string(),
    label: z.string().exactOptional(),
    iteration: z.string().exactOptional().meta({ description: 'the loop iteration of the node' }),
    isPinned: z.literal(true).exactOptional().meta({ description: 'the node did not run: the test run pinned its output' }),
    status: z.enum(nodeStatuses),
    attempt: z.int(),
    startedAt: utcTimestamp.exactOptional(),
    completedAt: utcTimestamp.exactOptional(),
    wakeAt: utcTimestamp
      .exactOptional()
      .meta({ description: 'when the wait of the node ends; of a queued node, when its next attempt is due' }),
    childRunId: z.string().exactOptional().meta({ description: 'the child run that the node called last' }),
    waitingFor: waitingFor.exactOptional(),
    iterations: iterationCounts.exactOptional(),
    durationMs: z.number().exactOptional(),
    output: json.exactOptional(),
    outputOmitted: omitted.exactOptional(),
    error: failure.exactOptional(),
    skipReason: z.string().exactOptional(),
  })
  .meta({ id: 'RunNode' });

const rootCause = z
  .strictObject({
    nodeId: z.string(),
    iteration: z.string().exactOptional().meta({ description: 'the loop iteration of the node' }),
    attempt: z.int(),
    childRunId: z.string().exactOptional().meta({ description: 'the child run that failed: its own root cause is the next one' }),
    error: failure,
  })
  .meta({
    id: 'RootCause',
    description: 'the node or step whose failure ended the run, also when an error edge led from it to an error end',
  });

const externalWorker = z
  .strictObject({ id: z.string(), leaseUntil: utcTimestamp })
  .meta({ id: 'ExternalWorker', description: 'of an external-worker run: who has claimed it' });

/** A run that ended while its start waited. */
export const endedStartResponse = z
  .strictObject({
    runId: z.string(),
    status: z.enum(terminalStatuses),
    deploymentId: z.string().nullable(),
    completedAt: utcTimestamp,
    output: json.exactOptional(),
    outputOmitted: omitted.exactOptional(),
    error: failure.exactOptional(),
    cancelReason: z.string().exactOptional(),
    ...payloadsHidden,
  })
  .meta({ id: 'EndedStart' });

export const getRunQuery = z.strictObject({
  resolveData: z.enum(['all', 'none']).default('all').meta({ description: '`none` omits input and outputs' }),
  nodes: z.enum(['all', 'none']).default('all').meta({ description: '`none` omits the nodes' }),
  estimate: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: 'adds `bytes` and `estimate`, for which the whole log is read' }),
});

const costEstimate = z
  .strictObject({
    dollars: z.number(),
    parts: z
      .array(z.strictObject({ kind: z.enum(estimatedKinds), count: z.number(), dollars: z.number() }))
      .readonly()
      .meta({ description: 'units as AWS bills them, with their price' }),
  })
  .meta({
    id: 'CostEstimate',
    description:
      'what the run cost so far, by list prices of us-east-1, without the execution time of functions; with `estimate=true`, for graph and code runs',
  });

export const runResponse = z
  .strictObject({
    ...runFields,
    startedAt: utcTimestamp.exactOptional(),
    rootCause: rootCause.exactOptional(),
    cancelReason: z.string().exactOptional(),
    input: json.exactOptional(),
    inputOmitted: omitted.exactOptional(),
    output: json.exactOptional(),
    outputOmitted: omitted.exactOptional(),
    waitingFor: waitingForSlot.exactOptional(),
    used: z
      .strictObject({ nodeExecutions: z.int(), tokens: z.int() })
      .exactOptional()
      .meta({ description: 'what the run used of its budget; absent for bundle runs and external-worker runs' }),
    worker: externalWorker.exactOptional(),
    claims: z.int().exactOptional().meta({ description: 'of an external-worker run: how often workers claimed it' }),
    nodes: z.array(runNode).readonly(),
    nodesOmitted: z
      .int()
      .exactOptional()
      .meta({ description: 'the number of earlier completed steps that are omitted; their events are available' }),
    lastEventId: z.int(),
    commits: z.int().exactOptional().meta({ description: 'writes to the log of the run; absent for external-worker runs' }),
    bytes: z.int().exactOptional().meta({ description: 'the size of the log as it is stored; with `estimate=true`' }),
    estimate: costEstimate.exactOptional(),
    ...payloadsHidden,
  })
  .meta({ id: 'Run' });

export const runNodeParams = z.strictObject({ runId, nodeId });
export const runNodeQuery = z.strictObject({
  iteration: iterationKey
    .exactOptional()
    .meta({ description: 'the loop iteration of the node, such as `lines[3]`; absent: outside loops' }),
  attempt: z.coerce.number().int().min(1).exactOptional().meta({ description: 'only this attempt; absent: all of them' }),
});

const nodeAttempt = z
  .strictObject({
    attempt: z.int(),
    status: z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'timed_out', 'cancelled']),
    queuedAt: utcTimestamp.exactOptional(),
    startedAt: utcTimestamp.exactOptional(),
    endedAt: utcTimestamp.exactOptional(),
    error: failure.exactOptional(),
    retryAt: utcTimestamp.exactOptional().meta({ description: 'when the next attempt begins' }),
    printed: z.array(z.string()).readonly().exactOptional().meta({ description: 'the lines that the attempt printed' }),
    tokens: z.strictObject({ input: z.int(), output: z.int() }).exactOptional(),
    eventId: z.int().exactOptional().meta({ description: 'the event that ended it' }),
  })
  .meta({ id: 'NodeAttempt' });

export const runNodeResponse = z
  .strictObject({
    runId: z.string(),
    node: runNode,
    context: json.exactOptional().meta({ description: '`ctx` as the node saw it; graph runs only' }),
    contextOmitted: omitted.exactOptional(),
    inputs: json.exactOptional().meta({ description: '`inputs` as the node saw it: the values of its edges; graph runs only' }),
    inputsOmitted: omitted.exactOptional(),
    config: json
      .exactOptional()
      .meta({ description: 'the config after templates; a secret stays the template that names it; graph runs only' }),
    configOmitted: omitted.exactOptional(),
    attempts: z.array(nodeAttempt).readonly(),
    attemptsOmitted: z.int().exactOptional().meta({ description: 'the number of earlier attempts that are omitted' }),
    lastEventId: z.int(),
    ...payloadsHidden,
  })
  .meta({ id: 'RunNodeDetail', description: 'what a node saw and did' });

/** Rows of a page of a timeline. */
export const timelinePageSize = { standard: 1_000, max: 10_000 } as const;

export const timelineQuery = z.strictObject({
  after: z
    .string()
    .max(32)
    .exactOptional()
    .meta({ description: 'only attempts that a later event changed: `cursor` of the page before' }),
  limit: z.coerce.number().int().min(1).max(timelinePageSize.max).default(timelinePageSize.standard),
});

const ms = z.number().nullable();
export const timelineResponse = z
  .strictObject({
    runId: z.string(),
    origin: utcTimestamp.meta({ description: 'when the run was created; times of rows are in ms after it' }),
    nodes: z.array(z.string()).readonly().meta({ description: 'the ids that rows name by their index' }),
    rows: z
      .array(
        z
          .tuple([
            z.int().meta({ description: 'index in `nodes`' }),
            z.string().nullable().meta({ description: 'the loop iteration of the node' }),
            z.int().meta({ description: 'the attempt; 0: the node was skipped, or the row is an iteration of the loop' }),
            ms.meta({ description: 'queued' }),
            ms.meta({ description: 'started to work or to wait' }),
            ms.meta({ description: 'ended' }),
            z.enum(attemptStatuses),
            z.enum(waitKinds).nullable().meta({ description: 'for what it waits or waited' }),
            z.int().meta({ description: 'the last event that changed it' }),
          ])
          .readonly(),
      )
      .readonly(),
    cursor: z.string().meta({ description: 'pass it as `after` to continue, now or later' }),
    hasMore: z.boolean(),
  })
  .meta({ id: 'Timeline' });

/** Characters. */
export const maxReaderNameLength = 64;

/** Event id 0 is before the first event. */
export const listEventsQuery = z.strictObject({
  after: z
    .string()
    .max(32)
    .exactOptional()
    .meta({ description: 'the id of the last event seen; only later events are returned' }),
  afterEventId: z.string().max(32).exactOptional().meta({ description: 'alias of `after`; the larger value is used' }),
  ticket: z.string().max(128).exactOptional().meta({ description: 'replaces the key, for the EventSource of a browser' }),
  reader: z
    .string()
    .min(1)
    .max(maxReaderNameLength)
    .exactOptional()
    .meta({ description: 'the name of the reader: opening a stream closes its previous stream of this run' }),
  limit: eventLimit,
});

/** Common fields of events and deltas. */
const eventFields = {
  runId: z.string(),
  workflowId: z.string().exactOptional().meta({ description: 'the name of the run’s workflow' }),
  timestamp: utcTimestamp,
  correlation: z
    .strictObject({
      traceId: z.string().exactOptional().meta({ description: 'of the request that started the run' }),
      wave: z.int().exactOptional().meta({ description: 'the node’s longest distance from a root' }),
    })
    .exactOptional(),
};

export const runEvent = z
  .strictObject({
    eventId: z.int(),
    sequence: z.int(),
    type: z.enum([...publicEventNames, ...Object.values(derivedEventNames)]),
    ...eventFields,
    payload: jsonObject,
    ...payloadsHidden,
  })
  .meta({ id: 'RunEvent' });
/** A piece of the output of a running node; only in streams. */
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
  cursor: z.string().meta({ description: 'pass it as `after` to continue, now or later' }),
  hasMore: z.boolean(),
  ...payloadsHidden,
});

export const ticketResponse = z
  .strictObject({
    ticket: z
      .string()
      .meta({ description: 'pass it as `ticket` to the event stream of this run; only this response contains it' }),
    expiresAt: utcTimestamp.meta({ description: 'until when it can open a stream; an open stream continues' }),
  })
  .meta({ id: 'Ticket' });

export const runDefinitionResponse = z
  .strictObject({
    runId: z.string(),
    workflowName: z.string(),
    version: z.int().nullable().meta({ description: 'null: the unsaved graph of a test run' }),
    ...storedGraph,
    pinned: z
      .record(z.string(), z.strictObject({ output: json, handle: z.string().exactOptional() }))
      .exactOptional()
      .meta({ description: 'test runs only: the nodes that did not run, with their outputs' }),
    ...payloadsHidden,
  })
  .meta({ id: 'RunDefinition' });
