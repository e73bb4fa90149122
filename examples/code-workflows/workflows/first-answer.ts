import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** Takes the first result of two. The slower sleep is discarded when the function returns. */
export const firstAnswer = defineWorkflow(
  { name: 'first-answer' },
  async ({ input, step }: WorkflowArguments<{ readonly question: string }>) => {
    const answer = step.run({ name: 'ask' }, () => `${input.question} Yes.`);
    return Promise.race([answer, step.sleep('patience', '1 hour').then(() => 'nobody answered')]);
  },
);
