/** The routes for schedules, as entries of the route table. */
import { ok, type Route } from './route.ts';
import * as schedules from './schemas/schedules.ts';

/** A schedule is stored in one item with the input of its runs. */
export const scheduleLimitBytes = 65_536;

const scheduleById = {
  servedBy: 'library',
  params: schedules.scheduleParams,
  invalidParamsCode: 'not_found',
  idempotencyKey: 'none',
} as const;

const startErrors = [
  'workflow_not_found',
  'workflow_archived',
  'workflow_deleting',
  'no_active_deployment',
  'deployment_not_verified',
  'input_invalid',
  'missing_scope',
] as const;

export const scheduleRoutes = [
  {
    method: 'POST',
    path: '/v1/schedules',
    operationId: 'createSchedule',
    summary: 'Creates a schedule that starts runs of a workflow; repeating the same body has no effect',
    servedBy: 'library',
    scope: 'workflows:write',
    body: { schema: schedules.createScheduleBody, limitBytes: scheduleLimitBytes },
    idempotencyKey: 'none',
    action: 'schedules.create',
    payloads: ['/input'],
    responses: {
      201: ok('Created', schedules.scheduleResponse),
      200: ok('The same schedule exists already', schedules.scheduleResponse),
    },
    errors: ['schedule_exists', ...startErrors],
  },
  {
    method: 'GET',
    path: '/v1/schedules',
    operationId: 'listSchedules',
    summary: 'Lists schedules by id',
    servedBy: 'library',
    scope: 'workflows:read',
    query: schedules.listSchedulesQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of schedules', schedules.scheduleList) },
    errors: ['cursor_invalid'],
  },
  {
    ...scheduleById,
    method: 'GET',
    path: '/v1/schedules/{scheduleId}',
    operationId: 'getSchedule',
    summary: 'Returns a schedule, its next due time and the outcome of its recent times',
    scope: 'workflows:read',
    payloads: ['/input'],
    responses: { 200: ok('The schedule', schedules.scheduleResponse) },
    errors: ['not_found'],
  },
  {
    ...scheduleById,
    method: 'POST',
    path: '/v1/schedules/{scheduleId}',
    operationId: 'updateSchedule',
    summary: 'Changes the fields of a schedule that the body contains',
    scope: 'workflows:write',
    body: { schema: schedules.updateScheduleBody, limitBytes: scheduleLimitBytes, isOptional: true },
    action: 'schedules.update',
    payloads: ['/input'],
    responses: { 200: ok('The schedule', schedules.scheduleResponse) },
    errors: ['not_found', ...startErrors],
  },
  {
    ...scheduleById,
    method: 'POST',
    path: '/v1/schedules/{scheduleId}/pause',
    operationId: 'pauseSchedule',
    summary: 'Pauses a schedule; repeating it has no effect',
    scope: 'workflows:write',
    action: 'schedules.pause',
    payloads: ['/input'],
    responses: { 200: ok('The schedule', schedules.scheduleResponse) },
    errors: ['not_found'],
  },
  {
    ...scheduleById,
    method: 'POST',
    path: '/v1/schedules/{scheduleId}/resume',
    operationId: 'resumeSchedule',
    summary: 'Resumes a schedule at its next due time; repeating it has no effect',
    scope: 'workflows:write',
    action: 'schedules.resume',
    payloads: ['/input'],
    responses: { 200: ok('The schedule', schedules.scheduleResponse) },
    errors: ['not_found', 'missing_scope'],
  },
  {
    ...scheduleById,
    method: 'DELETE',
    path: '/v1/schedules/{scheduleId}',
    operationId: 'deleteSchedule',
    summary: 'Deletes a schedule; runs that it started continue',
    scope: 'workflows:write',
    action: 'schedules.delete',
    responses: { 200: ok('Deleted', schedules.deletedScheduleResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];
