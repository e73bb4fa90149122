import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';
import { welcome } from './welcome.ts';

/** A run for each member, all at once. Each has a log of its own. */
export const welcomeTeam = defineWorkflow(
  { name: 'welcome-team' },
  async ({ input, step }: WorkflowArguments<{ readonly names: readonly string[] }>) => {
    const welcomed = await Promise.all(input.names.map((name) => step.runWorkflow(welcome, { name }, { timeout: '1 hour' })));
    return welcomed.map(({ letter }) => letter);
  },
);
