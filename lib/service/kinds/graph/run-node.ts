/**
 * Handles node jobs and wake-ups: runs the attempt if its node is still open, commits the result, and runs one ready node inline while
 * the invocation has time. So in a chain each node costs no read and one write, and idempotent nodes share their writes (`pack.ts`).
 */
import { firstTimeSlice, slowLaneGroup, timeSliceAfter } from '../../../engine/fair-shares.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import type { Plan, PlanNode } from '../../../engine/graph/plan.ts';
import { type Attempt, type NodeRef, nodeKey, workflowName } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../../../engine/log/node-state.ts';
import { type DurationMs, between, durationMs } from '../../../engine/time.ts';
import type { NodeJob } from '../../../ports/jobs.ts';
import { isPastDeadline, enforceDeadline } from '../../commit/deadline.ts';
import { nodeJob, originFields } from '../../commit/job-messages.ts';
import { sendJobAt, recheckDelay, sendRecheck } from '../../commit/schedule-message.ts';
import type { Decider } from '../../decider.ts';
import { admitAttempt, recordingAttemptErrors } from '../../execution/admit-attempt.ts';
import { recoverAndRecheck } from '../../execution/recheck-run.ts';
import { releaseAttempt } from '../../run-log/attempt-heartbeats.ts';
import { offload } from '../../run-log/payloads.ts';
import { type RunFold, readTail, readTailBesideSiblings, readTailOfTestRun } from '../../run-log/read-run-fold.ts';
import { saveSnapshot } from '../../run-log/snapshots.ts';
import type { Continuation, Delivery, Worker } from '../../worker.ts';
import { type NodeEnded, attemptNode } from './attempt-node.ts';
import { decideRun, planOf } from './decide-run.ts';
import { Pack } from './pack.ts';
import { announceStart } from './watch-attempt.ts';

/** Time reserved at the end of an invocation for the commit and its effects. */
const reserveMs = durationMs(5_000);

export async function runNode(worker: Worker, job: NodeJob, delivery: Delivery): Promise<void> {
  const isSlow = job.slowLane !== undefined;
  const usesProjectGroup = isSlow || worker.deps.settings.shares?.regular !== undefined;
  const { fold, isRead } = await worker.foldCache.takeFor(worker.deps, job, delivery);
  if (fold === undefined) return;
  if (!isRead && (await needsWholeLog(worker, fold, job))) await readTail(worker.deps, fold);
  if (openNodeOf(fold, job) !== undefined && (await hasEndedAtDeadline(worker, fold, job))) return worker.foldCache.put(fold);
  const found = openNodeOf(fold, job);
  // A later commit dispatched the attempt if its backoff was ended early. The job of that commit runs it.
  const open = found?.dispatchedIn === job.commit ? found : undefined;
  if (open === undefined) {
    // A duplicate dispatches nothing. After a redelivery, the worker before may have crashed between its commit and its effects.
    if (delivery.isRedelivered) await recoverAndRecheck(worker, fold);
  } else if (open.status === 'queued' && open.notBefore !== undefined && open.notBefore > worker.deps.clock.now()) {
    // Without the slow lane: the delay queue has no lanes.
    await sendJobAt(worker.deps, open.notBefore, nodeJob(fold.head, job.commit, job, job.resend));
  } else {
    const admission = await admitAttempt(worker, fold, open, { ...delivery, resend: job.resend, usesProjectGroup });
    // Running it here would execute the node twice. The recheck redispatches it if the other worker has crashed.
    if (admission.kind === 'held_by_another') await sendRecheck(worker.deps, fold.head, recheckDelay);
    else if (admission.kind === 'begins')
      await runChain(
        worker,
        fold,
        { open, isSlow, deliveries: admission.deliveries, canPack: mayPack(delivery, job.resend) },
        delivery,
      );
  }
  worker.foldCache.put(fold);
}

/**
 * Runs the first job of a run that its start has not written, and writes the head with the first results. Nothing with side effects runs
 * before that. If the run exists by then, its creator runs it.
 */
