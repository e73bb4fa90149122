/** The OpenAPI document passes the recommended rules of Redocly without an error or a warning, and has its examples. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import examples from '../../lib/api/examples.json' with { type: 'json' };
import { type ApiExamples, openApiDocument } from '../../lib/api/openapi.ts';
import { errorCatalogue, errorCodes } from '../../lib/api/errors.ts';
import { type Route, errorsOf } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { errorResponse } from '../../lib/api/schemas/service.ts';

const all: ApiExamples = examples;
const documents: readonly Route[] = routes;
/** Its response is the document itself. */
const withoutExample = ['getOpenApi'];

test('redocly reports nothing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(openApiDocument(routes, all)));
  const redocly = fileURLToPath(new URL('bin/cli.js', import.meta.resolve('@redocly/cli/package.json')));
  const printed = execFileSync(process.execPath, [redocly, 'lint', file, '--format=json'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(JSON.parse(printed)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
});

test.each(
  documents
    .filter(({ operationId }) => !withoutExample.includes(operationId))
    .map((route) => [route.operationId, route] as const),
)('%s has an example of its response, and of a body that it requires', (operationId, { body, responses }) => {
  const { request, response } = all[operationId] ?? {};
  expect(Object.values(responses).some(({ schema }) => schema.safeParse(response).success)).toBe(true);
  if (body !== undefined && body.isOptional !== true) expect(body.schema.safeParse(request).error).toBeUndefined();
});

const documentShape = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        responses: z.record(
          z.string(),
          z.object({
            content: z
              .object({
                'application/json': z
                  .object({ examples: z.record(z.string(), z.object({ value: z.unknown() })).optional() })
                  .optional(),
              })
              .optional(),
          }),
        ),
      }),
    ),
  ),
});

describe('the document', () => {
  const { paths } = documentShape.parse(JSON.parse(JSON.stringify(openApiDocument(routes, all))));

  test.each(documents.map((route) => [route.operationId, route] as const))(
    '%s has an example of each of its errors, which its schema accepts',
    (_operationId, route) => {
      const responses = paths[route.path]?.[route.method.toLowerCase()]?.responses ?? {};
      for (const code of errorsOf(route)) {
        const { status, message, ...entry } = errorCatalogue[code];
        const example = responses[status]?.content?.['application/json']?.examples?.[code]?.value;
        expect(errorResponse.safeParse(example).error).toBeUndefined();
        expect(example).toMatchObject({ code, message, ...('recovery' in entry ? { recovery: entry.recovery } : {}) });
      }
    },
  );

  test('has every code of the catalogue, except that of a method without an operation', () => {
    const documented = new Set(documents.flatMap((route) => errorsOf(route)));
    expect(errorCodes.filter((code) => !documented.has(code))).toEqual(['method_not_allowed']);
  });
});
