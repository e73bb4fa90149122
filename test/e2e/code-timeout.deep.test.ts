/** Code that runs longer than its function may. `test/bundles` has the same for one thread, in the quick tier. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deploy, ended, project, start } from './code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:codeTimeoutSeconds': 30 });
});
afterAll(() => cloud.stop());

test('an endless loop fails its step shortly before the function’s timeout', async () => {
  await deploy(
    cloud,
    project(`
export const loops = defineWorkflow({ name: 'loops' }, async ({ step }) =>
  step.run({ name: 'loop', retryPolicy: { maximumAttempts: 1 } }, () => { for (;;); }));
`),
  );
  const id = await start(cloud, 'loops');
  expect(await ended(cloud, id)).toMatchObject({ status: 'failed', error: { code: 'code_timed_out', cause: 'timeout' } });
});
