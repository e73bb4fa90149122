/** DynamoDB by dynoxide, a single binary over SQLite: writes go through, indexes stay in step with their table after a kill. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { forwardTo, type Forward } from './forward.ts';
import { endStaleProcess, forgetProcess, recordProcess } from './stale-process.ts';

export interface DynamodbEmulator {
  readonly name: string;
  readonly url: string;
  readonly forward: Forward;
  stop(): Promise<void>;
}

/** The binary's path where its package is installed: it is an optional one, for Linux on x64. */
export function findDynoxide(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@dynoxide/linux-x64/dynoxide');
  } catch {
    return undefined;
  }
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });

/** Ends the child when this process dies without a word: the shell reads until the pipe from here breaks. */
const watchParent = (pid: number): ChildProcess =>
  spawn('/bin/sh', ['-c', `read -r _; kill -9 ${pid} 2>/dev/null`], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });

const exited = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) =>
    child.exitCode !== null || child.signalCode !== null ? resolve() : child.once('exit', () => resolve()),
  );

export async function startDynoxide(
  binary: string,
  directory: string,
  onDeath: (why: string) => void,
): Promise<DynamodbEmulator> {
  const pidFile = join(directory, 'dynoxide.pid');
  const database = join(directory, 'dynamodb.sqlite');
  await endStaleProcess(pidFile);
  const port = await freePort();
  // a group of its own: Ctrl-C at the terminal must reach it only after the functions have drained
  const child = spawn(binary, ['serve', '--host', '127.0.0.1', '--port', String(port), '--db-path', database], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let stopping = false;
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint = `${complaint}${chunk.toString()}`.slice(-2_000)));
  child.on('error', (error) => (complaint += error.message));
  if (child.pid !== undefined) recordProcess(pidFile, child.pid, database);
  const watcher = child.pid === undefined ? undefined : watchParent(child.pid);
  child.once('exit', (code, signal) => {
    watcher?.kill();
    if (!stopping) onDeath(`dynoxide ended (${signal ?? code}): ${complaint.trim()}`);
  });
  const forward = forwardTo(port);
  await untilReady(port, child, () => complaint);
  return {
    name: 'dynoxide',
    url: `http://127.0.0.1:${port}`,
    forward,
    async stop() {
      stopping = true;
      watcher?.kill();
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 3_000);
      await exited(child);
      clearTimeout(late);
      forgetProcess(pidFile);
    },
  };
}

const connected = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });

/** Up in 15 to 40 ms; ten seconds mean that it will not come. */
async function untilReady(port: number, child: ChildProcess, complaint: () => string): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  while (performance.now() < giveUpAt) {
    if (child.exitCode !== null || child.pid === undefined) break;
    try {
      await connected(port);
      return;
    } catch {
      await wait(5);
    }
  }
  throw new Error(`dynoxide did not start: ${complaint().trim()}`);
}
