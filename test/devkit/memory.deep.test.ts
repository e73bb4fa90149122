/**
 * The memory of deployed code with values of 50 MB. The code runs in a process of its own, as in the code function, so that the process's
 * largest memory is the one that the function needs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { functionShapes } from '../../lib/constructs/function-shapes.ts';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { freshFolder, root } from '../e2e/local-start.ts';
import { rotatingItem } from '../tier.ts';
import { type BuiltApp, builtApp, sdkVersions } from './built-app.ts';

const megabyte = 1_048_576;

const source = `export async function large(bytes: number) {
  'use workflow';
  const made = await make(bytes);
  return await sizeOf(made);
}

async function make(bytes: number) {
  'use step';
  // Version 5 compresses values, so they are not regular.
  let state = 1;
  return new Uint8Array(bytes).map(() => (state = Math.imul(state, 1_664_525) + 1_013_904_223) >>> 24);
}

async function sizeOf(bytes: Uint8Array) {
  'use step';
  return bytes.byteLength;
}
`;

const client = `import { start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';
import { createWorld } from 'stepwell/world';

setWorld(createWorld());
const run = await start({ workflowId: 'workflow//./workflows/order//large' }, [Number(process.argv[2])]);
console.log(await run.returnValue);
process.exit(0);
`;

/** Sizes of a value, and the memory of the function that is enough for it: docs/DEVKIT.md says so. */
const rows = [
  { size: 5_000_000, memoryMb: functionShapes.code.memoryMb },
  { size: 50_000_000, memoryMb: 2_048 },
] as const;
/** A process takes the memory of its container as its limit, and with it that of the heap of its threads. */
const asFunction = (memoryMb: number): string => `process.constrainedMemory = () => ${memoryMb * megabyte};`;

let served: InProcessCloud;
let settings: string;
beforeAll(async () => {
  served = await startInProcessCloud({ 'stepwell:codeRunsIn': 'worker' });
  settings = join(freshFolder(), 'worker.json');
  writeFileSync(settings, JSON.stringify(served.cloud.worker));
});
afterAll(() => served.stop());

let worker: ChildProcess | undefined;
afterEach(async () => {
  if (worker === undefined || worker.exitCode !== null) return;
  worker.kill('SIGKILL');
  await once(worker, 'exit');
});

/** The most memory that the process had, in MB. */
const peakMemory = ({ pid }: ChildProcess): number =>
  (Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024) / megabyte;

describe.each(rotatingItem(sdkVersions))('an app of workflow %s', (sdkVersion) => {
  let app: BuiltApp;
  const env = () => ({ STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey });
  beforeAll(async () => {
    app = await builtApp(sdkVersion, { 'workflows/order.ts': source, 'large.mjs': client });
    await cli(served, app.folder, 'deploy', '--json');
  });

  // The large value takes minutes, so CI has one of both.
  test.each(rotatingItem(rows))(
    'needs at most $memoryMb MB for a value of $size bytes',
    async ({ size, memoryMb }) => {
      const preload = join(freshFolder(), 'as-function.cjs');
      writeFileSync(preload, asFunction(memoryMb));
      const program = join(root, 'bin/stepwell-cli.mjs');
      const args = ['--require', preload, program, 'worker', 'start', '--settings', settings, '--concurrency', '1'];
      const child = spawn(process.execPath, args, {
        cwd: app.folder,
        env: { ...process.env, HOME: freshFolder(), ...env() },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      worker = child;
      let printed = '';
      child.stderr.on('data', (text: Buffer) => void (printed += text.toString()));
      await expect.poll(() => printed, { timeout: 60_000 }).toContain('taking messages for code');
      // A second run finds the memory of the first one.
      for (let run = 0; run < 2; run += 1)
        expect((await app.run('node', ['large.mjs', String(size)], env())).trim()).toBe(String(size));
      const peak = peakMemory(child);
      expect(peak).toBeGreaterThan(size / megabyte);
      expect(peak).toBeLessThan(memoryMb);
    },
    300_000,
  );
});
