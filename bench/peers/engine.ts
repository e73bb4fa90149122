/** An engine that runs the programs, the same for all of them. */
import type { Input, ProgramName, Result } from './programs.ts';

export interface Started {
  /** @throws where the run has failed */
  result(): Promise<Result>;
  /** Ends its wait for a signal. @throws where nobody was waiting, and the engine keeps no signals */
  signal(): Promise<void>;
}

export interface Engine {
  readonly name: string;
  /** what is compared: where a step is kept before the next one begins, and what stands between the two */
  readonly keeps: string;
  /** Answers when the run is accepted. Somebody is there to work on it at once. */
  start(program: ProgramName, input: Input): Promise<Started>;
  /** Runs all of them, at most so many at once, in the way that suits the engine best. */
  runAll(program: ProgramName, inputs: readonly Input[], atOnce: number): Promise<Worked>;
  stop(): Promise<void>;
}

interface Worked {
  /** when the work began, as the programs tell the time */
  readonly beganAt: number;
  readonly results: readonly Result[];
}

/** Does all of it, so many at once: the next begins when one ends. */
export async function pooled<Given, Done>(
  all: readonly Given[],
  atOnce: number,
  work: (given: Given) => Promise<Done>,
): Promise<readonly Done[]> {
  const done: Done[] = [];
  const left = all.values();
  // one iterator for all of them: each takes what nobody has taken
  const take = async (): Promise<void> => {
    for (const given of left) done.push(await work(given));
  };
  await Promise.all(Array.from({ length: atOnce }, take));
  return done;
}
