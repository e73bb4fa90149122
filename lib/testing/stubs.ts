/** Wraps the steps of a test's workflows: records the calls of step functions, counts the running ones, and applies stubs. */
import { type StepFunction, type WorkflowArguments, isStepFunction, isWorkflow } from './workflow-fixture.ts';

/** A started step function. After a crash the same attempt may start twice. */
export interface StepCall {
  readonly runId: string;
  readonly key: string;
  /** without the index of a repeated step */
  readonly name: string;
  readonly attempt: number;
}

export class Stubs {
  readonly #stubs = new Map<string, StepFunction>();
  readonly #activeCalls = new Set<object>();
  readonly #calls: StepCall[] = [];

  /** For a step's key, or for all steps with the name; a key takes precedence. */
  set(step: string, stepFunction: StepFunction): void {
    this.#stubs.set(step, stepFunction);
  }

  calls(step: string): readonly StepCall[] {
    return this.#calls.filter(({ key, name }) => key === step || name === step);
  }

  /** Whether a step function runs that was not aborted. */
  get hasActiveCalls(): boolean {
    return this.#activeCalls.size > 0;
  }

  /** Returns the workflows with wrapped steps. A value that is no workflow is returned unchanged, and fails when it is started. */
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
      // An aborted step function is not waited for.
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
