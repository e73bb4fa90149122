/** A worker process of the test environment: it does with a message what the worker, code and collect functions do with it. */
import { runExecutions } from '../service/kinds/run-executions.ts';
import { runKinds } from '../service/kinds/run-kinds.ts';
import { defined } from '../base/defined.ts';
import type { RunAddress } from '../engine/ids.ts';
import { after, minutes } from '../engine/time.ts';
import type { Job } from '../ports/jobs.ts';
import type { Programs, WorkflowTaskEnd, WorkflowTaskHandle } from '../ports/programs.ts';
import { startWorkflowTask } from '../program/start-workflow-task.ts';
import { Plans } from '../service/commit/plans.ts';
import { type RunResults, collectResults } from '../service/execution/collect-results.ts';
import { handleJob } from '../service/execution/handle-job.ts';
import type { JobHandler } from '../service/worker.ts';
import { sweepRun } from '../service/execution/sweep-runs.ts';
import { FoldCache } from '../service/run-log/fold-cache.ts';
import type { Process } from './crash-injector.ts';
import { NondeterminismError, TestError } from './errors.ts';

/** The timeout of the code function. */
const maxWorkflowTaskMs = minutes(15);

export interface Message {
  readonly job: Job;
  readonly isRedelivered: boolean;
}

type TaskOptions = Parameters<typeof startWorkflowTask>[3];

export interface TestWorkerParams {
  readonly workflows: readonly unknown[];
  /** the time of the workflow functions, which stops while code waits */
  readonly programClock: TaskOptions['clock'];
  /** takes what workflow functions print */
  readonly print: TaskOptions['print'] | undefined;
  readonly deploymentId: TaskOptions['deploymentId'];
  /** called when the run cannot continue, because its workflow function cannot be executed */
  readonly onStuck: (runId: string, error: Error) => void;
}

export class TestWorker {
  readonly services: JobHandler;
  readonly #process: Process;
  readonly #params: TestWorkerParams;

  constructor(process: Process, params: TestWorkerParams) {
    this.services = {
      deps: process.deps,
      by: 'test',
      foldCache: new FoldCache(),
      plans: new Plans({ compile: rejectGraphs, evaluate: rejectGraphs }),
      kinds: runKinds,
      executions: runExecutions,
      runAttempt: rejectGraphs,
    };
    this.#process = process;
    this.#params = params;
  }

  async handle({ job, isRedelivered }: Message): Promise<void> {
    const delivery = { isRedelivered, mustEndAt: after(this.services.deps.clock.now(), maxWorkflowTaskMs) };
    switch (job.kind) {
      case 'workflow_task':
        return runExecutions.code.execute(
          { ...this.services, programs: { start: (...params) => this.#startWorkflowTask(...params) } },
          job,
          delivery,
        );
      case 'node':
      case 'message':
        throw new Error(`the test kit runs only code workflows, and cannot handle a message of kind ${job.kind}`);
      default:
        return handleJob(this.services, job, delivery);
    }
  }

  /** Without the collector's wait for more results: here all results arrive together. */
  async collect(results: RunResults): Promise<void> {
    const { deps } = this.services;
    const clock = { now: () => deps.clock.now(), sleep: async () => {} };
    await collectResults({ ...this.services, deps: { ...deps, clock } }, results);
  }

  async sweep(run: RunAddress): Promise<void> {
    await sweepRun(this.services, run);
  }

  #startWorkflowTask(...[, , task, host]: Parameters<Programs['start']>): WorkflowTaskHandle {
    const { workflows, programClock: clock, print, deploymentId, onStuck } = this.#params;
    const workflowTask = startWorkflowTask(workflows, task, host, defined({ deploymentId, clock, print }));
    this.#process.onCrash = () => void workflowTask.kill('the process has crashed');
    void workflowTask.ended.then((end) => {
      const error = stuckError(end);
      if (error !== undefined) onStuck(task.run.runId, error);
    });
    return workflowTask;
  }
}

const rejectGraphs = (): never => {
  throw new Error('the test kit runs only code workflows');
};

/** Undefined if the run can continue after this end of a workflow task. */
function stuckError(end: WorkflowTaskEnd): Error | undefined {
  switch (end.kind) {
    case 'nondeterministic':
      return new NondeterminismError(end.message, end.details);
    case 'unknown_workflow':
      return new TestError('workflow_unknown', end.message);
    case 'unloadable':
      return new TestError('workflow_invalid', end.message);
    default:
      return undefined;
  }
}
