/** Which workflows a bundled module exports, by importing it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { CliFault } from '../command.ts';
import { type AsideShell, importAside } from './import-aside.ts';
import { labelOf } from './workflow-label.ts';

export interface WrittenWorkflow {
  readonly name: string;
  readonly version?: string;
  /** relative to the project */
  readonly file: string;
}

const shape = z.array(z.object({ name: z.string(), version: z.string().exactOptional(), file: z.string() }));

/** Sorted by name, and of one name by version: the last one is the newest. @throws CliFault */
export async function readWorkflows(shell: AsideShell, module: Uint8Array): Promise<readonly WrittenWorkflow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-build-'));
  try {
    const path = join(folder, 'workflows.mjs');
    writeFileSync(path, module);
    const told = await importAside(shell, path, 'workflows');
    if ('fault' in told) throw failed(told.fault);
    const read = shape.safeParse(told.value);
    if (!read.success) throw failed('it tells of no workflows');
    return judged(read.data);
  } finally {
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
