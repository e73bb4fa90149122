/** Schemas that many bodies share. Ids and times are parsed to their branded types. */
import * as z from 'zod';
import { type AnyRunId, externalRunIdPattern, parseExternalRunId } from '../../engine/external/run.ts';
import { queueNamespacePattern } from '../../engine/bundle/message.ts';
import * as ids from '../../engine/ids.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type Instant, instant } from '../../engine/time.ts';

const stringMatching = (pattern: RegExp, what: string) => z.string().regex(pattern, `must be ${what}: ${pattern.source}`);

export const projectId = stringMatching(ids.projectIdPattern, 'a project id').transform(ids.projectId);
export const environment = stringMatching(ids.environmentPattern, 'an environment').transform(ids.environment);
export const keyId = stringMatching(ids.keyIdPattern, 'a key id').transform(ids.keyId);
export const embedId = stringMatching(ids.embedIdPattern, 'an embed id').transform(ids.embedId);
export const signalId = stringMatching(ids.signalIdPattern, 'a signal id').transform(ids.signalId);
export const scheduleId = stringMatching(ids.scheduleIdPattern, 'a schedule id').transform(ids.scheduleId);
export const runId = stringMatching(ids.runIdPattern, 'a run id').transform(ids.runId);
/** Of any run: the id of an external-worker run is the UUID that its program shows. */
export const anyRunId = stringMatching(
  new RegExp(`${ids.runIdPattern.source}|${externalRunIdPattern.source}`),
  'the id of a run',
).transform((text): AnyRunId => parseExternalRunId(text) ?? ids.runId(text));
export const correlationId = stringMatching(ids.correlationIdPattern, 'a correlation id').transform(ids.correlationId);
export const nodeId = stringMatching(ids.nodeIdPattern, 'a node id').transform(ids.nodeId);
/** Of a node in a loop. */
export const iterationKey = z
  .string()
  .min(1)
  .max(1_024)
  .regex(ids.iterationKeyPattern, 'must be the key of an iteration, such as lines[3]')
  .transform(ids.iterationKey);
export const workflowName = stringMatching(ids.workflowNamePattern, 'a workflow name').transform(ids.workflowName);
/** Also the name of a workflow of the Workflow DevKit. */
export const anyWorkflowName = stringMatching(ids.anyWorkflowNamePattern, 'a workflow name').transform((name) =>
  ids.devKitNamePattern.test(name) ? ids.devKitName(name) : ids.workflowName(name),
);
export const queryName = stringMatching(ids.queryNamePattern, 'a name of a query').transform(ids.queryName);
export const deploymentId = stringMatching(ids.deploymentIdPattern, 'a deployment id').transform(ids.deploymentId);
export const queueNamespace = z
  .string()
  .regex(queueNamespacePattern, 'must be lowercase letters and digits, after a letter')
  .meta({ description: 'WORKFLOW_QUEUE_NAMESPACE of the app' });
export const appName = stringMatching(ids.appNamePattern, 'a name of an app').transform(ids.appName);
/** Selects an app; a request needs it only where several are active. */
export const appQuery = z.strictObject({
  app: appName.exactOptional().meta({ description: 'required if several apps have an active deployment' }),
});

/** Any JSON value. The body was parsed as JSON, so only its absence is checked. */
export const json = z.custom<JsonValue>((value) => value !== undefined, 'is required').meta({ description: 'any JSON value' });
export const jsonObject = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must be an object')
  .meta({ override: { type: 'object' } });

/** A time in a request, with an offset. */
export const timestampInput = z.iso
  .datetime({ offset: true, error: 'must be a time of RFC 3339, such as 2026-01-31T12:00:00Z' })
  .transform((value): Instant => instant(Date.parse(value)));
/** A time in a cursor, limited to the years whose ISO text sorts by time. */
export const cursorTime = z.int().min(0).max(253_402_300_799_999).transform(instant);
/** A time in a response, in UTC. */
export const utcTimestamp = z.string().meta({ format: 'date-time' });

/** Page size of most lists. */
export const pageSize = { standard: 50, max: 100 } as const;
export const limit = z.coerce.number().int().min(1).max(pageSize.max);
/** Page size of events and tags, which are small. */
export const eventPageSize = { standard: 200, max: 1_000 } as const;
export const eventLimit = z.coerce.number().int().min(1).max(eventPageSize.max).default(eventPageSize.standard);
export const cursor = z.string().min(1).max(2_048);

export const page = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({
    data: z.array(row).readonly(),
    cursor: z.string().nullable().meta({ description: 'the cursor of the next page; null at the end' }),
    hasMore: z.boolean().meta({
      description: 'more rows may match after the cursor; with selective filters a page can be empty although more rows follow',
    }),
  });

/** Of a response that has data of runs, where its route lists `payloads`. */
export const payloadsHidden = {
  payloadsHidden: z.literal(true).exactOptional().meta({
    description:
      'the caller lacks `payloads:read`: data of runs is absent, and texts that must be there say that they are hidden',
  }),
};

/** Why a run or a node failed. */
export const failure = z
  .strictObject({
    code: z.string(),
    cause: z.string(),
    message: z.string(),
    details: jsonObject.exactOptional(),
  })
  .meta({ id: 'Failure' });
