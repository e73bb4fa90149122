/** What can be wrong with the installation. */
import { defined } from '../../engine/defined.ts';
import * as z from 'zod';
import { routes } from '../../api/routes.ts';
import { activeDeploymentResponse } from '../../api/schemas/deployments.ts';
import { healthResponse } from '../../api/schemas/service.ts';
import type { Connection, CommandContext } from '../command.ts';
import { formatDuration } from '../format.ts';
import type { Check } from './doctor.ts';
import { messageOf } from '../describe-error.ts';

const timeoutMs = 10_000;
/** A start's `availableAt`, webhooks' signatures and keys' expiry are held against the service's clock. */
const maxSkewMs = 30_000;
const slowMs = 2_000;

/** One request, once: a doctor does not hide a trouble by trying again. */
export const fetchOnce = (context: CommandContext, { url, apiKey }: Connection, path: string): Promise<Response> =>
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
    // Without the key: whether anybody is there must be known before it is told.
    response = await fetchOnce(context, { url, apiKey: undefined, source: '', warnings: [] }, '/v1/health');
  } catch (error) {
    context.signal.throwIfAborted();
    return { isReachable: false, checks: [{ name: 'reachable', result: 'fail', message: `no answer: ${errorReason(error)}` }] };
  }
  const tookMs = context.now() - requestedAt;
  const body = healthResponse.safeParse(await response.json().catch(() => undefined));
  const health: Check =
    response.status === 200 && body.success
      ? { name: 'health', result: 'ok', message: 'it says that it is well' }
      : {
          name: 'health',
          result: 'fail',
          message: `the answer is ${response.status}, and not that of Stepwell: is ${url} the right address?`,
        };
  const reachable: Check = {
    name: 'reachable',
    result: tookMs > slowMs ? 'warn' : 'ok',
    message: `answered in ${formatDuration(tookMs)}`,
  };
  const date = response.headers.get('date');
  return {
    isReachable: health.result === 'ok',
    checks: [reachable, health, checkClockSkew(date, (requestedAt + context.now()) / 2)],
  };
}

const errorReason = (error: unknown): string =>
  messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);

/** The header counts whole seconds. */
function checkClockSkew(date: string | null, now: number): Check {
  const name = 'clock';
  const serviceTime = Date.parse(date ?? '');
  if (Number.isNaN(serviceTime)) return { name, result: 'warn', message: 'the service does not say what time it is' };
  const skewMs = now - serviceTime;
  if (Math.abs(skewMs) <= maxSkewMs) return { name, result: 'ok', message: 'this machine and the service agree' };
  const message = `this machine is ${formatDuration(skewMs)} ${skewMs > 0 ? 'ahead of' : 'behind'} the service: set its clock`;
  return { name, result: 'warn', message };
}

const errorBodySchema = z.looseObject({ code: z.string() });
const documentShape = z.looseObject({ paths: z.record(z.string(), z.looseObject({})) });

/** Whether the service knows what this program asks for: it may be older, or newer and still know it. */
export async function checkRoutes(context: CommandContext, connection: Connection): Promise<readonly Check[]> {
  const response = await fetchOnce(context, { ...connection, apiKey: undefined }, '/v1/openapi.json');
  const document = documentShape.safeParse(await response.json().catch(() => undefined));
  const name = 'version';
  if (!document.success) return [{ name, result: 'warn', message: 'the service does not say which routes it has' }];
  const { paths } = document.data;
  const missing = routes.filter(({ path, method }) => paths[path]?.[method.toLowerCase()] === undefined);
  const version: Check =
    missing.length === 0
      ? { name, result: 'ok', message: `the service has all ${routes.length} routes that this program knows` }
      : {
          name,
          result: 'warn',
          message: `the service is another version: it lacks ${missing.map(({ operationId }) => operationId).join(', ')}`,
        };
  return [version];
}

/** Which code new runs get. Graph workflows need none. */
export async function checkDeployment(context: CommandContext, connection: Connection): Promise<Check> {
  const name = 'deployment';
  const response = await fetchOnce(context, connection, '/v1/deployments/active');
  const body: unknown = await response.json().catch(() => undefined);
  const active = activeDeploymentResponse.safeParse(body);
  if (response.status === 200 && active.success)
    return { name, result: 'ok', message: `${active.data.deploymentId} is active since ${active.data.activatedAt}` };
  const { data: errorBody } = errorBodySchema.safeParse(body);
  if (errorBody?.code === 'no_active_deployment')
    return { name, result: 'ok', message: 'none is active: only graph workflows can run' };
  if (response.status === 403) return { name, result: 'ok', message: 'the key may not see which one is active' };
  return { name, result: 'warn', message: `which one is active was answered with ${response.status}` };
}
