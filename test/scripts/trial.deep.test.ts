/**
 * What a user does in the first hour, in an empty folder outside of the repository, by the document alone: the files and the commands
 * are those of docs/guides/local-development.md, with the packed packages in place of published ones. The test prints how long each
 * command took.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { blocksIn, settingsIn } from '../e2e/documents.ts';
import { type Application, type Packed, createApplication, packAll, root } from './packed.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 600_000 });

const guide = 'docs/guides/local-development.md';
/** The shell blocks under a heading of the guide. */
const under = (heading: string): readonly string[] =>
  blocksIn(guide)
    .filter((block) => block.heading === heading)
    .map(({ lines }) => lines.trimEnd());
/** The files that the guide asks its reader to save, by name. */
const files = new Map(
  [...readFileSync(join(root, guide), 'utf8').matchAll(/Save this as `([^`]+)`.*\n\n```(?:ts|json)\n([^]*?)```/g)].map(
    ([, name = '', text = '']) => [name, text],
  ),
);

let packed: Packed;
let app: Application;
let server: Server;
const transcript: string[] = [];

async function timed<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  const startedAt = performance.now();
  const value = await work();
  transcript.push(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${what}`);
  return value;
}

/** The variables that earlier lines have set, as in one terminal. */
const settings = new Map<string, string>();

/** Pastes lines of the guide into the second terminal, one command after the other. @returns what they printed */
async function paste(lines: string): Promise<string> {
  let printed = '';
  for (const line of lines.split('\n')) {
    const [setting] = settingsIn(line);
    const name = setting?.slice(0, setting.indexOf('='));
    const command = line
      .replace(/ stepwell$/, () => ` ${packed.archive('stepwell')}`)
      .replace(/ stepwell-cli$/, () => ` ${packed.archive('stepwell-cli')}`)
      .replaceAll('npx stepwell', 'npx --no-install stepwell');
    const variables = [...settings].map(([key, value]) => `${key}='${value}'`);
    const script = [...variables, command, ...(name === undefined ? [] : [`echo "$${name}"`])].join('\n');
    const { stdout } = await timed(line, () => app.run('sh', ['-ec', script]));
    if (name === undefined) printed += stdout;
    else settings.set(name, stdout.trim());
  }
  return printed;
}

/** What npx runs. By itself it takes a tenth of the time. */
const stepwell = async (...args: readonly string[]): Promise<string> => {
  const program = join(app.folder, 'node_modules', '.bin', 'stepwell');
  return (await timed(`stepwell ${args.join(' ')}`, () => app.run(program, args))).stdout.trim();
};
const write = (file: string, text: string): void => writeFileSync(join(app.folder, file), text);
const saved = (name: string): string => {
  const text = files.get(name);
  if (text === undefined) throw new Error(`${guide} has no file ${name}`);
  return text;
};

/** A command of the guide that runs in a terminal of its own, until Ctrl-C. */
class Terminal {
  readonly #line: string;
  readonly #child: ChildProcess;
  #output = '';

