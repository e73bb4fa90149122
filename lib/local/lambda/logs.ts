/** The output of functions, one file each. A file that is too long is renamed when the cloud starts. */
import { createWriteStream, existsSync, mkdirSync, renameSync, statSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';

const rotateAtBytes = 10 * 1024 * 1024;

export interface Logs {
  /** The writer of a function's log. */
  of(functionName: string): (text: string) => void;
  close(): Promise<void>;
}

export function openLogs(directory: string): Logs {
  mkdirSync(directory, { recursive: true });
  const files: WriteStream[] = [];
  return {
    of(functionName) {
      const path = join(directory, `${functionName}.log`);
      if (existsSync(path) && statSync(path).size > rotateAtBytes) renameSync(path, `${path}.1`);
      const file = createWriteStream(path, { flags: 'a' });
      // A full disk loses log lines, and must not end the cloud.
      file.on('error', () => {});
      files.push(file);
      return (text) => void file.write(text);
    },
    async close() {
      await Promise.all(files.map((file) => new Promise<void>((resolve) => file.end(() => resolve()))));
    },
  };
}
