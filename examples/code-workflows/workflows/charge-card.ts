import { NonRetryableError, StepError, type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

interface Charge {
  readonly orderId: string;
  readonly amount: number;
}

/** A step that throws is retried, unless the error is non-retryable. The workflow can catch the final error. */
export const chargeCard = defineWorkflow({ name: 'charge-card' }, async ({ input, step }: WorkflowArguments<Charge>) => {
  const retryPolicy = { maximumAttempts: 5, initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '10s' } as const;
  try {
    const { receipt } = await step.run({ name: 'charge', retryPolicy }, ({ attempt, key }) => charge(input, attempt, key));
    return { isCharged: true, receipt };
  } catch (error) {
    if (error instanceof StepError && error.code === 'card_declined') return { isCharged: false, why: error.message };
    throw error;
  }
});

/** Placeholder for a payment service. It declines large amounts and is unavailable at first. */
function charge({ orderId, amount }: Charge, attempt: number, key: string): { readonly receipt: string } {
  if (amount > 1_000) throw new NonRetryableError(`the card does not have ${amount}`, { code: 'card_declined' });
  if (attempt < 3) throw new Error('the payment service is busy');
  return { receipt: `${orderId}/${key}` };
}
