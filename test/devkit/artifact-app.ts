/** An app of the Workflow DevKit, installed from the registry and built with the SDK's own tool, as its users do it. */
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freshFolder, root } from '../e2e/local-start.ts';

/** A sleep, a step that is retried, a stream, a hook, and a step that starts another run and waits for it. */
const workflows = `import { sleep, createHook, getWritable, RetryableError, getStepMetadata } from 'workflow';
import { start } from 'workflow/api';

export async function order(item: string) {
  'use workflow';
  const price = await quote(item);
  await sleep('1s');
  const receipt = await charge(price);
  await report(receipt);
  using approval = createHook<{ by: string }>({ token: \`approve:\${item}\` });
  const { by } = await approval;
  const parts = await Promise.all([1, 2, 3].map((part) => pack(item, part)));
  return { item, price, receipt, by, parts, greeting: await greetBy(by) };
}

export async function greet(name: string) {
  'use workflow';
  return \`hello \${name}\`;
}

async function greetBy(name: string) {
  'use step';
  const child = await start(greet, [name]);
  return child.returnValue;
}

async function quote(item: string) {
  'use step';
  return item.length * 10;
}

async function charge(price: number) {
  'use step';
  const { attempt } = getStepMetadata();
  if (attempt < 2) throw new RetryableError('the card service is busy', { retryAfter: '1s' });
  return \`receipt-\${price}-\${attempt}\`;
}

async function report(receipt: string) {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(\`charged \${receipt}\`);
  writer.releaseLock();
}

async function pack(item: string, part: number) {
  'use step';
  return \`\${item}-\${part}\`;
}
`;

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

/** Starts the order, answers its hook, and prints the result and the first line of its stream. */
const client = `import { getRun, resumeHook, start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';
import { createWorld } from 'stepwell/world';

setWorld(createWorld());
const [command, item] = process.argv.slice(2);
const run = await start({ workflowId: 'workflow//./workflows/order//order' }, [item]);
console.log(JSON.stringify({ runId: run.runId }));
if (command === 'complete') {
  for (let tries = 0; tries < 240; tries += 1) {
    try {
      await resumeHook(\`approve:\${item}\`, { by: 'ada' });
      break;
    } catch (error) {
      if (error.name !== 'HookNotFoundError') throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
  const value = await run.returnValue;
  const { value: line } = await getRun(run.runId).getReadable().getReader().read();
  console.log(JSON.stringify({ value, line }));
}
process.exit(0);
`;

export interface ArtifactApp {
  readonly folder: string;
  /** Writes a file of the app. */
  write(path: string, text: string): void;
  /** Runs a program in the app's folder. @returns what it printed */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}

/** @param source the workflows of the app */
export async function buildArtifactApp(sdkVersion: string, source = workflows): Promise<ArtifactApp> {
  const folder = freshFolder();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const run: ArtifactApp['run'] = async (program, args, env = {}) => {
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    const options = {
      cwd: folder,
      env: { ...process.env, PATH: path, npm_config_audit: 'false', npm_config_fund: 'false', ...env },
    };
    return (await promisify(execFile)(program, args, { ...options, maxBuffer: 16_777_216 })).stdout;
  };
  write('package.json', JSON.stringify({ name: 'shop', private: true, type: 'module' }));
  write('workflows/order.ts', source);
  write('workflows/webhooks.ts', webhooks);
  write('client.mjs', client);
  await run('npm', ['install', '--save-exact', `workflow@${sdkVersion}`]);
  await run('npx', ['workflow', 'build']);
  // The package's own source stands for its build, which another test installs.
  write(
    'node_modules/stepwell/package.json',
    JSON.stringify({ name: 'stepwell', exports: { './world': './lib/world/index.ts' } }),
  );
  symlinkSync(join(root, 'lib'), join(folder, 'node_modules', 'stepwell', 'lib'));
  return { folder, write, run };
}
