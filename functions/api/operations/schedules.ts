/** The schedule routes. */
import * as z from 'zod';
import { allows } from '../../../lib/api/auth.ts';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { bodyHash } from '../../../lib/api/idempotency.ts';
import type { BodyOf, ResponseOf } from '../../../lib/api/routes.ts';
import { scheduleId as scheduleIdSchema } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import { type TimingError, timingRequestOf } from '../../../lib/engine/schedule/validate-timing.ts';
import { iso, seconds } from '../../../lib/engine/time.ts';
import type { Fire, Schedule, ScheduleDefinition } from '../../../lib/ports/schedules.ts';
import { type ScheduleChange, changeSchedule, deleteSchedule } from '../../../lib/service/schedules/change-schedule.ts';
import { type RequestedTerms, createSchedule } from '../../../lib/service/schedules/create-schedule.ts';
import { type ScheduleView, getSchedule, listSchedules, scheduleViewOf } from '../../../lib/service/schedules/get-schedule.ts';
import type { ScheduledRefusal } from '../../../lib/service/schedules/scheduled-start.ts';
import { type OperationTable, type CommonTools, refuse, times } from '../operation.ts';

type HandledOperations =
  | 'createSchedule'
  | 'listSchedules'
  | 'getSchedule'
  | 'updateSchedule'
  | 'pauseSchedule'
  | 'resumeSchedule'
  | 'deleteSchedule';

const cursorShape = z.strictObject({ scheduleId: scheduleIdSchema });
const auditOf = (id: string) => ({ resource: `schedule/${id}` });

const shown = ({ deps }: CommonTools['decider'], schedule: Schedule) => scheduleOf(scheduleViewOf(deps, schedule));

export const scheduleOperations: OperationTable<HandledOperations, CommonTools> = {
  async createSchedule({ decider }, { scope, scopes, body }) {
    const { scheduleId } = body;
    const audit = { ...auditOf(scheduleId), facts: { workflowName: body.workflowName } };
    const missing = missingScope(scopes, body.overlap);
    if (missing !== undefined) return { ...missing, audit };
    const result = await createSchedule(decider, { scope, scheduleId, bodyHash: bodyHash(body), terms: termsOf(body) });
    switch (result.kind) {
      case 'created': {
        const headers = { location: `/v1/schedules/${scheduleId}` };
        return { status: result.isNew ? 201 : 200, body: shown(decider, result.schedule), headers, audit };
      }
      case 'schedule_exists':
        return { ...refuse(result.kind), audit };
      default:
        return { ...refusalOf(result), audit };
    }
  },

  async listSchedules({ decider: { deps } }, { scope, query: { cursor, limit } }) {
    const listing = { operationId: 'listSchedules', scope, filters: {} };
    const start = cursor === undefined ? undefined : decodeCursor(listing, cursorShape, cursor);
    if (cursor !== undefined && start === undefined) return refuse('cursor_invalid');
    const found = await listSchedules(deps, scope, defined({ limit, after: start === undefined ? undefined : start.scheduleId }));
    const next = found.next === undefined ? null : encodeCursor(listing, { scheduleId: found.next });
    return { status: 200, body: { data: found.schedules.map(scheduleSummaryOf), cursor: next, hasMore: next !== null } };
  },

  async getSchedule({ decider: { deps } }, { scope, params: { scheduleId } }) {
    const found = await getSchedule(deps, scope, scheduleId);
    return found === undefined ? refuse('not_found') : { status: 200, body: scheduleOf(found) };
  },

  async updateSchedule({ decider }, { scope, scopes, params: { scheduleId }, body }) {
    const audit = { ...auditOf(scheduleId), facts: { changed: Object.keys(body).toSorted().join(' ') } };
    const missing = missingScope(scopes, body.overlap);
    if (missing !== undefined) return { ...missing, audit };
    const result = await changeSchedule(decider, scope, scheduleId, changeOf(body));
    if (result.kind === 'changed') return { status: 200, body: shown(decider, result.schedule), audit };
    return { ...(result.kind === 'not_found' ? refuse(result.kind) : refusalOf(result)), audit };
  },

  async pauseSchedule({ decider }, { scope, params: { scheduleId } }) {
    const audit = auditOf(scheduleId);
    const result = await changeSchedule(decider, scope, scheduleId, { isPaused: true });
    return result.kind === 'changed'
      ? { status: 200, body: shown(decider, result.schedule), audit }
      : { ...refuse('not_found'), audit };
  },

  async resumeSchedule({ decider }, { scope, scopes, params: { scheduleId } }) {
    const audit = auditOf(scheduleId);
    const missing = missingScope(scopes, undefined);
    if (missing !== undefined) return { ...missing, audit };
    const result = await changeSchedule(decider, scope, scheduleId, { isPaused: false });
    return result.kind === 'changed'
      ? { status: 200, body: shown(decider, result.schedule), audit }
      : { ...refuse('not_found'), audit };
  },

  async deleteSchedule({ decider: { deps } }, { scope, params: { scheduleId } }) {
    const audit = auditOf(scheduleId);
    const result = await deleteSchedule(deps, scope, scheduleId);
    return result.kind === 'deleted'
      ? { status: 200, body: { scheduleId, deleted: true }, audit }
      : { ...refuse(result.kind), audit };
  },
};

