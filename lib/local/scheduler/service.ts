/** EventBridge Scheduler's API: https://docs.aws.amazon.com/scheduler/latest/APIReference/ */
import {
  type Operation,
  type Service,
  type WireRequest,
  type WireResponse,
  jsonBody,
  jsonResponse,
  unknownOperation,
} from '../aws/wire.ts';
import { arns } from '../aws-environment.ts';
import type { RequiredPermission } from '../policy/evaluate.ts';
import { timingOf } from './expression.ts';
import { type Definition, type Schedule, type ScheduleName, type ScheduleStore, definitionShape } from './schedule-store.ts';
import * as z from 'zod';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';

const operations: Readonly<Record<string, string>> = {
  POST: 'CreateSchedule',
  GET: 'GetSchedule',
  PUT: 'UpdateSchedule',
  DELETE: 'DeleteSchedule',
};

/** The group's name from the body, else from the query, else the default group. */
const groupOf = (request: WireRequest, body: unknown): string => {
  const inBody = typeof body === 'object' && body !== null && 'GroupName' in body ? body.GroupName : undefined;
  return typeof inBody === 'string' ? inBody : (request.query.get('groupName') ?? 'default');
};

/** A new schedule; undefined where the expression is invalid. */
export function newSchedule(name: ScheduleName, definition: Definition, now: number): Schedule | undefined {
  const timing = timingOf(definition);
  if (timing === undefined) return undefined;
  const dueAt = definition.State === 'ENABLED' ? timing.first(now) : undefined;
  return { ...name, definition, createdAt: now, dueAt, tryAt: dueAt, failures: 0 };
}

const respond = (status: number, value: unknown): WireResponse => jsonResponse(status, value, 'application/json');

const errorResponse = (status: number, code: string, message: string): WireResponse => {
  const response = respond(status, { Message: message });
  return { ...response, headers: { ...response.headers, 'x-amzn-errortype': code } };
};

const describeSchedule = ({ group, name, definition, createdAt }: Schedule) => ({
  ...definition,
  Arn: arns.schedule(group, name),
  GroupName: group,
  Name: name,
  CreationDate: createdAt / 1_000,
});

/** `onChange` is called after every write, so that the runner sets its timer again. */
export function scheduler(store: ScheduleStore, groups: ReadonlySet<string>, onChange: () => void): Service {
  function write(request: WireRequest, operation: string, name: ScheduleName): WireResponse {
    const definition = definitionShape.safeParse(jsonBody(request));
    if (!definition.success) return errorResponse(400, 'ValidationException', definition.error.message);
    if (!/^[0-9a-zA-Z-_.]{1,64}$/.test(name.name)) return errorResponse(400, 'ValidationException', `Invalid Name: ${name.name}`);
    if (!groups.has(name.group))
      return errorResponse(404, 'ResourceNotFoundException', `Schedule group ${name.group} does not exist.`);
    const existing = store.get(name);
    if (operation === 'CreateSchedule' && existing !== undefined) {
      return errorResponse(409, 'ConflictException', `Schedule ${name.name} already exists.`);
    }
    if (operation === 'UpdateSchedule' && existing === undefined) return notFound(name);
    const schedule = newSchedule(name, definition.data, Date.now());
    if (schedule === undefined)
      return errorResponse(400, 'ValidationException', `Invalid Schedule Expression ${definition.data.ScheduleExpression}.`);
    store.put(schedule);
    onChange();
    return respond(200, { ScheduleArn: arns.schedule(name.group, name.name) });
  }

  return {
    name: 'scheduler',
    parse(request): Operation | ReturnType<typeof unknownOperation> {
      const [, collection, encodedName] = request.path.split('/');
      const isList = encodedName === undefined || encodedName === '';
      const name = isList ? (request.method === 'GET' ? 'ListSchedules' : undefined) : operations[request.method];
      if (collection !== 'schedules' || name === undefined) return unknownOperation(`${request.method} ${request.path}`);
      const body = request.method === 'POST' || request.method === 'PUT' ? jsonBody(request) : undefined;
      const resource = isList ? arns.schedule('*', '*') : arns.schedule(groupOf(request, body), decodeURIComponent(encodedName));
      const requiredPermissions: RequiredPermission[] = [{ action: `scheduler:${name}`, resource }];
      const definition = definitionShape.safeParse(body);
      if (definition.success) {
        const context = { 'iam:passedtoservice': ['scheduler.amazonaws.com'] };
        requiredPermissions.push({ action: 'iam:PassRole', resource: definition.data.Target.RoleArn, context });
      }
      return { name, input: body, requiredPermissions };
    },
    async handle(request, operation) {
      if (operation.name === 'ListSchedules') {
        const found = store.list(request.query.get('ScheduleGroup') ?? undefined, request.query.get('NamePrefix') ?? '');
        return respond(200, { Schedules: found.map(describeSchedule) });
      }
      const name: ScheduleName = {
        group: groupOf(request, operation.input),
        name: decodeURIComponent(request.path.split('/')[2] ?? ''),
      };
      if (operation.name === 'CreateSchedule' || operation.name === 'UpdateSchedule') return write(request, operation.name, name);
      const schedule = store.get(name);
      if (schedule === undefined) return notFound(name);
      if (operation.name === 'GetSchedule') return respond(200, describeSchedule(schedule));
      store.delete(name);
      onChange();
      return respond(200, {});
    },
    toErrorResponse: ({ status, code, message }) => errorResponse(code === 'AccessDeniedException' ? 403 : status, code, message),
  };
}

const notFound = ({ name }: ScheduleName): WireResponse =>
  errorResponse(404, 'ResourceNotFoundException', `Schedule ${name} does not exist.`);

const templateOrigin = 'stepwell:from-template';

export function deploySchedules(template: Template, store: ScheduleStore, now: number): void {
  for (const existing of store.list(undefined, ''))
    if (existing.definition['GroupOrigin'] === templateOrigin) store.delete(existing);
  for (const { logicalId, name, properties } of template.of('AWS::Scheduler::Schedule')) {
    const definition = definitionShape.safeParse({ ...properties, GroupOrigin: templateOrigin });
    if (!definition.success)
      throw new TemplateError(`${logicalId}: the schedule is not valid: ${z.prettifyError(definition.error)}`);
    const group = z.string().default('default').parse(properties['GroupName']);
    const schedule = newSchedule({ group, name }, definition.data, now);
    if (schedule === undefined) throw new TemplateError(`${logicalId}: ${definition.data.ScheduleExpression} is not valid`);
    store.put(schedule);
  }
}
