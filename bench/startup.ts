/** Time of `npm start` until its first response: from scratch, and without changes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { checkoutApp } from '../lib/local/synth/cdk-app.ts';
import { digestSources } from '../lib/local/synth/synthesize.ts';
import { root } from './bench-cloud.ts';

const infoShape = z.object({ url: z.string(), pid: z.number() });

/** Milliseconds from the process start to the first response. Ends the process afterwards. */
async function timeStart(directory: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['bin/check-node.mjs', 'lib/local/main.ts'], {
    cwd: root,
    env: { ...process.env, STEPWELL_DIR: directory, STEPWELL_PORT: '0' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const infoFile = join(directory, 'local.json');
  while (!existsSync(infoFile)) {
    if (child.exitCode !== null) throw new Error(`the embedded cloud ended with ${child.exitCode}`);
    await wait(5);
  }
  const { url, pid } = infoShape.parse(JSON.parse(readFileSync(infoFile, 'utf8')));
  const response = await fetch(`${url}/v1/health`);
  await response.arrayBuffer();
  const tookMs = performance.now() - startedAt;
  process.kill(pid, 'SIGTERM');
  await exited;
  if (!response.ok) throw new Error(`the first request was answered ${response.status}`);
  return tookMs;
}

export interface StartTimes {
  readonly coldMs: number;
  readonly warmMs: number;
  /** false if a source changed in between, so that the second start synthesized too */
  readonly isSteady: boolean;
}

/** @param directory an empty directory: the first start synthesizes, the second reuses the result */
export async function measureStarts(directory: string): Promise<StartTimes> {
  const before = digestSources(root, checkoutApp(root).sources);
  const [coldMs, warmMs] = [await timeStart(directory), await timeStart(directory)];
  return { coldMs, warmMs, isSteady: digestSources(root, checkoutApp(root).sources) === before };
}
