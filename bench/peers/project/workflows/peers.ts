/** The programs as workflows of Stepwell. */
import { type Step, type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';
import { type Input, type ProgramName, type Steps, programs, signalName } from '../../programs.ts';

const stepsOf = (step: Step, run: string): Steps => ({
  run: (name, stepFunction) => step.run({ name }, stepFunction),
  child: () => step.runWorkflow(stamp, { run: `${run}-child`, steps: 1, every: 1 }),
  signal: async () => void (await step.waitForSignal({ signal: signalName, correlation: run })),
});

const workflowOf = (name: ProgramName) =>
  defineWorkflow({ name, maxStepAttempts: 25_000 }, ({ input, step }: WorkflowArguments<Input>) =>
    programs[name](stepsOf(step, input.run), input),
  );

export const stamp = workflowOf('stamp');
export const chain = workflowOf('chain');
export const parent = workflowOf('parent');
export const waiter = workflowOf('waiter');
