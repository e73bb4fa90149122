/**
 * Webhooks of apps of the Workflow DevKit, with any method. The token is the secret, so no key is needed. The route is not in the route
 * table, because one route has all methods, and the code of an app chooses the response. `lib/api/openapi.ts` describes it.
 */
import middy from '@middy/core';
import headerNormalizer from '@middy/http-header-normalizer';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { environment, environmentPattern, projectId, projectIdPattern } from '../../lib/engine/ids.ts';
import type { Scope } from '../../lib/engine/ids.ts';
import { traceFields } from '../../lib/engine/trace.ts';
import type { WebhookRequest, WebhookResponse } from '../../lib/ports/bundles.ts';
import type { WebhookCalls } from '../../lib/ports/devkit.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { findWebhook } from '../../lib/service/kinds/devkit/find-webhook.ts';
import { type Refusal, type Tools, refuse } from '../api/operation.ts';
import { auditTrail } from '../api/pipeline/audit-trail.ts';
import { type HttpResponse, callOf, isProvenHttps, respond } from '../api/pipeline/http-call.ts';
import { errorEnvelope, securityHeaders, traceIn, tracing } from '../api/pipeline/middleware.ts';

/** As webhooks of providers. */
export const appWebhookLimitBytes = 1_048_576;
const timeoutEarlyInMillis = 500;

const pathPattern =
  /^\/devkit\/(?<project>[^/]+)\/(?<environment>[^/]+)\/\.well-known\/workflow\/v1\/webhook\/(?<token>[^/]{1,1024})\/?$/;

export const isAppWebhook = ({ path }: Pick<APIGatewayProxyEvent, 'path'>): boolean => path.startsWith('/devkit/');

interface BinaryResponse extends HttpResponse {
  readonly isBase64Encoded?: boolean;
}

interface AppWebhookTools extends Tools {
  /** undefined: the installation runs no deployed code */
  readonly webhookCalls: WebhookCalls | undefined;
}

export const appWebhooks = (tools: AppWebhookTools) =>
  middy<APIGatewayProxyEvent, BinaryResponse>({ timeoutEarlyInMillis })
    .use(headerNormalizer())
    .use(tracing())
    .use(securityHeaders())
    .use(errorEnvelope(tools.logger))
    .handler((event) => receive(tools, event));

async function receive(tools: AppWebhookTools, event: APIGatewayProxyEvent): Promise<BinaryResponse> {
  const call = callOf(event);
  const trace = traceIn(event);
  const refused = (refusal: Refusal): BinaryResponse => respond(refusal, trace.correlationId);
  const { deps } = tools.decider;
  if (deps.settings.requiresHttps && !isProvenHttps(call)) return refused(refuse('https_required'));
  const target = targetOf(event.path);
  if (target === undefined) return refused(refuse('not_found'));
  const body = call.bytes();
  if (body.byteLength > appWebhookLimitBytes)
    return refused(refuse('payload_too_large', { message: `The body is larger than ${appWebhookLimitBytes} bytes.` }));
  const webhook = tools.webhookCalls === undefined ? undefined : await findWebhook(deps, target.scope, target.token);
  if (webhook === undefined || tools.webhookCalls === undefined) return refused(noWebhook);

  const request = requestOf(event, body);
  const answer = await tools.webhookCalls.resume({ ...target, deploymentId: webhook.deploymentId, request });
  const { runId } = webhook;
  tools.logger.info('webhook of an app handled', { ...traceFields(trace), runId, outcome: answer.kind });
  // The run may have ended since.
  if (answer.kind === 'no_hook') return refused(noWebhook);
  if (answer.kind === 'failed') throw new Unavailable(`the webhook of run ${runId}: ${answer.reason}`);
  const { status } = answer.response;
  const route = { method: 'POST', path: '/devkit', scope: null, action: 'devkit.webhook' } as const;
  const audit = { resource: `run/${runId}`, scope: target.scope, facts: { runId } };
  await auditTrail(tools, route, call, trace).recordResponse(undefined, { status, body: undefined, audit });
  return responseOf(answer.response);
}

/** One answer for every reason: nobody learns whether a token was valid. */
const noWebhook = refuse('hook_not_found', { message: 'No open webhook has this token.' });

interface Target {
  readonly scope: Scope;
  readonly token: string;
}

function targetOf(path: string): Target | undefined {
  const { project = '', environment: name = '', token = '' } = pathPattern.exec(path)?.groups ?? {};
  const decoded = decode(token);
  if (!projectIdPattern.test(project) || !environmentPattern.test(name) || decoded === undefined) return undefined;
  return { scope: { projectId: projectId(project), environment: environment(name) }, token: decoded };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** They belong to one connection, or to the gateway, or describe the body as it was sent. */
const droppedHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'transfer-encoding',
  'upgrade',
]);

function requestOf(event: APIGatewayProxyEvent, body: Uint8Array): WebhookRequest {
  const { requestContext, httpMethod, multiValueHeaders, multiValueQueryStringParameters } = event;
  const url = new URL(`https://${requestContext.domainName ?? 'localhost'}${requestContext.path}`);
  for (const [name, values] of Object.entries(multiValueQueryStringParameters ?? {}))
    for (const value of values ?? []) url.searchParams.append(name, value);
  const headers = Object.entries(multiValueHeaders ?? {}).map(
    ([name, values]) => [name.toLowerCase(), (values ?? []).join(', ')] as const,
  );
  return {
    method: httpMethod,
    url: url.href,
    headers: Object.fromEntries(headers.filter(([name]) => !droppedHeaders.has(name))),
    body,
  };
}

/** A body that is no text is in base64, which the gateway decodes for clients that accept its type. */
function responseOf({ status, headers, body }: WebhookResponse): BinaryResponse {
  const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => !droppedHeaders.has(name.toLowerCase())));
  const bytes = Buffer.from(body);
  const text = bytes.toString('utf8');
  const isText = Buffer.from(text).equals(bytes);
  return {
    statusCode: status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...sent },
    body: isText ? text : bytes.toString('base64'),
    isBase64Encoded: !isText,
  };
}
