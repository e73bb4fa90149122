/** The command line of the Workflow DevKit shows the runs of Stepwell, at each supported version: `workflow inspect` through `stepwell/world`. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { rotatingItem } from '../tier.ts';
import { type BuiltApp, installedSdk, sdkVersions } from './built-app.ts';
import { ordersApp } from './orders-app.ts';

const listed = z.union([z.array(z.unknown()), z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data)]);
/** Some lists are pages. */
const rowsIn = (text: string): readonly unknown[] => listed.parse(JSON.parse(text));

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

describe.each(rotatingItem(sdkVersions))('workflow %s', (sdkVersion) => {
  let app: BuiltApp;
  let program: string;
  let runId: string;
  let item: string;
  const env = (): Readonly<Record<string, string>> => ({
    STEPWELL_URL: served.url,
    STEPWELL_API_KEY: served.apiKey,
    WORKFLOW_TARGET_WORLD: 'stepwell/world',
  });
  /** `npx workflow inspect … --json` */
  const inspect = (...args: readonly string[]): Promise<string> =>
    app.run('node', [program, 'inspect', ...args, '--backend', 'stepwell/world', '--json'], env());

  beforeAll(async () => {
    app = await ordersApp(sdkVersion);
    program = join(await installedSdk(sdkVersion), 'node_modules/workflow/bin/run.js');
    await cli(served, app.folder, 'deploy', '--json');
    // Each version has a token of its own, because the run of the one before still waits.
    item = `tea-${sdkVersion}`;
    runId = (await app.run('node', ['client.mjs', 'start', item], env())).trim();
  });

  test('shows the runs, steps, hooks, events, streams and sleeps of a run that waits for its hook', async () => {
    const explain = (): Promise<string> => cli(served, app.folder, 'explain', runId);
    await expect.poll(explain, { timeout: 60_000 }).toContain('waits for resumeHook()');
    expect(rowsIn(await inspect('runs'))).toContainEqual(expect.objectContaining({ runId, status: 'running' }));
    expect(JSON.parse(await inspect('run', runId))).toMatchObject({ runId, status: 'running', input: [item] });
    const ofRun = async (what: string): Promise<readonly unknown[]> => rowsIn(await inspect(what, '--runId', runId));
    const step = (name: string, attempt: number) =>
      expect.objectContaining({ stepName: `step//./workflows/order//${name}`, status: 'completed', attempt });
    expect(await ofRun('steps')).toEqual([step('report', 1), step('charge', 2), step('quote', 1)]);
    expect(await ofRun('hooks')).toEqual([expect.objectContaining({ runId, token: `approve:${item}` })]);
    expect((await ofRun('events'))[0]).toMatchObject({ runId, eventType: 'hook_created' });
    const stream = { runId, streamId: `strm_${runId.slice('wrun_'.length)}_user` };
    expect(await ofRun('streams')).toEqual([expect.objectContaining(stream)]);
    expect(await ofRun('sleeps')).toEqual([expect.objectContaining({ runId, completedAt: expect.any(String) })]);
  });
});
