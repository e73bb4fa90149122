/**
 * One embedded cloud per state folder. The lock is an SQLite lock on a separate file. The operating system releases it when
 * the process ends for any reason, so a stale lock cannot block the next start.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface InstanceLock {
  release(): void;
}

/** The folder's lock, or undefined while another process has it. */
export function lockInstance(directory: string): InstanceLock | undefined {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(join(directory, 'lock.sqlite'), { timeout: 0 });
  try {
    file.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined;
    throw error;
  }
  return { release: () => file.close() };
}

/** The process that has the lock, for the message that refuses the second start. */
export function describeHolder(directory: string): string {
  try {
    const { url, pid }: { url?: unknown; pid?: unknown } = JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8'));
    return `process ${String(pid)} at ${String(url)}`;
  } catch {
    return 'another process, which is starting';
  }
}
