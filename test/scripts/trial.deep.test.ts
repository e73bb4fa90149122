/**
 * What a user does in the first hour, in an empty folder outside of the repository, by the documents alone (docs/guides/local-development.md):
 * install the packages, init, dev, a graph against a server on this machine, a failure explained, a deployment while an older run
 * sleeps, and the clock moved. The test prints how long each step took.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { type Application, type Packed, createApplication, packAll } from './packed.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 600_000 });

let packed: Packed;
let app: Application;
let server: Server;
let dev: ChildProcess | undefined;
/** everything that `stepwell dev` has printed */
let devOutput = '';
const transcript: string[] = [];

async function timed<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  const startedAt = performance.now();
  const value = await work();
  transcript.push(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${what}`);
  return value;
}

const npm = (...args: readonly string[]) => timed(`npm ${args.join(' ')}`, () => app.run('npm', args));
const npx = (...args: readonly string[]) => timed(`npx ${args.join(' ')}`, () => app.run('npx', ['--no-install', ...args]));
/** What npx runs. By itself it takes a tenth of the time. */
const stepwell = async (...args: readonly string[]): Promise<string> => {
  const program = join(app.folder, 'node_modules', '.bin', 'stepwell');
  return (await timed(`stepwell ${args.join(' ')}`, () => app.run(program, args))).stdout.trim();
};
const write = (file: string, text: string): void => writeFileSync(join(app.folder, file), text);

beforeAll(async () => {
  packed = await packAll();
  app = await createApplication(packed.folder, 'trial');
  server = createServer((request, response) => {
    response.statusCode = request.url === '/broken' ? 422 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/broken' ? { message: 'no such order' } : { stock: 7 }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(async () => {
  if (dev !== undefined) await endDev(dev);
  server.close();
  server.closeAllConnections();
  console.log(`The trial:\n${transcript.join('\n')}`);
});

const portOf = (): number => z.object({ port: z.number() }).parse(server.address()).port;

function startDev(): ChildProcess {
  const child = spawn(join(app.folder, 'node_modules', '.bin', 'stepwell'), ['dev', '--allow-localhost', '--port', '0'], {
    cwd: app.folder,
    env: app.env(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const collect = (chunk: Buffer): void => void (devOutput += chunk.toString());
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  return child;
}

async function endDev(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGINT');
  await once(child, 'exit');
}

const devPrints = (what: string, pattern: RegExp): Promise<void> =>
  timed(`dev prints ${what}`, () => expect.poll(() => devOutput, { timeout: 60_000, interval: 50 }).toMatch(pattern)).then(
    () => undefined,
  );

it('npm init -y, the packages, stepwell init: the project compiles and its test passes', async () => {
  await npm('install', packed.archive('stepwell'));
  await npm('install', '--save-dev', packed.archive('stepwell-cli'));
  expect((await npx('stepwell', 'init')).stdout).toContain('npx stepwell dev');
  await npm('install', '--save-dev', 'typescript', '@types/node');
  expect((await npx('tsc', '-p', '.')).stdout).toBe('');
  expect((await npm('test')).stdout).toMatch(/pass 1/);
});

it('stepwell dev starts the embedded cloud, deploys, and prints a line for each step of a run', async () => {
  dev = startDev();
  await devPrints('the deployment', /\+ greet/);
  expect(devOutput).toMatch(/API http:\/\/127\.0\.0\.1:\d+\/v1/);
  const runId = (await npx('stepwell', 'runs', 'start', 'greet', '--input', '{"name":"Ada"}')).stdout.trim();
  expect(await stepwell('runs', 'result', runId)).toContain('Hello, Ada!');
  await devPrints(
    'the steps of the run',
    /▸ running {2}run started[^]*✓ completed {2}write[^]*◷ waiting {2}pause[^]*✓ completed {2}run/,
  );
});

const graphOf = (name: string, path: string) => ({
  name,
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'http', config: { url: `http://localhost:${portOf()}${path}` } },
    {
      id: 'end',
      type: 'end',
      config: { outputParameters: [{ name: 'stock', sourceVariable: '{{ctx.httpResponse.body.stock}}' }] },
    },
  ],
  edges: [
    { source: 'start', target: 'ask' },
    { source: 'ask', target: 'end' },
  ],
});

