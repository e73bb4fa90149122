/** Checks whether traffic reaches the service instead of the application, from the responses of both. */
import * as z from 'zod';
import { type OwnershipReport, ownershipReport } from '../app-host/report.ts';
import { type Check, createCheck } from './check.ts';

/** The result of one request. */
export type Probe =
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'no_response'; readonly reason: string };

const health = z.looseObject({ healthy: z.literal(true) });
const active = z.looseObject({ deploymentId: z.string().min(1) });
const refusal = z.looseObject({ code: z.string().optional(), message: z.string().optional() });

const describeProbe = (probe: Probe): string => {
  if (probe.kind === 'no_response') return `no response: ${probe.reason}`;
  const { code, message } = refusal.safeParse(probe.body).data ?? {};
  return [`${probe.status}`, code, message].filter((part) => part !== undefined).join(' ');
};

export const checkHealth = (probe: Probe): Check => {
  const name = 'worker_health';
  const isHealthy = probe.kind === 'answered' && probe.status === 200 && health.safeParse(probe.body).success;
  return isHealthy ? createCheck('pass', name, 'the service is healthy') : createCheck('fail', name, describeProbe(probe));
};

/** @param probe undefined: there is no API key for the request */
export const checkActiveDeployment = (probe: Probe | undefined): Check => {
  const name = 'active_deployment';
  if (probe === undefined) return createCheck('fail', name, 'there is no API key for the request');
  const found = probe.kind === 'answered' && probe.status === 200 ? active.safeParse(probe.body).data : undefined;
  return found === undefined
    ? createCheck('fail', name, describeProbe(probe))
    : createCheck('pass', name, `${found.deploymentId} is active`);
};

const healthAnswer = z.looseObject({ healthy: z.boolean(), latencyMs: z.number() });

/** The active deployment, for a callback. */
export const deploymentIn = (probe: Probe | undefined): string | undefined =>
  probe?.kind === 'answered' && probe.status === 200 ? active.safeParse(probe.body).data?.deploymentId : undefined;

/** What a callback is compared with: the application's page before it and after it. */
interface Pages {
  readonly before: Probe;
  readonly after: Probe;
}

/**
 * A message went through the queue to the code of the active deployment, as messages of its runs do.
 * @param health the service's answer about it; undefined: no deployment is active
 */
export const checkCallback = (health: Probe | undefined, pages: Pages): Check => {
  const name = 'callback';
  if (health === undefined)
    return createCheck('fail', name, 'no deployment is active, so the application has handed over no runs');
  const [before, after] = [hitsIn(pages.before), hitsIn(pages.after)];
  if (before !== undefined && after !== undefined && after > before)
    return createCheck('fail', name, 'a callback reached the application while the service called the code');
  if (health.kind === 'answered' && health.status === 400)
    return createCheck('warn', name, `not checked: only apps of the Workflow DevKit answer it (${describeProbe(health)})`);
  const answer = health.kind === 'answered' && health.status === 200 ? healthAnswer.safeParse(health.body).data : undefined;
  if (answer === undefined) return createCheck('fail', name, describeProbe(health));
  return answer.healthy
    ? createCheck('pass', name, `the code answered in the service after ${answer.latencyMs} ms`)
    : createCheck('fail', name, `the code did not answer in the service within ${answer.latencyMs} ms`);
};

const hitsIn = (probe: Probe): number | undefined =>
  probe.kind === 'answered' ? ownershipReport.safeParse(probe.body).data?.lifetimeUnexpectedHits : undefined;

/** Without `isStrict`, failures become warnings. */
export const checkApp = (probe: Probe, expectedWorld: string, isStrict: boolean): readonly Check[] => {
  const checks = checkReport(probe, expectedWorld);
  return isStrict ? checks : checks.map((check) => (check.result === 'fail' ? { ...check, result: 'warn' } : check));
};

const checkReport = (probe: Probe, expectedWorld: string): readonly Check[] => {
  const name = 'diagnostics';
  if (probe.kind === 'no_response' || probe.status !== 200) return [createCheck('fail', name, describeWithHint(probe))];
  const read = ownershipReport.safeParse(probe.body);
  if (!read.success) return [createCheck('fail', name, 'the response is not a diagnostics report: check the URL')];
  const report = read.data;
  return [
    createCheck('pass', name, 'the application responds'),
    report.remoteModeEnabled
      ? createCheck('pass', 'remote_mode', 'runs execute in the service')
      : createCheck('fail', 'remote_mode', 'runs execute in the application: WORKFLOW_EXECUTION_MODE is not remote'),
    report.strictMode
      ? createCheck('pass', 'strict_mode', 'the guard prevents a wrong start')
      : createCheck('warn', 'strict_mode', 'the guard has no effect: NODE_ENV is not production'),
    checkWorld(report, expectedWorld),
    checkHits(report),
  ];
};

const describeWithHint = (probe: Probe): string => {
  const description = describeProbe(probe);
  if (probe.kind === 'no_response') return description;
  if (probe.status === 401) return `${description}: give --diagnostics-token`;
  return probe.status === 404 ? `${description}: is the handler mounted, and its token set?` : description;
};

const checkWorld = ({ targetWorld, expectedTargetWorld }: OwnershipReport, expectedWorld: string): Check => {
  const name = 'target_world';
  if (targetWorld !== expectedWorld)
    return createCheck(
      'fail',
      name,
      `the application's target world is ${targetWorld ?? 'not set'}, and ${expectedWorld} is expected`,
    );
  return expectedTargetWorld === expectedWorld
    ? createCheck('pass', name, expectedWorld)
    : createCheck('fail', name, `the application's guard expects ${expectedTargetWorld}, and ${expectedWorld} is expected`);
};

const checkHits = ({
  status,
  unexpectedHitsLast15m: recent,
  lifetimeUnexpectedHits: lifetime,
  lastUnexpectedHitAt: at,
}: OwnershipReport): Check => {
  const counts = `unexpected hits: ${recent} in 15 minutes, ${lifetime} in total${at === null ? '' : `, the last at ${at}`}`;
  return createCheck(status, 'ownership_status', status === 'pass' ? 'no callback has reached the application' : counts);
};
