/** The routes for runs, tickets, signals, tags, test runs and views of runs, as entries of the route table. */
import { canonicalDefinition, canonicalStart, canonicalView } from './aliases.ts';
import { ok, type Route, smallLimitBytes } from './route.ts';
import * as runs from './schemas/runs.ts';
import * as control from './schemas/run-control.ts';
import { definitionLimits } from '../engine/graph/findings.ts';

/** The input of a run is stored in its log, or offloaded to the bucket. */
export const inputLimitBytes = 1_048_576;
/** A thousand node ids of maximum length. */
export const wakeLimitBytes = 262_144;
/** The payload of a resume is stored in the log of its run. */
export const resumeLimitBytes = 65_536;

export const runRoutes = [
  {
    method: 'POST',
    path: '/v1/runs',
    operationId: 'startRun',
    summary: 'Starts a run',
    servedBy: 'api',
    scope: 'trigger:write',
    body: { schema: runs.startRunBody, limitBytes: inputLimitBytes, normalizeBody: canonicalStart },
    idempotencyKey: 'required',
    action: 'runs.create',
    responses: { 202: ok('The run exists and will be executed', runs.startedResponse) },
    errors: [
      'idempotency_required',
      'idempotency_conflict',
      'run_exists',
      'run_deleted',
      'no_active_deployment',
      'workflow_not_found',
      'workflow_archived',
      'workflow_deleting',
      'input_invalid',
      'unsupported_spec_version',
      'not_found',
      'deployment_not_verified',
    ],
  },
  {
    method: 'GET',
    path: '/v1/runs',
    operationId: 'listRuns',
    summary: 'Lists runs, newest first',
    servedBy: 'api',
    scope: 'runs:read',
    query: runs.listRunsQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of runs', runs.runList) },
    errors: ['cursor_invalid'],
  },
  {
    method: 'GET',
    path: '/v1/runs/{runId}',
    operationId: 'getRun',
    summary: 'Returns a run and its nodes',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.anyRunParams,
    invalidParamsCode: 'not_found',
    query: runs.getRunQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('The run', runs.runResponse) },
    errors: ['not_found'],
  },
  {
    method: 'GET',
    path: '/v1/runs/{runId}/events',
    operationId: 'listRunEvents',
    summary: 'Lists the events of a run, in order',
    servedBy: 'events',
    scope: 'runs:read',
    params: runs.anyRunParams,
    invalidParamsCode: 'not_found',
    query: runs.listEventsQuery,
    idempotencyKey: 'none',
    acceptsTicket: true,
    streams: {
      description: 'server-sent events, for `Accept: text/event-stream`',
      noContentDescription: 'The run has ended, and there are no more events',
    },
    responses: { 200: ok('Events', runs.eventList) },
    errors: ['not_found', 'cursor_invalid', 'not_acceptable'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/cancel',
    operationId: 'cancelRun',
    summary: 'Cancels a run; repeating it has no effect',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.cancelRunBody, limitBytes: smallLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'runs.cancel',
    responses: { 200: ok('Cancelled', runs.cancelledResponse) },
    errors: ['external_run', 'not_found', 'run_terminal'],
  },
  {
    method: 'POST',
    path: '/v1/runs/resume',
    operationId: 'resumeRun',
    summary: 'Resumes a run, with an optional reason and payload',
    servedBy: 'api',
    scope: 'runs:write',
    body: { schema: runs.resumeRunBody, limitBytes: resumeLimitBytes },
    idempotencyKey: 'optional',
    action: 'runs.resume',
    responses: { 202: ok('The resume is in the log, and sleeping nodes continue', runs.resumedResponse) },
    errors: ['external_run', 'not_found', 'run_terminal', 'idempotency_conflict'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/rerun',
    operationId: 'rerunRun',
    summary: 'Reruns a run as a new run',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.rerunRunBody, limitBytes: inputLimitBytes, isOptional: true },
    idempotencyKey: 'required',
    action: 'runs.rerun',
    responses: { 202: ok('The new run exists and will be executed', runs.rerunResponse) },
    errors: [
      'external_run',
      'idempotency_required',
      'idempotency_conflict',
      'not_found',
      'test_run',
      'run_deleted',
      'workflow_archived',
      'workflow_deleting',
      'workflow_not_found',
      'input_invalid',
      'node_not_reached',
      'run_open',
      'step_rolled_back',
      'rerun_too_large',
      'deployment_not_verified',
    ],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/wake',
    operationId: 'wakeRun',
    summary: 'Wakes sleeping nodes early',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.wakeRunBody, limitBytes: wakeLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'runs.wake',
    responses: { 202: ok('The nodes continue', runs.wokenResponse) },
    errors: ['external_run', 'not_found', 'run_terminal'],
  },
] as const satisfies readonly Route[];

