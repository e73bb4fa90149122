import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';
import { welcome } from './welcome.ts';

/** One child run per member, all in parallel. Each has its own log. */
export const welcomeTeam = defineWorkflow(
  { name: 'welcome-team' },
  async ({ input, step }: WorkflowArguments<{ readonly names: readonly string[] }>) => {
    const welcomed = await Promise.all(input.names.map((name) => step.runWorkflow(welcome, { name }, { timeout: '1 hour' })));
    return welcomed.map(({ letter }) => letter);
  },
);
