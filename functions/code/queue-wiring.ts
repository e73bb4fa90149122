/** Wires the code queue for a process that takes its messages itself. */
import { queueClient, waitingQueueClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { settingsErrorOf } from '../../lib/aws/settings-error.ts';
import { SqsWorkQueue } from '../../lib/aws/work-queue.ts';
import type { WorkQueue } from '../../lib/ports/work-queue.ts';

export { settingsErrorOf };

export const codeQueue = (): WorkQueue =>
  new SqsWorkQueue({ client: queueClient(), longPollClient: waitingQueueClient() }, settingsFrom(process.env).codeQueueUrl);
