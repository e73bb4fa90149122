/** Small files in the state folder that only the owner may read. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Whole or not at all: a reader never sees half of it. */
export function writePrivateJson(file: string, value: unknown): void {
  const temporaryFile = `${file}.new`;
  writeFileSync(temporaryFile, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporaryFile, file);
}

/** undefined where there is none, or none that is JSON. */
export function readPrivateJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
