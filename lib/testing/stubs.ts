/** Stands between the workflows of a test and their steps: counts the bodies, says which are at work, and puts others in their place. */
import { type StepFunction, type WorkflowArguments, isStepFunction, isWorkflow } from './workflow-fixture.ts';

/** A body that was begun. After a crash the same attempt may be begun a second time. */
export interface StepCall {
  readonly runId: string;
  readonly key: string;
  /** without the number that a repetition has */
  readonly name: string;
  readonly attempt: number;
}

export class Stubs {
  readonly #stubs = new Map<string, StepFunction>();
  readonly #activeCalls = new Set<object>();
  readonly #calls: StepCall[] = [];

  /** Of a step's key, or of all steps of a name; a key goes before a name. */
  set(step: string, stepFunction: StepFunction): void {
    this.#stubs.set(step, stepFunction);
  }

  calls(step: string): readonly StepCall[] {
    return this.#calls.filter(({ key, name }) => key === step || name === step);
  }

  /** A body is at work that was not told to stop. */
  get hasActiveCalls(): boolean {
    return this.#activeCalls.size > 0;
  }

  /** The same workflows, with an eye on their steps. What is no workflow stays what it is, and is refused by whoever runs it. */
  instrument(workflows: readonly unknown[]): readonly unknown[] {
    return workflows.map((workflow) =>
      isWorkflow(workflow)
        ? {
            ...workflow,
            fn: (args: WorkflowArguments) => workflow.fn({ ...args, step: { ...args.step, run: this.#run(args) } }),
          }
        : workflow,
    );
  }

  #run({ run, step }: WorkflowArguments): WorkflowArguments['step']['run'] {
    return (options, stepFunction) => {
      if (typeof options !== 'object' || options === null || !('name' in options) || typeof options.name !== 'string')
        return step.run(options, stepFunction);
      const wrappedFunction = isStepFunction(stepFunction)
        ? this.#wrapStepFunction(run.id, options.name, stepFunction)
        : stepFunction;
      const rollback = 'rollback' in options && isStepFunction(options.rollback) ? options.rollback : undefined;
      return step.run(
        rollback === undefined
          ? options
          : { ...options, rollback: this.#wrapStepFunction(run.id, `rollback:${options.name}`, rollback) },
        wrappedFunction,
      );
    };
  }

  #wrapStepFunction(runId: string, name: string, stepFunction: StepFunction): StepFunction {
    return async (context) => {
      const { key, attempt, signal } = context;
      const call = { runId, key, name, attempt };
      this.#calls.push(call);
      this.#activeCalls.add(call);
      // Who is told to stop is not waited for.
      const onFinished = (): void => void this.#activeCalls.delete(call);
      signal.addEventListener('abort', onFinished);
      try {
        return await (this.#stubs.get(key) ?? this.#stubs.get(name) ?? stepFunction)(context);
      } finally {
        signal.removeEventListener('abort', onFinished);
        onFinished();
      }
    };
  }
}
