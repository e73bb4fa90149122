/** An emulator in a child process, on a free port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Emulator {
  readonly endpoint: string;
  close(): Promise<void>;
}

const host = '127.0.0.1';
const readyWithinMs = 20_000;

export const startEmulator = async (program: string, argumentsFor: (port: number) => readonly string[]): Promise<Emulator> => {
  const port = await freePort();
  const child = spawn(program, argumentsFor(port), { stdio: 'ignore' });
  await ready(child, port);
  return {
    endpoint: `http://${host}:${port}`,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  server.close();
  await once(server, 'close');
  return address.port;
};

const ready = async (child: ChildProcess, port: number): Promise<void> => {
  for (const until = Date.now() + readyWithinMs; Date.now() < until; await delay(20)) {
    if (child.exitCode !== null) throw new Error(`the emulator ended with ${child.exitCode}`);
    if (await answers(port)) return;
  }
  throw new Error('the emulator does not respond');
};

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => resolve(socket.destroy() !== undefined));
    socket.once('error', () => resolve(false));
  });
