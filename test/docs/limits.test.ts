/** docs/LIMITS.md says what the code does: each number in it is looked up where it says that it is set. */
import { describe, expect, test } from 'vitest';
import { maxReaderNameLength } from '../../lib/api/schemas/runs.ts';
import { socketMessageLimitBytes } from '../../lib/api/schemas/sockets.ts';
import { archiveLimits } from '../../lib/artifact/archive-rules.ts';
import { responseLimits, printLimits } from '../../lib/bundles/code-output.ts';
import { threadSlotLimits } from '../../lib/bundles/thread-slots.ts';
import { defaultWorkerTimeoutSeconds, functionShapes } from '../../lib/constructs/function-shapes.ts';
import { defaultConcurrency } from '../../lib/contract/concurrency.ts';
import { payloadLifetimes } from '../../lib/contract/payload-lifetimes.ts';
import { maxDeliveries } from '../../lib/engine/bundle/decide.ts';
import { maxSlots } from '../../lib/engine/concurrency-slots.ts';
import { maxStepAttempts } from '../../lib/engine/durable/apply-command-batch.ts';
import { maxPartBytes } from '../../lib/engine/durable/split-command-batch.ts';
import { firstTimeSlice, repeatTimeSlice } from '../../lib/engine/fair-shares.ts';
import { maxDirectSiblings } from '../../lib/engine/graph/dispatch.ts';
import { definitionLimits } from '../../lib/engine/graph/findings.ts';
import { loopLimits } from '../../lib/engine/graph/loop-values.ts';
import { payloadLimits } from '../../lib/engine/graph/payload-limits.ts';
import { maxBudget } from '../../lib/engine/graph/validate.ts';
import { workLimits } from '../../lib/engine/graph/work-limits.ts';
import { maxBackoff, maxHops } from '../../lib/engine/hops.ts';
import { maxSignalTextLength } from '../../lib/engine/ids.ts';
import { crashWindow, maxCrashes } from '../../lib/engine/log/deliveries.ts';
import { failureLimits, eventLimits, printedLimits } from '../../lib/engine/log/event-limits.ts';
import { latestEndAfterDeadline } from '../../lib/engine/log/head.ts';
import { queryLimits } from '../../lib/engine/query/definition.ts';
import { maxRate } from '../../lib/engine/schedule/timing.ts';
import { jsonLimits } from '../../lib/engine/validate-json.ts';
import { maxInvocationsPerChain } from '../../lib/local/lambda/lineage.ts';
import { apiLimits as gateway, lambdaLimits as lambda, socketLimits } from '../../lib/local/limits.ts';
import { scriptLimits } from '../../lib/nodes/sandbox/script.ts';
import { graphDefaults } from '../../lib/nodes/settings.ts';
import { maxActivationHistory } from '../../lib/ports/deployments.ts';
import { maxQueueDelayMs } from '../../lib/ports/jobs.ts';
import { maxFailuresRecorded } from '../../lib/service/access/failure-budget.ts';
import { defaultRateLimit } from '../../lib/service/access/rate-limiter.ts';
import { deletionTimeBudget, settlingTime } from '../../lib/service/deletions/continue-deletions.ts';
import { minWriteInterval } from '../../lib/service/kinds/graph/stream-writer.ts';
import { maxCommitBytes, maxInputInHeadBytes, maxInlineBytes, maxInlineUncompressedBytes } from '../../lib/service/run-log/payloads.ts';
import { defaultDeadline, maxTestDuration, testRetention } from '../../lib/service/runs/create-run.ts';
import { maxSpansPerRequest, maxSpansPerRun } from '../../lib/service/runs/export-run-trace.ts';
import { maxShownIterationNodes, maxShownSteps } from '../../lib/service/runs/get-run.ts';
import { maxPageBytes } from '../../lib/service/runs/list-events.ts';
import { maxRowsRead } from '../../lib/service/runs/list-runs.ts';
import { maxCallDepth } from '../../lib/service/runs/start-child-run.ts';
import { maxViewBytes, maxTemplates } from '../../lib/service/runs/view-run.ts';
import { maxStoredFires } from '../../lib/service/schedules/fire-schedule.ts';
import { maxBroadcastDuration, socketHeartbeatInterval } from '../../lib/service/watching/broadcast-run.ts';
import { maxSubscriptions } from '../../lib/service/watching/delta-subscriptions.ts';
import { maxJoinedRuns } from '../../lib/service/watching/join-run.ts';
import { ticketLifetime } from '../../lib/service/watching/open-with-ticket.ts';
import { maxFrameBytes, maxFrameValueBytes } from '../../lib/service/watching/socket-frames.ts';
import { maxPosts, maxQueuedBytes } from '../../lib/service/watching/socket-subscriber.ts';
import { heartbeatInterval, maxStreamDuration } from '../../lib/service/watching/watch-run.ts';
import { numberIn, read, rowsIn } from './documents.ts';

const count = (value: number): string => value.toLocaleString('en-US');
const seconds = (ms: number): string => `${count(ms / 1_000)} s`;
const minutes = (ms: number): string => `${count(ms / 60_000)} min`;
const hours = (ms: number): string => `${count(ms / 3_600_000)} h`;
const days = (ms: number): string => `${count(ms / 86_400_000)} days`;
const bytes = (value: number): string => `${count(value)} bytes`;
const characters = (value: number): string => `${count(value)} characters`;

