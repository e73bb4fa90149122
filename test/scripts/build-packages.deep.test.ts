/**
 * What `npm run build` makes is what a user installs: each package is packed, installed by npm in an empty folder outside of the
 * repository, and used from there, on each version of Node that its `engines` names.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { usualFunctions } from '../infra/synthesized.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import { codeWorkerEnvironment } from '../../lib/contract/worker-program.ts';
import { rotatingItem } from '../tier.ts';
import { type Application, type Packed, createApplication, packAll, packageNames, readJson, root } from './packed.ts';

/** An installation, a synthesis or a fetched Node, on a busy machine. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

let packed: Packed;
/** with `stepwell` alone */
let library: Application;
/** with `stepwell` and `stepwell-cli` */
let project: Application;
/** with `stepwell-cdk` and its peers */
let infrastructure: Application;
const olderMajors = rotatingItem(['20', '22']);
const [oldestMajor = ''] = olderMajors;
/** the folders of older versions of Node, from the npm registry */
const olderNodes = new Map<string, string>();
/** what npm printed while it installed `stepwell` on the oldest of them */
let installation: string;

const write = ({ folder }: Application, file: string, text: string): void => writeFileSync(join(folder, file), text);
const nodeFolders = (): readonly (readonly [string, string])[] => [...olderNodes, ['24', dirname(process.execPath)]];

beforeAll(async () => {
  packed = await packAll();
  // Most of an installation is waiting.
  await Promise.all([installOnOlderNodes(), installProject(), installInfrastructure()]);
});
async function installOnOlderNodes(): Promise<void> {
  const nodes = await createApplication(packed.folder, 'nodes');
  const install = async (major: string): Promise<void> => {
    const prefix = join(nodes.folder, major);
    await nodes.run('npm', ['install', '--prefix', prefix, '--no-save', `node-${process.platform}-${process.arch}@${major}`]);
    olderNodes.set(major, join(prefix, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin'));
  };
  await Promise.all(olderMajors.map(install));
  library = await createApplication(packed.folder, 'library');
  const installed = await library.run('npm', ['install', packed.archive('stepwell')], {
    nodeFolder: olderNodes.get(oldestMajor) ?? '',
  });
  installation = installed.stdout + installed.stderr;
}

async function installProject(): Promise<void> {
  project = await createApplication(packed.folder, 'project');
  await project.run('npm', ['install', packed.archive('stepwell'), packed.archive('stepwell-cli')]);
}

async function installInfrastructure(): Promise<void> {
  infrastructure = await createApplication(packed.folder, 'infrastructure');
  const { devDependencies, dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()), devDependencies: z.record(z.string(), z.string()) })
    .parse(readJson(join(root, 'package.json')));
  const versionOf = (name: string): string => `${name}@${{ ...devDependencies, ...dependencies }[name]}`;
  const peers = ['aws-cdk-lib', 'constructs'].map(versionOf);
  await infrastructure.run('npm', ['install', packed.archive('stepwell-cdk'), ...peers]);
}

const manifestShape = z.object({
  engines: z.object({ node: z.string() }),
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
  exports: z.record(z.string(), z.unknown()),
});
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

