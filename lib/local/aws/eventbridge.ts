/** EventBridge: checks the entries of PutEvents, stores the last events for inspection, and delivers them by the rules of their bus. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { arns, lastPart } from '../aws-environment.ts';
import type { ObjectEvents } from './s3.ts';
import { type Service, jsonBody, jsonErrorResponse, jsonResponse, targetOperation, unknownOperation } from './wire.ts';
import type { Forward } from '../emulators/forward.ts';
import type { BusEvent } from '../events/bus-event.ts';
import { createDelivery } from '../events/delivery.ts';
import { createObjectEvents, readNotifyingBuckets } from '../events/object-events.ts';
import { isRecord } from '../events/pattern-values.ts';
import { readRules } from '../events/rules.ts';
import { createQueueClient } from '../pollers/queue-client.ts';
import type { Recorder } from '../recorder.ts';
import type { Template } from '../template/template.ts';

const entryShape = z.looseObject({
  EventBusName: z.string().default('default'),
  Source: z.string().optional(),
  DetailType: z.string().optional(),
  Detail: z.string().optional(),
  Resources: z.array(z.string()).default([]),
  /** in seconds since the epoch */
  Time: z.number().optional(),
});
const inputShape = z.looseObject({ Entries: z.array(entryShape).min(1).max(10) });
type Entry = z.infer<typeof entryShape>;

/** How many of the last events are stored. */
const maxRecentEvents = 1_000;
/** EventBridge's limit for the entries of one request, in bytes. */
const maxRequestBytes = 1024 * 1024;
/** The size of an entry's `Time`, in bytes. */
const timeBytes = 14;
/** EventBridge accepts an event with a longer type and then drops it. Here its sender gets an error. */
const maxDetailTypeLength = 128;

/** https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html */
const sizeOf = ({ Time, Source = '', DetailType = '', Detail = '', Resources }: Entry): number =>
  [Source, DetailType, Detail, ...Resources].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    Time === undefined ? 0 : timeBytes,
  );

interface EntryError {
  readonly ErrorCode: string;
  readonly ErrorMessage: string;
}

const invalidArgument = (name: string, reason: string): EntryError => ({
  ErrorCode: 'InvalidArgument',
  ErrorMessage: `Parameter ${name} is not valid. Reason: ${reason}`,
});

const malformedDetail: EntryError = { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };

function parseDetail(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const detail: unknown = JSON.parse(text);
    return isRecord(detail) ? detail : undefined;
  } catch {
    return undefined;
  }
}

type NewEvent = Omit<BusEvent, 'id'>;

/** The event of an entry, or why EventBridge refuses it. */
function eventOf({ EventBusName, Source, DetailType, Detail, Resources, Time }: Entry): NewEvent | EntryError {
  const missing = Object.entries({ Source, DetailType, Detail }).find(([, value]) => value === undefined || value === '');
  if (missing !== undefined) return invalidArgument(missing[0], `${missing[0]} is a required argument.`);
  const [source = '', detailType = '', detailText = ''] = [Source, DetailType, Detail];
  if (source.startsWith('aws.'))
    return { ErrorCode: 'NotAuthorizedForSourceException', ErrorMessage: 'Not authorized for the source.' };
  if (detailType.length > maxDetailTypeLength)
    return invalidArgument('DetailType', `DetailType is longer than ${maxDetailTypeLength} characters.`);
  const detail = parseDetail(detailText);
  if (detail === undefined) return malformedDetail;
  const at = Time === undefined ? new Date() : new Date(Time * 1_000);
  if (Number.isNaN(at.getTime())) return invalidArgument('Time', 'it is no timestamp.');
  return { bus: lastPart(EventBusName), source, detailType, detail, resources: Resources, at };
}

export interface EventBuses {
  readonly service: Service;
  /** Puts events of S3 on the default bus. */
  readonly objects: ObjectEvents;
  /** the oldest first */
  readonly recent: () => readonly BusEvent[];
  /** Ends the retries of deliveries. */
  readonly stop: () => Promise<void>;
}

/** @param deliver applies the rules of the event's bus. It never rejects. */
export function eventBridge(
  busNames: ReadonlySet<string>,
  deliver: (event: BusEvent) => Promise<void> = async () => undefined,
): Pick<EventBuses, 'service' | 'recent'> & { readonly publish: Parameters<typeof createObjectEvents>[1] } {
  const recent: BusEvent[] = [];

  /** Returns the id of the event. An acknowledged event is in the queues, or its delivery is being retried. */
  async function accept(accepted: NewEvent): Promise<string> {
    const event = { id: randomUUID(), ...accepted };
    // AWS accepts events for a bus that does not exist and drops them; so does this service.
    if (!busNames.has(event.bus)) return event.id;
    recent.push(event);
    if (recent.length > maxRecentEvents) recent.shift();
    await deliver(event);
    return event.id;
  }

  const service: Service = {
    name: 'events',
    parse(request) {
      const name = targetOperation(request);
      if (name !== 'PutEvents') return unknownOperation(name);
      const input = inputShape.safeParse(jsonBody(request));
      if (!input.success) return { code: 'ValidationException', message: input.error.message, status: 400 };
      if (input.data.Entries.reduce((sum, entry) => sum + sizeOf(entry), 0) > maxRequestBytes) {
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
      const Entries: (EntryError | { readonly EventId: string })[] = [];
      for (const entry of inputShape.parse(input).Entries) {
        const event = eventOf(entry);
        Entries.push('ErrorCode' in event ? event : { EventId: await accept(event) });
      }
      const FailedEntryCount = Entries.filter((result) => 'ErrorCode' in result).length;
      return jsonResponse(200, { FailedEntryCount, Entries }, 'application/x-amz-json-1.1');
    },
    toErrorResponse: (error) => jsonErrorResponse('', error, 'application/x-amz-json-1.1'),
  };
  return {
    service,
    publish: async (event) => void (await accept({ ...event, bus: 'default', at: new Date() })),
    recent: () => [...recent],
  };
}

interface EventParts {
  readonly template: Template;
  /** SQS */
  readonly queues: Forward;
  readonly recorder: Recorder;
  readonly warn: (line: string) => void;
  readonly deliversTwice?: boolean | undefined;
}

/** The buses of the template with their rules. */
export function createEventBuses({ template, queues, recorder, warn, deliversTwice }: EventParts): EventBuses {
  const client = createQueueClient(queues, recorder, 'rules');
  const { deliver, stop } = createDelivery({ rules: readRules(template), queues: client, warn, deliversTwice });
  const busNames = new Set(['default', ...template.of('AWS::Events::EventBus').map(({ name }) => name)]);
  const { service, publish, recent } = eventBridge(busNames, deliver);
  return { service, recent, stop, objects: createObjectEvents(readNotifyingBuckets(template), publish) };
}
