/** What the code queue holds, and who does it. */
import { InvariantViolation, invariant } from '../../lib/engine/invariant.ts';
import type { DriveJob, Job, MessageJob } from '../../lib/ports/jobs.ts';
import { type Deliverer, deliverMessage } from '../../lib/service/deliver-message.ts';
import { type Driver, driveCodeRun } from '../../lib/service/drive-code-run.ts';
import type { Delivery } from '../../lib/service/run-node.ts';

export interface RunsCode extends Deliverer, Driver {
  /** hears what each message says of its run */
  readonly told: { tell(creation: MessageJob['creation'] | DriveJob['creation']): void };
}

export async function takeCodeJob(runner: RunsCode, job: Job, delivery: Delivery): Promise<void> {
  switch (job.kind) {
    case 'message':
      tell(runner, job);
      return deliverMessage(runner, job, delivery);
    case 'drive':
      tell(runner, job);
      return driveCodeRun(runner, job, delivery);
    default:
      throw new InvariantViolation(`the code queue holds a job of kind ${job.kind}`);
  }
}

function tell({ told }: RunsCode, { run, creation }: MessageJob | DriveJob): void {
  const { projectId, environment, runId } = creation.address;
  const isOfRun = projectId === run.projectId && environment === run.environment && runId === run.runId;
  invariant(isOfRun, `a message for ${run.runId} says what ${runId} is`);
  told.tell(creation);
}
