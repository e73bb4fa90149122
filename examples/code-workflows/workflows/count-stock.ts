import { setTimeout as wait } from 'node:timers/promises';
import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** Takes two seconds for each shelf and returns the process that counted it. */
export const countStock = defineWorkflow(
  { name: 'count-stock' },
  async ({ input, step }: WorkflowArguments<{ readonly shelves: readonly string[] }>) => {
    const counted: { readonly shelf: string; readonly process: number }[] = [];
    for (const shelf of input.shelves)
      counted.push(
        await step.run({ name: `count ${shelf}` }, async () => {
          await wait(2_000);
          return { shelf, process: process.pid };
        }),
      );
    return counted;
  },
);
