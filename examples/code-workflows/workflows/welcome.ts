import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** Called by `welcome-team`, and runs on its own as well. */
export const welcome = defineWorkflow(
  { name: 'welcome' },
  async ({ input, step }: WorkflowArguments<{ readonly name: string }>) => {
    const letter = await step.run({ name: 'write' }, () => `Welcome, ${input.name}!`);
    return { letter };
  },
);
