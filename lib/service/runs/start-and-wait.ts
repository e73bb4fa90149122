/**
 * Starts a run and waits for its end. The function of its first job is called in place of a queue. The start writes what every start
 * writes, so a crash of any function leaves the run to the sweep. If the run begins with a script, the called function writes the head,
 * and this request writes it if that function may not have. A repeated request of a run that exists calls nothing: it reads the log until
 * the run ends.
 */
import { defined } from '../../base/defined.ts';
import { type RunProgress, isTerminal, openNodes } from '../../engine/log/fold.ts';
import { type Head, creationOf, firstProjection } from '../../engine/log/head.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { type DurationMs, type Instant, after, between, durationMs } from '../../engine/time.ts';
import type { JobCall, JobCallResult, JobCalls, WorkJob } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from '../run-log/payloads.ts';
import { type RunFold, fromFirstCommit, readTail } from '../run-log/read-run-fold.ts';
import { type ShownValue, maxValuesBytes } from './get-run.ts';
import { type NotCreated, type UnwrittenRun, isCreated } from './create-run.ts';
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

/** @param whileItRuns called when the run exists or its key is reserved, before the wait begins */
export async function startAndWait(
  decider: Decider,
  calls: JobCalls,
  request: Omit<StartRequest, 'runsFirst' | 'takesUnwritten'>,
  wait: DurationMs,
  whileItRuns: (started: Extract<StartResult, { kind: 'started' }>) => void = () => {},
): Promise<AwaitedStart> {
  const { deps } = decider;
  const until = after(deps.clock.now(), wait);
  let first: WorkJob | undefined;
  let unwritten: UnwrittenRun | undefined;
  const runsFirst = (job: WorkJob): void => void (first = job);
  const takesUnwritten = (run: UnwrittenRun): void => void (unwritten = run);
  // With fair shares for projects, each job must come through the node queue, which limits them.
  const isLimited = deps.settings.shares?.regular !== undefined;
  const started = await startRun(decider, isLimited ? request : { ...request, runsFirst, takesUnwritten });
  if (started.kind !== 'started') return started;
  whileItRuns(started);
  const call = callOf(started.head, first, unwritten);
  const called = call === undefined ? undefined : await callUntil(deps, calls, call, until);
  const end = called?.kind === 'ended' ? called.end : undefined;
  const written = end === undefined && unwritten !== undefined ? await seeToHead(deps, unwritten, called) : started.head;
  if (!isCreated(written)) return written;
  if (first !== undefined && called?.kind === 'refused') await sendToQueue(deps, first);
  const progress = end ?? (await readUntilEnd(deps, written, until));
  return defined({ ...started, head: written, progress, output: await outputOf(deps, written, progress) });
}

function callOf(head: Head, first: WorkJob | undefined, unwritten: UnwrittenRun | undefined): JobCall<WorkJob> | undefined {
  if (unwritten !== undefined) return { job: unwritten.job, run: unwritten.creation, isUnwritten: true };
  if (first === undefined) return undefined;
  return defined({ job: first, run: head.kind === 'graph' ? creationOf(head) : undefined });
}

/**
 * The head, which the function has written or this request writes now. The function may still run then: its put is refused, and it leaves
 * the run to the queue.
 */
async function seeToHead(
  deps: Pick<Deps, 'jobs' | 'log'>,
  { creation, job, write }: UnwrittenRun,
  called: JobCallResult | undefined,
): Promise<Head | NotCreated> {
  // A function that did not begin has written nothing.
  const found = called?.kind === 'refused' ? undefined : await deps.log.head(creation.address);
  if (found !== undefined) return found;
  const { run, isStored } = await write();
  if (!isCreated(run)) return run;
  if (isStored) await sendToQueue(deps, job);
  return isStored
    ? { ...run, projection: firstProjection }
    : ((await deps.log.head(creation.address)) ?? { kind: 'run_deleted', runId: creation.address.runId });
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
  call: JobCall<WorkJob>,
  until: Instant,
): Promise<JobCallResult> {
  const done = new AbortController();
  const timeIsOver = clock.sleep(between(clock.now(), until), done.signal).then((): JobCallResult => ({ kind: 'unknown' }));
  try {
    return await Promise.race([calls.call(call, done.signal), timeIsOver]);
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
