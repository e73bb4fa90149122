/**
 * What `npm run build` makes is a package as an application would have it: it is packed, installed by npm in an empty folder, and
 * from there imported, type-checked, synthesized, and used to build and run a workflow. Nothing of this repository is seen from there.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { formatMessage } from 'publint/utils';
import { publint } from 'publint';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { environmentNames, functionNames } from '../../lib/contract/environment.ts';
import { codeWorkerEnvironment } from '../../lib/contract/worker-program.ts';
import { preparedFolder, startLocal } from '../e2e/local-start.ts';
import { OtherSide } from '../nodes/other-side.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'stepwell-package-'));
const built = join(folder, 'built');
const application = join(folder, 'application');
const installed = join(application, 'node_modules', 'stepwell');
const health = { healthy: true, timestamp: '2026-01-01T00:00:00.000Z' };
/** A compiler, a whole synthesis or an installation, on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

/** As in a terminal in the application's folder; the Node of these tests comes first. @returns what was printed */
async function run(program: string, given: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> {
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, PATH, HOME: folder, ...more };
  return (await promisify(execFile)(program, given, { cwd: application, env })).stdout;
}
const write = (file: string, text: string): void => writeFileSync(join(application, file), text);
const node = (file: string, text: string, ...given: readonly string[]): Promise<string> => {
  write(file, text);
  return run(process.execPath, [file, ...given]);
};

