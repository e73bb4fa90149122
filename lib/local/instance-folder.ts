/** The state folder of an installation: only one process uses it, and only the owner may read it. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SettingsError } from './settings.ts';

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

const groupAndOtherBits = 0o077;
const groupOrOtherWriteBits = 0o022;

/** Creates the folder, or removes the permissions of other users. Refuses a folder that other users may write to. */
export function ensurePrivateFolder(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(directory);
  if (uid !== process.getuid?.())
    throw new SettingsError(`The state folder ${directory} belongs to another user: set STEPWELL_DIR to a folder of your own`);
  if ((mode & groupOrOtherWriteBits) !== 0)
    throw new SettingsError(
      `Other users may write to the state folder ${directory}: run chmod 700 on it, or set STEPWELL_DIR to another folder`,
    );
  if ((mode & groupAndOtherBits) !== 0) chmodSync(directory, 0o700);
}

/** Atomic: a reader sees the old file or the new one. */
export function writePrivateText(file: string, text: string): void {
  const temporaryFile = `${file}.new`;
  writeFileSync(temporaryFile, text, { mode: 0o600 });
  renameSync(temporaryFile, file);
}

export const writePrivateJson = (file: string, value: unknown): void =>
  writePrivateText(file, `${JSON.stringify(value, null, 2)}\n`);

/** undefined where the file is missing or not JSON. */
export function readPrivateJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
