/** The HTTP functions over a world in memory. Every answer is held against the table of routes as it comes. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import * as z from 'zod';
import { servedByDeployments } from '../../functions/api/operations/deployments.ts';
import { servedByEvents } from '../../functions/api/operations/events.ts';
import { servedByApi } from '../../functions/api/operations/all.ts';
import type { InstallationTools } from '../../functions/api/operations/installation.ts';
import { servedByLibrary } from '../../functions/api/operations/library.ts';
import { servedByTestRuns } from '../../functions/api/operations/test-runs.ts';
import { servedByWebhooks } from '../../functions/api/operations/webhooks.ts';
import { servedByWorld } from '../../functions/api/operations/world.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { httpFunction } from '../../functions/api/pipeline/http-function.ts';
import { toolsOf } from '../../functions/api/operation.ts';
import { findingsOfDefinition } from '../../functions/api/operations/workflows.ts';
import { newKey } from '../../lib/api/auth.ts';
import { type Route, errorsOf } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { errorResponse } from '../../lib/api/schemas/service.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { type JsonObject } from '../../lib/engine/json.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { days, hours } from '../../lib/engine/time.ts';
import { MemorySecrets } from '../../lib/memory/secrets.ts';
import { type MemoryPorts, memoryPorts } from '../../lib/memory/memory-ports.ts';
import { evaluatePure, inspectNode, termsOf } from '../../lib/nodes/catalogue.ts';
import type { JobCalls } from '../../lib/ports/jobs.ts';
import type { ApiKey, KeyScope } from '../../lib/ports/control.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import type { ProviderSignIn } from '../../lib/service/access/provider-sign-in.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import { WebhookSecrets } from '../../lib/service/access/webhook-secrets.ts';
import { testInstallation } from './installation.ts';
import { emptyArn, hooksArn, hooksSecret, testProviders } from './webhook-providers.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** empty for an answer that is a list */
  readonly body: JsonObject;
  readonly list?: readonly unknown[];
  /** present where the answer goes on */
  readonly stream?: Readable;
  /** the operation that answered; absent where no route did */
  readonly operation: string | undefined;
}

export interface CallOptions {
  readonly key?: string;
  readonly body?: unknown;
  /** sent as it is */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly isBase64Encoded?: boolean;
  /** through the start API; default: through the REST API */
  readonly front?: 'start';
}

const record = z.record(z.string(), z.custom<JsonObject[string]>());
const logged = z.looseObject({ operation: z.string().exactOptional() });

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly facts: unknown;
}

export interface Http {
  readonly world: MemoryPorts;
  /** those of the providers of webhooks */
  readonly secrets: MemorySecrets;
  readonly logs: readonly LogLine[];
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answered>;
  /** the text of a new key */
  readonly key: (
    scopes: readonly KeyScope[],
    of?: { project?: string; env?: string } & Partial<Pick<ApiKey, 'expiresAt' | 'revokedAt' | 'rateLimitPerMinute'>>,
  ) => Promise<string>;
}

/**
 * @param change replaces ports of the world
 * @param maxStreams of events at once; default: as many as come
 * @param corsOrigins of pages that may call it; default: none
 * @param requiresHttps as on AWS; false: as on one machine
 * @param signIn the identity provider; default: none
 * @param installation its settings; default: those of two projects
 * @param jobCalls what executes jobs of requests that wait; default: nothing, so the jobs go through the queue
 */
