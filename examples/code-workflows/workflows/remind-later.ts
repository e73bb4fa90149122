import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** A sleep uses no compute, whether it lasts a second or a year. */
export const remindLater = defineWorkflow(
  { name: 'remind-later' },
  async ({ input, step }: WorkflowArguments<{ readonly text: string; readonly seconds: number }>) => {
    await step.sleep('until then', input.seconds * 1_000);
    return step.run({ name: 'remind' }, () => `Remember: ${input.text}`);
  },
);
