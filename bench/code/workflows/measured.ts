/** The workflows of code that are measured. Their steps do nothing, so that what is counted is what the product adds. */
import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

type Steps = WorkflowArguments<{ readonly steps: number }>;

export const codeChain = defineWorkflow({ name: 'code-chain', maxStepAttempts: 25_000 }, async ({ input, step }: Steps) => {
  for (let at = 0; at < input.steps; at += 1) await step.run({ name: 'step' }, () => at);
});

/** The same with idempotent steps, whose results share commits. */
export const codePacked = defineWorkflow({ name: 'code-packed', maxStepAttempts: 25_000 }, async ({ input, step }: Steps) => {
  for (let at = 0; at < input.steps; at += 1) await step.run({ name: 'step', idempotent: true }, () => at);
});

export const codeTogether = defineWorkflow({ name: 'code-together' }, async ({ input, step }: Steps) => {
  await Promise.all(Array.from({ length: input.steps }, (_one, at) => step.run({ name: 'step' }, () => at)));
});

/** One call after the other of a workflow with one step. */
export const codeCaller = defineWorkflow({ name: 'code-caller' }, async ({ input, step }: Steps) => {
  for (let at = 0; at < input.steps; at += 1) await step.runWorkflow(codeChain.spec, { steps: 1 });
});