const findings = 'lib/engine/graph/findings.ts';
const deletions = 'lib/service/deletions/continue-deletions.ts';
const recover = 'lib/service/execution/sweep-runs.ts';
const watch = 'lib/service/watching/watch-run.ts';
const voice = 'lib/service/execution/stream-writer.ts';
const routes = 'lib/api/run-routes.ts';
const parts = 'lib/api/schemas/parts.ts';
const runs = 'lib/api/schemas/runs.ts';
const workflows = 'lib/api/schemas/workflows.ts';
const versions = 'lib/api/schemas/versions.ts';
const keys = 'lib/api/schemas/keys.ts';
const audit = 'lib/api/schemas/keys.ts';
const listAudit = 'lib/service/access/list-audit.ts';
const artifacts = 'lib/artifact/archive-rules.ts';
const manifests = 'lib/api/schemas/deployments.ts';
const settings = 'lib/nodes/settings.ts';
const condition = 'lib/nodes/condition/shape.ts';
const branch = 'lib/nodes/condition/branch.ts';
const regex = 'lib/nodes/condition/operators.ts';
const delay = 'lib/nodes/delay/shape.ts';
const http = 'lib/nodes/http/shape.ts';
const script = 'lib/nodes/sandbox/script.ts';
const payloads = 'lib/service/run-log/payloads.ts';
const silence = 'lib/engine/log/heartbeat-timeout.ts';
const deliveries = 'lib/engine/log/deliveries.ts';
const attempt = 'lib/service/kinds/graph/watch-attempt.ts';
const heartbeats = 'lib/service/execution/heartbeat-loop.ts';
const queues = 'lib/constructs/queues.ts';
const construct = 'lib/constructs/functions.ts';
const concurrency = 'lib/contract/concurrency.ts';
const fetchRuns = 'lib/engine/bundle/decide.ts';
const bundles = 'lib/bundles/thread-slots.ts';
const steps = 'lib/program/step-api.ts';
const storing = 'lib/program/stored-value.ts';
const webhookRoutes = 'lib/api/webhook-routes.ts';
const receiving = 'lib/service/access/receive-webhook.ts';
const providers = 'lib/webhooks/provider.ts';
const keptSecrets = 'lib/service/access/secret-cache.ts';
const queryDefinition = 'lib/engine/query/definition.ts';
const loop = 'lib/nodes/loop/shape.ts';
const seeds = 'lib/api/schemas/seed-keys.ts';
const shapes = 'lib/constructs/function-shapes.ts';
const firstKeyResource = 'lib/constructs/first-key.ts';
const environmentSize = 'lib/constructs/environment-size.ts';
const storedSettings = 'lib/service/access/stored-settings.ts';

const exporting = 'lib/service/runs/export-run-trace.ts';
const traces = 'lib/constructs/traces.ts';
const origins = 'lib/api/schemas/cors-origins.ts';
const scheduleBodies = 'lib/api/schemas/schedules.ts';

