/**
 * Drives a code run on: replays the author's code on the run's history and commits each turn that it comes to, until it rests.
 * The same drive may be begun twice, as with every queue: the log tells the two apart, and one of them stops.
 */
import { divergedCode } from '../engine/durable/put-off.ts';
import { replayVersionKey } from '../engine/durable/replay-version.ts';
import { invariant, unreachable } from '../engine/invariant.ts';
import type { Failure } from '../engine/log/events.ts';
import { toldFailure } from '../engine/log/failure-limits.ts';
import type { CodeHead } from '../engine/log/head.ts';
import type { Deliveries } from '../engine/log/deliveries.ts';
import { isTerminal } from '../engine/log/fold.ts';
import type { OpenNode } from '../engine/log/node-state.ts';
import { wantedNode } from '../engine/log/wanted-node.ts';
import { type Instant, between, durationMs, instant, seconds } from '../engine/time.ts';
import type { Manifest } from '../ports/deployments.ts';
import type { DriveJob } from '../ports/jobs.ts';
import type { DriveEnd, DriveTask, Programs } from '../ports/programs.ts';
import { admitAttempt, recordingThrows } from './admit-attempt.ts';
import { passDeadline } from './deadline.ts';
import type { Decider } from './decide-run.ts';
import { type DriveEnding, DriveLog } from './drive-log.ts';
import { later, nudgeDelay, nudgeLater } from './later.ts';
import { type RunFold, readRun } from './read-log.ts';
import { inputOf } from './run-input.ts';
import type { Delivery } from './run-node.ts';
import { sendFromStep } from './send-from-step.ts';
import { watchDrive } from './watch-drive.ts';

export interface Driver extends Decider {
  readonly programs: Programs;
}

/** Left at the end of an invocation for the last commit and its sends. */
const reserveMs = seconds(5);
/** No body begins that has less than this left, or than a quarter of the whole time where that is short. */
const handOnMs = seconds(60);
/** A queue gives a message once within five minutes: one that comes early by less than this waits here for its time. */
const earlyMs = seconds(5);

export async function driveCodeRun(driver: Driver, job: DriveJob, delivery: Delivery): Promise<void> {
  const { deps } = driver;
  const fold = await readRun(deps, job.run, job.commit);
  if (fold === undefined) return;
  const { head } = fold;
  invariant(head.kind === 'code', `${head.address.runId} is no run of code that is replayed`);
  const asked = wantedNode(fold.state, job, job.attempt);
  if (asked === undefined) {
    // A duplicate sends nothing. A redelivery may be all that is left of a function that died after its commit.
    if (delivery.isRedelivered) await lookNow(driver, fold);
    return;
  }
  const wait = asked.status === 'queued' && asked.notBefore !== undefined ? between(deps.clock.now(), asked.notBefore) : 0;
  if (asked.status === 'queued' && asked.notBefore !== undefined && wait > earlyMs) return later(deps, asked.notBefore, job);
  if (wait > 0) await deps.clock.sleep(durationMs(wait));
  await passDeadline(driver, fold);
  if (isTerminal(fold.state.progress)) return;
  const admission = await admitAttempt(driver, fold, asked, { ...delivery, resend: job.resend, mayOverlap: true });
  if (admission.kind === 'with_another') return nudgeLater(deps, head, nudgeDelay);
  if (admission.kind === 'ended') return;
  const { deliveries } = admission;
  const act = async (): Promise<void> => {
    if (delivery.isRedelivered) await lookNow(driver, fold);
    await drive(driver, { fold, head, open: asked, deliveries }, delivery);
  };
  await recordingThrows(driver, fold, asked, act, deliveries);
}

/** What the drive before this one left unsent is sent by another function: to look at a run may move those of others. */
const lookNow = ({ deps }: Driver, { head }: RunFold): Promise<void> => nudgeLater(deps, head, durationMs(0));

interface Driven {
  readonly fold: RunFold;
  readonly head: CodeHead;
  readonly open: OpenNode;
  /** what is known of earlier deliveries of its message */
  readonly deliveries: Deliveries | undefined;
}

