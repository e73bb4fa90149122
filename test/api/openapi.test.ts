/** The OpenAPI document, the route table and the router agree, and a difference is detected. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { errorCatalogue } from '../../lib/api/errors.ts';
import { appWebhookPath, openApiDocument } from '../../lib/api/openapi.ts';
import { type Route, errorsOf } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { http } from '../functions/http.ts';

const documentShape = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ operationId: z.string(), responses: z.record(z.string(), z.unknown()) })),
  ),
});
const read = (document: unknown) => documentShape.parse(JSON.parse(JSON.stringify(document)));

/** Without the webhooks of apps, which are no routes of the table. */
const documented = (document: unknown): readonly string[] =>
  Object.entries(read(document).paths)
    .filter(([path]) => path !== appWebhookPath)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId, responses }]) =>
          `${method.toUpperCase()} ${path} ${operationId} ${Object.keys(responses).toSorted().join(',')}`,
      ),
    );
const routeOperations = (table: readonly Route[]): readonly string[] =>
  table.map((route) => {
    const statuses = new Set([
      ...Object.keys(route.responses),
      ...(route.streams === undefined ? [] : ['204']),
      ...errorsOf(route).map((code) => String(errorCatalogue[code].status)),
    ]);
    return `${route.method} ${route.path} ${route.operationId} ${[...statuses].toSorted().join(',')}`;
  });
const differences = (table: readonly Route[], document: unknown): readonly string[] => {
  const [one, other] = [new Set(routeOperations(table)), new Set(documented(document))];
  return [...[...one].filter((line) => !other.has(line)), ...[...other].filter((line) => !one.has(line))];
};

test('the document contains exactly every route with every status', () => {
  expect(differences(routes, openApiDocument(routes))).toEqual([]);
});

test('a route that is missing on either side is detected', () => {
  const [, ...rest] = routes;
  expect(differences(routes, openApiDocument(rest))).toEqual(['GET /v1/health getHealth 200,403,500,503']);
  expect(differences(rest, openApiDocument(routes))).toEqual(['GET /v1/health getHealth 200,403,500,503']);
});

test('a webhook of an app is described with each method, and with the response of its workflow', () => {
  const operations = Object.entries(read(openApiDocument(routes)).paths[appWebhookPath] ?? {});
  expect(operations.map(([method]) => method)).toEqual(['get', 'head', 'options', 'post', 'put', 'patch', 'delete']);
  expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length);
  for (const [, { responses }] of operations)
    expect(Object.keys(responses)).toEqual(['202', '400', '404', '413', '503', 'default']);
});

test('a deployment can be sent as JSON or as a form with its archive', () => {
  const document = z.object({ paths: z.record(z.string(), z.looseObject({})) }).parse(openApiDocument(routes));
  expect(document.paths['/v1/deployments']).toMatchObject({
    post: {
      requestBody: {
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Manifest' } },
          'multipart/form-data': {
            schema: {
              properties: { manifest: { $ref: '#/components/schemas/Manifest' }, artifact: { type: 'string', format: 'binary' } },
              required: ['manifest', 'artifact'],
            },
          },
        },
      },
    },
  });
});

test('operation ids and pairs of method and path are unique', () => {
  for (const nameOf of [(route: Route) => route.operationId, (route: Route) => `${route.method} ${route.path}`]) {
    expect(new Set(routes.map(nameOf)).size).toBe(routes.length);
  }
});

describe('the running router', () => {
  const pathOf = (path: string): string =>
    path.replace('{runId}', 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV').replace('{name}', 'flow').replace('{keyId}', 'unknownkey');

  test.each(documented(openApiDocument(routes)))('serves %s', async (line) => {
    const [method = '', path = '', operationId] = line.split(' ');
    const api = http();
    const { operation } = await api.call(method, pathOf(path), { key: await api.key(['admin']) });
    expect(operation).toBe(operationId);
  });

  test('serves no undocumented route', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const knownRoutes = new Set(documented(openApiDocument(routes)).map((line) => line.split(' ').slice(0, 2).join(' ')));
    for (const path of new Set(routes.map((route) => route.path))) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
        if (knownRoutes.has(`${method} ${path}`)) continue;
        // A fixed segment can match the parameter of another route: `/v1/workflows/validate`.
        if (
          routes.some((route) => route.method === method && route.path.split('/{')[0] === path.split('/').slice(0, -1).join('/'))
        )
          continue;
        const { status, operation } = await api.call(method, pathOf(path), { key });
        expect([path, method, status, operation]).toEqual([path, method, 405, undefined]);
      }
    }
    for (const path of ['/', '/v1', '/v2/runs', '/v1/runs/a/b/c', '/v1/nothing']) {
      expect((await api.call('GET', path, { key })).status).toBe(404);
    }
  });

  test('serves the document with cache headers', async () => {
    const { body, headers } = await http().call('GET', '/v1/openapi.json');
    expect(differences(routes, body)).toEqual([]);
    expect(headers['cache-control']).toContain('public');
  });
});