export const http = (
  change: (world: MemoryPorts) => Partial<MemoryPorts> = () => ({}),
  maxStreams?: number,
  corsOrigins: readonly string[] = [],
  requiresHttps = true,
  signIn?: ProviderSignIn,
  installation: InstallationTools['installation'] = testInstallation,
  jobCalls: JobCalls = { call: async () => ({ kind: 'refused' }) },
): Http => {
  const made = memoryPorts();
  const world = { ...made, ...change(made) };
  const deps = {
    ...world,
    settings: { retentionMs: days(30), idempotencyMs: hours(24), requiresHttps, maxStreams, corsOrigins },
  };
  const logs: LogLine[] = [];
  // Several calls may be open at once.
  const linesOfCall = new AsyncLocalStorage<LogLine[]>();
  const log =
    (level: string) =>
    (message: unknown, ...facts: readonly unknown[]): void => {
      const line = { level, message: String(message), facts: facts[0] };
      logs.push(line);
      linesOfCall.getStore()?.push(line);
    };
  const plans = new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure });
  const logger = { info: log('info'), warn: log('warn'), error: log('error') };
  const tools = toolsOf({
    decider: { deps, plans, known: new KnownDeployments(), kinds: runKinds, by: 'api' },
    inspect: inspectNode,
    logger,
    findingsOfDefinition: findingsOfDefinition(inspectNode),
  });
  const secrets = new MemorySecrets();
  secrets.create(hooksArn, hooksSecret);
  secrets.create(emptyArn);
  const webhooks = {
    ...tools,
    providers: async () => testProviders,
    secrets: new WebhookSecrets(new SecretCache(secrets, deps.clock)),
  };
  const functions = {
    api: httpFunction({ ...tools, jobCalls }, servedByApi),
    events: httpFunction(tools, servedByEvents),
    deployments: httpFunction(tools, servedByDeployments),
    library: httpFunction({ ...tools, signIn: async () => signIn, installation }, servedByLibrary),
    'test-runs': httpFunction(tools, servedByTestRuns),
    webhooks: httpFunction(webhooks, servedByWebhooks),
    world: httpFunction({ ...tools, decider: { ...tools.decider, foldCache: new FoldCache() } }, servedByWorld),
  };

  let chance = 0;
  const random = (count: number): Uint8Array =>
    createHash('sha256')
      .update(String((chance += 1)))
      .digest()
      .subarray(0, count);

  return {
    world,
    secrets,
    logs,
    call: async (method, path, options = {}) => {
      const lines: LogLine[] = [];
      const answer = await linesOfCall.run(lines, () =>
        functions[functionOf(method, path)](
          options.front === 'start' ? startEventOf(method, path, options) : eventOf(method, path, options),
          context,
        ),
      );
      const facts = logged.safeParse(lines.find(({ message }) => message === 'request handled')?.facts);
      const parsed: unknown = typeof answer.body === 'string' && answer.body !== '' ? JSON.parse(answer.body) : {};
      const answered = {
        status: answer.statusCode,
        headers: answer.headers,
        ...(Array.isArray(parsed) ? { body: {}, list: parsed } : { body: record.parse(parsed) }),
        ...(typeof answer.body === 'string' ? {} : { stream: answer.body }),
        operation: facts.data?.operation,
      };
      holdAgainstRoute(answered);
      return answered;
    },
    key: async (scopes, { project = 'acme', env = 'test', ...more } = {}) => {
      const { text, keyId, secretHash } = newKey(environment(env), random);
      const scope = { projectId: projectId(project), environment: environment(env) };
      await world.keys.putKey({ keyId, ...scope, scopes, secretHash, createdAt: world.clock.now(), ...more });
      return text;
    },
  };
};

const functionOf = (
  method: string,
  path: string,
): 'api' | 'events' | 'deployments' | 'library' | 'test-runs' | 'webhooks' | 'world' => {
  if (/^\/v1\/runs\/[^/]+\/stop$/.test(path)) return 'test-runs';
  if (path.startsWith('/v1/webhooks')) return 'webhooks';
  if (/^\/v1\/(world|queue)/.test(path)) return 'world';
  if (/^\/v1\/(deployments|apps)/.test(path)) return 'deployments';
  if (/^\/v1\/(lenses|queries|schedules|keys|sessions?|audit|embeds|installation|catalogue|openapi\.json)/.test(path))
    return 'library';
  return method === 'GET' && /^\/v1\/runs\/[^/]+\/events$/.test(path) ? 'events' : 'api';
};

/** Every answer must match its route, in every test. */
const holdAgainstRoute = ({ status, headers, body, operation, stream }: Answered): void => {
  if (headers['x-workflow-correlation-id'] === undefined) throw new Error('an answer without its correlation id');
  if (headers['x-content-type-options'] !== 'nosniff') throw new Error('an answer without the security headers');
  const route: Route | undefined = routes.find(({ operationId }) => operationId === operation);
  if (status >= 400) {
    const { code, correlationId } = errorResponse.parse(body);
    if (correlationId !== headers['x-workflow-correlation-id']) throw new Error('two correlation ids in one answer');
    if (route !== undefined && !errorsOf(route).includes(code)) throw new Error(`${route.operationId} does not declare ${code}`);
  } else if (route === undefined && headers['access-control-allow-methods'] === undefined)
    throw new Error(`no route answered ${status}`);
  else if (route === undefined) return;
  else if (stream !== undefined || status === 204) {
    if (route.streams === undefined) throw new Error(`${route.operationId} does not stream`);
  } else z.object({ schema: z.custom<z.ZodType>() }).parse(route.responses[status]).schema.parse(body);
};

