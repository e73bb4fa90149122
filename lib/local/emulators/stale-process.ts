/**
 * A child that outlives a killed parent keeps its port and its database. The next start ends it, after it has verified that
 * the process with that id is still the child: process ids are reused.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';

const recordShape = z.object({ pid: z.int().positive(), uniqueArgument: z.string().min(1) });

/** `uniqueArgument` is an argument of this child alone, such as the path of its database. */
export const recordProcess = (file: string, pid: number, uniqueArgument: string): void =>
  writeFileSync(file, JSON.stringify({ pid, uniqueArgument }), { mode: 0o600 });

export const removeProcessRecord = (file: string): void => rmSync(file, { force: true });

/** The arguments of a running process (Linux); undefined where it has exited or the system does not provide them. */
function argumentsOf(pid: number): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return undefined;
  }
}

/** Ends the recorded process if it still runs with the unique argument; returns whether it did. */
export async function endStaleProcess(file: string): Promise<boolean> {
  if (!existsSync(file)) return false;
  const parsed = recordShape.safeParse(readJson(file));
  if (!parsed.success) return false;
  const { pid, uniqueArgument } = parsed.data;
  const isRunning = (): boolean => argumentsOf(pid)?.includes(uniqueArgument) === true;
  if (!isRunning()) return false;
  process.kill(pid, 'SIGKILL');
  while (isRunning()) await wait(5);
  removeProcessRecord(file);
  return true;
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