type Scopes = Parameters<typeof allows>[0];

/** A schedule starts runs and may cancel them, so the caller needs the scopes for both. */
const missingScope = (scopes: Scopes, overlap: ScheduleDefinition['overlap'] | undefined) => {
  const needed: Scopes = overlap === 'cancel_previous' ? ['trigger:write', 'runs:write'] : ['trigger:write'];
  const required = needed.find((scope) => !allows(scopes, scope));
  return required === undefined ? undefined : refuse('missing_scope', { required });
};

const termsOf = (body: BodyOf<'createSchedule'>): RequestedTerms => {
  const { workflowName, overlap, catchUpSeconds, paused, version, input } = body;
  const { scheduleId: _id, workflowName: _name, overlap: _overlap, catchUpSeconds: _seconds, paused: _paused, ...rest } = body;
  const { version: _version, input: _input, ...timing } = rest;
  return defined({
    workflowName,
    version,
    input,
    timing,
    overlap,
    catchUpWindowMs: seconds(catchUpSeconds),
    isPaused: paused,
  });
};

const changeOf = ({ catchUpSeconds, ...change }: BodyOf<'updateSchedule'>): ScheduleChange =>
  defined({
    ...change,
    catchUpWindowMs: catchUpSeconds === undefined ? undefined : seconds(catchUpSeconds),
  });

const refusalOf = (refusal: ScheduledRefusal | { readonly kind: 'timing_invalid'; readonly errors: readonly TimingError[] }) => {
  switch (refusal.kind) {
    case 'timing_invalid':
      return refuse('invalid_request', { errors: refusal.errors });
    case 'input_invalid':
      return refuse(refusal.kind, { errors: refusal.errors });
    case 'version_not_found':
      return refuse('invalid_request', {
        errors: [{ pointer: '/version', code: 'version_unknown', message: 'the workflow has no such version' }],
      });
    case 'deployment_not_found':
      // The active deployment was removed after the lookup, so no workflow has this name.
      return refuse('workflow_not_found');
    case 'workflow_not_found':
    case 'workflow_archived':
    case 'workflow_deleting':
    case 'no_active_deployment':
    case 'deployment_not_verified':
      return refuse(refusal.kind);
  }
};

type Summary = ResponseOf<'listSchedules'>['body']['data'][number];

const fireOf = ({ scheduledAt, at, ...fire }: Fire) => ({ ...fire, scheduledAt: iso(scheduledAt), at: iso(at) });

const scheduleSummaryOf = ({ schedule, nextRunAt, lastRun }: ScheduleView): Summary => {
  const { scheduleId, definition, createdAt, updatedAt, lastFailure } = schedule;
  const { startAt, endAt, ...timingFields } = timingRequestOf(definition.timing);
  return defined({
    scheduleId,
    workflowName: definition.workflowName,
    version: definition.version,
    ...timingFields,
    ...times({ startAt, endAt }),
    overlap: definition.overlap,
    catchUpSeconds: Math.round(definition.catchUpWindowMs / 1_000),
    paused: definition.isPaused,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    ...times({ nextRunAt }),
    lastRun:
      lastRun === undefined
        ? undefined
        : {
            runId: lastRun.runId,
            scheduledAt: iso(lastRun.scheduledAt),
            startedAt: iso(lastRun.at),
            ...(lastRun.status === undefined ? {} : { status: lastRun.status }),
          },
    lastFailure: lastFailure === undefined ? undefined : fireOf(lastFailure),
  });
};

const scheduleOf = (shown: ScheduleView): ResponseOf<'getSchedule'>['body'] =>
  defined({
    ...scheduleSummaryOf(shown),
    input: shown.schedule.definition.input,
    recentFires: shown.schedule.fires.map(fireOf),
  });
