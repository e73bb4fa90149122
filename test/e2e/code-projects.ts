/** Projects of code workflows for tests: writes, deploys and starts them, and reads their runs. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import * as z from 'zod';
import type { InProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';

export type Place = Pick<InProcessCloud, 'url' | 'apiKey' | 'call'>;

/** Runs `stepwell` in a project. @returns its output */
export async function cli({ url, apiKey }: Place, folder: string, ...given: readonly string[]): Promise<string> {
  const env = { ...process.env, HOME: freshFolder(), STEPWELL_URL: url, STEPWELL_API_KEY: apiKey };
  const program = [join(root, 'bin/stepwell-cli.mjs'), ...given];
  return (await promisify(execFile)(process.execPath, program, { cwd: folder, env })).stdout;
}
export const deploy = (place: Place, folder: string, ...options: readonly string[]): Promise<string> =>
  cli(place, folder, 'deploy', ...options);

/** A project with these workflows in one file, and a folder for their output. */
export function project(code: string): string {
  const folder = freshFolder();
  mkdirSync(join(folder, 'workflows'));
  writeFileSync(join(folder, 'stepwell.config.json'), '{}');
  rewrite(folder, code);
  return folder;
}
export function rewrite(folder: string, code: string): void {
  const imports = [
    `import { appendFileSync } from 'node:fs';`,
    `import { setTimeout as wait } from 'node:timers/promises';`,
    `import { defineWorkflow, NonRetryableError } from 'stepwell/sdk';`,
    `const note = (file, text) => appendFileSync(file, text + '\\n');`,
  ];
  writeFileSync(join(folder, 'workflows/all.ts'), [...imports, code].join('\n'));
}

let starts = 0;
export async function start(place: Place, workflowName: string, input: unknown = {}, more: object = {}): Promise<string> {
  const key = { 'idempotency-key': `start-${(starts += 1)}` };
  const { status, body } = await place.call('POST', '/v1/runs', { workflowName, input, ...more }, key);
  expect(status, JSON.stringify(body)).toBe(202);
  return z.looseObject({ runId: z.string() }).parse(body).runId;
}

const failure = z.looseObject({ code: z.string().optional(), message: z.string() });
const runShape = z.looseObject({
  status: z.string(),
  deploymentId: z.string().nullable(),
  output: z.unknown().optional(),
  error: failure.optional(),
  nodes: z.array(
    z.looseObject({
      nodeId: z.string(),
      status: z.string(),
      attempt: z.int(),
      childRunId: z.string().optional(),
      error: failure.optional(),
    }),
  ),
});
type Run = z.output<typeof runShape>;

/** Polls until the condition holds, or the test times out. */
export async function when(place: Place, id: string, holds: (found: Run) => boolean): Promise<Run> {
  for (;;) {
    const found = runShape.parse((await place.call('GET', `/v1/runs/${id}`)).body);
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
export const hasEnded = ({ status }: Run): boolean => status !== 'pending' && status !== 'running';
export const ended = (place: Place, id: string): Promise<Run> => when(place, id, hasEnded);
export const node = ({ nodes }: Run, id: string) => nodes.find(({ nodeId }) => nodeId === id);
export const waits =
  (id: string) =>
  (run: Run): boolean =>
    node(run, id)?.status === 'waiting';

const eventsShape = z.looseObject({
  data: z.array(z.looseObject({ type: z.string(), payload: z.looseObject({ nodeId: z.string().optional() }) })),
});
/** The steps in the order of their events of this type. */
export async function stepsIn(place: Place, id: string, type: string): Promise<readonly (string | undefined)[]> {
  const { data } = eventsShape.parse((await place.call('GET', `/v1/runs/${id}/events?limit=1000`)).body);
  return data.flatMap((event) => (event.type === type ? [event.payload.nodeId] : []));
}