describe.each(packageNames)('%s', (name) => {
  const manifest = () => manifestShape.parse(readJson(join(packed.built(name), 'package.json')));

  it('has nothing that publint would change', async () => {
    const { messages, pkg } = await publint({ pkgDir: packed.built(name), pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it('has a page of its own, a license, and no TypeScript that Node would refuse', () => {
    const folder = packed.built(name);
    expect(globSync('**/*.ts', { cwd: folder }).filter((file) => !file.endsWith('.d.ts'))).toEqual([]);
    expect(existsSync(join(folder, 'LICENSE'))).toBe(true);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toMatch(new RegExp(`^# ${name}\n`));
    expect(manifest().engines).toEqual({ node: '>=20' });
  });

  it('asks for the packages that it uses, and for no more', async () => {
    const folder = packed.built(name);
    // Every file, not only what an export leads to: some are threads, and others are imported when they are needed.
    const files = globSync('**/*.{js,mjs}', { cwd: folder, exclude: ['functions/**', 'worker/**', 'node_modules/**'] });
    const { metafile } = await build({
      entryPoints: files.map((file) => join(folder, file)),
      outdir: join(packed.folder, 'out'),
      write: false,
      metafile: true,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
    const asCode = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
    const types = globSync('**/*.d.ts', { cwd: folder, exclude: ['node_modules/**'] });
    const asTypes = types.flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:from|import\() ?['"]([@\w][^'".\s]*)['"]/g)].map(
        ([, specifier = '']) => specifier,
      ),
    );
    const used = new Set([...asCode, ...asTypes].filter((each) => !/^(node:|\/|\.|file:)/.test(each)).map(packageOf));
    const { dependencies, optionalDependencies, peerDependencies } = manifest();
    const asked = { ...dependencies, ...optionalDependencies, ...peerDependencies };
    if (name !== 'stepwell-cli') return expect([...used].toSorted()).toEqual(Object.keys(asked).toSorted());
    // Bundled packages contain optional requires of their own, so the list of the command line is fixed.
    expect(Object.keys(asked).toSorted()).toEqual(['@dynoxide/linux-x64', 'dynalite', 'esbuild']);
  });
});

/** The packages are ES modules, so `require` from CommonJS needs a Node that can load them. Every other finding is a fault. */
const allowedTypeProblem = 'CJSResolvesToESM';

it.each(['stepwell', 'stepwell-cdk'] as const)('%s has types that resolve in every mode', async (name) => {
  const rules = ['--ignore-rules', 'cjs-resolves-to-esm', '--format', 'json'];
  const attw = ['--yes', '@arethetypeswrong/cli@0.18.5', packed.archive(name), ...rules];
  const { stdout } = await library.run('npx', attw);
  const { problems } = z.object({ problems: z.record(z.string(), z.unknown()).default({}) }).parse(JSON.parse(stdout));
  expect(Object.keys(problems).filter((kind) => kind !== allowedTypeProblem)).toEqual([]);
});

it('an application that only starts runs installs at most 15 MB, without a warning on an older Node', () => {
  const bytes = globSync('node_modules/**', { cwd: library.folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + readFileSync(join(entry.parentPath, entry.name)).length, 0);
  console.log(`npm install stepwell: ${(bytes / 1e6).toFixed(1)} MB`);
  expect(bytes).toBeLessThan(15e6);
  expect(installation).not.toContain('EBADENGINE');
});

it('the construct brings nothing but zod', () => {
  const { dependencies, peerDependencies } = manifestShape.parse(readJson(join(packed.built('stepwell-cdk'), 'package.json')));
  expect(Object.keys(dependencies)).toEqual(['zod']);
  expect(Object.keys(peerDependencies)).toEqual(['aws-cdk-lib', 'constructs']);
  expect(existsSync(join(infrastructure.folder, 'node_modules', 'cdk-nag'))).toBe(false);
});

it('the SDK imports no package', () => {
  const folder = join(packed.built('stepwell'), 'sdk');
  const imported = globSync('*.js', { cwd: folder }).flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/from ['"]([^'".][^'"]*)['"]/g),
  ]);
  expect(imported).toEqual([]);
});

const useOfLibrary = `import { StepwellClient } from 'stepwell/client';
import * as appHost from 'stepwell/app-host';
import { defineWorkflow } from 'stepwell/sdk';
import { WorkflowTest, replay } from 'stepwell/testing';
import { OpenWorkflow } from 'stepwell/openworkflow';
const server = (await import('node:http')).createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ healthy: true, timestamp: '2026-01-01T00:00:00.000Z' }));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const client = new StepwellClient({ baseUrl: 'http://127.0.0.1:' + server.address().port, apiKey: 'none' });
const { healthy } = await client.health();
const key = client.contentKey('one', { a: 1 });
server.close();
server.closeAllConnections();
const later = defineWorkflow({ name: 'later' }, async ({ input, step }) => {
  await step.sleep('a day', '1 day');
  return step.run({ name: 'greet' }, () => 'Hello, ' + input.name);
});
const bench = new WorkflowTest({ workflows: [later] }).crashAt('greet', 'before');
const run = await bench.start(later, { name: 'Ada' });
const moved = new OpenWorkflow().defineWorkflow({ name: 'moved' }, ({ step }) => step.run({ name: 'greet' }, () => 'Hello'));
const inside = await import('stepwell/client/send-request.js').catch((error) => error.code);
console.log(JSON.stringify([healthy, key.length > 0, Object.keys(appHost).length > 0, await run.result(), bench.now(), await replay(later, await run.history()), await (await new WorkflowTest({ workflows: [moved] }).start(moved)).result(), inside]));
`;

it('the library works on each supported Node', async () => {
  write(library, 'use.mjs', useOfLibrary);
  for (const [major, nodeFolder] of nodeFolders()) {
    const { stdout } = await library.run('node', ['use.mjs'], { nodeFolder });
    expect(JSON.parse(stdout), `on Node ${major}`).toEqual([
      true,
      true,
      true,
      'Hello, Ada',
      '2026-01-02T00:00:00.000Z',
      { status: 'completed', output: 'Hello, Ada' },
      'Hello',
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
    ]);
  }
});

const useOfWorld = `const world = createWorld();
const { createQueueHandler } = world;
const refused = await createQueueHandler('__wkf_workflow_', async () => {})(new Request('http://localhost/', { method: 'POST', body: '{}' }));
const error = await world.runs.get('wrun_1').catch((thrown) => thrown);
console.log(JSON.stringify([world.specVersion, refused.status, error.name, error.message.includes('STEPWELL_URL')]));
`;

it.each([
  ['import', 'world.mjs', `import { createWorld } from 'stepwell/world';\n${useOfWorld}`],
  ['require', 'world.cjs', `const { createWorld } = require('stepwell/world');\n(async () => {\n${useOfWorld}})();\n`],
])('the World loads by %s on each supported Node, without settings', async (_how, file, program) => {
  write(library, file, program);
  const env = { STEPWELL_SPEC_VERSION: '5' };
  for (const [major, nodeFolder] of nodeFolders()) {
    const { stdout, stderr } = await library.run('node', [file], { nodeFolder, env });
    expect([JSON.parse(stdout), stderr], `on Node ${major}`).toEqual([[5, 400, 'WorkflowWorldError', true], '']);
  }
});

it('the World has its types in both module systems', () => {
  write(
    library,
    'world-types.mts',
    `import { type World, createWorld } from 'stepwell/world';\nexport const made: World = createWorld();\n`,
  );
  write(
    library,
    'world-types.cts',
    `import { type World, createWorld } from 'stepwell/world';\nexport const made: World = createWorld();\n`,
  );
  expect(compile(library, ['world-types.mts', 'world-types.cts'])).toEqual([]);
});

it('the store of openworkflow needs the client of DynamoDB, which an application installs beside it', async () => {
  write(
    project,
    'backend.mjs',
    `import { BackendStepwell } from 'stepwell/openworkflow/backend'; console.log(typeof BackendStepwell.connect);`,
  );
  await expect(project.run('node', ['backend.mjs'])).rejects.toThrow(/Cannot find package '@aws-sdk\/client-dynamodb'/);
  await project.run('npm', ['install', '--no-save', '@aws-sdk/client-dynamodb@3']);
  expect((await project.run('node', ['backend.mjs'])).stdout).toBe('function\n');
});

const templateShape = z.object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) });

