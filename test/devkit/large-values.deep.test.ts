/** Values of 50 MB in deployed code, over the port of its thread: input and result of a step, payload of a hook, chunk of a stream. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { rotatingItem } from '../tier.ts';
import { type BuiltApp, builtApp, sdkVersions } from './built-app.ts';

const source = `import { createHook, getWritable } from 'workflow';

export async function large(input: Uint8Array, token: string) {
  'use workflow';
  const made = await make(input);
  const sum = await sumOf(made);
  const hook = createHook<Uint8Array>({ token });
  const payload = await hook;
  await report(payload);
  return { sum, bytes: payload.byteLength, made };
}

async function make(input: Uint8Array) {
  'use step';
  return input.slice().fill(3);
}

async function sumOf(bytes: Uint8Array) {
  'use step';
  return bytes.reduce((sum, each) => sum + each, 0);
}

async function report(bytes: Uint8Array) {
  'use step';
  const writer = getWritable<Uint8Array>().getWriter();
  await writer.write(bytes);
  writer.releaseLock();
}
`;

const size = 50_000_000;

const client = `import { getRun, resumeHook, start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';
import { createWorld } from 'stepwell/world';

setWorld(createWorld());
const token = process.argv[2];
const run = await start({ workflowId: 'workflow//./workflows/order//large' }, [new Uint8Array(${size}).fill(1), token]);
for (let tries = 0; tries < 400; tries += 1) {
  try {
    await resumeHook(token, new Uint8Array(${size}).fill(2));
    break;
  } catch (error) {
    if (error.name !== 'HookNotFoundError') throw error;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
const { made, ...value } = await run.returnValue;
const { value: chunk } = await getRun(run.runId).getReadable().getReader().read();
console.log(JSON.stringify({ ...value, made: made.byteLength, all: made.every((each) => each === 3), chunk: chunk.byteLength }));
process.exit(0);
`;

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

describe.each(rotatingItem(sdkVersions))('an app of workflow %s', (sdkVersion) => {
  let app: BuiltApp;
  beforeAll(async () => {
    app = await builtApp(sdkVersion, { 'workflows/order.ts': source, 'large.mjs': client });
    await cli(served, app.folder, 'deploy', '--json');
  });

  test('has values of 50 MB', async () => {
    const env = { STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey };
    const printed = await app.run('node', ['large.mjs', `large-${sdkVersion}`], env);
    expect(JSON.parse(printed)).toEqual({ sum: size * 3, bytes: size, made: size, all: true, chunk: size });
  });
});
