/** Request and response types of the client, derived from the route table. */
import type * as z from 'zod';
import { type OperationId, routes } from '../api/routes.ts';
import type { runDelta } from '../api/schemas/runs.ts';
import { deltaEventName, finalEventNames } from '../engine/log/event-names.ts';
import { type TerminalStatus, terminalStatuses } from '../engine/log/head.ts';
import type { Tolerant } from './tolerant-schema.ts';

type Routes = (typeof routes)[number];
export type RouteOf<Id extends OperationId> = Extract<Routes, { operationId: Id }>;

export const routeOf = <Id extends OperationId>(id: Id): RouteOf<Id> => {
  const route = routes.find((each): each is RouteOf<Id> => each.operationId === id);
  if (route === undefined) throw new Error(`there is no route ${id}`);
  return route;
};

/** Query values that the service parses from text have the input type unknown; callers use the output type. */
type InputOf<Schema extends z.ZodType> = {
  [Key in keyof z.input<Schema>]: unknown extends z.input<Schema>[Key]
    ? Key extends keyof z.output<Schema>
      ? z.output<Schema>[Key]
      : never
    : z.input<Schema>[Key];
};

/** The request body; fields with a default are optional. */
export type RequestBody<Id extends OperationId> =
  RouteOf<Id> extends { body: { schema: infer Schema extends z.ZodType } } ? z.input<Schema> : never;
export type RequestQuery<Id extends OperationId> =
  RouteOf<Id> extends { query: infer Schema extends z.ZodType } ? InputOf<Schema> : never;

type Responses<Id extends OperationId> = RouteOf<Id>['responses'];
export type ResponseBody<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: Responses<Id>[Status] extends { schema: infer Schema extends z.ZodType }
    ? Tolerant<z.output<Schema>>
    : never;
}[keyof Responses<Id>];

/** The body of one of the route's responses. */
type ResponseBodyOf<Id extends OperationId, Status extends keyof Responses<Id>> = Responses<Id>[Status] extends {
  schema: infer Schema extends z.ZodType;
}
  ? Tolerant<z.output<Schema>>
  : never;

/** One start of a batch. */
export type BatchStart = RequestBody<'startRun'> & { readonly idempotencyKey?: string };
/** A run that exists, and has not ended when its start was answered. */
export type AcceptedRun = ResponseBodyOf<'startRun', 202>;
/** A run that ended while its start waited. */
export type AnsweredRun = ResponseBodyOf<'startRun', 200>;
export type Run = ResponseBody<'getRun'>;
export type RunSummary = ResponseBody<'listRuns'>['data'][number];
export type RunEvent = ResponseBody<'listRunEvents'>['data'][number];
/** A piece of the output of a running node. Its `eventId` is that of the preceding event, and can repeat. */
export type RunDelta = Omit<Tolerant<z.output<typeof runDelta>>, 'type'> & { readonly type: typeof deltaEventName };
export type RunUpdate = RunEvent | RunDelta;
/** A type guard is needed because newer services can have other event names. */
export const isDelta = (update: RunUpdate): update is RunDelta => update.type === deltaEventName;
export type ScheduleSummary = ResponseBody<'listSchedules'>['data'][number];
export type WorkflowSummary = ResponseBody<'listWorkflows'>['data'][number];
/** A run in a terminal status. */
export type EndedRun = Omit<Run, 'status'> & { readonly status: TerminalStatus };

export const isEnded = (run: Run): run is EndedRun => terminalStatuses.some((status) => status === run.status);

/** Whether the run ended while its start waited. */
export const isAnswered = (run: AcceptedRun | AnsweredRun): run is AnsweredRun => 'completedAt' in run;

/** Event types that end a run. */
export const isFinalEvent = ({ type }: RunEvent): boolean => finalNames.has(type);
const finalNames: ReadonlySet<string> = new Set(finalEventNames);
