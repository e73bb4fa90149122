/** The example `devkit-orders`, with workflows that only tests need. Files that take the same app share one build of each version. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { root } from '../e2e/local-start.ts';
import { type BuiltApp, builtApp } from './built-app.ts';

const example = (path: string): string => readFileSync(join(root, 'examples/devkit-orders', path), 'utf8');
const jsonOf = (path: string): unknown => JSON.parse(example(path));

/** What the example says of its run. */
export const orderExample = {
  input: z.tuple([z.string()]).parse(jsonOf('input.json')),
  hooks: z.array(z.strictObject({ token: z.string(), payload: z.unknown() })).parse(jsonOf('hooks.json')),
  expected: z
    .strictObject({ status: z.string(), output: z.unknown(), stream: z.array(z.string()) })
    .parse(jsonOf('expected.json')),
};

/** Webhooks with each kind of response. */
const webhooks = `import { type RequestWithResponse, createWebhook } from 'workflow';

export async function byDefault() {
  'use workflow';
  const webhook = createWebhook();
  const request = await webhook;
  const { method, headers } = request;
  return { method, kind: headers.get('x-kind'), url: webhook.url, token: webhook.token, ...(await bodyOf(request)) };
}

export async function withStatic() {
  'use workflow';
  const webhook = createWebhook({ respondWith: new Response('pong', { status: 201, headers: { 'x-answer': 'static' } }) });
  const request = await webhook;
  return { method: request.method };
}

export async function withManual() {
  'use workflow';
  const webhook = createWebhook({ respondWith: 'manual' });
  const request = await webhook;
  const text = await respond(request);
  return { text };
}

async function respond(request: RequestWithResponse) {
  'use step';
  const text = await request.text();
  await request.respondWith(new Response(new Uint8Array([0, 255, 1, 254]), { status: 209, headers: { 'content-type': 'application/octet-stream', 'x-answer': text } }));
  return text;
}

async function bodyOf(request: Request) {
  'use step';
  const bytes = new Uint8Array(await request.arrayBuffer());
  return { length: bytes.length, first: bytes[0], last: bytes.at(-1) };
}
`;

/** Each step writes a line to a file, so that a test sees what was executed, and when. */
const parcel = `import { sleep } from 'workflow';
import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export async function parcel(name: string, file: string) {
  'use workflow';
  const picked = await mark(file, name, 'pick');
  await sleep('1s');
  const [wrapped, labelled] = await Promise.all([mark(file, name, 'wrap'), mark(file, name, 'label')]);
  const sent = await mark(file, name, 'send');
  return [picked, wrapped, labelled, sent].join(' ');
}

async function mark(file: string, name: string, what: string) {
  'use step';
  appendFileSync(file, \`\${name} \${what} \${Date.now()}\\n\`);
  await wait(150);
  return what;
}
`;

/** Starts a run as an app does, and prints how the SDK's \`start()\` ended. */
const startProgram = `import { createWorld } from 'stepwell/world';
import { start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';

setWorld(createWorld());
const [workflowId, deploymentId] = process.argv.slice(2);
const outcome = await start({ workflowId }, ['tea'], deploymentId === undefined ? {} : { deploymentId }).then(
  ({ runId }) => ({ runId }),
  ({ name, code, status, message }) => ({ name, code, status, message }),
);
process.stdout.write(JSON.stringify(outcome));
process.exit(0);
`;

export const ordersApp = (sdkVersion: string): Promise<BuiltApp> =>
  builtApp(sdkVersion, {
    'workflows/order.ts': example('workflows/order.ts'),
    'workflows/webhooks.ts': webhooks,
    'workflows/parcel.ts': parcel,
    'client.mjs': example('client.mjs'),
    'start.mjs': startProgram,
  });
