/**
 * Reconciles a run of code with a run of code that it calls, for the function that executes both: starts the called run, or commits its
 * end to the caller. The caller of this use case executes what follows. This process needs no permission for graph runs: all else needs a
 * message. (docs/decisions/subflows.md)
 */
import { replacing } from '../../base/lazy.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { openNodes } from '../../engine/log/fold.ts';
import type { ChildJob, Jobs, ReconciledChild, WorkJob, WorkflowTaskJob } from '../../ports/jobs.ts';
import type { Decider } from '../decider.ts';
import { isCallOf, readChildEnd } from '../runs/child-run.ts';
import { startChildRun } from '../runs/start-child-run.ts';
import { commitChildEnd, readCallerAndChild, waitIn } from './reconcile-child.ts';

export async function reconcileForCode(decider: Decider, job: ChildJob): Promise<ReconciledChild> {
  const child: RunAddress = { ...job.run, runId: job.childRunId };
  const [caller, fold] = await readCallerAndChild(decider, job, child);
  const wait = caller === undefined ? undefined : waitIn(caller, job);
  // A workflow task of the caller may run beside other open nodes. The queue of code holds the next one back until it has ended.
  if (caller?.head.kind !== 'code' || wait === undefined || openNodes(caller.state).length > 1) return { kind: 'needs_message' };
  if (fold !== undefined && !isCallOf(fold.head, job)) return { kind: 'needs_message' };
  const { jobs, tasks } = keepingTasks(decider.deps.jobs);
  const keeping = { ...decider, deps: replacing(decider.deps, { jobs }) };
  const end =
    fold === undefined ? await startChildRun(keeping, caller, wait, { isForCode: true }) : await readChildEnd(decider.deps, fold);
  if (end === 'not_here') return { kind: 'needs_message' };
  const before = caller.state.asOf;
  if (end !== undefined) await commitChildEnd(keeping, caller, wait, end);
  if (caller.state.asOf <= before + 1) return { kind: 'reconciled', tasks };
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
