/** What can be wrong with the installation. */
import * as z from 'zod';
import { routes } from '../../api/routes.ts';
import { activeDeploymentAnswer } from '../../api/schemas/deployments.ts';
import { healthAnswer } from '../../api/schemas/service.ts';
import type { Connection, Shell } from '../command.ts';
import { span } from '../words.ts';
import type { Check } from './doctor.ts';
import { messageOf } from '../fault-of.ts';

const patienceMs = 10_000;
/** A start's `availableAt`, webhooks' signatures and keys' expiry are held against the service's clock. */
const largestSkewMs = 30_000;
const slowMs = 2_000;

/** One request, once: a doctor does not hide a trouble by trying again. */
export const asked = (shell: Shell, { url, apiKey }: Connection, path: string): Promise<Response> =>
  shell.fetch(`${url}${path}`, {
    headers: { Accept: 'application/json', ...(apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }) },
    redirect: 'manual',
    signal: AbortSignal.any([shell.signal, AbortSignal.timeout(patienceMs)]),
  });

export async function checkHealth(
  shell: Shell,
  { url }: Connection,
): Promise<{ readonly isThere: boolean; readonly checks: readonly Check[] }> {
  const askedAt = shell.now();
  let response;
  try {
    // Without the key: whether anybody is there must be known before it is told.
    response = await asked(shell, { url, apiKey: undefined, source: '', warnings: [] }, '/v1/health');
  } catch (trouble) {
    shell.signal.throwIfAborted();
    return { isThere: false, checks: [{ name: 'reachable', verdict: 'fail', message: `no answer: ${reasonOf(trouble)}` }] };
  }
  const tookMs = shell.now() - askedAt;
  const body = healthAnswer.safeParse(await response.json().catch(() => undefined));
  const health: Check =
    response.status === 200 && body.success
      ? { name: 'health', verdict: 'ok', message: 'it says that it is well' }
      : {
          name: 'health',
          verdict: 'fail',
          message: `the answer is ${response.status}, and not that of Stepwell: is ${url} the right address?`,
        };
  const reachable: Check = {
    name: 'reachable',
    verdict: tookMs > slowMs ? 'warn' : 'ok',
    message: `answered in ${span(tookMs)}`,
  };
  const date = response.headers.get('date');
  return {
    isThere: health.verdict === 'ok',
    checks: [reachable, health, skewOf(date, (askedAt + shell.now()) / 2)],
  };
}

const reasonOf = (trouble: unknown): string =>
  messageOf(trouble instanceof Error && trouble.cause instanceof Error ? trouble.cause : trouble);

/** The header counts whole seconds. */
function skewOf(date: string | null, now: number): Check {
  const name = 'clock';
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return { name, verdict: 'warn', message: 'the service does not say what time it is' };
  const skewMs = now - there;
  if (Math.abs(skewMs) <= largestSkewMs) return { name, verdict: 'ok', message: 'this machine and the service agree' };
  const message = `this machine is ${span(skewMs)} ${skewMs > 0 ? 'ahead of' : 'behind'} the service: set its clock`;
  return { name, verdict: 'warn', message };
}

const refusal = z.looseObject({ code: z.string() });
const documentShape = z.looseObject({ paths: z.record(z.string(), z.looseObject({})) });

/** Whether the service knows what this program asks for: it may be older, or newer and still know it. */
export async function checkAnswers(shell: Shell, connection: Connection): Promise<readonly Check[]> {
  const response = await asked(shell, { ...connection, apiKey: undefined }, '/v1/openapi.json');
  const document = documentShape.safeParse(await response.json().catch(() => undefined));
  const name = 'version';
  if (!document.success) return [{ name, verdict: 'warn', message: 'the service does not say which routes it has' }];
  const { paths } = document.data;
  const missing = routes.filter(({ path, method }) => paths[path]?.[method.toLowerCase()] === undefined);
  const version: Check =
    missing.length === 0
      ? { name, verdict: 'ok', message: `the service has all ${routes.length} routes that this program knows` }
      : {
          name,
          verdict: 'warn',
          message: `the service is another version: it lacks ${missing.map(({ operationId }) => operationId).join(', ')}`,
        };
  return [version];
}

/** Which code new runs get. Graph workflows need none. */
export async function checkDeployment(shell: Shell, connection: Connection): Promise<Check> {
  const name = 'deployment';
  const response = await asked(shell, connection, '/v1/deployments/active');
  const body: unknown = await response.json().catch(() => undefined);
  const active = activeDeploymentAnswer.safeParse(body);
  if (response.status === 200 && active.success)
    return { name, verdict: 'ok', message: `${active.data.deploymentId} is active since ${active.data.activatedAt}` };
  const { data: refused } = refusal.safeParse(body);
  if (refused?.code === 'no_active_deployment')
    return { name, verdict: 'ok', message: 'none is active: only graph workflows can run' };
  if (response.status === 403) return { name, verdict: 'ok', message: 'the key may not see which one is active' };
  return { name, verdict: 'warn', message: `which one is active was answered with ${response.status}` };
}
