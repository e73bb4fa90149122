/** `stepwell`: the command line on the process it runs in. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Terminal } from './terminal.ts';
import { exitCodes } from './command.ts';
import { runCli } from './run-cli.ts';

/** The terminal sends Ctrl-C to everyone, and whoever started this passes it on: within this time it is the same one. */
const duplicateSignalMs = 500;

/** For what is being written to a pipe. */
const exitDelayMs = 200;

const interruption = new AbortController();
let interruptedAt: number | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const now = performance.now();
    if (interruptedAt !== undefined && now - interruptedAt > duplicateSignalMs) process.exit(exitCodes.interrupted);
    interruptedAt ??= now;
    interruption.abort();
  });
}

// Whoever reads has gone, as `head` does: nothing more is to be said.
process.stdout.on('error', () => process.exit(exitCodes.ok));

const terminal: Terminal = {
  env: process.env,
  cwd: process.cwd(),
  writeOut: (text) => void process.stdout.write(text),
  writeErr: (text) => void process.stderr.write(text),
  supportsColour: process.stdout.isTTY === true,
  isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  promptConfirm: async (question) => {
    const { confirm } = await import('@clack/prompts');
    const answer = await confirm({ message: question, initialValue: false, output: process.stderr, signal: interruption.signal });
    // Ctrl-C at a question is Ctrl-C.
    if (typeof answer === 'symbol') interruption.abort();
    interruption.signal.throwIfAborted();
    return answer === true;
  },
  promptText: async (question) => {
    const { text } = await import('@clack/prompts');
    const answer = await text({ message: question, output: process.stderr, signal: interruption.signal });
    if (typeof answer === 'symbol') interruption.abort();
    interruption.signal.throwIfAborted();
    return typeof answer === 'string' ? answer : '';
  },
  openInBrowser: (url) => {
    const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
    const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
    // A machine without one says so here; the address has been printed.
    child.on('error', () => undefined);
    child.unref();
  },
  signal: interruption.signal,
  fetch: (url, init) => fetch(url, init),
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const finish = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal.addEventListener('abort', finish, { once: true });
    }),
  newId: randomUUID,
};

process.exitCode = await runCli(process.argv.slice(2), terminal);
// It is over when it says so: what a worker has left to others may still be at work on threads of this process.
setTimeout(() => process.exit(), exitDelayMs).unref();
