/** Runs deployed code in a long-running process instead of the code function. Consumes the code queue until it is stopped. */
import { rmSync } from 'node:fs';
import { parseJob, parseMessage } from '../../lib/codec/jobs.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import {
  codeWorkerEnvironment,
  type CodeWorkerOptions,
  type RunWorker,
  type WorkerEnd,
  type WorkerLogLine,
} from '../../lib/contract/worker-program.ts';
import { deploymentId, environment, firstCommit, projectId, runId } from '../../lib/engine/ids.ts';
import { after, hours, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { ReceivedMessage } from '../../lib/ports/work-queue.ts';
import { consumeQueue, type ConsumerEvent } from '../../lib/service/execution/consume-queue.ts';
import { logKeysOf } from '../batch.ts';
import { createRunner } from './create-runner.ts';
import { handleCodeJob } from './handle-code-job.ts';
import { availableMemoryBytes, createTemporaryFolder } from './machine.ts';
import { codeQueue, settingsErrorOf } from './queue-wiring.ts';
import { codeDeciderOf, hopLimiter, loggerOf } from './decider-wiring.ts';

/** SQS limits a visibility timeout to twelve hours. A workflow task hands off before. */
const maxWorkDuration = hours(11);

export const runWorker: RunWorker = async (options) => {
  // As in the function, the settings and the configuration of the AWS clients are environment variables.
  Object.assign(process.env, options.variables);
  const missingNames = codeWorkerEnvironment
    .map((name) => environmentNames[name])
    .filter((name) => process.env[name] === undefined);
  if (missingNames.length > 0) return { kind: 'missing_variables', names: missingNames };
  useQueueRegion(process.env);
  const folder = createTemporaryFolder();
  try {
    return await runUntilStopped(options, folder);
  } catch (error) {
    const settingsError = settingsErrorOf(error);
    if (settingsError !== undefined) return { kind: 'refused', message: settingsError.message };
    const isUnreachable = error instanceof Unavailable;
    return { kind: isUnreachable ? 'unreachable' : 'refused', message: describeError(isUnreachable ? error.cause : error) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

async function runUntilStopped(
  { concurrency, visibilityTimeoutSeconds, drainSeconds, stop, log }: CodeWorkerOptions,
  folder: string,
): Promise<WorkerEnd> {
  const decider = codeDeciderOf('worker-process');
  const { deps } = decider;
  const memoryMb = Math.floor(availableMemoryBytes() / 1_048_576);
  // Output of deployed code is logged under a fixed message, so that it cannot imitate a log line of the product.
  const print = (line: object): void => log({ ...line, level: 'info', message: 'output of deployed code' });
  const runner = createRunner(decider, loggerOf('worker-process'), { memoryMb, folder, print });
  await checkTables(deps);
  const { handled, abandoned } = await consumeQueue(
    {
      queue: codeQueue(),
      clock: deps.clock,
      concurrency,
      visibilityTimeout: seconds(visibilityTimeoutSeconds),
      drain: seconds(drainSeconds),
      report: (note) => {
        if (shouldLog(note)) log(toLogLine(note));
      },
      handle: (body, { hops, ...delivery }) =>
        hopLimiter.handle(hops, () =>
          handleCodeJob(runner, parseJob(body), { ...delivery, mustEndAt: after(deps.clock.now(), maxWorkDuration) }),
        ),
    },
    stop,
  );
  return { kind: 'finished', completed: handled, remaining: abandoned };
}

type CodeDeps = ReturnType<typeof codeDeciderOf>['deps'];

/** Reads a run and a deployment that do not exist, and throws if the tables cannot be read. */
async function checkTables({ log, deployments }: CodeDeps): Promise<void> {
  const scope = { projectId: projectId('none'), environment: environment('none') };
  await log.commitsAfter({ ...scope, runId: runId(`wrun_${'0'.repeat(26)}`) }, firstCommit);
  await deployments.deployment(scope, deploymentId('none'));
}

/** The process uses the queue's region and ignores the region that this machine is configured for. */
function useQueueRegion(variables: NodeJS.ProcessEnv): void {
  const region = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(variables[environmentNames.codeQueueUrl] ?? '')?.[1];
  if (region !== undefined) variables['AWS_REGION'] = region;
}

/** Logs the first, second, fourth, eighth … failure of an outage, so that a long outage does not flood the log. */
export const shouldLog = (event: ConsumerEvent): boolean =>
  event.kind !== 'backing_off' || Number.isInteger(Math.log2(event.failures));

export function toLogLine(event: ConsumerEvent): WorkerLogLine {
  switch (event.kind) {
    case 'started':
      return { level: 'info', message: 'taking messages for code' };
    case 'backing_off': {
      const { error, delayMs, failures, message } = event;
      const fields = { error: describeError(error), failures, ...(message === undefined ? {} : messageFields(message)) };
      return { level: 'warn', message: `${error.message}: retrying in ${Math.ceil(delayMs / 1_000)} s`, ...fields };
    }
    case 'will_be_redelivered':
      return {
        level: 'error',
        message: 'a message comes back',
        error: describeError(event.error),
        ...messageFields(event.message),
      };
    case 'receipt_expired':
      return {
        level: 'warn',
        message: 'receipt expired: another worker may handle the message too',
        ...messageFields(event.message),
      };
    case 'draining':
      return {
        level: 'info',
        message: `draining: ${event.atWork} messages in flight have ${event.drainMs / 1_000} s to finish`,
        inFlight: event.atWork,
      };
    case 'abandoned':
      return {
        level: 'warn',
        message: 'not finished within the drain time: released for other workers',
        ...messageFields(event.message),
      };
  }
}

/** The message of an error and of its causes. */
export const describeError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const summary = `${error.name}: ${error.message}`;
  return error.cause === undefined ? summary : `${summary} (${describeError(error.cause)})`;
};

function messageFields({ id, body, receiveCount }: ReceivedMessage): object {
  const deliveryFields = { messageId: id, receives: receiveCount };
  try {
    return { ...logKeysOf(parseMessage(body)), ...deliveryFields };
  } catch {
    // A body that cannot be parsed has no fields to log.
    return deliveryFields;
  }
}
