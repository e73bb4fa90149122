/** Bodies about stored queries. Unknown keys are refused with their place; whether the parts fit each other is judged behind the door. */
import * as z from 'zod';
import { queryKinds, queryLimits } from '../../engine/query/definition.ts';
import { durationMs } from '../../engine/time.ts';
import { cursor, json, jsonObject, limit, moment, page, queryName } from './parts.ts';

const parameter = z.strictObject({
  name: z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/, 'must be a name: letters, digits and _, not beginning with a digit'),
  type: z.enum(['string', 'number', 'boolean', 'object', 'array']),
  required: z.boolean().default(false),
  default: json.exactOptional(),
});

const request = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  path: z.string().max(2_048).default('').meta({ description: 'steps behind the connection: `/orders/:id`' }),
  query: jsonObject.default({}),
  headers: z.record(z.string().max(128), z.string().max(16_384)).default({}),
  body: json.default(null),
});

const terms = {
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
  parameters: z.array(parameter).max(queryLimits.parameters).default([]),
  maxRows: z.int().min(1).max(queryLimits.rows.most).exactOptional(),
  maxBytes: z.int().min(1).max(queryLimits.bytes.most).default(queryLimits.bytes.standard),
  timeoutMs: z.int().min(100).max(queryLimits.ms.most).default(queryLimits.ms.standard).transform(durationMs),
};

export const createQueryBody = z.strictObject({ name: queryName, ...terms }).meta({ id: 'CreateQuery' });
/** The name may be repeated, so that the same document serves both; it must be the path's. */
export const publishQueryBody = z.strictObject({ name: queryName.exactOptional(), ...terms }).meta({ id: 'PublishQuery' });

export const queryParams = z.strictObject({ name: queryName });
export const getQueryQuery = z.strictObject({ version: z.coerce.number().int().min(1).exactOptional() });
export const listQueriesQuery = z.strictObject({
  limit: limit.default(50),
  cursor: cursor.exactOptional(),
  archived: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
});

const finding = z.strictObject({
  severity: z.enum(['error', 'warning']),
  code: z.string(),
  place: z.string(),
  message: z.string(),
});
export const publishedQueryAnswer = z.strictObject({
  name: z.string(),
  version: z.int(),
  createdAt: moment,
  warnings: z.array(finding).readonly(),
});
export const archivedQueryAnswer = z.strictObject({ name: z.string(), archivedAt: moment });

const kind = z.enum(queryKinds);
const summary = {
  name: z.string(),
  kind,
  latestVersion: z.int(),
  createdAt: moment,
  updatedAt: moment,
  archivedAt: moment.exactOptional(),
};
export const queryList = page(z.strictObject(summary).meta({ id: 'QuerySummary' }));
export const queryAnswer = z
  .strictObject({
    ...summary,
    version: z.int(),
    query: jsonObject.meta({ description: 'as it was published, with its defaults' }),
  })
  .meta({ id: 'Query' });
