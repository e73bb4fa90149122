import { defineWorkflow } from 'stepwell/sdk';
import * as z from 'zod';

const schema = z.strictObject({ mail: z.email(), plan: z.enum(['free', 'team']).default('free') });

/** The schema validates the input before the function is called. The function gets the schema's output. */
export const registerUser = defineWorkflow(
  { name: 'register-user', version: '2', schema, retryPolicy: { maximumAttempts: 3 }, maxStepAttempts: 100 },
  async ({ input, step, version }) => {
    const user = await step.run({ name: 'insert' }, () => ({ mail: input.mail, plan: input.plan }));
    return { ...user, version };
  },
);
