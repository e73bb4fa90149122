/** Whether traffic reaches the right place, judged by what the service and the application answered. */
import * as z from 'zod';
import { type OwnershipReport, ownershipReport } from '../app-host/report.ts';
import { type Check, checked } from './check.ts';

/** What came of one request. */
export type Probe =
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'silent'; readonly reason: string };

const health = z.looseObject({ healthy: z.literal(true) });
const active = z.looseObject({ deploymentId: z.string().min(1) });
const refusal = z.looseObject({ code: z.string().optional(), message: z.string().optional() });

const saidBy = (probe: Probe): string => {
  if (probe.kind === 'silent') return `no answer: ${probe.reason}`;
  const { code, message } = refusal.safeParse(probe.body).data ?? {};
  return [`${probe.status}`, code, message].filter((part) => part !== undefined).join(' ');
};

export const judgeHealth = (probe: Probe): Check => {
  const name = 'worker_health';
  const isWell = probe.kind === 'answered' && probe.status === 200 && health.safeParse(probe.body).success;
  return isWell ? checked('pass', name, 'the service says that it is well') : checked('fail', name, saidBy(probe));
};

/** @param probe undefined: there is no key to ask with */
export const judgeActive = (probe: Probe | undefined): Check => {
  const name = 'active_deployment';
  if (probe === undefined) return checked('fail', name, 'there is no API key to ask with');
  const found = probe.kind === 'answered' && probe.status === 200 ? active.safeParse(probe.body).data : undefined;
  return found === undefined ? checked('fail', name, saidBy(probe)) : checked('pass', name, `${found.deploymentId} is active`);
};

/** Without `isStrict` what fails is a warning. */
export const judgeApp = (probe: Probe, expectedWorld: string, isStrict: boolean): readonly Check[] => {
  const checks = judgeReport(probe, expectedWorld);
  return isStrict ? checks : checks.map((check) => (check.verdict === 'fail' ? { ...check, verdict: 'warn' } : check));
};

const judgeReport = (probe: Probe, expectedWorld: string): readonly Check[] => {
  const name = 'diagnostics';
  if (probe.kind === 'silent' || probe.status !== 200) return [checked('fail', name, hinted(probe))];
  const read = ownershipReport.safeParse(probe.body);
  if (!read.success) return [checked('fail', name, 'the answer is not that of the diagnostics: is this the right address?')];
  const report = read.data;
  return [
    checked('pass', name, 'the application answers'),
    report.remoteModeEnabled
      ? checked('pass', 'remote_mode', 'runs are carried out by the service')
      : checked('fail', 'remote_mode', 'the application carries runs out by itself: WORKFLOW_EXECUTION_MODE is not remote'),
    report.strictMode
      ? checked('pass', 'strict_mode', 'the guard stops a wrong start')
      : checked('warn', 'strict_mode', 'the guard stops nothing: NODE_ENV is not production'),
    judgeWorld(report, expectedWorld),
    judgeHits(report),
  ];
};

const hinted = (probe: Probe): string => {
  const said = saidBy(probe);
  if (probe.kind === 'silent') return said;
  if (probe.status === 401) return `${said}: give --diagnostics-token`;
  return probe.status === 404 ? `${said}: is the handler mounted, and its token set?` : said;
};

const judgeWorld = ({ targetWorld, expectedTargetWorld }: OwnershipReport, expectedWorld: string): Check => {
  const name = 'target_world';
  if (targetWorld !== expectedWorld)
    return checked('fail', name, `the application's is ${targetWorld ?? 'not set'}, and ${expectedWorld} is expected`);
  return expectedTargetWorld === expectedWorld
    ? checked('pass', name, expectedWorld)
    : checked('fail', name, `the application's guard expects ${expectedTargetWorld}, and ${expectedWorld} is expected`);
};

const judgeHits = ({
  status,
  unexpectedHitsLast15m: recent,
  lifetimeUnexpectedHits: lifetime,
  lastUnexpectedHitAt: at,
}: OwnershipReport): Check => {
  const counts = `unexpected hits: ${recent} in 15 minutes, ${lifetime} ever${at === null ? '' : `, the last at ${at}`}`;
  return checked(status, 'ownership_status', status === 'pass' ? 'no callback has reached the application' : counts);
};
