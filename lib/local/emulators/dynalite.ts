/** DynamoDB by dynalite, for machines without dynoxide's binary: slower, without transactions, with indexes rebuilt at the start. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DynamodbEmulator } from './dynoxide.ts';
import { forwardTo } from './forward.ts';

export async function startDynalite(directory: string, onExit: (reason: string) => void): Promise<DynamodbEmulator> {
  // The socket is in a separate folder with mode 700 (mkdtemp), because dynalite accepts any credential. It is not in the state
  // folder, because a socket path has at most 107 characters.
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-'));
  const socket = join(folder, 'dynalite.sock');
  // A separate process: in this one it would block the event loop of everything else and halve its speed.
  const child = fork(fileURLToPath(new URL('./dynalite-process.ts', import.meta.url)), [join(directory, 'dynalite'), socket], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  });
  let stderrTail = '';
  let stopping = false;
  child.stderr?.on('data', (chunk: Buffer) => void (stderrTail = `${stderrTail}${chunk.toString()}`.slice(-2_000)));
  const exited = once(child, 'exit').then(([code]) => {
    if (!stopping) onExit(`dynalite ended (${String(code)}): ${stderrTail.trim()}`);
    return undefined;
  });
  const firstMessage = await Promise.race([once(child, 'message'), exited]);
  if (firstMessage === undefined) throw new Error(`dynalite did not start: ${stderrTail.trim()}`);
  return {
    name: 'dynalite',
    forward: forwardTo(socket),
    async stop() {
      stopping = true;
      if (child.connected) child.disconnect();
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exited;
      clearTimeout(killTimer);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
