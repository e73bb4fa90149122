import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

interface Approval {
  readonly requestId: string;
  readonly by: string;
}

/** Sends the signal for `await-approval`, before or after that run waits for it. */
export const approve = defineWorkflow({ name: 'approve' }, async ({ input, step }: WorkflowArguments<Approval>) => {
  await step.sendSignal({ signal: 'approval', correlation: input.requestId, data: { by: input.by } });
  return { approved: input.requestId };
});
