/** Does in a process of the owner's own what the function does: the same messages, the same code, until it is told to end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseJob } from '../../lib/codec/jobs.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import {
  type RunWorker,
  type WorkerEnd,
  type CodeWorkerOptions,
  codeWorkerEnvironment,
} from '../../lib/contract/worker-program.ts';
import { deploymentId, environment, firstCommit, projectId, runId } from '../../lib/engine/ids.ts';
import { after, hours, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { consumeQueue } from '../../lib/service/execution/consume-queue.ts';
import { codeDeciderOf, hopLimiter } from '../wiring.ts';
import { codeQueue, settingsErrorOf } from './queue-wiring.ts';
import { type CodeRunner, handleCodeJob } from './handle-code-job.ts';
import { describeError, shouldLog, toLogLine } from './worker-log-lines.ts';
import { createCodeRuntimes } from './wiring.ts';

/** A queue lets nobody hold a message for more than twelve hours: a drive hands on before. */
const maxWorkDuration = hours(11);

export const runWorker: RunWorker = async (options) => {
  // As in the function: the settings, and what AWS's own client goes by, are in the environment.
  Object.assign(process.env, options.variables);
  const missingNames = codeWorkerEnvironment
    .map((name) => environmentNames[name])
    .filter((name) => process.env[name] === undefined);
  if (missingNames.length > 0) return { kind: 'missing_variables', names: missingNames };
  useQueueRegion(process.env);
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-worker-'));
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
  // What code prints is its own business: a line of it is never taken for a line of the product's.
  const print = (line: object): void => log({ ...line, level: 'info', message: 'printed by the code of a deployment' });
  const runner: CodeRunner = { ...decider, ...createCodeRuntimes(deps, { memoryMb, folder, print }) };
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

/** Nobody's run, of nobody's deployment: that they are not there is an answer, and anything else is thrown. */
async function checkTables({ log, deployments }: Pick<Deps, 'log' | 'deployments'>): Promise<void> {
  const scope = { projectId: projectId('none'), environment: environment('none') };
  await log.commitsAfter({ ...scope, runId: runId(`wrun_${'0'.repeat(26)}`) }, firstCommit);
  await deployments.deployment(scope, deploymentId('none'));
}

/** Whatever region this machine is set up for, everything is where the queue is. */
function useQueueRegion(variables: NodeJS.ProcessEnv): void {
  const region = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(variables[environmentNames.codeQueueUrl] ?? '')?.[1];
  if (region !== undefined) variables['AWS_REGION'] = region;
}

/** What this process may have: that of its container, where there is one. */
function availableMemoryBytes(): number {
  const constrainedBytes = process.constrainedMemory();
  return constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem();
}
