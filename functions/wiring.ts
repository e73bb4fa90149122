/** Wires the functions to their adapters: the ports on AWS, the node types, the logger. */
import { lazyProperties } from '../lib/base/lazy.ts';
import { Logger } from '@aws-lambda-powertools/logger';
import { type PortChoices, awsPorts } from '../lib/aws/aws-ports.ts';
import { settingsFrom, sharesIn } from '../lib/aws/environment.ts';
import { printedMetrics } from '../lib/aws/metrics.ts';
import { SystemClock } from '../lib/aws/system.ts';
import { slowedMessages } from '../lib/contract/metrics.ts';
import { compile } from '../lib/engine/graph/compile.ts';
import { type Instant, after, days, durationMs, hours } from '../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../lib/nodes/catalogue.ts';
import type { Decider, Resolver } from '../lib/service/decider.ts';
import type { Deps } from '../lib/service/deps.ts';
import { type GraphTypes, Plans } from '../lib/service/commit/plans.ts';
import { KnownDeployments } from '../lib/service/deployments/known-deployments.ts';
import { runKinds } from '../lib/service/kinds/run-kinds.ts';
import { HopLimiter, type SlowedMessage } from '../lib/service/execution/hop-limiter.ts';

const graphTypes: GraphTypes = { compile: (version) => compile(version, termsOf), evaluate: evaluatePure };

const clock = new SystemClock();

/** One per process. Every message is sent through it, so that the message carries its hop count. */
export const hopLimiter = new HopLimiter(clock, reportSlowedMessage);

/** Counted even with the setting `metrics` off: an alarm uses the metric, and a metric without values costs nothing. */
function reportSlowedMessage({ delay, ...slowed }: SlowedMessage): void {
  const metrics = printedMetrics(settingsFrom(process.env).runsTable);
  metrics.emit([{ name: slowedMessages.metric, value: 1, dimensions: {} }], clock.now());
  loggerOf('hop-limiter').warn('messages repeat without a commit: the next message is delayed', {
    ...slowed,
    delaySeconds: delay / 1_000,
  });
}

/** The function's ports. Each adapter is created, and each setting read, on first use: this keeps cold starts short. */
export function depsOf(choices?: PortChoices): Deps {
  const environment = settingsFrom(process.env);
  return Object.assign(awsPorts(environment, hopLimiter, choices), {
    settings: lazyProperties<Deps['settings']>({
      retentionMs: () => days(environment.retentionDays),
      idempotencyMs: () => hours(environment.idempotencyHours),
      requiresHttps: () => environment.requireHttps,
      corsOrigins: () => environment.corsOrigins,
      shares: () => sharesIn(environment),
      /** read only by the events function, which streams */
      maxStreams: () => environment.watchers,
    }),
  });
}

/** For a function that commits to no run. */
export const resolverOf = (): Resolver => ({ deps: depsOf(), plans: new Plans(graphTypes), known: new KnownDeployments() });

/** A decider that remembers deployments. */
export interface KnowingDecider extends Decider {
  readonly known: KnownDeployments;
}

/** The function's decider. Create it once per execution environment, so that compiled plans and known deployments stay cached. */
export const deciderOf = (by: string, deps: Deps = depsOf()): KnowingDecider => ({
  deps,
  plans: new Plans(graphTypes),
  known: new KnownDeployments(),
  kinds: runKinds,
  by,
});

export function loggerOf(by: string): Logger {
  return new Logger({ serviceName: `stepwell-${by}` });
}

/** When Lambda ends this invocation. */
export const invocationDeadlineOf = (context: { readonly getRemainingTimeInMillis: () => number }, now: Instant): Instant =>
  after(now, durationMs(Math.max(0, context.getRemainingTimeInMillis())));
