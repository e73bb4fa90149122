/** The checks of `stepwell doctor` on the installation and on the API key. */
import * as z from 'zod';
import { routes } from '../../api/routes.ts';
import { appList } from '../../api/schemas/deployments.ts';
import { keyList } from '../../api/schemas/keys.ts';
import { runList } from '../../api/schemas/runs.ts';
import { healthResponse } from '../../api/schemas/service.ts';
import type { Check } from './doctor.ts';
import type { CommandContext, Connection } from '../command.ts';
import { messageOf } from '../describe-error.ts';
import { formatDuration, formatTime } from '../format.ts';
import { defined } from '../../base/defined.ts';

const timeoutMs = 10_000;
/** The service compares `availableAt`, webhook signatures and key expiry with its own clock. */
const maxSkewMs = 30_000;
const slowMs = 2_000;

/** Sends one request without retries, so that a check does not hide transient errors. */
const fetchOnce = (context: CommandContext, { url, apiKey }: Connection, path: string): Promise<Response> =>
  context.fetch(`${url}${path}`, {
    headers: defined({ Accept: 'application/json', Authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
    redirect: 'manual',
    signal: AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]),
  });

export async function checkHealth(
  context: CommandContext,
  { url }: Connection,
): Promise<{ readonly isReachable: boolean; readonly checks: readonly Check[] }> {
  const requestedAt = context.now();
  let response;
  try {
    // Send no key before the service is identified.
    response = await fetchOnce(context, { url, startUrl: undefined, apiKey: undefined, source: '', warnings: [] }, '/v1/health');
  } catch (error) {
    context.signal.throwIfAborted();
    return { isReachable: false, checks: [{ name: 'reachable', result: 'fail', message: `no response: ${errorReason(error)}` }] };
  }
  const tookMs = context.now() - requestedAt;
  const body = healthResponse.safeParse(await response.json().catch(() => undefined));
  const health: Check =
    response.status === 200 && body.success
      ? { name: 'health', result: 'ok', message: 'the service reports that it is healthy' }
      : {
          name: 'health',
          result: 'fail',
          message: `status ${response.status}, and not a response of Stepwell: check the address ${url}`,
        };
  const reachable: Check = {
    name: 'reachable',
    result: tookMs > slowMs ? 'warn' : 'ok',
    message: `response in ${formatDuration(tookMs)}`,
  };
  const date = response.headers.get('date');
  return {
    isReachable: health.result === 'ok',
    checks: [reachable, health, checkClockSkew(date, (requestedAt + context.now()) / 2)],
  };
}

const errorReason = (error: unknown): string =>
  messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);

/** The Date header has a resolution of one second. */
function checkClockSkew(date: string | null, now: number): Check {
  const name = 'clock';
  const serviceTime = Date.parse(date ?? '');
  if (Number.isNaN(serviceTime)) return { name, result: 'warn', message: 'the response has no Date header' };
  const skewMs = now - serviceTime;
  if (Math.abs(skewMs) <= maxSkewMs) return { name, result: 'ok', message: 'the clocks of this machine and the service agree' };
  const message = `this machine is ${formatDuration(skewMs)} ${skewMs > 0 ? 'ahead of' : 'behind'} the service: set its clock`;
  return { name, result: 'warn', message };
}

const documentShape = z.looseObject({ paths: z.record(z.string(), z.looseObject({})) });

/** Checks that the service has every route that this program uses. */
export async function checkRoutes(context: CommandContext, connection: Connection): Promise<readonly Check[]> {
  const response = await fetchOnce(context, { ...connection, apiKey: undefined }, '/v1/openapi.json');
  const document = documentShape.safeParse(await response.json().catch(() => undefined));
  const name = 'version';
  if (!document.success) return [{ name, result: 'warn', message: 'the service does not return its OpenAPI document' }];
  const { paths } = document.data;
  const missing = routes.filter(({ path, method }) => paths[path]?.[method.toLowerCase()] === undefined);
  const version: Check =
    missing.length === 0
      ? { name, result: 'ok', message: `the service has all ${routes.length} routes of this program` }
      : {
          name,
          result: 'warn',
          message: `the service is an older version: it lacks ${missing.map(({ operationId }) => operationId).join(', ')}`,
        };
  return [version];
}

