/** Entry point of `stepwell`: connects the command line to this process. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { text as readToEnd } from 'node:stream/consumers';
import type { Terminal } from './command.ts';
import { exitCodes } from './command.ts';
import { runCli } from './run-cli.ts';

/** A Ctrl-C arrives from the terminal and again from a parent process such as npm. Within this time both count as one. */
const duplicateSignalMs = 500;

/** Lets pending writes to a pipe finish. */
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

// The reader closed the pipe, for example `head`. No more output is needed.
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
    // Ctrl-C at a prompt interrupts the command.
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
    // Without a browser opener the child fails. The address is printed anyway.
    child.on('error', () => undefined);
    child.unref();
  },
  readInput: () => readToEnd(addAbortSignal(interruption.signal, process.stdin)),
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
// Exit even if threads still run: workflow tasks that did not finish are redelivered to other workers.
setTimeout(() => process.exit(), exitDelayMs).unref();
