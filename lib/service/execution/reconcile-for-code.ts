/**
 * Reconciles a run of code with a run of code that it calls, for the function that executes both: starts the called run, or commits its
 * end to the caller. The caller of this use case executes what follows. This process needs no permission for graph runs: all else needs a
 * message. (docs/decisions/subflows.md)
 */
import { defined } from '../../base/defined.ts';
import { replacing } from '../../base/lazy.ts';
import type { ChildEnd } from '../../engine/graph/facts.ts';
import { type CommitNo, type RunAddress, firstCommit } from '../../engine/ids.ts';
import { openNodes } from '../../engine/log/fold.ts';
import type { ChildWait } from '../../engine/log/node-state.ts';
import type { Jobs, ReconcileRequest, ReconciledChild, WorkJob, WorkflowTaskJob } from '../../ports/jobs.ts';
import { markDueSoon, markRunDueSoon } from '../commit/mark-due.ts';
import type { Decider } from '../decider.ts';
import { carriedCommitsOf, foldOfCarried } from '../run-log/carried-run.ts';
import type { FoldCache } from '../run-log/fold-cache.ts';
import { type RunFold, readRunFold, readWaitingRun } from '../run-log/read-run-fold.ts';
import { isCallOf, readChildEnd } from '../runs/child-run.ts';
import { beginResolving, startChildRun } from '../runs/start-child-run.ts';
import { commitChildEnd, waitIn } from './reconcile-child.ts';

/** A decider with the folds of the runs that its process has reconciled before. */
export interface CachingDecider extends Decider {
  readonly foldCache: FoldCache;
}

/** @param request `expected`: what the caller of this use case knows of its own run. It may be wrong, and changes only what is read when. */
export async function reconcileForCode(decider: CachingDecider, { job, expected }: ReconcileRequest): Promise<ReconciledChild> {
  const child: RunAddress = { ...job.run, runId: job.childRunId };
  const resolving = expected.kind === 'starts' ? beginResolving(decider, job.run, expected.workflowName) : undefined;
  const isMarked = expected.kind === 'has_ended';
  const [[caller, fold]] = await Promise.all([
    readBoth(decider, { job, expected }, child),
    // The check of a caller that is not notified finds nothing to do.
    isMarked && expected.isCallerMarked !== true ? markRunDueSoon(decider.deps, { address: job.run, isTest: false }) : undefined,
  ]);
  const wait = caller === undefined ? undefined : waitIn(caller, job);
  // A workflow task of the caller may run beside other open nodes. The queue of code holds the next one back until it has ended.
  if (caller?.head.kind !== 'code' || wait === undefined || openNodes(caller.state).length > 1) return { kind: 'needs_message' };
  if (fold !== undefined && !isCallOf(fold.head, job)) return { kind: 'needs_message' };
  const reconciled = await (fold === undefined
    ? startForCode(decider, caller, wait, resolving)
    : endForCode(decider, caller, wait, { end: await readChildEnd(decider.deps, fold), isMarked }));
  decider.foldCache.put(caller);
  return reconciled;
}

/** The caller and the called run, which are runs of code unless the request is wrong. */
async function readBoth(
  { deps, foldCache }: CachingDecider,
  { job, expected }: ReconcileRequest,
  child: RunAddress,
): Promise<readonly [RunFold | undefined, RunFold | undefined]> {
  const readKnown = (run: RunAddress, asOf: CommitNo | undefined, mustBeFresh: boolean): Promise<RunFold | undefined> => {
    deps.log.guess(run, 'code');
    return asOf === undefined
      ? readWaitingRun(deps, run, firstCommit)
      : foldCache.take(deps, run, { minCommit: asOf, mustBeFresh });
  };
  // A run that does not exist yet has no more than a head to look for.
  const readNew = async (): Promise<RunFold | undefined> =>
    (await deps.log.head(child)) === undefined ? undefined : readRunFold(deps, child);
  return Promise.all([
    // If another process has committed to the caller since, the put of its next commit shows it.
    readKnown(job.run, expected.callerAsOf, false),
    expected.kind === 'starts' ? readNew() : readKnown(child, expected.childAsOf, true),
  ]);
}

async function startForCode(
  decider: CachingDecider,
  caller: RunFold,
  wait: ChildWait,
  resolving: ReturnType<typeof beginResolving>,
): Promise<ReconciledChild> {
  let first: WorkflowTaskJob | undefined;
  const refusal = await startChildRun(decider, caller, wait, {
    isForCode: true,
    resolving,
    runsFirst: (job) => {
      if (job.kind === 'workflow_task') first = job;
    },
  });
  if (first !== undefined) decider.foldCache.put(foldOfCarried(decider.deps, { creation: first.creation, commits: [] }));
  if (refusal === 'not_here') return { kind: 'needs_message' };
  if (refusal !== undefined) return endForCode(decider, caller, wait, { end: refusal, isMarked: false });
  return { kind: 'reconciled', tasks: first === undefined ? [] : [{ job: first, commits: [] }] };
}

/**
 * @param end undefined: the called run is open
 * @param isMarked the caller has a due entry for this commit already
 */
async function endForCode(
  decider: Decider,
  caller: RunFold,
  wait: ChildWait,
  { end, isMarked }: { readonly end: ChildEnd | undefined; readonly isMarked: boolean },
): Promise<ReconciledChild> {
  if (end === undefined) return { kind: 'reconciled', tasks: [] };
  const { jobs, tasks } = keepingTasks(decider.deps.jobs);
  const keeping = { ...decider, deps: replacing(decider.deps, { jobs }) };
  const before = caller.state.asOf;
  if (!isMarked) await markDueSoon(decider.deps, caller.head);
  await commitChildEnd(keeping, caller, wait, end);
  if (caller.state.asOf <= before + 1) {
    const commits = carriedCommitsOf(caller);
    return { kind: 'reconciled', tasks: tasks.map((job) => defined({ job, commits })) };
  }
  // Another process has committed in between, and may have sent a workflow task.
  if (tasks.length > 0) await decider.deps.jobs.send(tasks);
  return { kind: 'reconciled', tasks: [] };
}

/** Keeps the workflow tasks that would be sent without a delay. */
function keepingTasks(jobs: Jobs): { readonly jobs: Jobs; readonly tasks: readonly WorkflowTaskJob[] } {
  const tasks: WorkflowTaskJob[] = [];
  const others = (sent: readonly WorkJob[]): readonly WorkJob[] =>
    sent.filter((job) => {
      if (job.kind === 'workflow_task') tasks.push(job);
      return job.kind !== 'workflow_task';
    });
  return {
    tasks,
    jobs: {
      send: async (sent, hops) => {
        const rest = others(sent);
        if (rest.length > 0) await jobs.send(rest, hops);
      },
      sendTogether: (sent, hops) => jobs.sendTogether(sent, hops),
      sendDelayed: (job, delay, hops) => jobs.sendDelayed(job, delay, hops),
      sendResult: (result, hops) => jobs.sendResult(result, hops),
      sendFire: (fire) => jobs.sendFire(fire),
    },
  };
}
