import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

interface Request {
  readonly requestId: string;
  readonly amount: number;
}

/** Waits for the signal `approval` for this request. A signal that was sent before the wait is delivered too. */
export const awaitApproval = defineWorkflow({ name: 'await-approval' }, async ({ input, step }: WorkflowArguments<Request>) => {
  if (input.amount < 100) return { approved: true, by: 'nobody: it is a small one' };
  const approval = await step.waitForSignal<{ readonly by: string }>({
    signal: 'approval',
    correlation: input.requestId,
    timeout: '7 days',
  });
  return approval === null ? { approved: false, by: null } : { approved: true, by: approval.data.by };
});
