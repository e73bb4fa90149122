import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** A child workflow of `welcome-team`; it can also run alone. */
export const welcome = defineWorkflow(
  { name: 'welcome' },
  async ({ input, step }: WorkflowArguments<{ readonly name: string }>) => {
    const letter = await step.run({ name: 'write' }, () => `Welcome, ${input.name}!`);
    return { letter };
  },
);
