/** The routes about schedules, as entries of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as schedules from './schemas/schedules.ts';

/** A schedule is kept in one item, with the input that its runs are given. */
const scheduleLimitBytes = 65_536;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

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
    summary: 'Makes a schedule that starts runs of a workflow; the same once more changes nothing',
    servedBy: 'library',
    scope: 'workflows:write',
    body: { schema: schedules.createScheduleBody, limitBytes: scheduleLimitBytes },
    idempotencyKey: 'none',
    action: 'schedules.create',
    responses: {
      201: ok('Made', schedules.scheduleResponse),
      200: ok('The same was made before', schedules.scheduleResponse),
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
    summary: 'A schedule, when it is due next, and what became of the last times',
    scope: 'workflows:read',
    responses: { 200: ok('The schedule', schedules.scheduleResponse) },
    errors: ['not_found'],
  },
  {
    ...scheduleById,
    method: 'POST',
    path: '/v1/schedules/{scheduleId}',
    operationId: 'updateSchedule',
    summary: 'Changes a schedule: what the body does not name stays',
    scope: 'workflows:write',
    body: { schema: schedules.updateScheduleBody, limitBytes: scheduleLimitBytes, isOptional: true },
    action: 'schedules.update',
    responses: { 200: ok('As it is now', schedules.scheduleResponse) },
    errors: ['not_found', ...startErrors],
  },
  {
    ...scheduleById,
    method: 'POST',
    path: '/v1/schedules/{scheduleId}/pause',
    operationId: 'pauseSchedule',
    summary: 'Stops a schedule from starting runs; once more changes nothing',
    scope: 'workflows:write',
    action: 'schedules.pause',
    responses: { 200: ok('As it is now', schedules.scheduleResponse) },
    errors: ['not_found'],
  },
  {
    ...scheduleById,
    method: 'POST',
    path: '/v1/schedules/{scheduleId}/resume',
    operationId: 'resumeSchedule',
    summary: 'Lets a schedule start runs again, from its next time on; once more changes nothing',
    scope: 'workflows:write',
    action: 'schedules.resume',
    responses: { 200: ok('As it is now', schedules.scheduleResponse) },
    errors: ['not_found', 'missing_scope'],
  },
  {
    ...scheduleById,
    method: 'DELETE',
    path: '/v1/schedules/{scheduleId}',
    operationId: 'deleteSchedule',
    summary: 'Deletes a schedule; the runs that it started go on',
    scope: 'workflows:write',
    action: 'schedules.delete',
    responses: { 200: ok('Deleted', schedules.deletedScheduleResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];
