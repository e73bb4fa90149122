/** Builds the OpenAPI 3.1 document from the route table. */
import { defined } from '../base/defined.ts';
import { type ZodOpenApiOperationObject, type ZodOpenApiPathsObject, createDocument } from 'zod-openapi';
import * as z from 'zod';
import recordedExamples from './examples.json' with { type: 'json' };
import { type ErrorCode, errorCatalogue } from './errors.ts';
import { type Route, type RouteBody, errorsOf } from './route.ts';
import { errorResponse } from './schemas/service.ts';
import { secureSessionCookie } from './session-cookie.ts';
import { environmentPattern, projectIdPattern } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';

/** By operation: a request and its response. `npm run documents` takes them from docs/API.md. */
export type ApiExamples = Readonly<Record<string, { readonly request?: JsonValue; readonly response?: JsonValue }>>;

const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

/** The address depends on the installation. The default is the embedded cloud's first port. */
const servers = [
  {
    url: '{address}',
    description: 'Your installation',
    variables: {
      address: {
        default: 'http://127.0.0.1:4700',
        description: 'the output ApiUrl of the stack, or the address that the embedded cloud prints; without a slash at the end',
      },
    },
  },
];

/** By the first segment of a path below `/v1`. */
const tags: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  runs: { name: 'runs', description: 'Starts, shows, watches and controls runs' },
  workflows: { name: 'workflows', description: 'Publishes, validates and tests graph workflows' },
  lenses: { name: 'lenses', description: 'Prompt templates with contracts' },
  queries: { name: 'queries', description: 'Stored queries' },
  schedules: { name: 'schedules', description: 'Starts runs on a schedule' },
  signals: { name: 'signals', description: 'Sends signals to waiting runs' },
  deployments: { name: 'deployments', description: 'Deployments of code, and their apps' },
  apps: { name: 'deployments', description: 'Deployments of code, and their apps' },
  queue: { name: 'code', description: 'What deployed code calls' },
  world: { name: 'code', description: 'What deployed code calls' },
  sessions: { name: 'sessions', description: 'Signs people in to the console' },
  embeds: { name: 'embeds', description: 'The status of a run or workflow in pages of other sites' },
  installation: { name: 'installation', description: 'What was deployed' },
  catalogue: { name: 'installation', description: 'What was deployed' },
  session: { name: 'sessions', description: 'Signs people in to the console' },
  keys: { name: 'keys', description: 'API keys' },
  audit: { name: 'keys', description: 'API keys' },
  webhooks: { name: 'webhooks', description: 'Receives webhooks of other services' },
  health: { name: 'service', description: 'The service itself' },
  'openapi.json': { name: 'service', description: 'The service itself' },
};

const tagOf = ({ path }: Route): string => {
  const tag = tags[path.split('/')[2] ?? ''];
  invariant(tag !== undefined, () => `no tag for ${path}: add it in lib/api/openapi.ts`);
  return tag.name;
};

export const openApiDocument = (routes: readonly Route[], examples: ApiExamples = recordedExamples) =>
  createDocument(
    {
      openapi: '3.1.0',
      info: { title: 'Stepwell', version: '1', description: 'Durable workflows in your own AWS account', license },
      servers,
      tags: [...new Map(Object.values(tags).map((tag) => [tag.name, tag])).values()],
      paths: { ...pathsOf(routes, examples), ...appWebhookPaths },
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'sw_<environment>_<keyId>_<secret>' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: secureSessionCookie,
            description: 'Set by /v1/sessions, and accepted from pages of the same origin only',
          },
        },
      },
    },
    { allowEmptySchema: { custom: true } },
  );

const pathsOf = (routes: readonly Route[], examples: ApiExamples): ZodOpenApiPathsObject => {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operation(route, examples[route.operationId] ?? {}),
    };
  }
  return paths;
};

