/**
 * The route table. The router, the OpenAPI document, the scope checks, the client and their tests are built from it.
 * Add a route as one entry; the function that serves it does not compile until it handles the route.
 */
import type * as z from 'zod';
import { lensRoutes, queryRoutes } from './definition-routes.ts';
import { deploymentRoutes } from './deployment-routes.ts';
import { embedRoutes } from './embed-routes.ts';
import type { ErrorCode } from './errors.ts';
import { auditRoutes, keyRoutes } from './key-routes.ts';
import type { Route } from './route.ts';
import { runRoutes, signalRoutes, tagRoutes, testRunRoutes, ticketRoutes } from './run-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import { scheduleRoutes } from './schedule-routes.ts';
import { healthRoutes, installationRoutes, openApiRoutes } from './service-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { workflowRoutes } from './workflow-routes.ts';
import { worldRoutes } from './world-routes.ts';

export const routes = [
  ...healthRoutes,
  ...openApiRoutes,
  ...installationRoutes,
  ...workflowRoutes,
  ...runRoutes,
  ...ticketRoutes,
  ...signalRoutes,
  ...lensRoutes,
  ...testRunRoutes,
  ...deploymentRoutes,
  ...worldRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...sessionRoutes,
  ...embedRoutes,
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
