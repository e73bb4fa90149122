/** A published query version as it is stored. */
import * as z from 'zod';
import {
  type AuroraQuery,
  type HttpQuery,
  type PostgresQuery,
  type QueryRequest,
  type QueryVersion,
  queryKinds,
} from '../engine/query/definition.ts';
import { argument } from './definition.ts';
import { jsonObject, jsonValue } from './events.ts';
import { exactly } from './exact.ts';
import { durationMs, queryName } from './ids.ts';

export const queryKind = z.enum(queryKinds);

const common = {
  name: queryName,
  version: z.int().min(1),
  description: z.string().exactOptional(),
  parameters: z.array(argument).readonly(),
  maxBytes: z.number(),
  timeoutMs: durationMs,
  connection: z.string(),
};

const sql = { ...common, statement: z.string(), readOnly: z.boolean(), maxRows: z.number() };

const postgres = exactly<PostgresQuery & { readonly version: number }>()(z.strictObject({ ...sql, kind: z.literal('postgres') }));
const aurora = exactly<AuroraQuery & { readonly version: number }>()(z.strictObject({ ...sql, kind: z.literal('aurora') }));

const request = exactly<QueryRequest>()(
  z.strictObject({
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    path: z.string(),
    query: jsonObject,
    headers: z.record(z.string(), z.string()),
    body: jsonValue,
  }),
);

const http = exactly<HttpQuery & { readonly version: number }>()(z.strictObject({ ...common, kind: z.literal('http'), request }));

export const queryVersion: z.ZodType<QueryVersion> = z.discriminatedUnion('kind', [postgres, http, aurora]);