export async function runFirstOf(worker: Worker, fold: RunFold, job: NodeJob, delivery: Delivery): Promise<void> {
  const plan = await planOf(worker, fold);
  const pack = new Pack(worker, fold, plan);
  const open = openNodeOf(pack.draft, job);
  invariant(open !== undefined, `the creation of ${job.run.runId} does not dispatch ${job.nodeId}`);
  const from = isPastDeadline(worker.deps, fold) ? undefined : open;
  const commit = await recordingAttemptErrors(worker, fold, open, () => runPack(worker, fold, plan, pack, from, delivery));
  if (commit !== undefined) await runReadyNodes(worker, fold, plan, commit, delivery, true);
  // Otherwise the run has been deleted meanwhile.
  if (fold.state.asOf !== 0) worker.foldCache.put(fold);
}

/** Whether the node may begin only if the fold has everything that was committed before the message was taken. */
async function needsWholeLog(worker: Worker, fold: RunFold, job: NodeJob): Promise<boolean> {
  const open = openNodeOf(fold, job);
  if (open === undefined) return false;
  // During a backoff a client may have asked for the retry, and another worker may have executed it.
  if (open.status === 'queued' && open.notBefore !== undefined) return true;
  // A run that was cancelled since its message was sent must not begin a node with side effects.
  return planNodeOf(await planOf(worker, fold), open).policy.isIdempotent !== true;
}

/** An attempt that this worker may begin. */
interface Admitted {
  readonly open: OpenNode;
  /** its job came through the slow lane: its scripts run up to their limits, and this invocation runs no further node */
  readonly isSlow: boolean;
  readonly deliveries?: Deliveries | undefined;
  /** after a crash each node has a commit of its own, so that another crash can be attributed to its node */
  readonly canPack: boolean;
}

/** Whether the results of a delivery's nodes may be held back. A job that was sent again may have crashed its worker. */
const mayPack = ({ isRedelivered }: Delivery, resend: number | undefined): boolean => !isRedelivered && (resend ?? 0) === 0;

/** Commits the end of a wait. This invocation then runs the next node. @returns undefined if another writer ended the wait */
export async function endGraphWait(
  worker: Worker,
  fold: RunFold,
  fact: Extract<Fact, { kind: 'node-woken' | 'child-ended' }>,
): Promise<Continuation | undefined> {
  const plan = await planOf(worker, fold);
  // With fair shares, the next node must come through the node queue, which limits each project.
  const appended = await decideRun(worker, fold, plan, [fact], worker.deps.settings.shares?.regular === undefined);
  if (appended.kind !== 'committed') return undefined;
  return (delivery) => runReadyNodes(worker, fold, plan, appended.commit, delivery, mayPack(delivery, undefined));
}

async function runChain(worker: Worker, fold: RunFold, first: Admitted, delivery: Delivery): Promise<void> {
  const { open, deliveries } = first;
  const [plan, commit] = await recordingAttemptErrors(
    worker,
    fold,
    open,
    () => runFirst(worker, fold, first, delivery),
    deliveries,
  );
  if (commit !== undefined) await runReadyNodes(worker, fold, plan, commit, delivery, first.canPack);
  // The put of the crashed worker may have succeeded in between. Without this, only the sweep would dispatch its effects.
  else if (delivery.isRedelivered && open.via !== 'collect') await recoverAndRecheck(worker, fold);
}

async function runFirst(
  worker: Worker,
  fold: RunFold,
  first: Admitted,
  delivery: Delivery,
): Promise<readonly [Plan, Commit | undefined]> {
  const plan = await planOf(worker, fold);
  await announceIfSlow(worker, fold, plan, first.open);
  // Announcing the start may have read commits that ended the node.
  const isWanted = openNodeOf(fold, first.open) !== undefined;
  return [plan, isWanted ? await attemptAndCommit(worker, fold, plan, first, delivery) : undefined];
}

/** Runs the node that each commit dispatched inline, until there is none or the time is short. */
async function runReadyNodes(
  worker: Worker,
  fold: RunFold,
  plan: Plan,
  from: Commit,
  delivery: Delivery,
  canPack: boolean,
): Promise<void> {
  for (let commit: Commit | undefined = from; commit !== undefined;) {
    const next = inlineNodeOf(fold, commit);
    if (next === undefined) break;
    const wait =
      next.status === 'queued' && next.notBefore !== undefined ? between(worker.deps.clock.now(), next.notBefore) : durationMs(0);
    if (!hasTimeFor(worker, plan, next, delivery, wait)) {
      await worker.deps.jobs.send([nodeJob(fold.head, commit.number, next)]);
      break;
    }
    if (wait > 0) await worker.deps.clock.sleep(wait);
    if (await hasEndedAtDeadline(worker, fold, next)) break;
    const act = (): Promise<Commit | undefined> =>
      attemptAndCommit(worker, fold, plan, { open: next, isSlow: false, canPack }, delivery);
    commit = await recordingAttemptErrors(worker, fold, next, act);
  }
  await saveSnapshot(worker.deps, fold);
}

