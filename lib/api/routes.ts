/**
 * The table of routes: the router, the OpenAPI document, the scope checks and their tests are all made from it.
 * A new route is one entry here; what answers it stops compiling until it does.
 */
import type * as z from 'zod';
import { definitionLimits } from '../engine/graph/findings.ts';
import { canonicalDefinition, canonicalStart } from './aliases.ts';
import type { ErrorCode } from './errors.ts';
import { queryRoutes } from './query-routes.ts';
import type { Route } from './route.ts';
import { deploymentRoutes } from './deployment-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { lensRoutes } from './lens-routes.ts';
import * as audit from './schemas/audit.ts';
import * as runs from './schemas/runs.ts';
import * as service from './schemas/service.ts';
import * as versions from './schemas/versions.ts';
import * as workflows from './schemas/workflows.ts';
import { scheduleRoutes } from './schedule-routes.ts';
import { tagRoutes } from './tag-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { signalRoutes } from './signal-routes.ts';
import { ticketRoutes } from './ticket-routes.ts';
import { testRunRoutes } from './test-run-routes.ts';
import { worldRoutes } from './world-routes.ts';

/** A start's input ends in the run's log, or beside it in the bucket. */
const inputLimitBytes = 1_048_576;
const smallLimitBytes = 16_384;
/** A thousand node ids of the longest kind. */
const wakeLimitBytes = 262_144;
/** What a resumption brings is kept in the log of its run. */
const resumeLimitBytes = 65_536;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });
const definitionBody = <Schema extends z.ZodObject>(schema: Schema) => ({
  schema,
  limitBytes: definitionLimits.bytes,
  normalizeBody: canonicalDefinition,
});

