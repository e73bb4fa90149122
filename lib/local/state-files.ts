/** Small files in the state folder that only the owner may read. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Atomic: a reader sees the old file or the new one. */
export function writePrivateJson(file: string, value: unknown): void {
  const temporaryFile = `${file}.new`;
  writeFileSync(temporaryFile, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporaryFile, file);
}

/** undefined where the file is missing or not JSON. */
export function readPrivateJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