/** Checks the active deployments. Graph workflows need none. */
export async function checkDeployment(context: CommandContext, connection: Connection): Promise<Check> {
  const name = 'deployment';
  const response = await fetchOnce(context, connection, '/v1/apps');
  const body: unknown = await response.json().catch(() => undefined);
  const apps = appList.safeParse(body);
  if (response.status === 200 && apps.success) {
    const active = apps.data.data.map(({ app, deploymentId, activatedAt }) => `${app}: ${deploymentId} since ${activatedAt}`);
    return { name, result: 'ok', message: active.join('; ') || 'no deployment is active: only graph workflows can run' };
  }
  if (response.status === 403) return { name, result: 'ok', message: 'the key has no permission to read deployments' };
  return { name, result: 'warn', message: `reading the active deployments returned ${response.status}` };
}

/** Requests that show which scopes a key has. Each reads one row. */
const probes = [
  ['admin', '/v1/keys?limit=100'],
  ['runs:read', '/v1/runs?limit=1'],
  ['workflows:read', '/v1/workflows?limit=1'],
] as const;

/** A list of runs says whether it hides data. */
async function showsPayloads(response: Response): Promise<boolean> {
  const list = runList.safeParse(await response.json().catch(() => undefined));
  return list.success && list.data.payloadsHidden === undefined;
}

const soonMs = 7 * 86_400_000;
const keyIdPattern = /^sw_[a-z0-9-]+_([0-9A-Za-z]{8,32})_/;

export async function checkKey(context: CommandContext, connection: Connection): Promise<readonly Check[]> {
  const name = 'key';
  const { apiKey } = connection;
  if (apiKey === undefined) return [{ name, result: 'fail', message: 'no key is configured: set STEPWELL_API_KEY' }];
  const scopes: string[] = [];
  for (const [scope, path] of probes) {
    const response = await fetchOnce(context, connection, path);
    if (response.status === 401)
      return [{ name, result: 'fail', message: 'the key is unknown, expired, revoked, or of another installation' }];
    if (response.status === 429) return [{ name, result: 'warn', message: 'the key has reached its rate limit for this minute' }];
    if (response.status !== 200) continue;
    // The scope admin grants all others.
    if (scope === 'admin')
      return [
        { name, result: 'ok', message: 'the key works; it has the scope admin' },
        ...(await checkExpiry(context, apiKey, response)),
      ];
    scopes.push(scope);
    if (scope === 'runs:read' && (await showsPayloads(response))) scopes.push('payloads:read');
  }
  const message =
    scopes.length === 0
      ? 'the key works, but has no read scope'
      : `the key works; it has ${scopes.join(', ')}; write scopes cannot be checked`;
  return [{ name, result: scopes.length === 0 ? 'warn' : 'ok', message }];
}

/** Checks the expiry if the key is one of the newest hundred. */
async function checkExpiry(context: CommandContext, apiKey: string, response: Response): Promise<readonly Check[]> {
  const listed = keyList.safeParse(await response.json().catch(() => undefined));
  const presentedKeyId = keyIdPattern.exec(apiKey)?.[1];
  const expiresAt = listed.data?.data.find(({ keyId }) => keyId === presentedKeyId)?.expiresAt;
  if (expiresAt === undefined) return [];
  const isSoon = Date.parse(expiresAt) - context.now() < soonMs;
  const message = `the key expires at ${formatTime(expiresAt, context.now())}${isSoon ? ': replace it with stepwell keys rotate' : ''}`;
  return [{ name: 'key expiry', result: isSoon ? 'warn' : 'ok', message }];
}
