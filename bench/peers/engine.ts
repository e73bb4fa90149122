/** The interface of a compared engine. */
import type { Input, ProgramName, Result } from './programs.ts';

export interface Started {
  /** @throws if the run failed */
  result(): Promise<Result>;
  /** Sends the signal that the run awaits. @throws if no run waits and the engine stores no signals */
  signal(): Promise<void>;
}

export interface Engine {
  readonly name: string;
  /** what is compared: where a step is persisted before the next one starts, and the layers in between */
  readonly persistence: string;
  /** Resolves when the run is accepted. A worker is available at once. */
  start(program: ProgramName, input: Input): Promise<Started>;
  /** Executes all runs with limited concurrency, in the most suitable way for the engine. */
  runAll(program: ProgramName, inputs: readonly Input[], atOnce: number): Promise<WorkResult>;
  stop(): Promise<void>;
}

interface WorkResult {
  /** start of the work, by the clock of the programs */
  readonly beganAt: number;
  readonly results: readonly Result[];
}

/** Executes tasks with limited concurrency: the next starts when one ends. */
export async function runPooled<Item, Output>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Output>,
): Promise<readonly Output[]> {
  const results: Output[] = [];
  const remaining = items.values();
  // One shared iterator, from which each loop takes the next task.
  const takeNext = async (): Promise<void> => {
    for (const item of remaining) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: atOnce }, takeNext));
  return results;
}