beforeAll(async () => {
  // npm's own cache lies in the home of whoever tests.
  const quietly = { cwd: root, env: { ...process.env, npm_config_audit: 'false', npm_config_fund: 'false' } };
  const npm = promisify(execFile);
  await npm('npm', ['run', '--silent', 'build', '--', built], quietly);
  const { stdout } = await npm('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    ...quietly,
    cwd: built,
  });
  mkdirSync(application);
  write('package.json', JSON.stringify({ private: true, type: 'module' }));
  await npm('npm', ['install', '--prefer-offline', join(folder, stdout.trim())], { ...quietly, cwd: application });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const manifestShape = z.object({
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()),
  exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
  bin: z.object({ stepwell: z.string() }),
});
const manifestOf = () => manifestShape.parse(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')));
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

it('asks for the packages that it uses, and for no more', async () => {
  const { dependencies, peerDependencies, exports } = manifestOf();
  expect(Object.keys(exports)).toEqual([
    '.',
    './sdk',
    './testing',
    './client',
    './app-host',
    './openworkflow',
    './openworkflow/backend',
  ]);
  expect(Object.keys(peerDependencies)).toEqual(['aws-cdk-lib', 'constructs']);
  // Every file, not only what a door leads to: some are begun as threads, and others when it comes to that.
  const files = globSync('**/*.js', { cwd: installed, exclude: ['functions/**', 'node_modules/**'] });
  const { metafile } = await build({
    entryPoints: files.map((file) => join(installed, file)),
    outdir: join(folder, 'out'),
    write: false,
    metafile: true,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  const asCode = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  const types = globSync('**/*.d.ts', { cwd: installed, exclude: ['node_modules/**'] });
  const asTypes = types.flatMap((file) =>
    [...readFileSync(join(installed, file), 'utf8').matchAll(/(?:from|import\() ?['"]([@\w][^'".\s]*)['"]/g)].map(
      ([, name = '']) => name,
    ),
  );
  const used = new Set([...asCode, ...asTypes].filter((name) => !/^(node:|\/|\.)/.test(name)).map(packageOf));
  expect([...used].toSorted()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).toSorted());
});

it('has nothing that publint would change', async () => {
  const { messages, pkg } = await publint({ pkgDir: built, pack: false, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

it('is JavaScript with types, and has no TypeScript that Node would refuse', () => {
  expect(globSync('**/*.ts', { cwd: installed }).filter((name) => !name.endsWith('.d.ts'))).toEqual([]);
  expect(existsSync(join(installed, 'README.md'))).toBe(true);
});

it('calls a service from plain JavaScript, and knows its doors only', async () => {
  const service = new OtherSide();
  await service.start();
  service.answers((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(health));
  });
  const program = `import { StepwellClient } from 'stepwell/client';
import * as appHost from 'stepwell/app-host';
const client = new StepwellClient({ baseUrl: process.argv[2], apiKey: 'none' });
const inside = await import('stepwell/client/ask.js').catch((error) => error.code);
console.log(JSON.stringify([await client.health(), Object.keys(appHost).length > 0, inside]));
`;
  const printed = await node('main.js', program, service.url('', '127.0.0.1'));
  await service.stop();
  expect(JSON.parse(printed)).toEqual([health, true, 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
});

it('is a construct that brings its functions: an application of one line synthesizes', async () => {
  const program = `import { App, Stack } from 'aws-cdk-lib';
import { Stepwell } from 'stepwell';
const app = new App({ outdir: process.argv[2] });
new Stepwell(new Stack(app, 'Mine'), 'Stepwell');
app.synth();
`;
  await node('app.js', program, 'cdk.out');
  const template = z
    .object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) })
    .parse(JSON.parse(readFileSync(join(application, 'cdk.out', 'Mine.template.json'), 'utf8')));
  const functions = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
  // Without settings nobody sends traces.
  expect(functions).toHaveLength(functionNames.length - 1);
});

it('plays a workflow that was written with its SDK, which asks for no package', async () => {
  const imported = globSync('*.js', { cwd: join(installed, 'sdk') }).flatMap((file) => [
    ...readFileSync(join(installed, 'sdk', file), 'utf8').matchAll(/from ['"]([^'".][^'"]*)['"]/g),
  ]);
  expect(imported).toEqual([]);
  const program = `import { defineWorkflow } from 'stepwell/sdk';
import { WorkflowTest, replay } from 'stepwell/testing';
const later = defineWorkflow({ name: 'later' }, async ({ input, step }) => {
  await step.sleep('a day', '1 day');
  return step.run({ name: 'greet' }, () => 'Hello, ' + input.name);
});
const bench = new WorkflowTest({ workflows: [later] }).crashAt('greet', 'before');
const run = await bench.start(later, { name: 'Ada' });
console.log(JSON.stringify([await run.result(), bench.now(), await replay(later, await run.history())]));
`;
  const printed = await node('play.js', program);
  expect(JSON.parse(printed)).toEqual(['Hello, Ada', '2026-01-02T00:00:00.000Z', { status: 'completed', output: 'Hello, Ada' }]);
});

it('has the names of openworkflow, and the store for its workers', async () => {
  const program = `import { OpenWorkflow } from 'stepwell/openworkflow';
import { BackendStepwell } from 'stepwell/openworkflow/backend';
import { WorkflowTest } from 'stepwell/testing';
const moved = new OpenWorkflow().defineWorkflow({ name: 'moved' }, ({ step }) => step.run({ name: 'greet' }, () => 'Hello'));
const run = await new WorkflowTest({ workflows: [moved] }).start(moved);
console.log(JSON.stringify([await run.result(), typeof BackendStepwell.connect]));
`;
  expect(JSON.parse(await node('moved.js', program))).toEqual(['Hello', 'function']);
});

it('brings the command line, which begins a project, builds it and deploys it, and its workflow runs', async () => {
  let where: Readonly<Record<string, string>> = {};
  // What npx would start, without the seconds that npx takes.
  const stepwell = (...given: readonly string[]): Promise<string> =>
    run(join(application, 'node_modules', '.bin', 'stepwell'), given, where);
  expect(await stepwell('--help')).toMatch(/^Usage: stepwell /);
  await stepwell('init');
  expect(await run('npx', ['--no-install', 'stepwell', 'build'])).toMatch(/greet/);
  const cloud = await startLocal(preparedFolder(join(folder, 'cloud')));
  try {
    where = { STEPWELL_URL: cloud.url, STEPWELL_API_KEY: cloud.apiKey };
    expect(await stepwell('deploy')).toContain('+ greet');
    const started = await stepwell('runs', 'start', 'greet', '--input', '{"name":"Ada"}', '--json');
    const { runId } = z.object({ data: z.object({ runId: z.string() }) }).parse(JSON.parse(started)).data;
    expect(await stepwell('runs', 'result', runId)).toContain('Hello, Ada!');
  } finally {
    await cloud.end('SIGTERM');
  }
});

it('brings the worker, which needs no package beside it', async () => {
  const nowhere = {
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  };
  const told = Object.fromEntries(codeWorkerEnvironment.map((name) => [environmentNames[name], 'https://127.0.0.1:9/1/q.fifo']));
  const values = {
    STEPWELL_CODE_VARIABLES: '{}',
    STEPWELL_CODE_ROLE_ARN: '',
    STEPWELL_RETENTION_DAYS: '30',
    STEPWELL_METRICS: 'false',
  };
  write('worker.json', JSON.stringify({ ...told, ...values, ...nowhere }));
  const started = run(join(application, 'node_modules', '.bin', 'stepwell'), ['worker', 'start', '--settings', 'worker.json']);
  await expect(started).rejects.toMatchObject({ code: 4, stderr: expect.stringMatching(/error: AWS: .*ECONNREFUSED/) });
  for (const thread of ['bundle-thread.mjs', 'program-thread.mjs'])
    expect(existsSync(join(installed, 'worker', thread))).toBe(true);
});

const right = `import { App, Stack } from 'aws-cdk-lib';
import { Stepwell } from 'stepwell';
import { StepwellClient, type Run } from 'stepwell/client';
import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';
import { WorkflowTest } from 'stepwell/testing';
const client = new StepwellClient({ baseUrl: 'http://127.0.0.1', apiKey: 'none' });
export const ask = async (): Promise<Run['status']> => (await client.getRun('wrun_1')).status;
export const double = defineWorkflow({ name: 'double' }, async ({ input, step }: WorkflowArguments<{ of: number }>) =>
  step.run({ name: 'multiply' }, () => input.of * 2),
);
export const played = async (): Promise<number> =>
  (await new WorkflowTest({ workflows: [double] }).start(double, { of: 2 })).result();
export const url = new Stepwell(new Stack(new App(), 'Mine'), 'Stepwell', { codeConcurrency: 5 }).httpApi?.restApi.url;
`;
const wrong = [
  `import { StepwellClient } from 'stepwell/client';\nexport const bad = new StepwellClient({ baseUrl: 1 });\n`,
  `import { double } from './right.js';\nimport { WorkflowTest } from 'stepwell/testing';\n` +
    `export const bad = new WorkflowTest({ workflows: [double] }).start(double, { of: 'two' });\n`,
];

it('has types, which are whole, and catch a wrong call', async () => {
  write('right.ts', right);
  wrong.forEach((text, at) => write(`wrong-${at}.ts`, text));
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // Whoever writes TypeScript for Node has its types.
  const types = ['--typeRoots', join(root, 'node_modules', '@types'), '--types', 'node'];
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--ignoreConfig', ...types];
  const compiled = run(process.execPath, [compiler, ...options, 'right.ts', ...wrong.map((_text, at) => `wrong-${at}.ts`)]);
  const said = await compiled.catch((error: unknown) =>
    error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error),
  );
  const places = said.split('\n').filter((line) => line.includes('error TS'));
  expect(places).toEqual([
    expect.stringMatching(/^wrong-0\.ts\(2,\d+\): error TS/),
    expect.stringMatching(/^wrong-1\.ts\(3,\d+\): error TS/),
  ]);
});