const hasTimeFor = ({ deps }: Worker, plan: Plan, next: OpenNode, { mustEndAt }: Delivery, wait: number): boolean =>
  between(deps.clock.now(), mustEndAt) >= wait + timeLimitOf(plan, next) + reserveMs;

/** Whether the run is past its deadline and has ended, or the node has. A run that waits beside this node may continue. */
async function hasEndedAtDeadline(
  worker: Worker,
  fold: RunFold,
  node: NodeRef & { readonly attempt: Attempt },
): Promise<boolean> {
  if (!isPastDeadline(worker.deps, fold)) return false;
  await readTailBesideSiblings(worker.deps, fold, node);
  await enforceDeadline(worker, fold);
  return isTerminal(fold.state.progress) || openNodeOf(fold, node) === undefined;
}

/** Runs the attempt and commits its result, or sends the result to the collector. */
async function attemptAndCommit(
  worker: Worker,
  fold: RunFold,
  plan: Plan,
  admitted: Admitted,
  delivery: Delivery,
): Promise<Commit | undefined> {
  const { open, isSlow, deliveries, canPack } = admitted;
  const ended = await attemptInSlice(worker, fold, plan, admitted);
  if (ended === 'slice_spent') {
    await moveToSlowLane(worker, fold, open, deliveries);
    return undefined;
  }
  const isTest = await readTailOfTestRun(worker.deps, fold);
  if (isTerminal(fold.state.progress)) return undefined;
  if (open.via === 'collect') {
    await sendResult(worker, fold, open, ended);
    await releaseAttempt(worker.deps, fold, open, deliveries);
    return undefined;
  }
  await readTailBesideSiblings(worker.deps, fold, open);
  if (canPack && !isSlow && planNodeOf(plan, open).policy.isIdempotent === true && !isTest)
    return packFrom(worker, fold, plan, ended, delivery);
  const appended = await decideRun(worker, fold, plan, [ended], !isSlow);
  return appended.kind === 'committed' ? appended.commit : undefined;
}

/** Holds the result back, with those of the idempotent nodes that follow from it. */
function packFrom(worker: Worker, fold: RunFold, plan: Plan, first: NodeEnded, delivery: Delivery): Promise<Commit | undefined> {
  const pack = new Pack(worker, fold, plan);
  return runPack(worker, fold, plan, pack, pack.add(first), delivery);
}

/** The next time slices of nodes whose attempts ended in this process. An entry lives as long as the cached plan. */
const timeSlices = new WeakMap<PlanNode, DurationMs>();

/** Runs the attempt, with fair shares for the time of its slice. The slow lane has no slices, but its attempts teach the next one. */
async function attemptInSlice(
  worker: Worker,
  fold: RunFold,
  plan: Plan,
  { open, isSlow, deliveries }: Pick<Admitted, 'open' | 'isSlow' | 'deliveries'>,
  pack?: Pack,
): Promise<NodeEnded | 'slice_spent'> {
  const node = planNodeOf(plan, open);
  const slice = timeSlices.get(node) ?? firstTimeSlice;
  const timeSlice = worker.deps.settings.shares === undefined || isSlow ? undefined : slice;
  const attempted = await attemptNode(worker, fold, plan, node, open, { deliveries, timeSlice, pack });
  timeSlices.set(node, timeSliceAfter(slice, attempted));
  return attempted === 'slice_spent' ? attempted : attempted.ended;
}

/**
 * Runs the idempotent nodes that follow, and commits their results together.
 * @param from the node that the pack may hold next; undefined: the pack must be committed now
 * @returns the last commit, if the caller may continue from it
 */
