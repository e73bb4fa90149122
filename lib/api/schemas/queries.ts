/** Schemas for stored queries. They check the form; the service validates how the parts fit together. */
import * as z from 'zod';
import { queryKinds, queryLimits } from '../../engine/query/definition.ts';
import { durationMs } from '../../engine/time.ts';
import { json, jsonObject, page, queryName } from './parts.ts';
import { summaryFields } from './versions.ts';
import { argument } from './workflows.ts';

const request = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  path: z.string().max(2_048).default('').meta({ description: 'the path after the base address: `/orders/:id`' }),
  query: jsonObject.default({}),
  headers: z.record(z.string().max(128), z.string().max(16_384)).default({}),
  body: json.default(null),
});

const queryFields = {
  kind: z.enum(queryKinds),
  description: z.string().max(4_096).exactOptional(),
  connection: z
    .string()
    .min(1)
    .max(2_048)
    .meta({ description: 'postgres: the name of a secret; aurora: the name of a configured database; http: the base address' }),
  statement: z.string().min(1).max(queryLimits.statementCharacters).exactOptional().meta({ description: 'SQL, with `:name`' }),
  readOnly: z.boolean().exactOptional().meta({ description: 'absent: true' }),
  request: request.exactOptional(),
  parameters: z.array(argument).max(queryLimits.parameters).default([]),
  maxRows: z.int().min(1).max(queryLimits.rows.max).exactOptional(),
  maxBytes: z.int().min(1).max(queryLimits.bytes.max).default(queryLimits.bytes.standard),
  timeoutMs: z.int().min(100).max(queryLimits.ms.max).default(queryLimits.ms.standard).transform(durationMs),
};

export const createQueryBody = z.strictObject({ name: queryName, ...queryFields }).meta({ id: 'CreateQuery' });
/** The name is optional, so that one document works for create and publish; it must equal the name in the path. */
export const publishQueryBody = z.strictObject({ name: queryName.exactOptional(), ...queryFields }).meta({ id: 'PublishQuery' });

export const queryParams = z.strictObject({ name: queryName });
const querySummaryFields = { ...summaryFields, kind: z.enum(queryKinds) };
export const queryList = page(z.strictObject(querySummaryFields).meta({ id: 'QuerySummary' }));
export const queryResponse = z
  .strictObject({
    ...querySummaryFields,
    version: z.int(),
    query: jsonObject.meta({ description: 'the published query, with its defaults' }),
  })
  .meta({ id: 'Query' });
