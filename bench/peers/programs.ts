/**
 * The programs that every engine runs, with operations that all engines support. Their steps only read the clock, so that the overhead
 * of the engine is measured.
 */

/** The operations of an engine. */
export interface Steps {
  run<Output extends number>(name: string, stepFunction: () => Output): Promise<number>;
  /** Executes the program `stamp` as a child run and waits for its result. */
  child(): Promise<Result>;
  /** Waits for the signal of this run. */
  signal(): Promise<void>;
}

export interface Input {
  /** unique per run */
  readonly run: string;
  readonly steps: number;
  /** the result has one time per this number of steps, because thousands of times would be a large payload */
  readonly every: number;
}

export interface Result {
  /** the same on every engine */
  readonly sum: number;
  /** execution times of the step functions: milliseconds since 1970, with fractions */
  readonly at: readonly number[];
}

/** A clock that all threads share, with sub-millisecond resolution. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

export const programs = {
  /** Sequential steps. */
  async chain(steps: Steps, { steps: count, every }: Input): Promise<Result> {
    let sum = 0;
    const at: number[] = [];
    for (let number = 0; number < count; number += 1) {
      const ranAt = await steps.run('step', nowMs);
      sum += number;
      if (number % every === 0 || number === count - 1) at.push(ranAt);
    }
    return { sum, at };
  },
  /** One step. */
  async stamp(steps: Steps): Promise<Result> {
    return { sum: 1, at: [await steps.run('stamp', nowMs)] };
  },
  /** A step, a child run with one step, a step. */
  async parent(steps: Steps): Promise<Result> {
    const before = await steps.run('before', nowMs);
    const child = await steps.child();
    return { sum: 2 + child.sum, at: [before, ...child.at, await steps.run('after', nowMs)] };
  },
  /** A step, a wait for a signal, a step. */
  async waiter(steps: Steps): Promise<Result> {
    const before = await steps.run('before', nowMs);
    await steps.signal();
    return { sum: 2, at: [before, await steps.run('after', nowMs)] };
  },
} as const satisfies Record<string, (steps: Steps, input: Input) => Promise<Result>>;

export type ProgramName = keyof typeof programs;

export const programNames = ['chain', 'stamp', 'parent', 'waiter'] as const satisfies readonly ProgramName[];

export const signalName = 'go-on';
