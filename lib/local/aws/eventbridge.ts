/** EventBridge: accepts PutEvents, passes the events to the rules, and stores the last events for inspection. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { arns, lastPart } from '../aws-environment.ts';
import { jsonBody, jsonErrorResponse, jsonResponse, targetOperation, unknownOperation, type Service } from './wire.ts';

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
