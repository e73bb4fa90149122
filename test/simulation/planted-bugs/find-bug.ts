/**
 * Searches for a planted bug in another process. A process is reused for further bugs; a bug that ends its process is tried
 * again alone.
 */
import { type ChildProcess, fork } from 'node:child_process';
import * as z from 'zod';
import type { PlantedBug } from './bug.ts';

const foundSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('caught'), seed: z.number(), /** the violation */ by: z.string() }),
  z.strictObject({ kind: z.literal('survived'), seed: z.number() }),
  /** the simulation itself failed, which proves nothing */
  z.strictObject({ kind: z.literal('broke'), seed: z.number(), by: z.string() }),
]);
export type Found = z.infer<typeof foundSchema>;

/** A search that takes longer does not end: the planted bug loops endlessly. */
const longestMs = 600_000;

/** The bug with its further edits, only the further edits, or the unchanged sources. */
const plantedSchema = z.enum(['whole', 'besides', 'nothing']);
export type Planted = z.infer<typeof plantedSchema>;

/** The request to a process. */
export const taskSchema = z.strictObject({ name: z.string(), planted: plantedSchema, from: z.number(), to: z.number() });

type Task = z.infer<typeof taskSchema>;

/** The edits, and the first and last seed. */
type Search = Partial<Omit<Task, 'name'>>;

/** Bugs per process: each one keeps about ten megabytes of loaded modules. */
const mostInOne = 16;

interface Idle {
  readonly process: ChildProcess;
  /** number of bugs that it has tried */
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
    // An earlier bug may have caused the failure: try again in a new process.
  }
  const found = await tell({ process: newProcess(), tried: 0 }, task);
  return found.kind === 'fell' ? { kind: 'broke', seed: 0, by: found.by } : found;
}

function newProcess(): ChildProcess {
  // Node's type stripping is experimental and prints a warning.
  return fork(new URL('./bug-process.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] });
}

async function tell({ process, tried }: Idle, task: Task): Promise<Found | { readonly kind: 'fell'; readonly by: string }> {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof tell>>>();
  const fell = (by: string): void => resolve({ kind: 'fell', by });
  const onMessage = (message: unknown): void => resolve(foundSchema.parse(message));
  const onError = ({ message }: Error): void => fell(message);
  const onExit = (code: number | null, signal: string | null): void => fell(`its process ended with ${signal ?? code}`);
  const tooLong = setTimeout(() => resolve({ kind: 'broke', seed: 0, by: 'the search exceeded its time limit' }), longestMs);
  process.on('message', onMessage).on('error', onError).on('exit', onExit);
  process.channel?.ref();
  if (process.connected) process.send(task);
  else fell('its process has ended');
  const found = await promise;
  clearTimeout(tooLong);
  process.off('message', onMessage).off('error', onError).off('exit', onExit);
  // A failed bug may have left state in its process.
  if (found.kind === 'fell' || found.kind === 'broke' || tried + 1 === mostInOne) {
    process.on('error', () => undefined).kill('SIGKILL');
    return found;
  }
  // An idle process must not keep this one alive.
  process.unref();
  process.channel?.unref();
  idle.push({ process, tried: tried + 1 });
  return found;
}
