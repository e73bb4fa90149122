/**
 * Starts a run and waits for its end. The function of its first job is called in place of a queue. The start writes what every start
 * writes, so a crash of any function leaves the run to the sweep. A repeated request calls nothing: it reads the log until the run ends.
 */
import { defined } from '../../base/defined.ts';
import { type RunProgress, isTerminal, openNodes } from '../../engine/log/fold.ts';
import { type Head, creationOf } from '../../engine/log/head.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { type DurationMs, type Instant, after, between, durationMs } from '../../engine/time.ts';
import type { JobCallResult, JobCalls, WorkJob } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from '../run-log/payloads.ts';
import { type RunFold, fromFirstCommit, readTail } from '../run-log/read-run-fold.ts';
import { type ShownValue, maxValuesBytes } from './get-run.ts';
import { type StartRequest, type StartResult, startRun } from './start-run.ts';

const firstPoll = durationMs(100);
const longestPoll = durationMs(1_000);
const pollGrowth = 1.5;

export type AwaitedStart =
  | (Extract<StartResult, { kind: 'started' }> & {
      readonly progress: RunProgress;
      /** of a completed run */
      readonly output?: ShownValue;
    })
  | Exclude<StartResult, { kind: 'started' }>;

/** @param whileItRuns called when the run exists, before the wait begins */
export async function startAndWait(
  decider: Decider,
  calls: JobCalls,
  request: Omit<StartRequest, 'runsFirst'>,
  wait: DurationMs,
  whileItRuns: (started: Extract<StartResult, { kind: 'started' }>) => void = () => {},
): Promise<AwaitedStart> {
  const { deps } = decider;
  const until = after(deps.clock.now(), wait);
  let first: WorkJob | undefined;
  const runsFirst = (job: WorkJob): void => void (first = job);
  // With fair shares for projects, each job must come through the node queue, which limits them.
  const isLimited = deps.settings.shares?.regular !== undefined;
  const started = await startRun(decider, isLimited ? request : { ...request, runsFirst });
  if (started.kind !== 'started') return started;
  whileItRuns(started);
  const called = first === undefined ? undefined : await callUntil(deps, calls, first, started.head, until);
  if (first !== undefined && called?.kind === 'refused') await sendToQueue(deps, first);
  const progress =
    called?.kind === 'ended' && called.end !== undefined ? called.end : await readUntilEnd(deps, started.head, until);
  return defined({ ...started, progress, output: await outputOf(deps, started.head, progress) });
}

/** If the queue is unavailable too, the sweep sends the job. */
async function sendToQueue({ jobs }: Pick<Deps, 'jobs'>, job: WorkJob): Promise<void> {
  try {
    await jobs.send([job]);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** Calls the function, and stops waiting for it at that time. The function continues. */
async function callUntil(
  { clock }: Pick<Deps, 'clock'>,
  calls: JobCalls,
  job: WorkJob,
  head: Head,
  until: Instant,
): Promise<JobCallResult> {
  const done = new AbortController();
  const timeIsOver = clock.sleep(between(clock.now(), until), done.signal).then((): JobCallResult => ({ kind: 'unknown' }));
  try {
    return await Promise.race([calls.call(job, head.kind === 'graph' ? creationOf(head) : undefined, done.signal), timeIsOver]);
  } finally {
    done.abort();
  }
}

/** Reads the log until the run ends, waits for something after that time, or the time is over. */
async function readUntilEnd(deps: Pick<Deps, 'log' | 'clock'>, head: Head, until: Instant): Promise<RunProgress> {
  const fold = fromFirstCommit(head);
  for (let pause: number = firstPoll; ; pause = Math.min(pause * pollGrowth, longestPoll)) {
    if (isTerminal(fold.state.progress)) return fold.state.progress;
    await readTail(deps, fold);
    const remaining = between(deps.clock.now(), until);
    if (isTerminal(fold.state.progress) || waitsBeyond(fold, until) || remaining <= 0) return fold.state.progress;
    await deps.clock.sleep(durationMs(Math.min(pause, remaining)));
  }
}

/** Whether every open node waits for a signal or for a later time, so that only an event from outside lets the run end in time. */
function waitsBeyond({ state }: RunFold, until: Instant): boolean {
  const open = openNodes(state);
  return open.length > 0 && open.every((node) => waitsLonger(node, until));
}

function waitsLonger(node: OpenNode, until: Instant): boolean {
  if (node.status === 'queued') return node.notBefore !== undefined && node.notBefore > until;
  if (node.status !== 'waiting') return false;
  return node.for === 'signal' || (node.for === 'time' && node.wakeAt > until);
}

async function outputOf(
  deps: Pick<Deps, 'log' | 'blobs' | 'clock'>,
  head: Head,
  progress: RunProgress,
): Promise<ShownValue | undefined> {
  if (progress.status !== 'completed') return undefined;
  const { output } = progress;
  const bytes = 'ref' in output ? output.bytes : Buffer.byteLength(JSON.stringify(output.value));
  if (bytes > maxValuesBytes) return { omittedBytes: bytes };
  return { value: 'ref' in output ? await loadPayload(deps, head.address, output.ref) : output.value };
}