  constructor(line: string, folder = app.folder) {
    this.#line = line;
    const [npx, program, ...args] = line.split(' ');
    expect([npx, program]).toEqual(['npx', 'stepwell']);
    this.#child = spawn(join(app.folder, 'node_modules', '.bin', 'stepwell'), args, {
      cwd: folder,
      env: { ...app.env(), STEPWELL_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const collect = (chunk: Buffer): void => void (this.#output += chunk.toString());
    this.#child.stdout?.on('data', collect);
    this.#child.stderr?.on('data', collect);
    terminals.push(this);
  }

  get output(): string {
    return this.#output;
  }

  prints(what: string, pattern: RegExp): Promise<void> {
    return timed(`${this.#line} prints ${what}`, async () => {
      await expect.poll(() => this.#output, { timeout: 60_000, interval: 50 }).toMatch(pattern);
    });
  }

  async interrupt(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGINT');
    await once(this.#child, 'exit');
  }
}
const terminals: Terminal[] = [];

beforeAll(async () => {
  packed = await packAll();
  app = await createApplication(packed.folder, 'trial');
  server = createServer((request, response) => {
    response.statusCode = request.url === '/stock' ? 200 : 422;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/stock' ? { stock: 7 } : { message: 'no such order' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(async () => {
  for (const terminal of terminals.toReversed()) await terminal.interrupt();
  server.close();
  server.closeAllConnections();
  console.log(`The trial:\n${transcript.join('\n')}`);
});

const [setup = '', firstRun = '', tests = ''] = under('A project');
const [startLine = '', publish = ''] = under('Services on your machine');
const devLine = setup.split('\n').at(-1) ?? '';
let dev: Terminal;

it('the packages are installed, the project is initialized, it compiles, and its test passes', async () => {
  expect(await paste(setup.split('\n').slice(0, -1).join('\n'))).toContain('npx stepwell dev');
  expect(await paste(tests)).toMatch(/pass 1\b/);
});

it('dev starts the embedded cloud, deploys, and prints a line for each step of a run', async () => {
  dev = new Terminal(devLine);
  await dev.prints('the deployment', /\+ greet/);
  expect(dev.output).toMatch(/API http:\/\/127\.0\.0\.1:\d+\/v1/);
  const runId = (await paste(firstRun)).trim();
  expect(await stepwell('runs', 'result', runId)).toContain('Hello, Ada!');
  await dev.prints(
    'the steps of the run',
    /▸ running {2}run started[^]*✓ completed {2}write[^]*◷ waiting {2}pause[^]*✓ completed {2}run/,
  );
});

it('explain names the line of the code that fails, while the step is retried', async () => {
  const [failing = ''] = under('A failure');
  const [startFailing = '', explain = '', ...others] = failing.split('\n');
  expect(others).toEqual([]);
  write('workflows/price.ts', saved('workflows/price.ts'));
  await dev.prints('the failing workflow', /\+ price\n/);
  await paste(startFailing);
  const line = saved('workflows/price.ts')
    .split('\n')
    .findIndex((text) => text.includes('total!.net'));
  const where = new RegExp(`^Node net \\(function\\) is [^]*'net'\\), at workflows/price\\.ts:${line + 1}:\\d+\\.`);
  await expect.poll(() => paste(explain), { timeout: 30_000, interval: 500 }).toMatch(where);
  await dev.prints('the retry', /✗ failed {2}net {2}[^\n]*workflows\/price\.ts:\d+:\d+ {2}retried/);
  await stepwell('runs', 'cancel', settings.get('RUN') ?? '');
  await timed('Ctrl-C of dev', () => dev.interrupt());
});

it('start --allow-localhost runs the cloud for dev in a folder below, and a graph calls a server on this machine', async () => {
  const start = new Terminal(startLine);
  await start.prints('its address', /Stepwell is running/);
  dev = new Terminal(devLine, join(app.folder, 'workflows'));
  await dev.prints('that it has deployed', /is active already/);
  expect(dev.output).not.toContain('Starting the embedded cloud');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const graph = saved('stock.json').replace('localhost:3000', `localhost:${port}`);
  write('stock.json', graph);
  const printed = await paste(publish);
  expect(JSON.parse(printed.slice(printed.indexOf('{')))).toEqual({ stock: 7 });
  await start.prints('the node of the graph', /stock \S+ {2}✓ completed {2}ask/);
  write('broken.json', graph.replace('"stock"', '"broken"').replace('/stock"', '/broken"'));
  await stepwell('workflows', 'publish', 'broken.json');
  const failed = await stepwell('runs', 'start', 'broken');
  await expect(stepwell('runs', 'result', failed)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Root cause: node ask: [^]*422[^]*no such order/),
  });
  await start.prints('the failure', /✗ failed {2}ask[^]*422/);
});

it('version 2 is deployed while a run of version 1 sleeps eight days, the clock is moved, and the run ends on version 1', async () => {
  const [begin = '', advance = ''] = under('Long waits');
  const first = saved('workflows/remind.ts');
  write('workflows/remind.ts', first);
  await dev.prints('version 1', /\+ remind@1/);
  await paste(begin.split('\n')[0] ?? '');
  await dev.prints('the sleep', /remind \S+ {2}◷ waiting {2}wait/);
  expect(await paste(begin.split('\n')[1] ?? '')).toMatch(/^Node wait \(\w+\) sleeps until /);
  write('workflows/remind.ts', first.replace("version: '1'", "version: '2'").replace('version: 1', 'version: 2'));
  await dev.prints('version 2', /\+ remind@2\n/);
  const second = await stepwell('runs', 'start', 'remind');
  const printed = await paste(advance);
  expect(printed).toContain('The clock of the embedded cloud is at');
  // In virtual time the first run is due; the second one began a moment later and is due a moment later.
  expect(JSON.parse(printed.slice(printed.indexOf('{')))).toEqual({ version: 1, days: 8 });
  expect(JSON.parse(await stepwell('runs', 'result', second))).toEqual({ version: 2, days: 8 });
});

it('after a restart the clock is still ahead, and Ctrl-C ends the cloud that dev started', async () => {
  for (const terminal of terminals.toReversed()) await timed('Ctrl-C', () => terminal.interrupt());
  await expect(stepwell('doctor')).rejects.toThrow();
  dev = new Terminal(devLine);
  await dev.prints('the second start', /API http/);
  await paste(firstRun);
  await dev.prints('the run', /✓ completed {2}write/);
  const { createdAt } = z
    .object({ data: z.object({ items: z.array(z.object({ createdAt: z.string() })).min(1) }) })
    .transform(({ data }) => data.items[0] ?? { createdAt: '' })
    .parse(JSON.parse(await stepwell('runs', 'list', '--limit', '1', '--json')));
  expect(Date.parse(createdAt) - Date.now()).toBeGreaterThan(5 * 86_400_000);
  expect(readFileSync(join(app.folder, '.gitignore'), 'utf8')).toContain('.stepwell/');
});
