/**
 * Searches for a planted bug in another process. A process is reused for further bugs; a bug that ends its process is tried
 * again alone.
 */
import { type ChildProcess, fork } from 'node:child_process';
import * as z from 'zod';
import type { PlantedBug } from './bug.ts';

const foundSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('caught'), seed: z.number(), /** the rule that does not hold */ by: z.string() }),
  z.strictObject({ kind: z.literal('survived'), seed: z.number() }),
  /** the simulation itself fell over it, which shows nothing */
  z.strictObject({ kind: z.literal('broke'), seed: z.number(), by: z.string() }),
]);
export type Found = z.infer<typeof foundSchema>;

/** No search takes this long that finds anything: what is planted goes round in circles. */
const longestMs = 600_000;

/** The bug and what is cut with it; only what is cut with it; or the sources as they are. */
const plantedSchema = z.enum(['whole', 'besides', 'nothing']);
export type Planted = z.infer<typeof plantedSchema>;

/** What a process is told. */
export const taskSchema = z.strictObject({ name: z.string(), planted: plantedSchema, from: z.number(), to: z.number() });

type Task = z.infer<typeof taskSchema>;

/** What is planted, and the first and the last seed. */
type Search = Partial<Omit<Task, 'name'>>;

/** Bugs that one process tries: what it has loaded for them it keeps, some ten megabytes for each. */
const mostInOne = 16;

interface Idle {
  readonly process: ChildProcess;
  /** bugs that it has tried */
  readonly tried: number;
}

const idle: Idle[] = [];

export async function findBug(
  { name, within }: PlantedBug,
  { planted = 'whole', from = 1, to = within }: Search = {},
): Promise<Found> {
  const task = { name, planted, from, to } satisfies Task;
  const used = idle.pop();
  if (used !== undefined) {
    const found = await tell(used, task);
    if (found.kind !== 'fell') return found;
    // It may have been something that an earlier one left behind.
  }
  const found = await tell({ process: newProcess(), tried: 0 }, task);
  return found.kind === 'fell' ? { kind: 'broke', seed: 0, by: found.by } : found;
}

function newProcess(): ChildProcess {
  // Types are stripped by what Node still calls an experiment.
  return fork(new URL('./bug-process.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] });
}

async function tell({ process, tried }: Idle, task: Task): Promise<Found | { readonly kind: 'fell'; readonly by: string }> {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof tell>>>();
  const fell = (by: string): void => resolve({ kind: 'fell', by });
  const onMessage = (message: unknown): void => resolve(foundSchema.parse(message));
  const onError = ({ message }: Error): void => fell(message);
  const onExit = (code: number | null, signal: string | null): void => fell(`its process ended with ${signal ?? code}`);
  const tooLong = setTimeout(() => resolve({ kind: 'broke', seed: 0, by: 'it goes round in circles' }), longestMs);
  process.on('message', onMessage).on('error', onError).on('exit', onExit);
  process.channel?.ref();
  if (process.connected) process.send(task);
  else fell('its process has ended');
  const found = await promise;
  clearTimeout(tooLong);
  process.off('message', onMessage).off('error', onError).off('exit', onExit);
  // Of one that broke nobody knows what it left behind.
  if (found.kind === 'fell' || found.kind === 'broke' || tried + 1 === mostInOne) {
    process.on('error', () => undefined).kill('SIGKILL');
    return found;
  }
  // Whoever has nothing else to do may end, and it ends with him.
  process.unref();
  process.channel?.unref();
  idle.push({ process, tried: tried + 1 });
  return found;
}
