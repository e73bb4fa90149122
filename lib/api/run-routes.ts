/** The routes for tickets, signals, tags, test runs and views of runs, as entries of the route table. */
import { canonicalDefinition, canonicalStart } from './aliases.ts';
import { ok, type Route } from './route.ts';
import * as runs from './schemas/runs.ts';
import * as signals from './schemas/signals.ts';
import * as tags from './schemas/tags.ts';
import * as tests from './schemas/test-runs.ts';
import { definitionLimits } from '../engine/graph/findings.ts';

export const ticketRoutes = [
  {
    method: 'POST',
    path: '/v1/runs/{runId}/tickets',
    operationId: 'createTicket',
    summary: 'Creates a ticket with which a browser opens the event stream of one run, once and within a minute',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
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
    body: { schema: signals.sendSignalBody, limitBytes: signalLimitBytes },
    idempotencyKey: 'optional',
    action: 'signals.send',
    responses: { 202: ok('The signal is delivered or stored', signals.sentResponse) },
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
    body: { schema: signals.sendRunSignalBody, limitBytes: signalLimitBytes },
    idempotencyKey: 'optional',
    action: 'signals.send',
    responses: { 202: ok('The signal is delivered or stored', signals.sentResponse) },
    errors: ['not_found', 'run_terminal', 'idempotency_conflict'],
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
    query: tags.listTagsQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('Tags', tags.tagList) },
    errors: ['not_found', 'cursor_invalid'],
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
    body: { schema: tests.testWorkflowBody, limitBytes: definitionLimits.bytes, normalizeBody: canonicalTest },
    idempotencyKey: 'optional',
    action: 'workflows.test',
    responses: { 202: ok('The test run exists and will be executed', tests.testedResponse) },
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
    responses: { 200: ok('The run is deleted', tests.stoppedResponse) },
    errors: ['not_found', 'not_a_test_run'],
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
    body: { schema: tests.viewRunBody, limitBytes: viewLimitBytes },
    idempotencyKey: 'none',
    responses: { 200: ok('The resolved configuration', tests.viewResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];
