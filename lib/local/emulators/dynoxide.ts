/** DynamoDB by dynoxide, a single binary over SQLite: writes are durable, and indexes stay consistent after a kill. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { dynoxideOperations } from './dynoxide-operations.ts';
import { openPipe } from './dynoxide-pipe.ts';
import type { Forward } from './forward.ts';
import { endStaleProcess, removeProcessRecord, recordProcess } from './stale-process.ts';

export interface DynamodbEmulator {
  readonly name: string;
  readonly forward: Forward;
  stop(): Promise<void>;
}

/** The binary's path; undefined where its package is not installed. The package is optional and exists for Linux on x64. */
export function findDynoxide(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@dynoxide/linux-x64/dynoxide');
  } catch {
    return undefined;
  }
}

const waitForExit = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) =>
    child.exitCode !== null || child.signalCode !== null ? resolve() : child.once('exit', () => resolve()),
  );

/** A start takes 15 to 40 ms; after ten seconds it has failed. */
const startTimeoutMs = 10_000;

export async function startDynoxide(
  binary: string,
  directory: string,
  onExit: (reason: string) => void,
): Promise<DynamodbEmulator> {
  const pidFile = join(directory, 'dynoxide.pid');
  const database = join(directory, 'dynamodb.sqlite');
  await endStaleProcess(pidFile);
  // Detached: Ctrl-C at the terminal must reach dynoxide only after the functions have drained. It exits when its input closes,
  // also when this process dies.
  const child = spawn(binary, ['mcp', '--db-path', database], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  let stopping = false;
  let stderrTail = '';
  child.stderr.on('data', (chunk: Buffer) => (stderrTail = `${stderrTail}${chunk.toString()}`.slice(-2_000)));
  child.on('error', (error) => (stderrTail += error.message));
  if (child.pid !== undefined) recordProcess(pidFile, child.pid, database);
  child.once('exit', (code, signal) => {
    if (!stopping) onExit(`dynoxide ended (${signal ?? code}): ${stderrTail.trim()}`);
  });
  const startTimer = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs);
  const pipe = await openPipe(child.stdin, child.stdout).catch(() => {
    throw new Error(`dynoxide did not start: ${stderrTail.trim()}`);
  });
  clearTimeout(startTimer);
  return {
    name: 'dynoxide',
    forward: dynoxideOperations(pipe),
    async stop() {
      stopping = true;
      child.stdin.end();
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 3_000);
      await waitForExit(child);
      clearTimeout(killTimer);
      removeProcessRecord(pidFile);
    },
  };
}
