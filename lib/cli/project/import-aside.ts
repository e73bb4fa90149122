/** Imports an author's module on a thread of its own: what it does there is not done to this program, and anew each time. */
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { wordsOf } from '../../engine/words-of.ts';
import type { Shell } from '../command.ts';

export interface AsideTask {
  /** file URL */
  readonly module: string;
  readonly wanted: 'default' | 'workflows';
}

export type Aside = { readonly value: unknown } | { readonly fault: string };
export type AsideShell = Pick<Shell, 'note' | 'sleep' | 'signal'>;

/** As long as a deployment has for it. */
const importMs = 30_000;

const shape = z.union([z.strictObject({ fault: z.string() }), z.strictObject({ value: z.unknown() })]);

const threadFile = (): URL => {
  const written = new URL('aside-thread.ts', import.meta.url);
  return existsSync(written) ? written : new URL('aside-thread.js', import.meta.url);
};

/** What it prints goes to stderr. Throws only where this is interrupted. */
export async function importAside(
  { note, sleep, signal }: AsideShell,
  path: string,
  wanted: AsideTask['wanted'],
): Promise<Aside> {
  const done = new AbortController();
  const workerData: AsideTask = { module: pathToFileURL(path).href, wanted };
  const worker = new Worker(threadFile(), { workerData, execArgv: [], stdout: true, stderr: true });
  const printed = Promise.all([text(worker.stdout), text(worker.stderr)]);
  try {
    const told = await Promise.race([
      new Promise<unknown>((resolve) => {
        worker.once('message', resolve);
        worker.once('error', (error) => resolve({ fault: wordsOf(error) }));
        worker.once('messageerror', () => resolve({ fault: 'it tells what cannot be read' }));
        worker.once('exit', (code) => resolve({ fault: `it ended the thread with code ${code}` }));
      }),
      sleep(importMs, AbortSignal.any([signal, done.signal])).then(() => ({
        fault: `it was not imported within ${importMs} ms`,
      })),
    ]);
    signal.throwIfAborted();
    const read = shape.safeParse(told);
    return read.success ? read.data : { fault: 'it tells what nobody asked for' };
  } finally {
    done.abort();
    await worker.terminate();
    for (const said of (await printed).filter((each) => each !== '')) note(said.trimEnd());
  }
}
