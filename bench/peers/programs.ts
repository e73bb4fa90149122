/**
 * The programs that every engine runs, in words that all of them have. Their steps do nothing but say what time it is, so
 * that what is measured is what an engine adds.
 */

/** What a program asks of its engine. */
export interface Steps {
  run<Output extends number>(name: string, stepFunction: () => Output): Promise<number>;
  /** Runs the program `stamp` as a run of its own, and waits for its result. */
  child(): Promise<Result>;
  /** Waits for the signal that is sent to this run. */
  signal(): Promise<void>;
}

export interface Input {
  /** unlike that of any other run */
  readonly run: string;
  readonly steps: number;
  /** of each so many steps one time is in the result: that of thousands would be a large value, and another matter */
  readonly every: number;
}

export interface Result {
  /** the same on every engine */
  readonly sum: number;
  /** when the bodies of steps ran: milliseconds since 1970, with their fractions */
  readonly at: readonly number[];
}

/** The clock of all threads of this machine alike, finer than whole milliseconds. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

export const programs = {
  /** Steps one after the other. */
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
  /** A step, a child of one step, a step. */
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
