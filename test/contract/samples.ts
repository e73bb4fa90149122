/** Sample runs, commits and events. Every call of `freshScope` returns a new project. */
import {
  type CommitNo,
  type RunAddress,
  type Scope,
  attempt,
  commitNo,
  correlationId,
  deploymentId,
  environment,
  eventId,
  firstAttempt,
  iterationKey,
  nodeId,
  projectId,
  topLevel,
  signalId,
  runId,
} from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent, RunEventType } from '../../lib/engine/log/events.ts';
import type { CodeCreation, BundleCreation, GraphCreation } from '../../lib/engine/log/head.ts';
import { type Instant, after, days, durationMs, instant, minutes } from '../../lib/engine/time.ts';
import { traceparent } from '../../lib/engine/trace.ts';
import { type Manifest, defaultApp } from '../../lib/ports/deployments.ts';
import { MemoryIds } from '../../lib/memory/system.ts';

export const noon: Instant = instant(Date.UTC(2026, 4, 1, 12, 0, 0, 123));
export const expiresAt: Instant = after(noon, days(37));

let scopes = 0;
export const freshScope = (): Scope => ({
  projectId: projectId(`project_${(scopes += 1)}`),
  environment: environment('production'),
});

const ids = new MemoryIds(20_260_501);
export const freshRun = (scope: Scope = freshScope(), createdAt: Instant = noon): RunAddress => ({
  ...scope,
  runId: ids.runId(createdAt),
});

export const commit = (number: number, facts: Partial<Commit> = {}): Commit => ({
  number: commitNo(number),
  firstEventId: eventId(number * 10),
  events: [{ type: 'SYSTEM_SET', key: 'number', value: inline(number) }],
  at: after(noon, minutes(number)),
  by: 'test',
  nonce: ids.nonce(),
  ...facts,
});

export const creation = (address: RunAddress, facts: Partial<GraphCreation> = {}): GraphCreation => ({
  address,
  kind: 'graph',
  workflow: { name: 'order', version: 3 },
  deploymentId: null,
  createdAt: noon,
  deadlineAt: after(noon, days(7)),
  expiresAt,
  bodyHash: 'ab'.repeat(32),
  trace: {
    correlationId: correlationId('order 17/retry'),
    traceparent: traceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
  },
  commit: commit(1),
  ...facts,
});

export const codeCreation = (address: RunAddress, facts: Partial<CodeCreation> = {}): CodeCreation => {
  const { workflow: _workflow, ...rest } = creation(address);
  return { ...rest, kind: 'code', workflow: { name: 'order' }, deploymentId: deploymentId('dep_1'), ...facts };
};

export const bundleCreation = (address: RunAddress): BundleCreation => ({
  ...codeCreation(address),
  kind: 'bundle',
  workflow: { name: 'order' },
});

export const numbersOf = (commits: readonly Commit[]): readonly CommitNo[] => commits.map(({ number }) => number);

export const bundleNode = { nodeId: nodeId('fetch-1'), iteration: topLevel };
export const loopNode = { nodeId: nodeId('body'), iteration: iterationKey('each[3]/inner[12]') };
const fetchAttempt = { ...bundleNode, attempt: firstAttempt };
const loopAttempt = { ...loopNode, attempt: attempt(2) };
const span = { startedAt: noon, endedAt: after(noon, durationMs(40)) };
const failure = { cause: 'timeout', message: 'took longer than 30 s', code: 'slow', details: { limitMs: 30_000 } } as const;

