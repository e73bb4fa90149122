/** The OpenAPI document passes the recommended rules of Redocly without an error or a warning, and has its examples. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import examples from '../../lib/api/examples.json' with { type: 'json' };
import { type ApiExamples, openApiDocument } from '../../lib/api/openapi.ts';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';

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

test('each error has an example with its code and what to do next', () => {
  const { paths } = openApiDocument(routes, all);
  const refused = paths?.['/v1/deployments/{deploymentId}/deactivate']?.post?.responses?.['409'];
  expect(refused).toMatchObject({
    content: {
      'application/json': {
        examples: {
          workflows_in_use: { value: { code: 'workflows_in_use', recovery: expect.stringContaining('allowRemoval') } },
        },
      },
    },
  });
});
