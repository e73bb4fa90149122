/** Does in a process of the owner's own what the function does: the same messages, the same code, until it is told to end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseJob } from '../../lib/codec/jobs.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import { type RunWorker, type WorkerEnd, type WorkerGiven, toldToCode } from '../../lib/contract/worker-program.ts';
import { deploymentId, environment, firstCommit, projectId, runId } from '../../lib/engine/ids.ts';
import { after, hours, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { workOffQueue } from '../../lib/service/work-off-queue.ts';
import { deciderOfCode, hopLimiter } from '../wiring.ts';
import { codeQueue, settingsFaultOf } from './queue-wiring.ts';
import { type RunsCode, takeCodeJob } from './take.ts';
import { described, isWorthALine, lineOf } from './worker-lines.ts';
import { codeOn } from './wiring.ts';

/** A queue lets nobody hold a message for more than twelve hours: a drive hands on before. */
const longestWork = hours(11);

export const runWorker: RunWorker = async (given) => {
  // As in the function: the settings, and what AWS's own client goes by, are in the environment.
  Object.assign(process.env, given.variables);
  const untold = toldToCode.map((name) => environmentNames[name]).filter((name) => process.env[name] === undefined);
  if (untold.length > 0) return { kind: 'untold', names: untold };
  followQueue(process.env);
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-worker-'));
  try {
    return await work(given, folder);
  } catch (trouble) {
    const fault = settingsFaultOf(trouble);
    if (fault !== undefined) return { kind: 'refused', message: fault.message };
    const isUnreachable = trouble instanceof Unavailable;
    return { kind: isUnreachable ? 'unreachable' : 'refused', message: described(isUnreachable ? trouble.cause : trouble) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

async function work({ concurrency, holdSeconds, drainSeconds, stop, tell }: WorkerGiven, folder: string): Promise<WorkerEnd> {
  const decider = deciderOfCode('worker-process');
  const { deps } = decider;
  const memoryMb = Math.floor(memoryBytes() / 1_048_576);
  // What code prints is its own business: a line of it is never taken for a line of the product's.
  const print = (line: object): void => tell({ ...line, level: 'info', message: 'printed by the code of a deployment' });
  const runner: RunsCode = { ...decider, ...codeOn(deps, { memoryMb, folder, print }) };
  await checkTables(deps);
  const worked = await workOffQueue(
    {
      queue: codeQueue(),
      clock: deps.clock,
      concurrency,
      hold: seconds(holdSeconds),
      drain: seconds(drainSeconds),
      note: (note) => {
        if (isWorthALine(note)) tell(lineOf(note));
      },
      take: (body, { hops, ...how }) =>
        hopLimiter.handle(hops, () =>
          takeCodeJob(runner, parseJob(body), { ...how, mustEndAt: after(deps.clock.now(), longestWork) }),
        ),
    },
    stop,
  );
  return { kind: 'worked', ...worked };
}

/** Nobody's run, of nobody's deployment: that they are not there is an answer, and anything else is thrown. */
async function checkTables({ log, deployments }: Pick<Deps, 'log' | 'deployments'>): Promise<void> {
  const scope = { projectId: projectId('none'), environment: environment('none') };
  await log.commitsAfter({ ...scope, runId: runId(`wrun_${'0'.repeat(26)}`) }, firstCommit);
  await deployments.deployment(scope, deploymentId('none'));
}

/** Whatever region this machine is set up for, everything is where the queue is. */
function followQueue(variables: NodeJS.ProcessEnv): void {
  const region = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(variables[environmentNames.codeQueueUrl] ?? '')?.[1];
  if (region !== undefined) variables['AWS_REGION'] = region;
}

/** What this process may have: that of its container, where there is one. */
function memoryBytes(): number {
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}
