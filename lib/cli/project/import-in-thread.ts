/** Imports an author's module on its own thread: it cannot change this process, and each import is fresh. */
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { errorText } from '../../engine/error-text.ts';
import type { CommandContext } from '../command.ts';

export interface ImportTask {
  /** file URL */
  readonly module: string;
  readonly requestedExport: 'default' | 'workflows';
}

export type ImportResult = { readonly value: unknown } | { readonly error: string };
export type ImportContext = Pick<CommandContext, 'log' | 'sleep' | 'signal'>;

/** Equal to the limit for importing a deployment. */
export const buildImportTimeoutMs = 30_000;

const shape = z.union([z.strictObject({ error: z.string() }), z.strictObject({ value: z.unknown() })]);

const threadModuleUrl = (): URL => {
  const sourceUrl = new URL('import-thread.ts', import.meta.url);
  return existsSync(sourceUrl) ? sourceUrl : new URL('import-thread.js', import.meta.url);
};

/** Forwards the module's output to stderr. Throws only if the command is interrupted. */
export async function importInThread(
  { log, sleep, signal }: ImportContext,
  path: string,
  requestedExport: ImportTask['requestedExport'],
): Promise<ImportResult> {
  const done = new AbortController();
  const workerData: ImportTask = { module: pathToFileURL(path).href, requestedExport };
  const worker = new Worker(threadModuleUrl(), { workerData, execArgv: [], stdout: true, stderr: true });
  const printedOutput = Promise.all([text(worker.stdout), text(worker.stderr)]);
  try {
    const message = await Promise.race([
      new Promise<unknown>((resolve) => {
        worker.once('message', resolve);
        worker.once('error', (error) => resolve({ error: errorText(error) }));
        worker.once('messageerror', () => resolve({ error: 'its result cannot be cloned between threads' }));
        worker.once('exit', (code) => resolve({ error: `it exited with code ${code}` }));
      }),
      sleep(buildImportTimeoutMs, AbortSignal.any([signal, done.signal])).then(() => ({
        error: `it was not imported within ${buildImportTimeoutMs} ms`,
      })),
    ]);
    signal.throwIfAborted();
    const parsed = shape.safeParse(message);
    return parsed.success ? parsed.data : { error: 'the thread sent an invalid result' };
  } finally {
    done.abort();
    await worker.terminate();
    for (const output of (await printedOutput).filter((each) => each !== '')) log(output.trimEnd());
  }
}
