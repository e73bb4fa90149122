/** What `npm run build` makes is a package as an application would have it: it is packed, unpacked, imported and type-checked. */
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/contract/environment.ts';
import { OtherSide } from '../nodes/other-side.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'stepwell-package-'));
const application = join(folder, 'application');
const modules = join(application, 'node_modules');
const health = { healthy: true, timestamp: '2026-01-01T00:00:00.000Z' };
const run = promisify(execFile);

beforeAll(() => {
  const built = join(folder, 'built');
  execFileSync('npm', ['run', '--silent', 'build', '--', built], { cwd: root });
  const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: built })
    .toString()
    .trim();
  execFileSync('tar', ['-xzf', packed], { cwd: folder });
  mkdirSync(modules, { recursive: true });
  cpSync(join(folder, 'package'), join(modules, 'stepwell'), { recursive: true });
  const { dependencies, peerDependencies } = manifestOf();
  for (const name of [...Object.keys({ ...dependencies, ...peerDependencies }), '@types', 'undici-types']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
}, 120_000);
/** A compiler, or a whole synthesis, on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const manifestShape = z.object({
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()),
  exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
  bin: z.object({ stepwell: z.string() }),
});
const manifestOf = () => manifestShape.parse(JSON.parse(readFileSync(join(modules, 'stepwell', 'package.json'), 'utf8')));

it('asks for the packages that it uses, and for no more', () => {
  const manifest = manifestOf();
  expect(Object.keys(manifest.peerDependencies)).toEqual(['aws-cdk-lib', 'constructs']);
  expect(Object.keys(manifest.dependencies)).toEqual([
    '@aws-sdk/client-dynamodb',
    '@aws-sdk/client-eventbridge',
    '@aws-sdk/client-s3',
    '@aws-sdk/client-scheduler',
    '@aws-sdk/client-secrets-manager',
    '@aws-sdk/client-sqs',
    'canonicalize',
    'cdk-nag',
    'commander',
    'esbuild',
    'tar-stream',
    'ulid',
    'zod',
  ]);
  expect(Object.keys(manifest.exports)).toEqual([
    '.',
    './sdk',
    './testing',
    './client',
    './app-host',
    './openworkflow',
    './openworkflow/backend',
  ]);
  expect(existsSync(join(modules, 'stepwell', 'README.md'))).toBe(true);
  const names = readdirSync(join(modules, 'stepwell'), { recursive: true, encoding: 'utf8' });
  expect(names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([]);
});

it('calls a service from plain JavaScript, and knows its doors only', async () => {
  const service = new OtherSide();
  await service.start();
  service.answers((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(health));
  });
  const program = join(application, 'main.mjs');
  writeFileSync(
    program,
    `import { StepwellClient } from 'stepwell/client';
import * as appHost from 'stepwell/app-host';
const client = new StepwellClient({ baseUrl: process.argv[2], apiKey: 'none' });
const inside = await import('stepwell/client/ask.js').catch((error) => error.code);
console.log(JSON.stringify([await client.health(), Object.keys(appHost).length > 0, inside]));
`,
  );
  const { stdout } = await run(process.execPath, [program, service.url('', '127.0.0.1')]);
  await service.stop();
  expect(JSON.parse(stdout)).toEqual([health, true, 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
});

it('is a construct that brings its functions: an application of one line synthesizes', async () => {
  const program = join(application, 'app.mjs');
  writeFileSync(
    program,
    `import { App, Stack } from 'aws-cdk-lib';
import { Stepwell } from 'stepwell';
const app = new App({ outdir: process.argv[2] });
new Stepwell(new Stack(app, 'Mine'), 'Stepwell');
app.synth();
`,
  );
  const out = join(folder, 'cdk.out');
  await run(process.execPath, [program, out]);
  const template = z
    .object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) })
    .parse(JSON.parse(readFileSync(join(out, 'Mine.template.json'), 'utf8')));
  const functions = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
  expect(functions).toHaveLength(functionNames.length);
});

it('plays a workflow that was written with its SDK, which asks for no package', async () => {
  const sdk = join(modules, 'stepwell', 'sdk');
  const imported = readdirSync(sdk).flatMap((file) => [
    ...readFileSync(join(sdk, file), 'utf8').matchAll(/from ['"]([^'".][^'"]*)['"]/g),
  ]);
  expect(imported).toEqual([]);
  const program = join(application, 'play.mjs');
  writeFileSync(
    program,
    `import { defineWorkflow } from 'stepwell/sdk';
import { WorkflowTest, replay } from 'stepwell/testing';
const later = defineWorkflow({ name: 'later' }, async ({ input, step }) => {
  await step.sleep('a day', '1 day');
  return step.run({ name: 'greet' }, () => 'Hello, ' + input.name);
});
const bench = new WorkflowTest({ workflows: [later] }).crashAt('greet', 'before');
const run = await bench.start(later, { name: 'Ada' });
console.log(JSON.stringify([await run.result(), bench.now(), await replay(later, await run.history())]));
`,
  );
  const { stdout } = await run(process.execPath, [program]);
  expect(JSON.parse(stdout)).toEqual(['Hello, Ada', '2026-01-02T00:00:00.000Z', { status: 'completed', output: 'Hello, Ada' }]);
});

it('has the names of openworkflow, and the store for its workers', async () => {
  const program = join(application, 'moved.mjs');
  writeFileSync(
    program,
    `import { OpenWorkflow } from 'stepwell/openworkflow';
import { BackendStepwell } from 'stepwell/openworkflow/backend';
import { WorkflowTest } from 'stepwell/testing';
const moved = new OpenWorkflow().defineWorkflow({ name: 'moved' }, ({ step }) => step.run({ name: 'greet' }, () => 'Hello'));
const run = await new WorkflowTest({ workflows: [moved] }).start(moved);
console.log(JSON.stringify([await run.result(), typeof BackendStepwell.connect]));
`,
  );
  const { stdout } = await run(process.execPath, [program]);
  expect(JSON.parse(stdout)).toEqual(['Hello', 'function']);
});

it('brings the command line', async () => {
  const { stdout } = await run(process.execPath, [join(modules, 'stepwell', manifestOf().bin.stepwell), '--help']);
  expect(stdout).toMatch(/^Usage: stepwell /);
});

it('has types, which catch a wrong call', () => {
  writeFileSync(join(application, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(
    join(application, 'right.ts'),
    `import { StepwellClient, type Run } from 'stepwell/client';
const client = new StepwellClient({ baseUrl: 'http://127.0.0.1', apiKey: 'none' });
export const ask = async (): Promise<Run['status']> => (await client.getRun('wrun_1')).status;
`,
  );
  writeFileSync(
    join(application, 'wrong.ts'),
    `import { StepwellClient } from 'stepwell/client';\nexport const bad = new StepwellClient({ baseUrl: 1 });\n`,
  );
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const faults = (file: string): string => {
    try {
      return execFileSync(process.execPath, [compiler, ...options, file], { cwd: application }).toString();
    } catch (error) {
      return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    }
  };
  expect(faults('right.ts')).toBe('');
  expect(faults('wrong.ts')).toMatch(/wrong\.ts\(2,\d+\): error TS/);
});
