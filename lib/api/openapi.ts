/** Builds the OpenAPI 3.1 document from the route table. */
import { defined } from '../base/defined.ts';
import { type ZodOpenApiOperationObject, type ZodOpenApiPathsObject, createDocument } from 'zod-openapi';
import * as z from 'zod';
import { type ErrorCode, errorCatalogue } from './errors.ts';
import { type Route, type RouteBody, errorsOf } from './route.ts';
import { errorResponse } from './schemas/service.ts';

export const openApiDocument = (routes: readonly Route[]) =>
  createDocument(
    {
      openapi: '3.1.0',
      info: { title: 'Stepwell', version: '1', description: 'Durable workflows in your own AWS account' },
      paths: pathsOf(routes),
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'sw_<environment>_<keyId>_<secret>' } },
      },
    },
    { allowEmptySchema: { custom: true } },
  );

const pathsOf = (routes: readonly Route[]): ZodOpenApiPathsObject => {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return paths;
};

const operation = (route: Route): ZodOpenApiOperationObject => ({
  operationId: route.operationId,
  summary: route.summary,
  security: route.scope === null ? [] : [{ key: [] }],
  ...(route.scope === null ? {} : { description: `Requires a key with the scope \`${route.scope}\`.` }),
  requestParams: defined({
    path: route.params,
    query: route.query,
    header: route.idempotencyKey === 'none' ? undefined : idempotencyHeaders[route.idempotencyKey],
  }),
  ...(route.body === undefined
    ? {}
    : {
        requestBody: {
          required: route.body.isOptional !== true,
          content: { 'application/json': { schema: route.body.schema }, ...formOf(route.body) },
        },
      }),
  ...(route.rawBody === undefined
    ? {}
    : {
        requestBody: {
          description: route.rawBody.description,
          content: { 'application/json': { schema: {} }, 'text/plain': { schema: {} } },
        },
      }),
  responses: {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, { description, schema }]) => [
        status,
        { description, content: { 'application/json': { schema }, ...(status === '200' ? streamOf(route) : {}) } },
      ]),
    ),
    ...(route.streams === undefined ? {} : { 204: { description: route.streams.noContentDescription } }),
    ...errorResponses(errorsOf(route)),
  },
});

const streamOf = ({ streams }: Route) =>
  streams === undefined ? {} : { 'text/event-stream': { schema: z.string().meta({ description: streams.description }) } };

const formOf = ({ schema, form }: RouteBody) =>
  form === undefined
    ? {}
    : {
        'multipart/form-data': {
          schema: z.strictObject({ [form.text]: schema, [form.file]: z.string().meta({ format: 'binary' }) }),
          encoding: { [form.text]: { contentType: 'application/json' }, [form.file]: { contentType: 'application/gzip' } },
        },
      };

const idempotencyKey = z.string().min(1).max(255);
const idempotencyHeaders = {
  required: z.object({ 'Idempotency-Key': idempotencyKey }),
  optional: z.object({ 'Idempotency-Key': idempotencyKey.exactOptional() }),
};

const errorResponses = (codes: readonly ErrorCode[]) => {
  const byStatus = Map.groupBy(codes, (code) => errorCatalogue[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codesOfStatus]) => [
      String(status),
      {
        description: codesOfStatus.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join(' '),
        content: { 'application/json': { schema: errorResponse } },
      },
    ]),
  );
};
