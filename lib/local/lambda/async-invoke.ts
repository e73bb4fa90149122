/**
 * Asynchronous invocation, as in Lambda: an accepted event waits in a queue of its function. A throttled event returns to the
 * queue until it is too old. A failed invocation is retried a few times. After that Lambda drops the event:
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
 */
import * as z from 'zod';
import { type Backoff, type RetryLimits, nextAttempt } from '../../base/retry.ts';
import { lastPart } from '../aws-environment.ts';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import type { InvocationCause, LambdaFunction } from './function.ts';

/** The EventInvokeConfig of a function, or Lambda's defaults. */
export interface AsyncInvokeConfig {
  /** retries after an invocation that failed */
  readonly retries: number;
  readonly maxAgeMs: number;
}

export const defaultAsyncInvokeConfig: AsyncInvokeConfig = { retries: 2, maxAgeMs: 21_600_000 };

/** The bounds are Lambda's. */
const configShape = z.strictObject({
  FunctionName: z.string(),
  Qualifier: z.literal('$LATEST'),
  MaximumRetryAttempts: z.number().int().min(0).max(2).default(defaultAsyncInvokeConfig.retries),
  MaximumEventAgeInSeconds: z
    .number()
    .int()
    .min(60)
    .max(21_600)
    .default(defaultAsyncInvokeConfig.maxAgeMs / 1_000),
});

/** By function name; a function without a config has the defaults. */
export function readAsyncInvokeConfigs(template: Template): ReadonlyMap<string, AsyncInvokeConfig> {
  return new Map(
    template.of('AWS::Lambda::EventInvokeConfig').map(({ logicalId, properties }) => {
      const parsed = configShape.safeParse(properties);
      if (!parsed.success)
        throw new TemplateError(`${logicalId}: the EventInvokeConfig is not valid: ${z.prettifyError(parsed.error)}`);
      const { FunctionName, MaximumRetryAttempts, MaximumEventAgeInSeconds } = parsed.data;
      return [lastPart(FunctionName), { retries: MaximumRetryAttempts, maxAgeMs: MaximumEventAgeInSeconds * 1_000 }];
    }),
  );
}

/** One minute before the first retry of a failed invocation, two before the second. */
const failureBackoff: Backoff = { baseMs: 60_000 };
/** A throttled event is retried after 1 s, 2 s, 4 s and so on, at most every five minutes, until it is too old. */
const throttlingLimits: RetryLimits = { attempts: Infinity, backoff: { baseMs: 1_000, maxMs: 300_000 } };

type AsyncTarget = Pick<LambdaFunction, 'name' | 'invoke' | 'asyncInvoke'>;

/** Accepts an event and invokes the function later. `warn` reports an event that is dropped. */
export function invokeAsync(
  target: AsyncTarget,
  event: string,
  warn: (line: string) => void,
  cause: Pick<InvocationCause, 'traceHeaders'> = {},
): void {
  const acceptedAt = Date.now();
  const { retries, maxAgeMs } = target.asyncInvoke;
  let failures = 0;
  let throttles = 0;

  const drop = (reason: string): void => warn(`${target.name}: an asynchronous event was dropped: ${reason}`);
  const retryOrDrop = (limits: RetryLimits, failedAttempt: number): void => {
    const next = nextAttempt(limits, failedAttempt, { remainingMs: acceptedAt + maxAgeMs - Date.now() });
    // A stopping process does not wait for the timer: queued events are lost with the embedded cloud.
    if (next.kind === 'retry') setTimeout(attempt, next.delayMs).unref();
    else if (next.reason === 'deadline') drop(`it is older than ${maxAgeMs / 1_000} s`);
    else drop(`the function failed, and ${retries} retries are configured`);
  };
  const onFailure = (): void => retryOrDrop({ attempts: retries + 1, backoff: failureBackoff }, ++failures);
  function attempt(): void {
    target.invoke(event, cause).then((outcome) => {
      if (outcome.kind === 'failed') onFailure();
      else if (outcome.kind === 'refused' && outcome.code === 'TooManyRequestsException')
        retryOrDrop(throttlingLimits, ++throttles);
      else if (outcome.kind === 'refused') drop(outcome.message);
    }, onFailure);
  }
  attempt();
}