it.each([
  ['an ES module', 'app.mjs', `import { App, Stack } from 'aws-cdk-lib';\nimport { Stepwell } from 'stepwell-cdk';`],
  [
    'a CommonJS module',
    'app.cjs',
    `const { App, Stack } = require('aws-cdk-lib');\nconst { Stepwell } = require('stepwell-cdk');`,
  ],
])('the construct synthesizes from %s, on each supported Node', async (_what, file, imports) => {
  const program = `${imports}
const app = new App({ outdir: process.argv[2] });
new Stepwell(new Stack(app, 'Mine'), 'Stepwell');
app.synth();
`;
  write(infrastructure, file, program);
  for (const [major, nodeFolder] of nodeFolders()) {
    const outdir = `${file}-${major}.out`;
    // The CDK's own rules take half of a synthesis, and the template is the same on each Node.
    const env = olderNodes.has(major) ? { CDK_VALIDATION: 'false' } : {};
    await infrastructure.run('node', [file, outdir], { nodeFolder, env });
    const { Resources } = templateShape.parse(readJson(join(infrastructure.folder, outdir, 'Mine.template.json')));
    const functions = Object.values(Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    expect(functions, `on Node ${major}`).toHaveLength(usualFunctions.length);
  }
});

it('npx stepwell is the command line where it is installed, on each supported Node', async () => {
  for (const [, nodeFolder] of nodeFolders()) {
    expect((await project.run('npx', ['--no-install', 'stepwell', '--help'], { nodeFolder })).stdout).toMatch(
      /^Usage: stepwell /,
    );
  }
  // The project's scripts keep their own Node.
  expect(existsSync(join(project.folder, 'node_modules', '.bin', 'node'))).toBe(false);
});

it.each(olderMajors)('a project is installed, initialized, tested, deployed and run on Node %s', async (major) => {
  const nodeFolder = olderNodes.get(major) ?? '';
  const app = await createApplication(packed.folder, `project-on-${major}`);
  const { stdout, stderr } = await app.run('npm', ['install', packed.archive('stepwell'), packed.archive('stepwell-cli')], {
    nodeFolder,
  });
  expect(stdout + stderr).not.toContain('EBADENGINE');
  const stepwell = (...args: readonly string[]) => app.run('npx', ['--no-install', 'stepwell', ...args], { nodeFolder });
  await stepwell('init');
  await app.run('npm', ['install', '--save-dev', 'typescript', '@types/node', 'tsx'], { nodeFolder });
  expect((await app.run('npm', ['test'], { nodeFolder })).stdout).toMatch(/pass 1\b/);
  const dev = spawn(join(app.folder, 'node_modules', '.bin', 'stepwell'), ['dev', '--port', '0'], {
    cwd: app.folder,
    env: app.env(nodeFolder),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  dev.stdout.on('data', (chunk: Buffer) => void (printed += chunk.toString()));
  try {
    await expect.poll(() => printed, { timeout: 120_000 }).toMatch(/\+ greet/);
    const started = await stepwell('runs', 'start', 'greet', '--input', '{"name":"Ada"}');
    expect((await stepwell('runs', 'result', started.stdout.trim())).stdout).toContain('Hello, Ada!');
  } finally {
    const exited = once(dev, 'exit');
    dev.kill('SIGINT');
    await exited;
  }
});

it('npx stepwell says what to install where only the library is installed', async () => {
  const started = library.run('npx', ['--no-install', 'stepwell', 'start']);
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/npm install --save-dev stepwell-cli[^]*npx stepwell-cli start/),
  });
});

