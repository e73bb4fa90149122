import { setTimeout as wait } from 'node:timers/promises';
import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** A long step heeds its signal: a cancelled run does not go on with work that nobody wants any more. */
export const exportPages = defineWorkflow(
  { name: 'export-pages' },
  async ({ input, step }: WorkflowArguments<{ readonly pages: number }>) =>
    step.run({ name: 'export' }, async ({ signal }) => {
      for (let page = 1; page <= input.pages; page += 1) await wait(100, undefined, { signal });
      return { exported: input.pages };
    }),
);
