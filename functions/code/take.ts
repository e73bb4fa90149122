/** What the code queue holds, and who does it. */
import { InvariantViolation } from '../../lib/engine/invariant.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { type Deliverer, deliverMessage } from '../../lib/service/deliver-message.ts';
import { type Driver, driveCodeRun } from '../../lib/service/drive-code-run.ts';
import type { Delivery } from '../../lib/service/run-node.ts';

export interface RunsCode extends Deliverer, Driver {}

export async function takeCodeJob(runner: RunsCode, job: Job, delivery: Delivery): Promise<void> {
  switch (job.kind) {
    case 'message':
      return deliverMessage(runner, job, delivery);
    case 'drive':
      return driveCodeRun(runner, job, delivery);
    default:
      throw new InvariantViolation(`the code queue holds a job of kind ${job.kind}`);
  }
}