async function drive(driver: Driver, driven: Driven, delivery: Delivery): Promise<void> {
  const { deps } = driver;
  const { fold, head, open } = driven;
  const log = new DriveLog(driver, fold, open);
  const deployment = await deps.deployments.deployment(head.address, head.deploymentId);
  const end: DriveEnd =
    deployment === undefined
      ? { kind: 'unloadable', message: `deployment ${head.deploymentId} is gone` }
      : await driveOn(driver, log, driven, deployment.manifest, delivery);
  await log.close(endingOf(log, end, () => deps.clock.now()));
}

async function driveOn(
  driver: Driver,
  log: DriveLog,
  { fold, head, deliveries }: Driven,
  manifest: Manifest,
  { mustEndAt, isToRest }: Delivery,
): Promise<DriveEnd> {
  const { deps, programs } = driver;
  const { clock } = deps;
  const killAt = instant(Math.max(clock.now(), mustEndAt - reserveMs));
  const spare = Math.min(handOnMs, between(clock.now(), killAt) / 4);
  const task: DriveTask = {
    run: {
      runId: head.address.runId,
      workflowName: head.workflow.name,
      version: head.workflow.version ?? null,
      createdAt: head.createdAt,
      deadlineAt: head.deadlineAt,
    },
    replayVersion: replayVersionOf(fold),
    input: await inputOf(deps, head),
    history: await log.history(),
    handsOnAt: instant(killAt - spare),
    ...(deliveries === undefined || deliveries.lost.length === 0 ? {} : { commitsFirst: true }),
  };
  const { projectId, environment } = head.address;
  const drive = programs.begin({ projectId, environment }, manifest, task, {
    turn: (turn) => log.turn(turn),
    perform: (command) => sendFromStep(deps, head, command),
  });
  const done = new AbortController();
  const rest = (): void => drive.handOn();
  if (isToRest?.aborted === true) rest();
  isToRest?.addEventListener('abort', rest, { signal: done.signal });
  // Whoever cannot watch must not let it go on; the drive's message comes back.
  let trouble: { readonly of: unknown } | undefined;
  const watching = watchDrive(deps, head, log, drive, { killAt, done: done.signal, deliveries }).catch((of: unknown) => {
    trouble = { of };
    return drive.kill('nobody watches the drive any more');
  });
  const end = await drive.ended;
  done.abort();
  await watching;
  if (trouble !== undefined) throw trouble.of;
  return end;
}

/** A run is replayed as it began. */
function replayVersionOf({ head, state }: RunFold): number {
  const said = state.written.get(replayVersionKey)?.at(-1)?.payload;
  const value = said !== undefined && 'value' in said ? said.value : undefined;
  invariant(typeof value === 'number', `${head.address.runId} does not say how it is replayed`);
  return value;
}

/** What the run is told of a drive that ended otherwise than by a turn. */
function endingOf(log: DriveLog, end: DriveEnd, now: () => Instant): (() => DriveEnding) | undefined {
  const ofDrive = () => ({ node: log.node, attempt: log.attempt, startedAt: log.startedAt, endedAt: now() });
  const putOff =
    (code: string, { message, details }: Pick<Failure, 'message' | 'details'>) =>
    (): DriveEnding => ({
      kind: 'drive-put-off',
      ...ofDrive(),
      failure: toldFailure({ cause: 'error', code, message, ...(details === undefined ? {} : { details }) }),
    });
  const broke =
    (failure: Omit<Failure, 'message'>, { message, running }: Extract<DriveEnd, { running: unknown }>) =>
    () =>
      ({ kind: 'drive-broke', ...ofDrive(), failure: toldFailure({ ...failure, message }), running }) satisfies DriveEnding;
  switch (end.kind) {
    case 'over':
      return undefined;
    case 'crashed':
      return broke({ cause: 'error', code: 'code_crashed' }, end);
    case 'timed_out':
      return broke({ cause: 'timeout', code: 'code_timed_out' }, end);
    case 'diverged':
      return putOff(divergedCode, end);
    case 'unloadable':
      return putOff('artifact_unusable', end);
    case 'unknown_workflow':
      return putOff('workflow_unknown', end);
    default:
      return unreachable(end);
  }
}
