/**
 * Schemas of the routes that the World of the Workflow DevKit uses. Bodies and answers are JSON with tags for bytes and times
 * (`lib/world/tagged-json.ts`).
 */
import * as z from 'zod';
import { queueNamePattern } from '../../engine/bundle/message.ts';
import { runStatuses } from '../../engine/log/head.ts';
import { deploymentId, json, jsonObject, queueNamespace } from './parts.ts';
import { eventParams, worldEvent } from './world-event.ts';

/** The longest delay that the DevKit asks for; the code asks again after it. */
export const maxMessageDelaySeconds = 86_400;
/** The largest page of the DevKit. */
const maxPageSize = 1_000;
const maxNameLength = 512;

const id = z.string().min(1).max(maxNameLength);
const resolveData = z.enum(['all', 'none']);
const resolve = { resolveData: resolveData.nullish().meta({ description: '`none` leaves out what the code serialized' }) };
const pagination = z
  .looseObject({
    limit: z.int().min(1).max(maxPageSize).nullish(),
    cursor: z.string().nullish(),
    sortOrder: z.enum(['asc', 'desc']).nullish(),
  })
  .nullish();
export type WorldPagination = z.output<typeof pagination>;

export const createEventBody = z
  .strictObject({ runId: z.string().nullable(), data: worldEvent, params: eventParams })
  .meta({ id: 'CreateWorldEvent' });
export const createBatchBody = z
  .strictObject({
    runId: id,
    events: z.array(z.looseObject({ data: worldEvent, params: eventParams })).min(1),
    params: z.looseObject(resolve).nullish(),
  })
  .meta({ id: 'CreateWorldEventBatch' });
export const listEventsBody = z.strictObject({ runId: id, pagination, ...resolve });
export const listByCorrelationBody = z.strictObject({ correlationId: id, runId: id.nullish(), pagination, ...resolve });
export const getEventBody = z.strictObject({ runId: id, eventId: id, ...resolve });
export const listRunsBody = z.strictObject({
  workflowName: z.string().nullish(),
  status: z.union([z.enum(runStatuses), z.array(z.enum(runStatuses))]).nullish(),
  pagination,
  ...resolve,
});
export const listOfRunBody = z.strictObject({ runId: id, pagination, ...resolve });
export const listHooksBody = z.strictObject({ runId: id.nullish(), pagination, ...resolve });

export const resolveQuery = z.strictObject({ resolveData: resolveData.exactOptional() });
export const stepQuery = z.strictObject({ runId: id, resolveData: resolveData.exactOptional() });
export const runParams = z.strictObject({ runId: id });
export const stepParams = z.strictObject({ stepId: id });
export const hookParams = z.strictObject({ hookId: id });
/** A token is arbitrary text. */
export const tokenParams = z.strictObject({
  token: z
    .string()
    .min(1)
    .max(maxNameLength * 4),
});

export const resumeHookBody = z
  .strictObject({
    token: tokenParams.shape.token,
    payload: json.exactOptional().meta({ description: 'plain JSON, which the workflow receives; absent: null' }),
  })
  .meta({ id: 'ResumeHook' });
export const resumedHookResponse = z.strictObject({ runId: z.string(), hookId: z.string() });

const maxChunks = 1_000;
export const writeStreamBody = z
  .strictObject({
    runId: id,
    name: id,
    chunks: z.array(json).max(maxChunks).meta({ description: 'bytes as `{ "$bytes": "<base64>" }`, or text' }),
  })
  .meta({ id: 'WriteWorldStream' });
export const closeStreamBody = z.strictObject({ runId: id, name: id });
export const readChunksBody = z.strictObject({
  runId: id.nullish(),
  name: id,
  limit: z.int().min(1).max(maxPageSize).nullish(),
  cursor: z.string().nullish(),
});
export const streamInfoBody = z.strictObject({ runId: id.nullish(), name: id });
export const readStreamQuery = z.strictObject({
  name: id,
  runId: id.exactOptional(),
  startIndex: z.coerce
    .number()
    .int()
    .exactOptional()
    .meta({ description: 'a negative index counts from the present end, and begins at the first chunk at most' }),
  limit: z.coerce.number().int().min(1).max(maxPageSize).exactOptional(),
});
export const streamsQuery = z.strictObject({ runId: id });

export const createUploadBody = z
  .strictObject({
    runId: id,
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex')
      .meta({ description: 'of the bytes' }),
    bytes: z.int().min(1).meta({ description: 'the number of bytes' }),
  })
  .meta({ id: 'CreateWorldUpload' });
export const createdUploadResponse = z.strictObject({
  upload: z.strictObject({
    method: z.literal('PUT'),
    url: z.string(),
    headers: z.record(z.string(), z.string()).meta({ description: 'send exactly these' }),
    expiresAt: z.strictObject({ $date: z.string() }),
  }),
});

export const encryptionKeyBody = z.strictObject({ runId: id });
export const encryptionKeyResponse = z.strictObject({ key: jsonObject.nullable() });

export const registerAppBody = z
  .strictObject({
    baseUrl: z.string().min(1).max(2_048),
    app: z.string().max(maxNameLength).exactOptional(),
    sdk: z.string().max(maxNameLength).exactOptional(),
    specVersion: z.int().exactOptional(),
    queueNamespace: queueNamespace.exactOptional(),
  })
  .meta({ id: 'RegisterWorldApp' });
export const registeredAppResponse = z.strictObject({
  deploymentId: z.string().meta({ description: 'stands in the place of a deployment' }),
  secret: z.string().meta({ description: 'signs the deliveries to the application' }),
});

export const publishBody = z
  .strictObject({
    queueName: z
      .string()
      .regex(queueNamePattern, 'must be __wkf_workflow_<name> or __wkf_step_<name>')
      .meta({ description: '`__wkf_workflow_<name>` or `__wkf_step_<name>`, also with a namespace' }),
    message: jsonObject.meta({ description: 'contains the id of its run as `runId` or `workflowRunId`' }),
    opts: z
      .strictObject({
        deploymentId: deploymentId.exactOptional(),
        idempotencyKey: z
          .string()
          .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
          .exactOptional()
          .meta({ description: 'calls with the same key send one message; without a key each call sends one' }),
        delaySeconds: z.number().min(0).max(maxMessageDelaySeconds).exactOptional(),
        headers: z.record(z.string(), z.string()).exactOptional(),
        specVersion: z.int().exactOptional(),
      })
      .exactOptional(),
  })
  .meta({ id: 'PublishMessage' });
export const publishedMessageResponse = z.strictObject({ messageId: z.string() });
export const worldDeploymentResponse = z.strictObject({ deploymentId: z.string() });

/** An answer in the form of the DevKit's own types. */
const answered = z.custom<object>((value) => typeof value === 'object' && value !== null);
export const worldAnswer = answered.meta({ override: { type: 'object' } });
export const worldPage = answered.meta({
  override: {
    type: 'object',
    properties: { data: { type: 'array' }, cursor: { type: ['string', 'null'] }, hasMore: { type: 'boolean' } },
  },
});
export const worldChunks = answered.meta({
  override: {
    type: 'object',
    properties: {
      data: { type: 'array' },
      cursor: { type: ['string', 'null'], description: 'the index of the next chunk' },
      hasMore: { type: 'boolean' },
      done: { type: 'boolean', description: 'nothing follows the chunks of this page' },
    },
  },
});
export const worldList = answered.meta({ override: { type: 'array' } });
