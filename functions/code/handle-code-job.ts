/** Dispatches the jobs of the code queue: messages to deployed code, and workflow tasks. */
import { InvariantViolation, invariant } from '../../lib/engine/invariant.ts';
import type { RunCreation } from '../../lib/engine/log/head.ts';
import type { DevKitJob, WorkflowTaskJob, Job, MessageJob } from '../../lib/ports/jobs.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import type { Delivery, DevKitDeliverer, WorkflowTaskWorker } from '../../lib/service/worker.ts';

export interface CodeRunner extends DevKitDeliverer, Omit<WorkflowTaskWorker, 'known'> {
  /** stores the head that each message carries for its run */
  readonly messageHeads: { recognize(creation: RunCreation): void };
}

export async function handleCodeJob(runner: CodeRunner, job: Job, delivery: Delivery): Promise<void> {
  switch (job.kind) {
    case 'message':
      record(runner, job);
      return runExecutions.bundle.execute(runner, job, delivery);
    case 'workflow_task':
      record(runner, job);
      return runExecutions.code.execute(runner, job, delivery);
    case 'devkit':
      if (job.creation !== undefined) record(runner, { run: job.run, creation: job.creation });
      return runExecutions.devkit.execute(runner, job, delivery);
    default:
      throw new InvariantViolation(`the code queue contains a job of kind ${job.kind}`);
  }
}

type Message = Pick<MessageJob | WorkflowTaskJob, 'run' | 'creation'> | Required<Pick<DevKitJob, 'run' | 'creation'>>;

function record({ messageHeads }: CodeRunner, { run, creation }: Message): void {
  const { projectId, environment, runId } = creation.address;
  const isSameRun = projectId === run.projectId && environment === run.environment && runId === run.runId;
  invariant(isSameRun, `a message for run ${run.runId} carries the head of run ${runId}`);
  messageHeads.recognize(creation);
}
