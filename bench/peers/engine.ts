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
  readonly persistence: string;
  /** Answers when the run is accepted. Somebody is there to work on it at once. */
  start(program: ProgramName, input: Input): Promise<Started>;
  /** Runs all of them, at most so many at once, in the way that suits the engine best. */
  runAll(program: ProgramName, inputs: readonly Input[], atOnce: number): Promise<WorkResult>;
  stop(): Promise<void>;
}

interface WorkResult {
  /** when the work began, as the programs tell the time */
  readonly beganAt: number;
  readonly results: readonly Result[];
}

/** Does all of it, so many at once: the next begins when one ends. */
export async function runPooled<Item, Output>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Output>,
): Promise<readonly Output[]> {
  const results: Output[] = [];
  const remaining = items.values();
  // one iterator for all of them: each takes what nobody has taken
  const takeNext = async (): Promise<void> => {
    for (const item of remaining) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: atOnce }, takeNext));
  return results;
}
