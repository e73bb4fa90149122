/**
 * EventBridge: accepts PutEvents, applies the rules and stores the last events for inspection. Rules route events to queues
 * (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html). Only patterns of plain values and targets that are
 * queues are supported; a template with another rule does not start.
 */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { arns, awsEnvironment, lastPart } from '../aws-environment.ts';
import { type Service, jsonBody, jsonErrorResponse, jsonResponse, targetOperation, unknownOperation } from './wire.ts';
import type { Forward } from '../emulators/forward.ts';
import { createQueueClient, type QueueClient } from '../pollers/queue-client.ts';
import type { Recorder } from '../recorder.ts';
import { queueUrlsOf, type Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';

const entryShape = z.looseObject({
  EventBusName: z.string().default('default'),
  Source: z.string().optional(),
  DetailType: z.string().optional(),
  Detail: z.string().optional(),
});
const inputShape = z.looseObject({ Entries: z.array(entryShape).min(1).max(10) });

export interface BusEvent {
  readonly bus: string;
  readonly source: string;
  readonly detailType: string;
  readonly detail: unknown;
  readonly at: Date;
}

/** How many of the last events are stored. */
const maxRecentEvents = 1_000;
/** EventBridge's limit for one request, in bytes. */
const maxRequestBytes = 1024 * 1024;

type Result = { readonly EventId: string } | { readonly ErrorCode: string; readonly ErrorMessage: string };

export interface EventBuses {
  readonly service: Service;
  /** the oldest first */
  readonly recent: () => readonly BusEvent[];
}

/** @param onEvent is called for each event, and applies the rules of its bus */
export function eventBridge(busNames: ReadonlySet<string>, onEvent: (event: BusEvent) => void = () => undefined): EventBuses {
  const recent: BusEvent[] = [];

  function accept(entry: z.infer<typeof entryShape>): Result {
    const { Source, DetailType, Detail } = entry;
    const bus = lastPart(entry.EventBusName);
    if (Source === undefined || DetailType === undefined || Detail === undefined) {
      return {
        ErrorCode: 'InvalidArgument',
        ErrorMessage: 'Parameter Source, DetailType or Detail is not valid. Reason: it is required.',
      };
    }
    let detail: unknown;
    try {
      detail = JSON.parse(Detail);
    } catch {
      return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
    }
    // AWS accepts events for a bus that does not exist and drops them; so does this service.
    if (busNames.has(bus)) {
      const event = { bus, source: Source, detailType: DetailType, detail, at: new Date() };
      recent.push(event);
      onEvent(event);
    }
    if (recent.length > maxRecentEvents) recent.shift();
    return { EventId: randomUUID() };
  }

  const service: Service = {
    name: 'events',
    parse(request) {
      const name = targetOperation(request);
      if (name !== 'PutEvents') return unknownOperation(name);
      const input = inputShape.safeParse(jsonBody(request));
      if (!input.success) return { code: 'ValidationException', message: input.error.message, status: 400 };
      if (request.body.length > maxRequestBytes) {
        return {
          code: 'ValidationException',
          message: 'Total size of the entries in the request is over the limit.',
          status: 400,
        };
      }
      const buses = new Set(input.data.Entries.map(({ EventBusName }) => lastPart(EventBusName)));
      return {
        name,
        input: input.data,
        requiredPermissions: [...buses].map((bus) => ({ action: 'events:PutEvents', resource: arns.eventBus(bus) })),
      };
    },
    async handle(_request, { input }) {
      const results = inputShape.parse(input).Entries.map(accept);
      const FailedEntryCount = results.filter((result) => 'ErrorCode' in result).length;
      return jsonResponse(200, { FailedEntryCount, Entries: results }, 'application/x-amz-json-1.1');
    },
    toErrorResponse: (error) => jsonErrorResponse('', error, 'application/x-amz-json-1.1'),
  };
  return { service, recent: () => [...recent] };
}

const values = z.array(z.string()).min(1);
const ruleShape = z.looseObject({
  EventBusName: z.string().default('default'),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
  EventPattern: z.strictObject({
    source: values.exactOptional(),
    'detail-type': values.exactOptional(),
    detail: z.record(z.string(), values).default({}),
  }),
  Targets: z.array(z.strictObject({ Arn: z.string(), Id: z.string() })).min(1),
});

const statement = z.looseObject({
  Effect: z.literal('Allow'),
  Action: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
  Principal: z.looseObject({ Service: z.literal('events.amazonaws.com') }),
});
const policyShape = z.looseObject({
  Queues: z.array(z.string()),
  PolicyDocument: z.looseObject({ Statement: z.array(z.unknown()) }),
});

interface Rule {
  readonly bus: string;
  readonly pattern: z.output<typeof ruleShape>['EventPattern'];
  /** URLs of queues */
  readonly urls: readonly string[];
}

export function readRules(template: Template, queueUrlOf: (arn: string) => string | undefined): readonly Rule[] {
  const permittedQueues = new Set(
    template.of('AWS::SQS::QueuePolicy').flatMap(({ properties }) => {
      const { Queues, PolicyDocument } = policyShape.parse(properties);
      const allowsEventBridge = PolicyDocument.Statement.some(
        (one) => statement.safeParse(one).data?.Action.includes('sqs:SendMessage') === true,
      );
      return allowsEventBridge ? Queues : [];
    }),
  );
  return template.of('AWS::Events::Rule').flatMap(({ logicalId, properties }) => {
    const parsed = ruleShape.safeParse(properties);
    if (!parsed.success) throw new TemplateError(`${logicalId}: the rule is not valid: ${z.prettifyError(parsed.error)}`);
    const { EventBusName, State, EventPattern, Targets } = parsed.data;
    const urls = Targets.map(({ Arn }) => {
      const url = queueUrlOf(Arn);
      if (url === undefined) throw new TemplateError(`${logicalId}: the target ${Arn} is no queue of a stack`);
      if (!permittedQueues.has(url))
        throw new TemplateError(`${logicalId}: no policy of the queue ${Arn} allows EventBridge to send to it`);
      return url;
    });
    return State === 'ENABLED' ? [{ bus: lastPart(EventBusName), pattern: EventPattern, urls }] : [];
  });
}

const detailShape = z.looseObject({});

function matchesEvent({ bus, pattern }: Rule, event: BusEvent): boolean {
  const detail = detailShape.safeParse(event.detail).data ?? {};
  return (
    bus === event.bus &&
    (pattern.source?.includes(event.source) ?? true) &&
    (pattern['detail-type']?.includes(event.detailType) ?? true) &&
    Object.entries(pattern.detail).every(([key, expectedValues]) => expectedValues.some((value) => value === detail[key]))
  );
}

/** Sends the event to the queues of the matching rules, in EventBridge's envelope. */
export async function deliverEvent(rules: readonly Rule[], queues: Pick<QueueClient, 'send'>, event: BusEvent): Promise<void> {
  const urls = rules.filter((rule) => matchesEvent(rule, event)).flatMap((rule) => rule.urls);
  const envelope = JSON.stringify({
    version: '0',
    id: randomUUID(),
    'detail-type': event.detailType,
    source: event.source,
    account: awsEnvironment.account,
    time: event.at.toISOString(),
    region: awsEnvironment.region,
    resources: [],
    detail: event.detail,
  });
  await Promise.all(urls.map((url) => queues.send(url, envelope, undefined)));
}

interface EventParts {
  readonly template: Template;
  /** SQS */
  readonly queues: Forward;
  readonly recorder: Recorder;
  readonly warn: (line: string) => void;
}

/** The buses of the template with their rules. */
export function createEventBuses({ template, queues, recorder, warn }: EventParts): EventBuses {
  const rules = readRules(template, queueUrlsOf(template));
  const client = createQueueClient(queues, recorder, 'rules');
  const busNames = new Set(['default', ...template.of('AWS::Events::EventBus').map(({ name }) => name)]);
  return eventBridge(busNames, (event) => {
    deliverEvent(rules, client, event).catch((error: unknown) =>
      warn(`an event could not be delivered to the targets of its rules: ${String(error)}`),
    );
  });
}
