/**
 * The route table. The router, the OpenAPI document, the scope checks, the client and their tests are built from it.
 * Add a route as one entry; the function that serves it does not compile until it handles the route.
 */
import type * as z from 'zod';
import { canonicalDefinition, canonicalStart } from './aliases.ts';
import { lensRoutes, queryRoutes } from './definition-routes.ts';
import { deploymentRoutes, worldRoutes } from './deployment-routes.ts';
import type { ErrorCode } from './errors.ts';
import { keyRoutes } from './key-routes.ts';
import { ok, type Route } from './route.ts';
import { signalRoutes, tagRoutes, testRunRoutes, ticketRoutes } from './run-routes.ts';
import { scheduleRoutes } from './schedule-routes.ts';
import * as audit from './schemas/audit.ts';
import * as runs from './schemas/runs.ts';
import * as service from './schemas/service.ts';
import * as versions from './schemas/versions.ts';
import * as workflows from './schemas/workflows.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { definitionLimits } from '../engine/graph/findings.ts';

/** The input of a run is stored in its log, or offloaded to the bucket. */
export const inputLimitBytes = 1_048_576;
export const smallLimitBytes = 16_384;
/** A thousand node ids of maximum length. */
export const wakeLimitBytes = 262_144;
/** The payload of a resume is stored in the log of its run. */
export const resumeLimitBytes = 65_536;

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
    summary: 'Reports that the service is available',
    allowsPlainHttp: true,
    servedBy: 'api',
    scope: null,
    idempotencyKey: 'none',
    responses: { 200: ok('The service is available', service.healthResponse) },
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
    summary: 'Validates a definition without publishing it',
    servedBy: 'api',
    scope: 'workflows:read',
    body: definitionBody(workflows.validateWorkflowBody),
    idempotencyKey: 'none',
    responses: { 200: ok('All findings', workflows.validatedResponse) },
    errors: [],
  },
  {
    method: 'GET',
    path: '/v1/workflows/{name}',
    operationId: 'getWorkflow',
    summary: 'Returns the definition of the latest version, or of a given version',
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
    summary: 'Archives a workflow: open runs continue, new runs are refused until the next version is published',
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
    responses: { 202: ok('The deletion has started', workflows.deletingResponse) },
    errors: ['workflow_not_found', 'confirmation_mismatch', 'workflow_scheduled'],
  },
  {
    method: 'POST',
    path: '/v1/workflows/{name}/versions',
    operationId: 'publishVersion',
    summary: 'Publishes the next version of a workflow; an archived workflow accepts runs again',
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
    summary: 'Lists the events of a run, in order',
    servedBy: 'events',
    scope: 'runs:read',
    params: runs.runParams,
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
    errors: ['not_found', 'run_terminal'],
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
    errors: ['not_found', 'run_terminal', 'idempotency_conflict'],
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
    summary: 'Wakes sleeping nodes early',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: runs.wakeRunBody, limitBytes: wakeLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'runs.wake',
    responses: { 202: ok('The nodes continue', runs.wokenResponse) },
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
    summary: 'Lists the audit trail, newest first',
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
/** The operations that a Lambda function serves. */
export type OperationOf<ServedBy extends Route['servedBy']> = Extract<Routes, { servedBy: ServedBy }>['operationId'];

type SchemaOutput<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
export type ParamsOf<Id extends OperationId> = RouteOf<Id> extends { params: infer Schema } ? SchemaOutput<Schema> : undefined;
export type QueryOf<Id extends OperationId> = RouteOf<Id> extends { query: infer Schema } ? SchemaOutput<Schema> : undefined;
export type BodyOf<Id extends OperationId> =
  RouteOf<Id> extends { body: { schema: infer Schema } } ? SchemaOutput<Schema> : undefined;
/** The operations that can return a stream. */
export type StreamingOperation = Extract<Routes, { streams: object }>['operationId'];
export type ErrorOf<Id extends OperationId> = Extract<RouteOf<Id>['errors'][number] | 'invalid_request', ErrorCode>;

type Responses<Id extends OperationId> = RouteOf<Id>['responses'];
/** Each status with its body. */
export type ResponseOf<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: {
    readonly status: Status;
    readonly body: Responses<Id>[Status] extends { schema: infer Schema extends z.ZodType } ? z.input<Schema> : never;
  };
}[keyof Responses<Id>];
