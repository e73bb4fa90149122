/** Stands between the workflows of a test and their steps: counts the bodies, says which are at work, and puts others in their place. */
import { type Body, type WatchedArguments, isBody, isWorkflow } from './given-workflow.ts';

/** A body that was begun. After a crash the same attempt may be begun a second time. */
export interface StepCall {
  readonly runId: string;
  readonly key: string;
  /** without the number that a repetition has */
  readonly name: string;
  readonly attempt: number;
}

export class Stubs {
  readonly #stubs = new Map<string, Body>();
  readonly #atWork = new Set<object>();
  readonly #calls: StepCall[] = [];

  /** Of a step's key, or of all steps of a name; a key goes before a name. */
  set(step: string, body: Body): void {
    this.#stubs.set(step, body);
  }

  calls(step: string): readonly StepCall[] {
    return this.#calls.filter(({ key, name }) => key === step || name === step);
  }

  /** A body is at work that was not told to stop. */
  get areAtWork(): boolean {
    return this.#atWork.size > 0;
  }

  /** The same workflows, with an eye on their steps. What is no workflow stays what it is, and is refused by whoever runs it. */
  watched(workflows: readonly unknown[]): readonly unknown[] {
    return workflows.map((workflow) =>
      isWorkflow(workflow)
        ? {
            ...workflow,
            fn: (given: WatchedArguments) => workflow.fn({ ...given, step: { ...given.step, run: this.#run(given) } }),
          }
        : workflow,
    );
  }

  #run({ run, step }: WatchedArguments): WatchedArguments['step']['run'] {
    return (options, body) => {
      if (typeof options !== 'object' || options === null || !('name' in options) || typeof options.name !== 'string')
        return step.run(options, body);
      const watchedBody = isBody(body) ? this.#body(run.id, options.name, body) : body;
      const rollback = 'rollback' in options && isBody(options.rollback) ? options.rollback : undefined;
      return step.run(
        rollback === undefined ? options : { ...options, rollback: this.#body(run.id, `rollback:${options.name}`, rollback) },
        watchedBody,
      );
    };
  }

  #body(runId: string, name: string, body: Body): Body {
    return async (context) => {
      const { key, attempt, signal } = context;
      const call = { runId, key, name, attempt };
      this.#calls.push(call);
      this.#atWork.add(call);
      // Who is told to stop is not waited for.
      const left = (): void => void this.#atWork.delete(call);
      signal.addEventListener('abort', left);
      try {
        return await (this.#stubs.get(key) ?? this.#stubs.get(name) ?? body)(context);
      } finally {
        signal.removeEventListener('abort', left);
        left();
      }
    };
  }
}
