/** Which workflows a bundled module exports: it is imported on a thread, because it is an author's program and may do anything. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { CliFault, type Shell } from '../command.ts';
import { labelOf } from './workflow-label.ts';

export interface WrittenWorkflow {
  readonly name: string;
  readonly version?: string;
  /** relative to the project */
  readonly file: string;
}

/** As long as a deployment has for it. */
const importMs = 30_000;

const shape = z.union([
  z.object({
    workflows: z.array(z.object({ name: z.string(), version: z.string().exactOptional(), file: z.string() })),
  }),
  z.object({ fault: z.string() }),
]);

const readerFile = (): URL => {
  const written = new URL('workflow-reader.ts', import.meta.url);
  return existsSync(written) ? written : new URL('workflow-reader.js', import.meta.url);
};

/** Sorted by name, and of one name by version: the last one is the newest. @throws CliFault */
export async function readWorkflows(
  { note, sleep, signal }: Pick<Shell, 'note' | 'sleep' | 'signal'>,
  module: Uint8Array,
): Promise<readonly WrittenWorkflow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-build-'));
  const done = new AbortController();
  const path = join(folder, 'workflows.mjs');
  writeFileSync(path, module);
  const worker = new Worker(readerFile(), { workerData: pathToFileURL(path).href, execArgv: [], stdout: true, stderr: true });
  const printed = Promise.all([text(worker.stdout), text(worker.stderr)]);
  try {
    const told = await Promise.race([
      new Promise<unknown>((resolve) => {
        worker.once('message', resolve);
        worker.once('error', (error) => resolve({ fault: String(error) }));
        worker.once('exit', (code) => resolve({ fault: `it ended the thread with code ${code}` }));
      }),
      sleep(importMs, AbortSignal.any([signal, done.signal])).then(() => ({
        fault: `it was not imported within ${importMs} ms`,
      })),
    ]);
    signal.throwIfAborted();
    const read = shape.safeParse(told);
    if (!read.success) throw failed('it tells of no workflows');
    if ('fault' in read.data) throw failed(read.data.fault);
    return judged(read.data.workflows);
  } finally {
    done.abort();
    await worker.terminate();
    for (const said of (await printed).filter((each) => each !== '')) note(said.trimEnd());
    rmSync(folder, { recursive: true, force: true });
  }
}

const failed = (why: string): CliFault => new CliFault('build_failed', `The workflows cannot be imported: ${why}.`);

function judged(workflows: readonly WrittenWorkflow[]): readonly WrittenWorkflow[] {
  if (workflows.length === 0) throw new CliFault('build_failed', 'No file exports what defineWorkflow made.');
  const sorted = workflows.toSorted((one, other) => byText(one.name, other.name) || byVersion(one.version, other.version));
  for (const [at, one] of sorted.entries()) {
    const next = sorted[at + 1];
    if (next !== undefined && next.name === one.name && next.version === one.version)
      throw new CliFault('build_failed', `The workflow ${labelOf(one)} is defined twice: in ${one.file} and in ${next.file}.`);
  }
  return sorted;
}

/** By code units, not by the language of the machine. */
const byText = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1);

/** None comes first; numbers in it count as numbers: 2 comes before 10. */
function byVersion(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return Number(one !== undefined) - Number(other !== undefined);
  const [ones, others] = [one, other].map((version) => version.match(/\d+|\D+/g) ?? []);
  for (const [at, part] of (ones ?? []).entries()) {
    const against = others?.[at];
    if (against === undefined) return 1;
    const difference = Number(part) - Number(against);
    const order = Number.isNaN(difference) ? byText(part, against) : difference;
    if (order !== 0) return order;
  }
  return byText(one, other);
}