/** One event of every type, with all optional members. */
export const eventOfEachType: { readonly [Type in RunEventType]: Extract<RunEvent, { type: Type }> } = {
  DEVKIT: {
    type: 'DEVKIT',
    event: 'hook_received',
    correlationId: 'hook_1',
    specVersion: 7,
    occurredAt: noon,
    resumeId: 'resume-1',
    resumeDigest: 'sha256',
    data: { token: 'order-7', deep: { $date: '2026-01-01T00:00:00.000Z' } },
    until: noon,
    payload: inline({ $bytes: 'ZGV2bFsxXQ==' }),
    afterEnd: 'completed',
  },
  INPUT_SET: { type: 'INPUT_SET', input: { ref: 'item:input', bytes: 12_345 } },
  SYSTEM_SET: { type: 'SYSTEM_SET', key: 'region', value: inline({ deep: [1, 'two', null, true, { '': 0.5 }] }) },
  RUN_STARTED: { type: 'RUN_STARTED' },
  SLOT_AWAITED: { type: 'SLOT_AWAITED', slots: 3, notBefore: noon },
  SLOT_TAKEN: { type: 'SLOT_TAKEN', slot: 0 },
  RUN_STATUS_CHANGED: { type: 'RUN_STATUS_CHANGED', status: 'running' },
  RUN_COMPLETED: { type: 'RUN_COMPLETED', output: inline('done') },
  RUN_FAILED: { type: 'RUN_FAILED', error: failure },
  RUN_TIMED_OUT: { type: 'RUN_TIMED_OUT', error: { cause: 'deadline', message: 'after 7 days' } },
  RUN_CANCELLED: { type: 'RUN_CANCELLED', reason: 'not needed' },
  RUN_RESUMED: { type: 'RUN_RESUMED', reason: 'paid', payload: inline({ amount: 3 }) },
  RUN_RECOVERED: { type: 'RUN_RECOVERED', nodes: ['fetch-1', 'body@each[3]/inner[12]'] },
  RUN_RETRIED: { type: 'RUN_RETRIED', attempt: firstAttempt, failure, delayMs: durationMs(1_000), retryAt: noon },
  DEADLINE_EXTENDED: { type: 'DEADLINE_EXTENDED', deadlineAt: noon },
  ROLLBACK_STARTED: { type: 'ROLLBACK_STARTED', runOutcome: { status: 'cancelled', reason: 'not needed' } },
  NODE_DISPATCHED: {
    type: 'NODE_DISPATCHED',
    ...fetchAttempt,
    via: 'collect',
    wave: 0,
    notBefore: noon,
    step: { kind: 'function', key: 'fetch 1', retry: { maximumAttempts: 3 }, hasRollback: true },
  },
  NODE_STARTED: { type: 'NODE_STARTED', ...loopAttempt, startedAt: noon },
  SLEEP_STARTED: { type: 'SLEEP_STARTED', ...loopAttempt, wakeAt: after(noon, days(30)), output: inline(null) },
  NODE_WOKEN: { type: 'NODE_WOKEN', ...loopAttempt },
  SIGNAL_AWAITED: {
    type: 'SIGNAL_AWAITED',
    ...loopAttempt,
    name: 'paid',
    correlation: 'order 7 ✓',
    expiresAt: after(noon, days(2)),
    expiryHandle: 'expired',
  },
  SIGNAL_RECEIVED: {
    type: 'SIGNAL_RECEIVED',
    ...loopAttempt,
    signalId: signalId('sig_1'),
    name: 'paid',
    correlation: 'order 7 ✓',
  },
  SUBFLOW_CALLED: {
    type: 'SUBFLOW_CALLED',
    ...loopAttempt,
    childRunId: runId('wrun_01M7XSDTEE14XW69VBQD8BT3DC'),
    workflowName: 'ship',
    version: 3,
    input: inline({ order: 7 }),
    expiresAt: after(noon, days(2)),
    parentClosePolicy: 'abandon',
    onChildCancelled: 'cancel',
  },
  NODE_COMPLETED: {
    type: 'NODE_COMPLETED',
    ...fetchAttempt,
    ...span,
    output: { ref: 'blob:abc', bytes: 1_000_000 },
    variable: 'answer',
    handle: null,
    end: 'success',
    printed: ['one', 'two'],
  },
  CONTRACT_VIOLATED: {
    type: 'CONTRACT_VIOLATED',
    ...bundleNode,
    attempt: attempt(1),
    phase: 'output',
    errors: [{ field: 'score', reason: 'below_min' }],
  },
  MODERATION_FLAGGED: {
    type: 'MODERATION_FLAGGED',
    ...bundleNode,
    attempt: attempt(1),
    phase: 'input',
    decision: { policy: 'words' },
  },
  NODE_RETRIED: {
    type: 'NODE_RETRIED',
    ...fetchAttempt,
    ...span,
    failure,
    delayMs: durationMs(1_500.5),
    retryAt: after(noon, durationMs(1_500)),
    via: 'queue',
    printed: [],
  },
  NODE_FAILED: {
    type: 'NODE_FAILED',
    ...loopAttempt,
    ...span,
    failure: { cause: 'error', message: '' },
    handle: 'error',
    variable: 'answer',
    printed: ['last words'],
  },
  NODE_SKIPPED: { type: 'NODE_SKIPPED', ...loopNode, reason: 'branch_not_taken' },
  LOOP_STARTED: {
    type: 'LOOP_STARTED',
    ...loopAttempt,
    items: 150,
    pages: [inline([1, 'two', null]), { ref: 'blob:abc', bytes: 1_000_000 }],
    pageSize: 100,
    itemVariable: 'order',
    indexVariable: 'place',
    concurrency: 12,
    delayMs: durationMs(250),
    onItemFailure: 'continue',
  },
  LOOP_PAUSED: { type: 'LOOP_PAUSED', ...loopAttempt, wakeAt: after(noon, durationMs(250)) },
  LOOP_RESULTS_STORED: { type: 'LOOP_RESULTS_STORED', ...loopAttempt, results: { ref: 'blob:abc', bytes: 1_000_000 } },
  ITERATION_STARTED: { type: 'ITERATION_STARTED', ...loopAttempt, index: 0, item: inline({ id: 7 }) },
  ITERATION_ENDED: {
    type: 'ITERATION_ENDED',
    ...loopAttempt,
    index: 0,
    status: 'failed',
    from: nodeId('body'),
    result: inline({ success: false }),
  },
};

export const allEvents: readonly RunEvent[] = Object.values(eventOfEachType);

export const manifestOf = (id: string, files = 2): Manifest => ({
  deploymentId: deploymentId(id),
  specVersion: 1,
  app: defaultApp,
  runtime: 'bundle',
  workflows: [{ name: 'order' }],
  steps: [{ name: 'charge' }],
  files: Array.from({ length: files }, (_, index) => ({ path: `file-${index}.js`, sha256: 'ab'.repeat(32), bytes: index })),
  artifact: { sha256: 'cd'.repeat(32), bytes: 1_234 },
});