const operation = (route: Route, example: ApiExamples[string]): ZodOpenApiOperationObject => ({
  operationId: route.operationId,
  tags: [tagOf(route)],
  summary: route.summary,
  security: securityOf(route),
  ...(route.scope === null ? {} : { description: descriptionOf(route) }),
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
          content: { 'application/json': { schema: route.body.schema, ...exampleOf(example.request) }, ...formOf(route.body) },
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
        {
          description,
          content: {
            'application/json': {
              schema,
              ...exampleOf(schema.safeParse(example.response).success ? example.response : undefined),
            },
            ...(status === '200' ? streamOf(route) : {}),
          },
        },
      ]),
    ),
    ...(route.streams === undefined ? {} : { 204: { description: route.streams.noContentDescription } }),
    ...errorResponses(errorsOf(route)),
  },
});

const descriptionOf = ({ scope, credential, payloads = [] }: Route): string => {
  const required = `Requires a ${credential === 'session' ? 'session' : 'key'} with the scope \`${scope}\`.`;
  const hidden = payloads.map((path) => `\`${path}\``).join(', ');
  return hidden === '' ? required : `${required} Without \`payloads:read\`, the response hides ${hidden}.`;
};

/** The alternatives of what a caller presents. */
const securityOf = ({ scope, credential }: Route) => {
  if (scope === null) return [];
  const credentials: readonly ('key' | 'session')[] = credential === undefined ? ['key', 'session'] : [credential];
  return credentials.map((name) => ({ [name]: [] }));
};

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

const exampleOf = (value: JsonValue | undefined) => (value === undefined ? {} : { example: value });

const idempotencyKey = z.string().min(1).max(255);
const idempotencyHeaders = {
  required: z.object({ 'Idempotency-Key': idempotencyKey }),
  optional: z.object({ 'Idempotency-Key': idempotencyKey.exactOptional() }),
};

const errorExamples = (codes: readonly ErrorCode[]) =>
  Object.fromEntries(
    codes.map((code) => {
      const entry = errorCatalogue[code];
      const recovery = 'recovery' in entry ? { recovery: entry.recovery } : {};
      return [code, { value: { code, message: entry.message, ...recovery, correlationId: 'order-17' } }];
    }),
  );

const errorResponses = (codes: readonly ErrorCode[]) => {
  const byStatus = Map.groupBy(codes, (code) => errorCatalogue[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codesOfStatus]) => [
      String(status),
      {
        description: codesOfStatus.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join(' '),
        content: { 'application/json': { schema: errorResponse, examples: errorExamples(codesOfStatus) } },
      },
    ]),
  );
};

/** Below this path the gateway sends each method to the webhooks of apps. Their route is not in the table: OpenAPI has no route of all methods. */
export const appWebhookPath = '/devkit/{project}/{environment}/.well-known/workflow/v1/webhook/{token}';

/** Those that a gateway accepts and OpenAPI knows. A request with the first two has no body. */
const appWebhookMethods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const;
type AppWebhookMethod = (typeof appWebhookMethods)[number];

const anyBody = { '*/*': { schema: {} } };

const appWebhookOperation = (method: AppWebhookMethod): ZodOpenApiOperationObject => ({
  operationId: `resumeAppWebhook${method.slice(0, 1).toUpperCase()}${method.slice(1)}`,
  tags: ['webhooks'],
  summary: `Resumes a webhook of an app of the Workflow DevKit by a request with the method ${method.toUpperCase()}`,
  description: 'Needs no key: the token is the secret. The workflow gets the request, and chooses the response.',
  security: [],
  requestParams: {
    path: z.object({
      project: z.string().regex(projectIdPattern),
      environment: z.string().regex(environmentPattern),
      token: z.string().min(1).max(1_024),
    }),
  },
  ...(method === 'get' || method === 'head'
    ? {}
    : { requestBody: { description: 'any body of at most 1 MB', content: anyBody } }),
  responses: {
    202: { description: 'The run has the request. The body is empty.' },
    ...errorResponses(['https_required', 'hook_not_found', 'payload_too_large', 'unavailable']),
    default: { description: 'The response of the workflow, with its status, its headers and its body', content: anyBody },
  },
});

const appWebhookPaths: ZodOpenApiPathsObject = {
  [appWebhookPath]: Object.fromEntries(appWebhookMethods.map((method) => [method, appWebhookOperation(method)])),
};