async function runPack(
  worker: Worker,
  fold: RunFold,
  plan: Plan,
  opened: Pack,
  from: OpenNode | undefined,
  delivery: Delivery,
): Promise<Commit | undefined> {
  let pack = opened;
  for (let next = from; ;) {
    if (next === undefined || !hasTimeFor(worker, plan, next, delivery, 0)) return (await pack.commit()).commit;
    const attempted = await attemptInSlice(worker, fold, plan, { open: next, isSlow: false, deliveries: undefined }, pack);
    if (pack.committed?.kind === 'dropped') return pack.committed.commit;
    if (attempted === 'slice_spent') {
      const { kind, commit } = await pack.commit();
      if (kind === 'dropped') return commit;
      const recorded = openNodeOf(fold, next);
      if (recorded !== undefined) await moveToSlowLane(worker, fold, recorded, undefined);
      return undefined;
    }
    // Its age was reached during the attempt. The log contains the attempt now, and the result begins another pack.
    if (pack.committed !== undefined) {
      if (openNodeOf(fold, next) === undefined) return undefined;
      pack = new Pack(worker, fold, plan);
    }
    next = pack.add(attempted);
  }
}

/**
 * Sends the attempt to the slow lane, which limits how many scripts of a project and a workflow run at once. A script has no effects,
 * so it can start again. This delivery commits nothing and does not count as a crash.
 */
async function moveToSlowLane(
  { deps }: Worker,
  fold: RunFold,
  open: OpenNode,
  deliveries: Deliveries | undefined,
): Promise<void> {
  const { shares } = deps.settings;
  invariant(shares !== undefined, 'a time slice was used up, but fair shares are off, so there is no slow lane');
  const resend = deliveries?.begun?.resends ?? 0;
  // The start record would keep the next worker from the attempt, so it is released first. After a crash in between, the queue redelivers
  // this message.
  await releaseAttempt(deps, fold, open, deliveries);
  const lane = slowLaneGroup(shares, workflowName(fold.head.workflow.name), {
    runId: fold.head.address.runId,
    node: open,
    resend,
  });
  await deps.jobs.send([{ ...nodeJob(fold.head, open.dispatchedIn, open, resend), slowLane: lane }]);
}

/** A message holds 1 MB, and a batch has ten messages, so a large output is offloaded first, as the commit would do. */
async function sendResult({ deps }: Worker, fold: RunFold, open: OpenNode, ended: NodeEnded): Promise<void> {
  const { node, kind: _kind, outcome, ...times } = ended;
  const offloadedOutcome = await offloadOutcome(deps, fold.head, outcome);
  await deps.jobs.sendResult({
    ...originFields(fold.head),
    commit: open.dispatchedIn,
    ...node,
    ...times,
    outcome: offloadedOutcome,
  });
}

async function offloadOutcome(
  deps: Decider['deps'],
  run: RunFold['head'],
  outcome: NodeEnded['outcome'],
): Promise<NodeEnded['outcome']> {
  if (outcome.kind === 'finished') return { ...outcome, output: await offload(deps, run, outcome.output) };
  return outcome.kind === 'expanding' ? { ...outcome, items: await offload(deps, run, outcome.items) } : outcome;
}

/** Commits the start of a node that may take long before it runs. For other nodes the completion contains the start. */
async function announceIfSlow(worker: Worker, fold: RunFold, plan: Plan, open: OpenNode): Promise<void> {
  if (!planNodeOf(plan, open).recordsStart || open.status !== 'queued' || open.via === 'collect') return;
  await readTailBesideSiblings(worker.deps, fold, open);
  await announceStart(worker, fold, plan, open);
}

/** The node that the commit dispatched to its own committer, if it did. */
function inlineNodeOf(fold: RunFold, commit: Commit): OpenNode | undefined {
  if (isTerminal(fold.state.progress)) return undefined;
  for (const event of commit.events) {
    if ((event.type !== 'NODE_DISPATCHED' && event.type !== 'NODE_RETRIED') || event.via !== 'inline') continue;
    const node = fold.state.nodes.get(nodeKey(event));
    // The commit may also have retried the node, with a delay: then a message runs it.
    if (node !== undefined && isOpen(node) && node.via === 'inline' && node.dispatchedIn === commit.number) return node;
  }
  return undefined;
}

function openNodeOf(fold: RunFold, job: NodeRef & { readonly attempt: Attempt }): OpenNode | undefined {
  const node = fold.state.nodes.get(nodeKey(job));
  return node !== undefined && isOpen(node) && node.status !== 'waiting' && node.attempt === job.attempt ? node : undefined;
}

function planNodeOf(plan: Plan, ref: NodeRef): PlanNode {
  const node = plan.nodes.get(ref.nodeId);
  invariant(node !== undefined, `the log names node ${ref.nodeId}, but the pinned workflow version has no such node`);
  return node;
}

const timeLimitOf = (plan: Plan, ref: NodeRef): number => planNodeOf(plan, ref).policy.timeoutMs;
