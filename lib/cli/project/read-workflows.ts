/** Which workflows a bundled module exports, by importing it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { CliError } from '../command.ts';
import { type ImportContext, importInThread } from './import-in-thread.ts';
import { workflowLabel } from './workflow-label.ts';

export interface SourceWorkflow {
  readonly name: string;
  readonly version?: string;
  /** relative to the project */
  readonly file: string;
}

const shape = z.array(z.object({ name: z.string(), version: z.string().exactOptional(), file: z.string() }));

/** Sorted by name, and of one name by version: the last one is the newest. @throws CliError */
export async function readWorkflows(context: ImportContext, module: Uint8Array): Promise<readonly SourceWorkflow[]> {
  const directory = mkdtempSync(join(tmpdir(), 'stepwell-build-'));
  try {
    const path = join(directory, 'workflows.mjs');
    writeFileSync(path, module);
    const imported = await importInThread(context, path, 'workflows');
    if ('error' in imported) throw buildError(imported.error);
    const parsed = shape.safeParse(imported.value);
    if (!parsed.success) throw buildError('it tells of no workflows');
    return validateWorkflows(parsed.data);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const buildError = (reason: string): CliError => new CliError('build_failed', `The workflows cannot be imported: ${reason}.`);

function validateWorkflows(workflows: readonly SourceWorkflow[]): readonly SourceWorkflow[] {
  if (workflows.length === 0) throw new CliError('build_failed', 'No file exports what defineWorkflow made.');
  const sorted = workflows.toSorted(
    (left, right) => compareText(left.name, right.name) || compareVersions(left.version, right.version),
  );
  for (const [index, left] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next !== undefined && next.name === left.name && next.version === left.version)
      throw new CliError(
        'build_failed',
        `The workflow ${workflowLabel(left)} is defined twice: in ${left.file} and in ${next.file}.`,
      );
  }
  return sorted;
}

/** By code units, not by the language of the machine. */
const compareText = (left: string, right: string): number => (left === right ? 0 : left < right ? -1 : 1);

/** None comes first; numbers in it count as numbers: 2 comes before 10. */
function compareVersions(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  const [leftParts, rightParts] = [left, right].map((version) => version.match(/\d+|\D+/g) ?? []);
  for (const [index, part] of (leftParts ?? []).entries()) {
    const rightPart = rightParts?.[index];
    if (rightPart === undefined) return 1;
    const difference = Number(part) - Number(rightPart);
    const order = Number.isNaN(difference) ? compareText(part, rightPart) : difference;
    if (order !== 0) return order;
  }
  return compareText(left, right);
}