export const context: Context = {
  callbackWaitsForEmptyEventLoop: false,
  functionName: 'api',
  functionVersion: '1',
  invokedFunctionArn: 'arn',
  memoryLimitInMB: '1024',
  awsRequestId: 'request',
  logGroupName: 'group',
  logStreamName: 'stream',
  getRemainingTimeInMillis: () => 29_000,
  done: () => undefined,
  fail: () => undefined,
  succeed: () => undefined,
};

export const eventOf = (
  method: string,
  path: string,
  { key, body, text, headers, query, isBase64Encoded }: CallOptions = {},
): APIGatewayProxyEvent => ({
  httpMethod: method,
  path,
  resource: '/{proxy+}',
  headers: {
    ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    'User-Agent': 'test',
    // As the gateway says it; nothing else is proof.
    'X-Forwarded-Proto': 'https',
    ...headers,
  },
  multiValueHeaders: {},
  queryStringParameters: query === undefined ? null : { ...query },
  multiValueQueryStringParameters: null,
  pathParameters: { proxy: path.slice(1) },
  stageVariables: null,
  body: text ?? (body === undefined ? null : JSON.stringify(body)),
  isBase64Encoded: isBase64Encoded ?? false,
  requestContext: {
    accountId: '0',
    apiId: 'api',
    authorizer: null,
    protocol: 'HTTP/1.1',
    httpMethod: method,
    identity: {
      accessKey: null,
      accountId: null,
      apiKey: null,
      apiKeyId: null,
      caller: null,
      clientCert: null,
      cognitoAuthenticationProvider: null,
      cognitoAuthenticationType: null,
      cognitoIdentityId: null,
      cognitoIdentityPoolId: null,
      principalOrgId: null,
      sourceIp: '192.0.2.1',
      user: null,
      userAgent: 'test',
      userArn: null,
    },
    path,
    stage: 'prod',
    requestId: 'request',
    requestTimeEpoch: 0,
    resourceId: 'r',
    resourcePath: '/{proxy+}',
  },
});

/**
 * The same request through the HTTP API, in payload format 1.0:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
const startEventOf = (method: string, path: string, options: CallOptions = {}): APIGatewayProxyEvent => {
  const event = eventOf(method, path, options);
  const headers = Object.fromEntries(Object.entries(event.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const more = { version: '1.0' };
  return {
    ...more,
    ...event,
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? '']])),
    resource: path,
    pathParameters: null,
    requestContext: { ...event.requestContext, apiId: 'start', stage: '$default', resourcePath: path },
  };
};

/** Ends in the commit that starts it. */
export const instantGraph = (status: 'success' | 'error' = 'success') => ({
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'end',
      type: 'end',
      label: 'The end',
      config: { status, outputParameters: [{ name: 'given', sourceVariable: '{{ctx.input}}' }] },
    },
  ],
  edges: [{ source: 'start', target: 'end' }],
});

/** Waits for a worker, which no test here has. */
export const openGraph = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'work', type: 'javascript', config: { code: 'return 1;' } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'work' },
    { source: 'work', target: 'end' },
  ],
};

/** A text of an answer, such as a cursor. */
export const textIn = ({ body }: Pick<Answered, 'body'>, key: string): string => z.string().parse(body[key]);

/** Creates a workflow and starts a run of it; the run's id. */
export const started = async (
  { call }: Http,
  key: string,
  { name = 'flow', graph = instantGraph(), input = {} }: { name?: string; graph?: object; input?: JsonObject } = {},
): Promise<string> => {
  await call('POST', '/v1/workflows', { key, body: { name, ...graph } });
  const headers = { 'Idempotency-Key': `start-${name}-${JSON.stringify(input).slice(0, 100)}` };
  const { status, body } = await call('POST', '/v1/runs', { key, headers, body: { workflowName: name, input } });
  if (status !== 202) throw new Error(JSON.stringify(body));
  return z.string().parse(body['runId']);
};

/** A request with a manifest and its archive as two parts of a form, as the gateway hands it on. */
export const formOf = async (key: string, parts: Readonly<Record<string, string | Uint8Array>>): Promise<CallOptions> => {
  const form = new FormData();
  for (const [name, part] of Object.entries(parts)) {
    form.append(name, typeof part === 'string' ? part : new File([Buffer.from(part)], name));
  }
  const request = new Request('http://127.0.0.1/', { method: 'POST', body: form });
  const text = Buffer.from(await request.arrayBuffer()).toString('base64');
  const contentType = request.headers.get('content-type') ?? '';
  return { key, text, isBase64Encoded: true, headers: { 'Content-Type': contentType } };
};
