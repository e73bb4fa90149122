/** The one place that names concrete adapters for the functions: the ports on AWS, the node types, the log. */
import { Logger } from '@aws-lambda-powertools/logger';
import type { Context } from 'aws-lambda';
import { awsPorts, sharesIn } from '../lib/aws/aws-ports.ts';
import { settingsFrom } from '../lib/aws/environment.ts';
import { printedMetrics } from '../lib/aws/metrics.ts';
import { MessageHeads } from '../lib/aws/run-heads.ts';
import { SystemClock } from '../lib/aws/system-clock.ts';
import { slowedMessages } from '../lib/contract/metrics.ts';
import { compile } from '../lib/engine/graph/compile.ts';
import { type Instant, after, days, durationMs, hours } from '../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../lib/nodes/catalogue.ts';
import type { Decider } from '../lib/service/commit/decide-run.ts';
import type { Deps } from '../lib/service/deps.ts';
import { type GraphTypes, Plans } from '../lib/service/commit/plans.ts';
import { HopLimiter, type SlowedMessage } from '../lib/service/execution/hop-limiter.ts';

const graphTypes: GraphTypes = { compile: (version) => compile(version, termsOf), evaluate: evaluatePure };

const clock = new SystemClock();

/** Of this process. Whoever hands a message over does so through it. */
export const hopLimiter = new HopLimiter(clock, reportSlowedMessage);

/** Counted with the setting `metrics` off, too: an alarm looks at it, and a metric that has no values costs nothing. */
function reportSlowedMessage({ delay, ...slowed }: SlowedMessage): void {
  const metrics = printedMetrics(settingsFrom(process.env).runsTable);
  metrics.emit([{ name: slowedMessages.metric, value: 1, dimensions: {} }], clock.now());
  loggerOf('hop-limiter').warn('a chain of messages makes no progress: its next message is sent later', {
    ...slowed,
    delaySeconds: delay / 1_000,
  });
}

/** The world of this function. Nothing in it is built, and no setting read, before it is used. */
function depsOf(messageHeads?: MessageHeads): Deps {
  const environment = settingsFrom(process.env);
  return Object.assign(awsPorts(environment, hopLimiter, messageHeads), {
    settings: {
      get retentionMs() {
        return days(environment.retentionDays);
      },
      get idempotencyMs() {
        return hours(environment.idempotencyHours);
      },
      get requiresHttps() {
        return environment.requireHttps;
      },
      get corsOrigins() {
        return environment.corsOrigins;
      },
      get shares() {
        return sharesIn(environment);
      },
      /** told to the function that streams, and asked for by no other */
      get maxStreams() {
        return environment.watchers;
      },
    },
  });
}

/** Who decides in this function. Made once per environment, so that plans stay warm. */
export const deciderOf = (by: string, deps: Deps = depsOf()): Decider => ({ deps, plans: new Plans(graphTypes), by });

/** The same where the code of deployments runs: of a run it knows what the message says that it takes (`told`). */
export const codeDeciderOf = (by: string): Decider & { readonly messageHeads: MessageHeads } => {
  const messageHeads = new MessageHeads();
  return { ...deciderOf(by, depsOf(messageHeads)), messageHeads };
};

export function loggerOf(by: string): Logger {
  return new Logger({ serviceName: `stepwell-${by}` });
}

/** When this invocation must be over. */
export const invocationDeadlineOf = (context: Pick<Context, 'getRemainingTimeInMillis'>, now: Instant): Instant =>
  after(now, durationMs(Math.max(0, context.getRemainingTimeInMillis())));
