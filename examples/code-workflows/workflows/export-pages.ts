import { setTimeout as wait } from 'node:timers/promises';
import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** A long step checks its signal, so that a cancelled run stops its work. */
export const exportPages = defineWorkflow(
  { name: 'export-pages' },
  async ({ input, step }: WorkflowArguments<{ readonly pages: number }>) =>
    step.run({ name: 'export' }, async ({ signal }) => {
      for (let page = 1; page <= input.pages; page += 1) await wait(100, undefined, { signal });
      return { exported: input.pages };
    }),
);