export const routes = [
  {
    method: 'GET',
    path: '/v1/health',
    operationId: 'getHealth',
    summary: 'Says that the service answers',
    allowsPlainHttp: true,
    servedBy: 'api',
    scope: null,
    idempotencyKey: 'none',
    responses: { 200: ok('It answers', service.healthResponse) },
    errors: [],
  },
  {
    method: 'GET',
    path: '/v1/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    servedBy: 'library',
    scope: null,
    idempotencyKey: 'none',
    responses: { 200: ok('OpenAPI 3.1', service.openApiResponse) },
    errors: [],
  },
  {
    method: 'POST',
    path: '/v1/workflows',
    operationId: 'createWorkflow',
    summary: 'Publishes the first version of a new workflow',
    servedBy: 'api',
    scope: 'workflows:write',
    body: definitionBody(workflows.createWorkflowBody),
    idempotencyKey: 'none',
    action: 'workflows.create',
    responses: { 201: ok('Published', versions.publishedResponse) },
    errors: ['definition_invalid', 'workflow_exists', 'workflow_deleting', 'workflow_name_taken'],
  },
  {
    method: 'GET',
    path: '/v1/workflows',
    operationId: 'listWorkflows',
    summary: 'Lists workflows by name',
    servedBy: 'api',
    scope: 'workflows:read',
    query: versions.summariesQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of workflows', workflows.workflowList) },
    errors: ['cursor_invalid'],
  },
  {
    method: 'POST',
    path: '/v1/workflows/validate',
    operationId: 'validateWorkflow',
    summary: 'Judges a definition and publishes nothing',
    servedBy: 'api',
    scope: 'workflows:read',
    body: definitionBody(workflows.validateWorkflowBody),
    idempotencyKey: 'none',
    responses: { 200: ok('Every finding', workflows.validatedResponse) },
    errors: [],
  },
  {
    method: 'GET',
    path: '/v1/workflows/{name}',
    operationId: 'getWorkflow',
    summary: 'The definition of the latest version, or of one by its number',
    servedBy: 'api',
    scope: 'workflows:read',
    params: workflows.workflowParams,
    invalidParamsCode: 'workflow_not_found',
    query: versions.versionQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('The workflow', workflows.workflowResponse) },
    errors: ['workflow_not_found', 'not_found'],
  },
  {
    method: 'DELETE',
    path: '/v1/workflows/{name}',
    operationId: 'archiveWorkflow',
    summary: 'Archives a workflow: open runs continue, new ones are refused until the next version is published',
    servedBy: 'api',
    scope: 'workflows:write',
    params: workflows.workflowParams,
    invalidParamsCode: 'workflow_not_found',
    idempotencyKey: 'none',
    action: 'workflows.archive',
    responses: { 200: ok('Archived', versions.archivedResponse) },
    errors: ['workflow_not_found', 'workflow_deleting'],
  },
  {
    method: 'POST',
    path: '/v1/workflows/{name}/delete',
    operationId: 'deleteWorkflow',
    summary: 'Deletes a workflow with all its versions and runs; open runs are cancelled first',
    servedBy: 'api',
    scope: 'admin',
    params: workflows.workflowParams,
    invalidParamsCode: 'workflow_not_found',
    body: { schema: workflows.deleteWorkflowBody, limitBytes: smallLimitBytes },
    idempotencyKey: 'none',
    action: 'workflows.delete',
    responses: { 202: ok('It is being deleted', workflows.deletingResponse) },
    errors: ['workflow_not_found', 'confirmation_mismatch', 'workflow_scheduled'],
  },
  {
    method: 'POST',
    path: '/v1/workflows/{name}/versions',
    operationId: 'publishVersion',
    summary: 'Publishes the next version of a workflow; an archived one takes runs again',
    servedBy: 'api',
    scope: 'workflows:write',
    params: workflows.workflowParams,
    invalidParamsCode: 'workflow_not_found',
    body: definitionBody(workflows.publishVersionBody),
    idempotencyKey: 'none',
    action: 'workflows.publish',
    responses: { 201: ok('Published', versions.publishedResponse) },
    errors: ['definition_invalid', 'workflow_not_found', 'workflow_deleting', 'workflow_name_taken'],
  },
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
    responses: { 202: ok('The run exists and will be worked on', runs.startedResponse) },
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
    summary: 'A run and its nodes',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
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
    summary: 'What happened to a run, in order',
    servedBy: 'events',
    scope: 'runs:read',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    query: runs.listEventsQuery,
    idempotencyKey: 'none',
    acceptsTicket: true,
    streams: {
      description: 'server-sent events, for `Accept: text/event-stream`',
      noContentDescription: 'The run has ended, and the stream has nothing more',
    },
    responses: { 200: ok('Events', runs.eventList) },
    errors: ['not_found', 'cursor_invalid', 'not_acceptable'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/cancel',
    operationId: 'cancelRun',
    summary: 'Cancels a run; once more changes nothing',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.cancelRunBody, limitBytes: smallLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'runs.cancel',
    responses: { 200: ok('Cancelled', runs.cancelledResponse) },
    errors: ['not_found', 'run_terminal'],
  },
  {
    method: 'POST',
    path: '/v1/runs/resume',
    operationId: 'resumeRun',
    summary: 'Tells a run to go on, and why',
    servedBy: 'api',
    scope: 'runs:write',
    body: { schema: runs.resumeRunBody, limitBytes: resumeLimitBytes },
    idempotencyKey: 'optional',
    action: 'runs.resume',
    responses: { 202: ok('It is in the log, and what slept goes on', runs.resumedResponse) },
    errors: ['not_found', 'run_terminal', 'idempotency_conflict'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/rerun',
    operationId: 'rerunRun',
    summary: 'Runs a run again, as a new one',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.rerunRunBody, limitBytes: inputLimitBytes, isOptional: true },
    idempotencyKey: 'required',
    action: 'runs.rerun',
    responses: { 202: ok('The new run exists and will be worked on', runs.rerunResponse) },
    errors: [
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
      'deployment_not_verified',
    ],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/wake',
    operationId: 'wakeRun',
    summary: 'Wakes sleeping nodes before their time',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.wakeRunBody, limitBytes: wakeLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'runs.wake',
    responses: { 202: ok('What slept goes on', runs.wokenResponse) },
    errors: ['not_found', 'run_terminal'],
  },
  ...ticketRoutes,
  ...signalRoutes,
  ...lensRoutes,
  ...testRunRoutes,
  ...deploymentRoutes,
  ...worldRoutes,
  ...keyRoutes,
  {
    method: 'GET',
    path: '/v1/audit',
    operationId: 'listAudit',
    summary: 'Lists what was done, newest first',
    servedBy: 'library',
    scope: 'admin',
    query: audit.listAuditQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of entries', audit.auditList) },
    errors: ['cursor_invalid'],
  },
  ...queryRoutes,
  ...tagRoutes,
  ...scheduleRoutes,
  ...webhookRoutes,
] as const satisfies readonly Route[];

type Routes = (typeof routes)[number];
export type OperationId = Routes['operationId'];
type RouteOf<Id extends OperationId> = Extract<Routes, { operationId: Id }>;
/** The operations that one function answers. */
export type OperationOf<ServedBy extends Route['servedBy']> = Extract<Routes, { servedBy: ServedBy }>['operationId'];

type SchemaOutput<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
export type ParamsOf<Id extends OperationId> = RouteOf<Id> extends { params: infer Schema } ? SchemaOutput<Schema> : undefined;
export type QueryOf<Id extends OperationId> = RouteOf<Id> extends { query: infer Schema } ? SchemaOutput<Schema> : undefined;
export type BodyOf<Id extends OperationId> =
  RouteOf<Id> extends { body: { schema: infer Schema } } ? SchemaOutput<Schema> : undefined;
/** The operations that may answer with a stream. */
export type StreamingOperation = Extract<Routes, { streams: object }>['operationId'];
export type ErrorOf<Id extends OperationId> = Extract<RouteOf<Id>['errors'][number] | 'invalid_request', ErrorCode>;

type Responses<Id extends OperationId> = RouteOf<Id>['responses'];
/** A status with the body that belongs to it. */
export type ResponseOf<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: {
    readonly status: Status;
    readonly body: Responses<Id>[Status] extends { schema: infer Schema extends z.ZodType } ? z.input<Schema> : never;
  };
}[keyof Responses<Id>];