export const ticketRoutes = [
  {
    method: 'POST',
    path: '/v1/runs/{runId}/tickets',
    operationId: 'createTicket',
    summary: 'Creates a ticket with which a browser opens the event stream of one run, once and within a minute',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.anyRunParams,
    invalidParamsCode: 'not_found',
    idempotencyKey: 'none',
    action: 'tickets.create',
    responses: { 201: ok('The ticket', runs.ticketResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];

/** The payload of a signal is stored in one item, and then in the log of the run that receives it. */
export const signalLimitBytes = 65_536;

export const signalRoutes = [
  {
    method: 'POST',
    path: '/v1/signals',
    operationId: 'sendSignal',
    summary: 'Sends a signal to the run that waits for it, or stores it for a later wait',
    servedBy: 'api',
    scope: 'runs:write',
    body: { schema: control.sendSignalBody, limitBytes: signalLimitBytes },
    idempotencyKey: 'optional',
    action: 'signals.send',
    responses: { 202: ok('The signal is delivered or stored', control.sentResponse) },
    errors: ['idempotency_conflict'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/signals',
    operationId: 'sendRunSignal',
    summary: 'Sends a signal to a run by its id',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: control.sendRunSignalBody, limitBytes: signalLimitBytes },
    idempotencyKey: 'optional',
    action: 'signals.send',
    responses: { 202: ok('The signal is delivered or stored', control.sentResponse) },
    errors: ['external_run', 'not_found', 'run_terminal', 'idempotency_conflict'],
  },
] as const satisfies readonly Route[];

export const tagRoutes = [
  {
    method: 'GET',
    path: '/v1/runs/{runId}/tags',
    operationId: 'listRunTags',
    summary: 'Lists the tags of a run: notable findings with a severity',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    query: control.listTagsQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('Tags', control.tagList) },
    errors: ['external_run', 'not_found', 'cursor_invalid'],
  },
] as const satisfies readonly Route[];

/** The configuration of one widget. */
export const viewLimitBytes = 262_144;

/** The body contains a graph and the fields of a start. */
const canonicalTest = (body: unknown): unknown => canonicalStart(canonicalDefinition(body));

export const testRunRoutes = [
  {
    method: 'POST',
    path: '/v1/workflows/test',
    operationId: 'testWorkflow',
    summary: 'Runs an unpublished graph as a test run',
    servedBy: 'api',
    scope: 'workflows:write',
    body: { schema: control.testWorkflowBody, limitBytes: definitionLimits.bytes, normalizeBody: canonicalTest },
    idempotencyKey: 'optional',
    action: 'workflows.test',
    responses: { 202: ok('The test run exists and will be executed', control.testedResponse) },
    errors: ['definition_invalid', 'input_invalid', 'idempotency_conflict'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/stop',
    operationId: 'stopTestRun',
    summary: 'Stops a test run and deletes all of its data',
    servedBy: 'test-runs',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    idempotencyKey: 'none',
    action: 'runs.stop',
    responses: { 200: ok('The run is deleted', control.stoppedResponse) },
    errors: ['external_run', 'not_found', 'not_a_test_run'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/view',
    operationId: 'viewRun',
    summary: "Resolves a widget's templates against the current state of a run",
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: control.viewRunBody, limitBytes: viewLimitBytes, normalizeBody: canonicalView },
    idempotencyKey: 'none',
    responses: { 200: ok('The resolved configuration', control.viewResponse) },
    errors: ['external_run', 'not_found'],
  },
] as const satisfies readonly Route[];