it('a graph calls a server on this machine, and explain names the node and the status of a refusal', async () => {
  for (const [name, path] of [
    ['stock', '/stock'],
    ['broken', '/broken'],
  ] as const) {
    write(`${name}.json`, JSON.stringify(graphOf(name, path)));
    await stepwell('workflows', 'publish', `${name}.json`);
  }
  expect(await stepwell('runs', 'result', await stepwell('runs', 'start', 'stock'))).toContain('7');
  const failed = await stepwell('runs', 'start', 'broken');
  await expect(stepwell('runs', 'result', failed)).rejects.toMatchObject({ code: 1 });
  expect(await stepwell('explain', failed)).toMatch(/ask[^]*422/);
  await devPrints('the failure', /✗ failed {2}ask[^]*422/);
});

it('explain names the line of the code that failed', async () => {
  write(
    'workflows/faulty.ts',
    [
      `import { defineWorkflow } from 'stepwell/sdk';`,
      `interface Order { readonly total?: { readonly net: number } }`,
      `export const faulty = defineWorkflow({ name: 'faulty' }, async ({ step }) =>`,
      `  step.run({ name: 'price', retryPolicy: { maximumAttempts: 1 } }, () => {`,
      `    const order: Order = JSON.parse('{}');`,
      `    return order.total!.net;`,
      `  }),`,
      `);`,
      '',
    ].join('\n'),
  );
  await devPrints('the faulty workflow', /\+ faulty\n/);
  const failed = await stepwell('runs', 'start', 'faulty');
  await expect(stepwell('runs', 'result', failed)).rejects.toMatchObject({ code: 1 });
  expect(await stepwell('explain', 'latest')).toMatch(/price[^]*workflows\/faulty\.ts:6/);
});

const reminder = (version: number): string => `import { defineWorkflow } from 'stepwell/sdk';
export const remind = defineWorkflow({ name: 'remind', version: '${version}' }, async ({ step }) => {
  const begunAt = await step.run({ name: 'begin' }, () => Date.now());
  await step.sleep('wait', '8 days');
  const endedAt = await step.run({ name: 'end' }, () => Date.now());
  return { version: ${version}, days: Math.round((endedAt - begunAt) / 86_400_000) };
});
`;

it('version 2 is deployed while a run of version 1 sleeps eight days, longer than the default deadline, the clock is moved, and the run ends on version 1', async () => {
  write('workflows/remind.ts', reminder(1));
  await devPrints('version 1', /\+ remind@1/);
  const first = await stepwell('runs', 'start', 'remind');
  await devPrints('the sleep', /remind \S+ {2}◷ waiting {2}wait/);
  write('workflows/remind.ts', reminder(2));
  await devPrints('version 2', /\+ remind@2\n/);
  const second = await stepwell('runs', 'start', 'remind');
  expect(await stepwell('clock', 'advance', '8 days')).toContain('The clock of the embedded cloud is at');
  // In virtual time the first run is due; the second one began a moment later and is due a moment later.
  expect(JSON.parse(await stepwell('runs', 'result', first))).toEqual({ version: 1, days: 8 });
  expect(JSON.parse(await stepwell('runs', 'result', second))).toEqual({ version: 2, days: 8 });
});

it('after a restart the clock is still ahead, and Ctrl-C ends the cloud that dev started', async () => {
  const running = dev;
  if (running === undefined) throw new Error('dev has not started');
  await timed('Ctrl-C of dev', () => endDev(running));
  await expect(stepwell('doctor')).rejects.toThrow();
  devOutput = '';
  dev = startDev();
  await devPrints('the second start', /API http/);
  await stepwell('runs', 'start', 'greet', '--input', '{"name":"Bob"}');
  await devPrints('the run', /Bob|✓ completed {2}write/);
  const { createdAt } = z
    .object({ data: z.object({ items: z.array(z.object({ createdAt: z.string() })).min(1) }) })
    .transform(({ data }) => data.items[0] ?? { createdAt: '' })
    .parse(JSON.parse(await stepwell('runs', 'list', '--limit', '1', '--json')));
  expect(Date.parse(createdAt) - Date.now()).toBeGreaterThan(5 * 86_400_000);
  expect(readFileSync(join(app.folder, '.gitignore'), 'utf8')).toContain('.stepwell/');
});
