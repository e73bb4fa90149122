/** The routes about schedules. */
import * as z from 'zod';
import { allows } from '../../../lib/api/auth/authorize.ts';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { bodyHash } from '../../../lib/api/idempotency.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { scheduleId as scheduleIdSchema } from '../../../lib/api/schemas/parts.ts';
import { seconds } from '../../../lib/engine/time.ts';
import type { KeyScope } from '../../../lib/ports/control.ts';
import type { Schedule, ScheduleTerms } from '../../../lib/ports/schedules.ts';
import { type ScheduleChange, changeSchedule, deleteSchedule } from '../../../lib/service/change-schedule.ts';
import { type TermsAsked, createSchedule } from '../../../lib/service/create-schedule.ts';
import { getSchedule, listSchedules, shownSchedule } from '../../../lib/service/get-schedule.ts';
import type { ScheduledRefusal } from '../../../lib/service/scheduled-start.ts';
import type { TimingFault } from '../../../lib/engine/schedule/judge-timing.ts';
import { type Operations, refuse } from '../operation.ts';
import { scheduleOf, scheduleSummaryOf } from '../present/schedule.ts';
import type { Tools } from '../tools.ts';

type Own =
  | 'createSchedule'
  | 'listSchedules'
  | 'getSchedule'
  | 'updateSchedule'
  | 'pauseSchedule'
  | 'resumeSchedule'
  | 'deleteSchedule';

const position = z.strictObject({ scheduleId: scheduleIdSchema });
const auditOf = (id: string) => ({ resource: `schedule/${id}` });

export const scheduleOperations = ({ decider }: Pick<Tools, 'decider'>): Pick<Operations<'library'>, Own> => {
  const { deps } = decider;
  const shown = (schedule: Schedule) => scheduleOf(shownSchedule(deps, schedule));
  return {
    createSchedule: async ({ scope, scopes, body }) => {
      const { scheduleId } = body;
      const audit = { ...auditOf(scheduleId), facts: { workflowName: body.workflowName } };
      const missing = missingScope(scopes, body.overlap);
      if (missing !== undefined) return { ...missing, audit };
      const result = await createSchedule(decider, { scope, scheduleId, bodyHash: bodyHash(body), terms: termsOf(body) });
      switch (result.kind) {
        case 'created': {
          const headers = { location: `/v1/schedules/${scheduleId}` };
          return { status: result.isNew ? 201 : 200, body: shown(result.schedule), headers, audit };
        }
        case 'schedule_exists':
          return { ...refuse(result.kind), audit };
        default:
          return { ...refusalOf(result), audit };
      }
    },

    listSchedules: async ({ scope, query: { cursor, limit } }) => {
      const listing = { operationId: 'listSchedules', scope, filters: {} };
      const start = cursor === undefined ? undefined : decodeCursor(listing, position, cursor);
      if (cursor !== undefined && start === undefined) return refuse('cursor_invalid');
      const found = await listSchedules(deps, scope, { limit, ...(start === undefined ? {} : { after: start.scheduleId }) });
      const next = found.next === undefined ? null : encodeCursor(listing, { scheduleId: found.next });
      return { status: 200, body: { data: found.schedules.map(scheduleSummaryOf), cursor: next, hasMore: next !== null } };
    },

    getSchedule: async ({ scope, params: { scheduleId } }) => {
      const found = await getSchedule(deps, scope, scheduleId);
      return found === undefined ? refuse('not_found') : { status: 200, body: scheduleOf(found) };
    },

    updateSchedule: async ({ scope, scopes, params: { scheduleId }, body }) => {
      const audit = { ...auditOf(scheduleId), facts: { changed: Object.keys(body).toSorted().join(' ') } };
      const missing = missingScope(scopes, body.overlap);
      if (missing !== undefined) return { ...missing, audit };
      const result = await changeSchedule(decider, scope, scheduleId, changeOf(body));
      if (result.kind === 'changed') return { status: 200, body: shown(result.schedule), audit };
      return { ...(result.kind === 'not_found' ? refuse(result.kind) : refusalOf(result)), audit };
    },

    pauseSchedule: async ({ scope, params: { scheduleId } }) => {
      const audit = auditOf(scheduleId);
      const result = await changeSchedule(decider, scope, scheduleId, { isPaused: true });
      return result.kind === 'changed' ? { status: 200, body: shown(result.schedule), audit } : { ...refuse('not_found'), audit };
    },

    resumeSchedule: async ({ scope, scopes, params: { scheduleId } }) => {
      const audit = auditOf(scheduleId);
      const missing = missingScope(scopes, undefined);
      if (missing !== undefined) return { ...missing, audit };
      const result = await changeSchedule(decider, scope, scheduleId, { isPaused: false });
      return result.kind === 'changed' ? { status: 200, body: shown(result.schedule), audit } : { ...refuse('not_found'), audit };
    },

    deleteSchedule: async ({ scope, params: { scheduleId } }) => {
      const audit = auditOf(scheduleId);
      const result = await deleteSchedule(deps, scope, scheduleId);
      return result.kind === 'deleted'
        ? { status: 200, body: { scheduleId, deleted: true }, audit }
        : { ...refuse(result.kind), audit };
    },
  };
};

/** Nobody may have done by a schedule what they may not do themselves: it starts runs, and may cancel them. */
const missingScope = (scopes: readonly KeyScope[], overlap: ScheduleTerms['overlap'] | undefined) => {
  const needed: readonly KeyScope[] = overlap === 'cancel_previous' ? ['trigger:write', 'runs:write'] : ['trigger:write'];
  const required = needed.find((scope) => !allows(scopes, scope));
  return required === undefined ? undefined : refuse('missing_scope', { required });
};

const termsOf = (body: BodyOf<'createSchedule'>): TermsAsked => {
  const { workflowName, overlap, catchUpSeconds, paused, version, input } = body;
  const { scheduleId: _id, workflowName: _name, overlap: _overlap, catchUpSeconds: _seconds, paused: _paused, ...rest } = body;
  const { version: _version, input: _input, ...timing } = rest;
  return {
    workflowName,
    ...(version === undefined ? {} : { version }),
    ...(input === undefined ? {} : { input }),
    timing,
    overlap,
    catchUpMs: seconds(catchUpSeconds),
    isPaused: paused,
  };
};

const changeOf = ({ catchUpSeconds, ...change }: BodyOf<'updateSchedule'>): ScheduleChange => ({
  ...change,
  ...(catchUpSeconds === undefined ? {} : { catchUpMs: seconds(catchUpSeconds) }),
});

const refusalOf = (refusal: ScheduledRefusal | { readonly kind: 'timing_invalid'; readonly faults: readonly TimingFault[] }) => {
  switch (refusal.kind) {
    case 'timing_invalid':
      return refuse('invalid_request', { errors: refusal.faults });
    case 'input_invalid':
      return refuse(refusal.kind, { errors: refusal.faults });
    case 'version_not_found':
      return refuse('invalid_request', {
        errors: [{ place: '/version', code: 'version_unknown', message: 'is no version of this workflow' }],
      });
    case 'deployment_not_found':
      // The active one, which has gone since it was looked up: the name means nothing now.
      return refuse('workflow_not_found');
    case 'workflow_not_found':
    case 'workflow_archived':
    case 'workflow_deleting':
    case 'no_active_deployment':
    case 'deployment_not_verified':
      return refuse(refusal.kind);
  }
};