it('the command line brings the worker, which needs no package beside it', async () => {
  const nowhere = {
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  };
  const queues = Object.fromEntries(
    codeWorkerEnvironment.map((name) => [environmentNames[name], 'https://127.0.0.1:9/1/q.fifo']),
  );
  const values = {
    STEPWELL_CODE_VARIABLES: '{}',
    STEPWELL_CODE_ROLE_ARN: '',
    STEPWELL_ENCRYPTS_RUNS: 'false',
    STEPWELL_RETENTION_DAYS: '30',
    STEPWELL_METRICS: 'false',
  };
  write(project, 'worker.json', JSON.stringify({ ...queues, ...values, ...nowhere }));
  const started = project.run('npx', ['--no-install', 'stepwell', 'worker', 'start', '--settings', 'worker.json']);
  await expect(started).rejects.toMatchObject({ code: 4, stderr: expect.stringMatching(/error: AWS: .*ECONNREFUSED/) });
  for (const thread of ['bundle-thread.mjs', 'program-thread.mjs'])
    expect(existsSync(join(packed.built('stepwell-cli'), 'worker', thread))).toBe(true);
});

const right = `import { StepwellClient, type Run } from 'stepwell/client';
import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';
import { WorkflowTest } from 'stepwell/testing';
const client = new StepwellClient({ baseUrl: 'http://127.0.0.1', apiKey: 'none' });
export const ask = async (): Promise<Run['status']> => (await client.getRun('wrun_1')).status;
export const double = defineWorkflow({ name: 'double' }, async ({ input, step }: WorkflowArguments<{ of: number }>) =>
  step.run({ name: 'multiply' }, () => input.of * 2),
);
export const played = async (): Promise<number> =>
  (await new WorkflowTest({ workflows: [double] }).start(double, { of: 2 })).result();
`;
const construct = `import { App, Stack } from 'aws-cdk-lib';
import { Stepwell } from 'stepwell-cdk';
export const url = new Stepwell(new Stack(new App(), 'Mine'), 'Stepwell', { codeConcurrency: 5 }).httpApi?.restApi.url;
`;
const wrong = [
  `import { StepwellClient } from 'stepwell/client';\nexport const bad = new StepwellClient({ baseUrl: 1 });\n`,
  `import { double } from './right.mjs';\nimport { WorkflowTest } from 'stepwell/testing';\n` +
    `export const bad = new WorkflowTest({ workflows: [double] }).start(double, { of: 'two' });\n`,
];

/** The errors that the compiler finds in these files. */
function compile({ folder }: Application, files: readonly string[]): readonly string[] {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // An author who writes TypeScript for Node has its types.
  const types = ['--typeRoots', join(root, 'node_modules', '@types'), '--types', 'node'];
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--ignoreConfig', ...types];
  try {
    execFileSync(process.execPath, [compiler, ...options, ...files], { cwd: folder, encoding: 'utf8' });
    return [];
  } catch (error) {
    const printed = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    return printed.split('\n').filter((line) => line.includes('error TS'));
  }
}

it('the types are whole, and find a wrong call', () => {
  write(library, 'right.mts', right);
  wrong.forEach((text, at) => write(library, `wrong-${at}.mts`, text));
  expect(compile(library, ['right.mts', ...wrong.map((_text, at) => `wrong-${at}.mts`)])).toEqual([
    expect.stringMatching(/^wrong-0\.mts\(2,\d+\): error TS/),
    expect.stringMatching(/^wrong-1\.mts\(3,\d+\): error TS/),
  ]);
  write(infrastructure, 'construct.mts', construct);
  expect(compile(infrastructure, ['construct.mts'])).toEqual([]);
});