/** row → [what its second cell begins with, the file that its last cell names] */
const real: Readonly<Record<string, readonly [string, string]>> = {
  'Nodes of a workflow': [count(definitionLimits.nodes), findings],
  'Edges of a workflow': [count(definitionLimits.edges), findings],
  'Body that defines a workflow': [bytes(definitionLimits.bytes), findings],
  'A version, compressed': [bytes(definitionLimits.compressedBytes), findings],
  'Declared arguments': [count(numberIn(workflows, 'z.array(argument).max(')), workflows],
  'Branches of a condition': [count(numberIn(condition, "at least one branch').max(")), condition],
  'Conditions of a branch': [count(numberIn(branch, 'z.array(condition).max(')), branch],
  'Outputs of an end node': [count(numberIn('lib/nodes/end/shape.ts', 'lookUpText }))\n    .max(')), 'lib/nodes/end/shape.ts'],
  'Script of a node': [
    characters(numberIn('lib/nodes/javascript/shape.ts', 'const maxCodeLength = ')),
    'lib/nodes/javascript/shape.ts',
  ],
  'Expression of a condition': [characters(numberIn(branch, 'expressionText = z.string().min(1).max(')), branch],
  'URL of a request': [characters(numberIn(http, 'url: z.string().min(1).max(')), http],
  'Body that publishes a lens': [
    bytes(numberIn('lib/api/definition-routes.ts', 'lensLimitBytes = ')),
    'lib/api/definition-routes.ts',
  ],
  'Template of a lens': [
    characters(numberIn('lib/api/schemas/lenses.ts', 'template: z.string().min(1).max(')),
    'lib/api/schemas/lenses.ts',
  ],
  'JSON Schema of a contract': [
    `${count(numberIn('lib/lens/validate-lens.ts', 'maxExpanded = '))} parts`,
    'lib/lens/validate-lens.ts',
  ],
  'Depth of such a schema': [`${numberIn('lib/lens/validate-lens.ts', 'const maxDepth = ')} levels`, 'lib/lens/validate-lens.ts'],
  'Prompt of a lens': [bytes(numberIn('lib/nodes/lens/prompt.ts', 'maxPromptBytes = ')), 'lib/nodes/lens/prompt.ts'],
  'Attempts of a lens': [`${numberIn('lib/nodes/lens/shape.ts', 'attempts: ')}, at most 100`, 'lib/nodes/lens/shape.ts'],
  'Time of an attempt of a lens': [
    `${numberIn('lib/nodes/lens/shape.ts', 'timeoutMs: seconds(')} s, at most 14 min`,
    'lib/nodes/lens/shape.ts',
  ],
  'Response of a model': [characters(numberIn('lib/models/chat-stream.ts', 'maxAnswerLength = ')), 'lib/aws/bedrock.ts'],
  'Field named by such an error': [characters(numberIn('lib/lens/check.ts', 'maxFieldLength = ')), 'lib/lens/check.ts'],
  'Message of a failure': [characters(failureLimits.message), 'lib/engine/log/event-limits.ts'],
  'Details of a failure': [characters(failureLimits.details), 'lib/engine/log/event-limits.ts'],
  'Errors reported of a contract': [count(numberIn('lib/lens/check.ts', 'maxErrors = ')), 'lib/lens/check.ts'],
  'Key of a provider in a warm worker': [
    `${numberIn('lib/models/provider-keys.ts', 'cacheMs = minutes(')} min`,
    'lib/models/provider-keys.ts',
  ],
  'Large settings of the configuration': [bytes(numberIn(firstKeyResource, 'const maxBytes = ')), firstKeyResource],
  'Environment variables of a function': [bytes(numberIn(environmentSize, 'const maxBytes = ')), environmentSize],
  'A token in environment variables': [bytes(numberIn(environmentSize, 'const tokenBytes = ')), environmentSize],
  'An older version of a large setting': [`${numberIn(storedSettings, 'const expiryGrace = days(')} days`, storedSettings],
  'Head of a request': [bytes(gateway.headBytes), 'lib/local/limits.ts'],
  'Gateway body': [bytes(gateway.payloadBytes), 'lib/local/limits.ts'],
  'Function body': [bytes(lambda.payloadBytes), 'lib/local/limits.ts'],
  'Body that starts a run': [bytes(numberIn(routes, 'const inputLimitBytes = ')), routes],
  'Body that cancels a run': [bytes(numberIn(routes, 'const smallLimitBytes = ')), routes],
  'Body that wakes a run': [bytes(numberIn(routes, 'const wakeLimitBytes = ')), routes],
  'Body of a webhook': [bytes(numberIn(webhookRoutes, 'webhookLimitBytes = ')), webhookRoutes],
  'Payload of a webhook for a run or a signal': [bytes(numberIn(receiving, 'payloadLimitBytes = ')), receiving],
  'How long a delivery is remembered': [`${numberIn(receiving, 'minIdempotencyTtl = hours(')} h`, receiving],
  "Tolerance of a signature's time": [
    `${numberIn(providers, 'max(3_600).default(')} s, at most ${count(numberIn(providers, 'z.int().min(10).max('))} s`,
    providers,
  ],
  'A secret in a warm function': [`${numberIn(keptSecrets, 'cacheTtlMs = minutes(')} min`, keptSecrets],
  'Body that publishes a query': [
    bytes(numberIn('lib/api/definition-routes.ts', 'const queryLimitBytes = ')),
    'lib/api/definition-routes.ts',
  ],
  'Parameters of a query': [count(queryLimits.parameters), queryDefinition],
  'Statement of a query': [characters(queryLimits.statementCharacters), queryDefinition],
  'Rows of a query': [`${count(queryLimits.rows.standard)}, at most ${count(queryLimits.rows.max)}`, queryDefinition],
  'Result of a query': [`${bytes(queryLimits.bytes.standard)}, at most ${bytes(queryLimits.bytes.max)}`, queryDefinition],
  'Time of a query': [`${seconds(queryLimits.ms.standard)}, at most ${seconds(queryLimits.ms.max)}`, queryDefinition],
  'Answer to a query by the Data API': [bytes(queryLimits.aurora.bytes), queryDefinition],
  'Time of a query by the Data API': [seconds(queryLimits.aurora.ms), queryDefinition],
  'Secret masked in a node’s output': [
    characters(numberIn('lib/egress/secret-mask.ts', 'const minMaskedLength = ')),
    'lib/egress/secret-mask.ts',
  ],
  'Spans of a run': [count(maxSpansPerRun), exporting],
  'Spans of a request to a collector': [count(maxSpansPerRequest), exporting],
  'A request to a collector': [seconds(numberIn('lib/aws/otlp-spans.ts', 'const requestTimeoutMs = ')), 'lib/aws/otlp-spans.ts'],
  'An end of a run waits for its trace': [`${numberIn(traces, 'retentionPeriod: Duration.hours(')} hour`, traces],
  'Functions that send traces at once': [count(numberIn(traces, 'const maxSenders = ')), traces],
  'Origins of web pages': [count(numberIn(origins, 'const maxOrigins = ')), origins],
  'Keys of the configuration': [count(numberIn(seeds, 'maxSeedKeys = ')), seeds],
  'Last use of a key': [
    `${numberIn('lib/service/access/authenticator.ts', 'lastUseResolution = hours(')} h`,
    'lib/service/access/authenticator.ts',
  ],
  'Body that sends a signal': [bytes(numberIn('lib/api/run-routes.ts', 'const signalLimitBytes = ')), 'lib/api/run-routes.ts'],
  'Body that makes or changes a schedule': [
    bytes(numberIn('lib/api/schedule-routes.ts', 'const scheduleLimitBytes = ')),
    'lib/api/schedule-routes.ts',
  ],
  'Page of schedules': [
    `${numberIn(scheduleBodies, 'limit.default(')}, at most ${numberIn('lib/api/schemas/parts.ts', 'z.coerce.number().int().min(1).max(')}`,
    scheduleBodies,
  ],
  'Rate of a schedule': [days(maxRate), 'lib/engine/schedule/timing.ts'],
  "Lateness of a schedule's time": [
    `${count(numberIn(scheduleBodies, 'const maxCatchUpSeconds = '))} s, at least ${numberIn(scheduleBodies, 'const minCatchUpSeconds = ')} s`,
    scheduleBodies,
  ],
  'Recorded times of a schedule': [count(maxStoredFires), 'lib/service/schedules/fire-schedule.ts'],
  'Body that resumes a run': [bytes(numberIn(routes, 'const resumeLimitBytes = ')), routes],
  'Nesting of a body': [`${count(jsonLimits.levels)} levels`, 'lib/engine/validate-json.ts'],
  'Idempotency key': [
    characters(numberIn('lib/api/idempotency.ts', 'const keyPattern = /^[\\x20-\\x7e]{1,')),
    'lib/api/idempotency.ts',
  ],
  'How long an idempotency key is remembered': [`${count(numberIn(construct, 'props.idempotencyHours ?? '))} h`, construct],
  'Errors in one response': [count(numberIn('lib/api/errors.ts', 'const maxErrorDetails = ')), 'lib/api/errors.ts'],
  'Page of workflows, lenses or queries': [
    `${count(numberIn(versions, 'limit: limit.default('))}, at most ${count(numberIn(parts, 'int().min(1).max('))}`,
    versions,
  ],
  'Page of runs': [
    `${count(numberIn(runs, 'limit: limit.default('))}, at most ${count(numberIn(parts, 'int().min(1).max('))}`,
    runs,
  ],
  'Page of keys': [
    `${count(numberIn(keys, 'limit: limit.default('))}, at most ${count(numberIn(parts, 'int().min(1).max('))}`,
    keys,
  ],
  'Page of the audit trail': [
    `${count(numberIn(audit, 'limit: limit.default('))}, at most ${count(numberIn(parts, 'int().min(1).max('))}`,
    audit,
  ],
  'Entries searched for one page': [
    count(numberIn(listAudit, 'const maxPages = ') * numberIn(listAudit, 'const entriesPerPage = ')),
    listAudit,
  ],
  'Page of events': [
    `${count(numberIn(runs, 'max(1_000).default('))}, at most ${count(numberIn(runs, 'limit: z.coerce.number().int().min(1).max('))}`,
    runs,
  ],
  'Page of tags': [
    `${count(numberIn('lib/api/schemas/run-control.ts', 'max(1_000).default('))}, at most ${count(numberIn('lib/api/schemas/run-control.ts', 'limit: z.coerce.number().int().min(1).max('))}`,
    'lib/api/schemas/run-control.ts',
  ],
  'Page of events, in bytes': [bytes(maxPageBytes), 'lib/service/runs/list-events.ts'],
  'Values in the answer about a run': [
    bytes(numberIn('lib/service/runs/get-run.ts', 'const maxValuesBytes = ')),
    'lib/service/runs/get-run.ts',
  ],
  'Requests of a key': [`${count(defaultRateLimit)} a minute`, 'lib/service/access/rate-limiter.ts'],
  'Overlap of a rotation': [
    `${hours(numberIn(keys, 'const defaultOverlapSeconds = ') * 1_000)}, at most ${hours(numberIn(keys, 'const maxOverlapSeconds = ') * 1_000)}`,
    keys,
  ],
  'Requests of the stage': [`${count(defaultConcurrency.requestsPerSecond)} a second`, concurrency],
  'Requests at the same moment': [count(defaultConcurrency.requestBurst), concurrency],
  'Failed authentications recorded': [`${count(maxFailuresRecorded)} a minute`, 'lib/service/access/failure-budget.ts'],
  'Correlation id': [characters(numberIn('lib/engine/ids.ts', '[\\x20-\\x7e]{0,') + 2), 'lib/engine/ids.ts'],
  'Stream of events': [minutes(maxStreamDuration), watch],
  'Name of a reader': [characters(maxReaderNameLength), runs],
  'Heartbeats in a stream': [seconds(heartbeatInterval), watch],
  'Node streams of one reader': [count(maxSubscriptions), 'lib/service/watching/delta-subscriptions.ts'],
  'Interval between deltas of a node': [seconds(minWriteInterval), voice],
  'A delta': [characters(numberIn(voice, 'const maxDeltaLength = ')), voice],
  'Output of a node not written yet': [characters(numberIn(voice, 'const maxPendingLength = ')), voice],
  'A ticket to watch a run': [`${seconds(ticketLifetime)}, once`, 'lib/service/watching/open-with-ticket.ts'],
  'A key in a warm function': [
    seconds(numberIn('lib/service/access/authenticator.ts', 'const cacheTtlMs = ')),
    'lib/service/access/authenticator.ts',
  ],
  'Response time of the API': [`${count(functionShapes.api.timeoutSeconds)} s`, shapes],
  'Deadline of a test run': [`${days(maxTestDuration)}`, 'lib/service/runs/create-run.ts'],
  'Latest end after the deadline': [`${days(latestEndAfterDeadline)}`, 'lib/engine/log/head.ts'],
  'Runs read for a page of a list': [count(maxRowsRead), 'lib/service/runs/list-runs.ts'],
  'Commits found in three reads': [
    count(numberIn('lib/service/run-log/find-newest-commits.ts', 'const commitsFoundInThreeReads = ')),
    'lib/service/run-log/find-newest-commits.ts',
  ],
  'Payload of an expired run': [
    `${(payloadLifetimes[1] ?? 0) - (payloadLifetimes[0] ?? 0) + 1} days`,
    'lib/contract/payload-lifetimes.ts',
  ],
  'Such a payload, of a far expiry': [
    `${numberIn('lib/contract/payload-lifetimes.ts', 'stepDays: ') + 2} days`,
    'lib/contract/payload-lifetimes.ts',
  ],
  'Rules of the bucket': [count(payloadLifetimes.length + 2), 'lib/constructs/storage.ts'],
  'Retention of a test run': [`${days(testRetention)}`, 'lib/service/runs/create-run.ts'],
  "Body of a widget's configuration": [
    bytes(numberIn('lib/api/run-routes.ts', 'const viewLimitBytes = ')),
    'lib/api/run-routes.ts',
  ],
  'Templates of a view': [count(maxTemplates), 'lib/service/runs/view-run.ts'],
  'A view, resolved': [bytes(maxViewBytes), 'lib/service/runs/view-run.ts'],
  'Deadline of a run': [`${days(defaultDeadline)}`, 'lib/service/runs/create-run.ts'],
  'Longest deadline': [
    days(numberIn('functions/api/operations/runs.ts', 'const maxWait = ')),
    'functions/api/operations/runs.ts',
  ],
  'Retention of a run': [
    `${count(numberIn('lib/constructs/storage.ts', 'props.retentionDays ?? '))} days`,
    'lib/constructs/storage.ts',
  ],
  'Audit entries': [
    days(numberIn('lib/service/access/record-audit.ts', 'const auditRetention = ')),
    'lib/service/access/record-audit.ts',
  ],
  'Attempts of a node': [
    `${count(graphDefaults.retry.attempts)}, at most ${count(numberIn(settings, 'attempts: setting(z.int().min(1).max('))}`,
    settings,
  ],
  'Wait between attempts': [
    `${seconds(graphDefaults.retry.backoffMs)}, doubled up to ${seconds(graphDefaults.retry.maxBackoffMs)}`,
    settings,
  ],
  'Longest wait between attempts': [hours(numberIn(settings, 'const maxBackoff = minutes(24 * ') * 24 * 60_000), settings],
  'Wait that a server requests': [
    hours(numberIn('lib/egress/retry-after.ts', 'const maxRetryAfterMs = ')),
    'lib/egress/retry-after.ts',
  ],
  'Time of an attempt': [
    `${seconds(graphDefaults.timeoutMs)}, at most ${minutes(numberIn(settings, 'const maxTimeoutMs = '))}`,
    settings,
  ],
  'Concurrency slots of a workflow': [count(maxSlots), 'lib/engine/concurrency-slots.ts'],
  'Number in a budget': [count(maxBudget), 'lib/engine/graph/validate.ts'],
  'Siblings that commit by themselves': [count(maxDirectSiblings), 'lib/engine/graph/dispatch.ts'],
  'Fixed delay': [
    `${count(numberIn(delay, 'delayMinutes: z.int().min(0).max('))} min ${count(numberIn(delay, 'delaySeconds: z.int().min(0).max('))} s ${count(numberIn(delay, 'delayMs: z.int().min(0).max('))} ms`,
    delay,
  ],
  'Name or correlation of a signal': [`${maxSignalTextLength} characters`, 'lib/engine/ids.ts'],
  'Wait for a signal': [days(numberIn('lib/nodes/signal/shape.ts', 'const maxSeconds = ')), 'lib/nodes/signal/shape.ts'],
  'Nested calls of workflows': [`${maxCallDepth} deep`, 'lib/service/runs/start-child-run.ts'],
  'Wait for a subflow': [days(numberIn('lib/nodes/subflow/shape.ts', 'const maxSeconds = ')), 'lib/nodes/subflow/shape.ts'],
  'Signal without a wait': [
    `${numberIn('lib/service/runs/send-signal.ts', 'const defaultSignalTtl = ') / 86_400_000} day, at most ${days(numberIn('lib/api/schemas/run-control.ts', 'const maxExpirySeconds = '))}`,
    'lib/service/runs/send-signal.ts',
  ],
  'Items of a loop': [
    `${count(numberIn(loop, 'z.int().min(1).max(loopLimits.items).default('))}, at most ${count(loopLimits.items)}`,
    loop,
  ],
  'Iterations at a time': [`1, at most ${count(loopLimits.concurrency)}`, loop],
  'Wait between items': [seconds(numberIn(loop, 'const maxDelayMs = ')), loop],
  'Loops in each other': [count(loopLimits.depth), 'lib/engine/graph/loop-values.ts'],
  'Output of a node, or of a run': [bytes(payloadLimits.outputBytes), 'lib/engine/graph/payload-limits.ts'],
  'Context of a node': [bytes(payloadLimits.contextBytes), 'lib/engine/graph/payload-limits.ts'],
  'Branches that begin together': [count(definitionLimits.nodes), findings],
  'Results of a loop': [bytes(loopLimits.resultsBytes), 'lib/engine/graph/loop-values.ts'],
  'Nodes of passes in one answer': [count(maxShownIterationNodes), 'lib/service/runs/get-run.ts'],
  'Steps of code in one answer': [count(maxShownSteps), 'lib/service/runs/get-run.ts'],
  'Any delay': [days(numberIn(delay, 'const maxDelayMs = ')), delay],
  'Delay by queue': [seconds(maxQueueDelayMs), 'lib/ports/jobs.ts'],
  'Wait inside a worker': [
    seconds(numberIn('lib/engine/graph/end-attempt.ts', 'const minQueueDelayMs = ')),
    'lib/engine/graph/end-attempt.ts',
  ],
  'First slice of a script': [`${firstTimeSlice} ms`, 'lib/engine/fair-shares.ts'],
  'First slice after a spent one': [`${repeatTimeSlice} ms`, 'lib/engine/fair-shares.ts'],
  'Time of an expression': [
    seconds(numberIn('lib/nodes/condition/run.ts', 'const expressionLimitMs = ')),
    'lib/nodes/condition/run.ts',
  ],
  'Memory of a script': [bytes(numberIn('lib/nodes/runners.ts', 'const defaultScriptMemoryBytes = ')), 'lib/nodes/runners.ts'],
  'Stack of a script': [
    bytes(numberIn('lib/nodes/sandbox/virtual-machine.ts', 'const stackBytes = ')),
    'lib/nodes/sandbox/virtual-machine.ts',
  ],
  'Result of a script': [bytes(scriptLimits.outputBytes), script],
  'Lines that an attempt prints': [count(printedLimits.lines), 'lib/engine/log/event-limits.ts'],
  'Text that an attempt prints': [bytes(printedLimits.bytes), 'lib/engine/log/event-limits.ts'],
  'Reason in an event': [characters(eventLimits.reason), 'lib/engine/log/event-limits.ts'],
  'Nodes that a recovery names': [count(eventLimits.nodes), 'lib/engine/log/event-limits.ts'],
  'Texts of one decision': [characters(workLimits.decision.text), 'lib/engine/graph/work-limits.ts'],
  'Inline text of one decision': [bytes(workLimits.decision.inlineBytes), 'lib/engine/graph/work-limits.ts'],
  'Matching of one node': [characters(workLimits.node.matching), 'lib/engine/graph/work-limits.ts'],
  'Matching of one decision': [characters(workLimits.decision.matching), 'lib/engine/graph/work-limits.ts'],
  'Conditions of edges in a decision': [characters(workLimits.decision.edges), 'lib/engine/graph/work-limits.ts'],
  'Regular expressions of a workflow': [
    `${count(definitionLimits.patterns)}, with ${characters(definitionLimits.patternCharacters)}`,
    'lib/engine/graph/findings.ts',
  ],
  'Patterns of a contract': [count(numberIn('lib/lens/validate-lens.ts', 'const maxPatterns = ')), 'lib/lens/validate-lens.ts'],
  'Text matched by a contract’s patterns': [
    characters(numberIn('lib/lens/check.ts', 'const maxMatchedCharacters = ')),
    'lib/lens/check.ts',
  ],
  'Depth of a value': [`${count(jsonLimits.levels)} levels`, 'lib/engine/validate-json.ts'],
  'Regular expression': [characters(numberIn(regex, 'pattern: ')), regex],
  'Text it is matched against': [characters(numberIn(regex, 'pattern: 1_000, text: ')), regex],
  'Redirects of a request': [count(numberIn(http, 'maxRedirects: z.int().min(0).max(')), http],
  'Body of an answer': [
    `${bytes(numberIn(http, 'max(5_242_880).default('))}, at most ${bytes(numberIn(http, 'maxResponseBytes: z.int().min(1).max('))}`,
    http,
  ],
  'Body kept of a failed request': [
    characters(numberIn('lib/nodes/http/response.ts', 'const maxBodyExcerpt = ')),
    'lib/nodes/http/response.ts',
  ],
  'Time of a message': [`${count(functionShapes.code.timeoutSeconds)} s`, shapes],
  'Time of an import': [seconds(threadSlotLimits.importTimeoutMs), bundles],
  'Body of a response': [bytes(responseLimits.bodyBytes), 'lib/bundles/code-output.ts'],
  'Nesting of a response': [`${count(jsonLimits.levels)} levels`, 'lib/engine/validate-json.ts'],
  'Text printed during a message': [characters(printLimits.characters), 'lib/bundles/code-output.ts'],
  'Line that code prints': [characters(printLimits.lineCharacters), 'lib/bundles/code-output.ts'],
  'Warm deployments of a function': [count(threadSlotLimits.threads), bundles],
  'Unpacked artifacts of a function': [
    `${count(threadSlotLimits.folders.deployments)}, at most ${bytes(threadSlotLimits.folders.bytes)}`,
    bundles,
  ],
  'Heap of the thread of a deployment': [
    `${count(numberIn('functions/code/wiring.ts', 'const heapShare = ') * 100)} %`,
    'functions/code/wiring.ts',
  ],
  "A turn of a run's code": [
    characters(numberIn('lib/bundles/parse-task-messages.ts', 'maxBatchCharacters = ')),
    'lib/bundles/parse-task-messages.ts',
  ],
  'Code that is to end': [
    seconds(numberIn('lib/bundles/thread-programs.ts', 'killTimeoutMs = ')),
    'lib/bundles/thread-programs.ts',
  ],
  'Import by `stepwell build`': [
    seconds(numberIn('lib/cli/project/import-in-thread.ts', 'const importTimeoutMs = ')),
    'lib/cli/project/import-in-thread.ts',
  ],
  'Attempts of steps of a run': [
    count(numberIn('lib/program/find-workflow.ts', 'defaultStepAttempts = ')),
    'lib/program/find-workflow.ts',
  ],
  'Most that a workflow may set': [count(maxStepAttempts), 'lib/engine/durable/apply-command-batch.ts'],
  'Name of a step': [characters(numberIn(steps, 'const maxNameLength = ')), steps],
  'Stored result, input or data': [bytes(numberIn(storing, 'const maxBytes = ') * 1_048_576), storing],
  'Levels of a stored value': [`${jsonLimits.levels} levels`, 'lib/engine/validate-json.ts'],
  'Lines that a body prints': [
    `${numberIn('lib/program/printed.ts', 'lines: ')}, at most ${characters(numberIn('lib/program/printed.ts', 'bytes: '))}`,
    'lib/program/printed.ts',
  ],
  'Code that asks for nothing': [
    seconds(numberIn('lib/program/start-workflow-task.ts', 'const defaultStallTimeoutMs = ')),
    'lib/program/start-workflow-task.ts',
  ],
  'Workflow tasks that stall': [
    count(numberIn('lib/engine/durable/apply-command-batch.ts', 'const maxStalls = ')),
    'lib/engine/durable/apply-command-batch.ts',
  ],
  'Tries to undo what diverges': [
    count(numberIn('lib/engine/durable/decide.ts', 'const maxDivergedRollbacks = ')),
    'lib/engine/durable/decide.ts',
  ],
  'Workflow tasks that crash their thread': [
    count(numberIn('lib/engine/durable/workflow-task.ts', 'const maxCrashes = ')),
    'lib/engine/durable/workflow-task.ts',
  ],
  'Wait before a drive is tried again': [
    minutes(numberIn('lib/engine/durable/workflow-task.ts', 'const maxDelay = ')),
    'lib/engine/durable/workflow-task.ts',
  ],
  'Time that a step has at least': [
    seconds(numberIn('lib/service/kinds/code/run-workflow-task.ts', 'const minStepTimeMs = ')),
    'lib/service/kinds/code/run-workflow-task.ts',
  ],
  'Retry that is waited for in place': [
    seconds(numberIn('lib/program/live-execution.ts', 'const maxInlineRetryWait = ')),
    'lib/program/live-execution.ts',
  ],
  'Body that is to end': [
    seconds(numberIn('lib/program/execute-workflow-task.ts', 'const graceMs = ')),
    'lib/program/execute-workflow-task.ts',
  ],
  'Wait for another workflow': [`${numberIn(steps, 'const defaultCallTimeout = ') / 86_400_000} days`, steps],
  'Undoing after the deadline': [
    `${numberIn('lib/engine/durable/decide.ts', 'const rollbackGrace = ') / 3_600_000} h`,
    'lib/engine/durable/decide.ts',
  ],
  'Deliveries of a message': [count(maxDeliveries), fetchRuns],
  'Wait before another delivery': [
    `${count(numberIn(fetchRuns, 'const deliveryBackoff: Backoff = { baseMs: 1_000, maxMs: ') / 1_000)} s`,
    fetchRuns,
  ],
  'Published message': [
    bytes(numberIn('lib/api/deployment-routes.ts', 'const messageLimitBytes = ')),
    'lib/api/deployment-routes.ts',
  ],
  'Delay of a published message': [
    `${count(numberIn('lib/api/schemas/deployments.ts', 'const maxDelaySeconds = '))} s`,
    'lib/api/schemas/deployments.ts',
  ],
  'Messages with code at once': [count(defaultConcurrency.codeConcurrency), concurrency],
  Artifact: [bytes(archiveLimits.archiveBytes), artifacts],
  'Artifact, unpacked': [bytes(archiveLimits.unpackedBytes), artifacts],
  'Entries of an artifact': [count(archiveLimits.entries), artifacts],
  'Path in an artifact': [bytes(archiveLimits.pathBytes), artifacts],
  Manifest: [bytes(numberIn(manifests, 'const manifestLimitBytes = ')), manifests],
  'Manifest and artifact in one request': [bytes(numberIn(manifests, 'const formLimitBytes = ')), manifests],
  'Workflows of a deployment': [count(numberIn(manifests, 'z.array(workflow).max(')), manifests],
  'Steps of a deployment': [count(numberIn(manifests, '.array(step)\n    .max(')), manifests],
  'Time of an upload': [
    minutes(numberIn('lib/service/deployments/create-deployment.ts', 'const uploadUrlLifetime = ')),
    'lib/service/deployments/create-deployment.ts',
  ],
  'Changes of the active deployment': [count(maxActivationHistory), 'lib/ports/deployments.ts'],
  'A start that is under way': [
    minutes(numberIn('lib/service/deployments/remove-deployment.ts', 'const maxStartTime = ')),
    'lib/service/deployments/remove-deployment.ts',
  ],
  'Page of deployments': [
    `${count(numberIn(manifests, 'limit: limit.default('))}, at most ${count(numberIn(parts, 'int().min(1).max('))}`,
    manifests,
  ],
  'Value in a commit, compressed': [bytes(maxInlineBytes), payloads],
  'Value in a commit, as it is': [bytes(maxInlineUncompressedBytes), payloads],
  'Input in the head': [bytes(maxInputInHeadBytes), payloads],
  'Commit, compressed': [bytes(maxCommitBytes), payloads],
  'Inline text of a command batch in a commit': [bytes(maxPartBytes), 'lib/engine/durable/split-command-batch.ts'],
  'Sleeps woken by one commit': [
    count(numberIn('lib/service/kinds/code/code-kind.ts', 'maxWakesPerCommit: ')),
    'lib/service/kinds/code/code-kind.ts',
  ],
  'Value that is stored uncompressed': [bytes(numberIn('lib/codec/packed.ts', 'const packAboveBytes = ')), 'lib/codec/packed.ts'],
  'First snapshot': [
    `${count(numberIn('lib/engine/log/stored-fold.ts', 'const firstSnapshotAt = '))} commits`,
    'lib/engine/log/stored-fold.ts',
  ],
  'Snapshot, compressed': [
    bytes(numberIn('lib/service/run-log/snapshots.ts', 'const maxSnapshotItemBytes = ')),
    'lib/service/run-log/snapshots.ts',
  ],
  'Lost puts of one commit': [
    count(numberIn('lib/service/run-log/append.ts', 'const maxLostPuts = ')),
    'lib/service/run-log/append.ts',
  ],
  'Tries of one put': [
    count(numberIn('lib/service/run-log/append.ts', 'const unknownOutcomeLimits: RetryLimits = { attempts: ')),
    'lib/service/run-log/append.ts',
  ],
  'Heartbeat of an attempt': [seconds(numberIn(heartbeats, 'const heartbeatInterval = ')), heartbeats],
  'Check for a cancel': [seconds(numberIn(attempt, 'const checkInterval = ')), attempt],
  'First heartbeat timeout': [seconds(numberIn(silence, 'const baseHeartbeatTimeout: DurationMs = ')), silence],
  'Longest heartbeat timeout': [minutes(numberIn(silence, 'const maxHeartbeatTimeout: DurationMs = ')), silence],
  'Worker crashes in one attempt': [count(maxCrashes), deliveries],
  'Window of lost deliveries of one attempt': [`${crashWindow / 3_600_000} h`, deliveries],
  'Pause after a worker crash': [minutes(numberIn(deliveries, 'const maxRedeliveryPause: DurationMs = ')), deliveries],
  'Check by the sweep before a deadline': [minutes(numberIn(silence, 'const deadlineLead: DurationMs = ')), silence],
  'Check by the sweep of a working run': [minutes(numberIn(silence, 'const workingCheckInterval: DurationMs = ')), silence],
  'Check by the sweep of a waiting run': [minutes(numberIn(silence, 'const minSignalCheckInterval: DurationMs = ')), silence],
  'Check by the sweep of a run that waits for a slot': [
    minutes(numberIn(silence, 'const maxSlotCheckInterval: DurationMs = ')),
    silence,
  ],
  'Second check for a missing run': [`${numberIn(recover, 'const secondCheckMinutes = ')} min`, recover],
  'Runs notified of free slots': [
    count(numberIn('lib/service/execution/reconcile-slot.ts', 'const maxNotifiedRuns = ')),
    'lib/service/execution/reconcile-slot.ts',
  ],
  'Grace of a timer': [seconds(numberIn(silence, 'const timerGrace: DurationMs = ')), silence],
  'First recheck of a wait': [seconds(numberIn(silence, 'const baseHeartbeatTimeout: DurationMs = ')), silence],
  'Longest time between rechecks': [`${numberIn(silence, 'const maxSignalCheckInterval: DurationMs = ') / 3_600_000} h`, silence],
  'Rechecks that are combined': [seconds(numberIn(silence, 'const recheckLead: DurationMs = ')), silence],
  'Delay of a recheck': [
    seconds(numberIn('lib/service/commit/schedule-message.ts', 'recheckDelay = ')),
    'lib/service/commit/schedule-message.ts',
  ],
  'Time of a worker': [`${count(defaultWorkerTimeoutSeconds)} s`, shapes],
  'Invisibility of a message': [
    `${count(defaultWorkerTimeoutSeconds + numberIn(queues, 'const visibilityMarginSeconds = '))} s`,
    queues,
  ],
  'Tries of a message': [`${numberIn(queues, 'const minReceives = ')}, and for an hour`, queues],
  'A message in its queue': [
    `${count(numberIn(queues, '...queueProps(shape),\n    retentionPeriod: Duration.days('))} days`,
    queues,
  ],
  'A dead letter in its queue': [
    `${count(numberIn(queues, "must exceed the source queue's.\n    retentionPeriod: Duration.days("))} days`,
    queues,
  ],
  'Workers at once, per queue': [count(defaultConcurrency.nodeConcurrency), concurrency],
  'Share of a project': [`${numberIn(construct, 'props.maxProjectShare ?? ')} %`, construct],
  'Collectors at once': [count(defaultConcurrency.resultConcurrency), concurrency],
  'Readers of events at once': [count(defaultConcurrency.watchers), concurrency],
  'Runs watched over sockets at once': [count(defaultConcurrency.watchedRuns), concurrency],
  'Runs of one socket': [count(maxJoinedRuns), 'lib/service/watching/join-run.ts'],
  'Message of a client over a socket': [bytes(socketMessageLimitBytes), 'lib/api/schemas/sockets.ts'],
  'Frame of a client over a socket': [bytes(socketLimits.frameBytes), 'lib/local/limits.ts'],
  'Message to a client over a socket': [
    bytes(Math.min(maxFrameBytes, socketLimits.messageBytes)),
    'lib/service/watching/socket-frames.ts',
  ],
  'Output or context in such a message': [bytes(maxFrameValueBytes), 'lib/service/watching/socket-frames.ts'],
  'Posts of one message to a socket': [count(maxPosts), 'lib/service/watching/socket-subscriber.ts'],
  'Waiting for one socket': [bytes(maxQueuedBytes), 'lib/service/watching/socket-subscriber.ts'],
  'Hops of messages without a commit': [count(maxHops), 'lib/engine/hops.ts'],
  'Wait of a message beyond them': [minutes(maxBackoff), 'lib/engine/hops.ts'],
  'Invocations of a function in one chain': [count(maxInvocationsPerChain), 'lib/local/lambda/lineage.ts'],
  'Time a broadcaster handles one message': [seconds(maxBroadcastDuration), 'lib/service/watching/broadcast-run.ts'],
  'Timeout of a broadcaster': [`${functionShapes.broadcaster.timeoutSeconds} s`, shapes],
  'Heartbeats over a socket': [seconds(socketHeartbeatInterval), 'lib/service/watching/broadcast-run.ts'],
  'Time for deletions in a sweep': [seconds(deletionTimeBudget), deletions],
  'Waiting time of a deletion': [minutes(settlingTime), deletions],
  'A start of the sweep waits': [
    seconds(numberIn('lib/constructs/timers.ts', 'const maxEventAge = Duration.seconds(') * 1_000),
    'lib/constructs/timers.ts',
  ],
  'Time of a sweep': [`${count(functionShapes.sweep.timeoutSeconds)} s`, shapes],
};

const rows = rowsIn(read('docs/LIMITS.md')).filter(({ section }) => !section.startsWith('Quotas of AWS'));
const names = rows.map(({ cells: [name = ''] }) => name);

describe.each(Object.entries(real))('%s', (name, [limit, file]) => {
  const row = rows.find(({ cells }) => cells[0] === name);
  test(`is ${limit}, set in ${file}`, () => {
    expect(row?.cells[1]).toMatch(new RegExp(`^${limit}(?![\\d,])`));
    expect(row?.cells.at(-1)).toContain(`\`${file}\``);
  });
  test('says what happens at it', () => {
    expect(row?.cells[2]?.length).toBeGreaterThan(10);
  });
});

test('no limit is documented that is not looked up, and none twice', () => {
  expect(names.toSorted()).toEqual(Object.keys(real).toSorted());
});
