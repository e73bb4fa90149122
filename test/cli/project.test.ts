/** `build`, `deploy`, `dev` and `init` in a project of code workflows. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { createDeploymentBody, activatedResponse } from '../../lib/api/schemas/deployments.ts';
import { readArchive } from '../../lib/artifact/read-archive.ts';
import { fetchOf } from '../client/in-process.ts';
import {
  type CliEnvironment,
  type TestCli,
  createCliEnvironment,
  dataIn,
  errorIn,
  expectExit,
  createFolder,
  createTestCli,
  url,
} from './test-cli.ts';

// Starting threads and building bundles depends on the load of the machine.
vi.setConfig({ testTimeout: 60_000 });

const built = z.strictObject({
  deploymentId: z.string(),
  workflows: z.array(z.strictObject({ name: z.string(), version: z.string().exactOptional(), file: z.string() })),
  sources: z.int(),
  moduleBytes: z.int(),
  artifactBytes: z.int(),
  manifest: z.string(),
  artifact: z.string(),
});

const write = (root: string, files: Readonly<Record<string, string>>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
};

const workflow = (name: string, version?: string, body = 'return input;'): string =>
  `export const w${`${name}${version ?? ''}`.replaceAll(/\W/g, '')} = defineWorkflow({ name: '${name}'${version === undefined ? '' : `, version: '${version}'`} }, async ({ input }) => { ${body} });\n`;
const sdk = `import { defineWorkflow } from 'stepwell/sdk';\n`;
const config = `import { defineConfig } from 'stepwell/sdk';\nexport default defineConfig({ dirs: 'flows' });\n`;

let root: string;
beforeEach(() => (root = createFolder()));
const project = (files: Readonly<Record<string, string>>): void => write(root, { 'stepwell.config.ts': config, ...files });
const build = async (...args: readonly string[]) =>
  dataIn(await createTestCli({ cwd: root }).type('--json', 'build', ...args), built);

describe('build', () => {
  test('bundles all workflow files, writes a manifest with their versions, and prints the sizes', async () => {
    project({
      'flows/orders.ts': `${sdk}import { sum } from './parts/sum.ts';\n${workflow('orders', '10')}${workflow('orders', '2')}${workflow('orders')}export const other = sum;`,
      'flows/parts/sum.ts': 'export const sum = (one: number, other: number): number => one + other;',
      'flows/mails.mjs': `${sdk}${workflow('mails')}export default wmails;`,
      'flows/orders.test.ts': 'throw new Error("a test is no workflow");',
    });
    const projectCli = await build();
    expect(projectCli.workflows).toEqual([
      { name: 'mails', file: 'flows/mails.mjs' },
      { name: 'orders', file: 'flows/orders.ts' },
      { name: 'orders', version: '2', file: 'flows/orders.ts' },
      { name: 'orders', version: '10', file: 'flows/orders.ts' },
    ]);
    const manifest = createDeploymentBody.parse(JSON.parse(readFileSync(projectCli.manifest, 'utf8')));
    expect(manifest).toMatchObject({
      runtime: 'code',
      steps: [],
      workflows: projectCli.workflows.map(({ file: _file, ...named }) => named),
    });
    const archive = await readArchive(readFileSync(projectCli.artifact));
    if (archive.kind === 'refused') throw new Error(archive.message);
    expect([...archive.files.keys()]).toEqual([
      'digests/mails',
      'digests/orders',
      'digests/orders@10',
      'digests/orders@2',
      'workflows.mjs',
      'workflows.mjs.map',
    ]);
    const { out } = await createTestCli({ cwd: root }).type('build');
    expect(out).toContain('orders@10  flows/orders.ts\n');
    expect(out).toMatch(/[0-9a-f]{24}: \d+ files in one of \d+ bytes, \d+ packed\n/);
  });

  test('finds workflows of an openworkflow program, and connects its client only on use', async () => {
    project({
      'flows/orders.ts': `import { OpenWorkflow, defineWorkflow } from 'stepwell/openworkflow';
export const ow = new OpenWorkflow();
export const orders = ow.defineWorkflow({ name: 'orders', version: 'v1' }, async ({ step }) => step.run({ name: 'a' }, () => 1));
export const mails = ow.implementWorkflow({ name: 'mails' }, () => 2);
export const plain = defineWorkflow({ name: 'plain' }, () => 3);
`,
    });
    const { workflows } = await build();
    expect(workflows.map(({ name, version }) => [name, version])).toEqual([
      ['mails', undefined],
      ['orders', 'v1'],
      ['plain', undefined],
    ]);
  });

  test('the bytes do not depend on the folder, the time or the depth of a package', async () => {
    const files = {
      'stepwell.config.ts': config,
      'flows/a.ts': `${sdk}import left from 'left';\n${workflow('a', '1', 'return left(input);')}`,
      'flows/b.ts': `${sdk}${workflow('b')}`,
      'node_modules/left/package.json': '{"name":"left","version":"1.0.0","main":"index.js"}',
      'node_modules/left/index.js': `const path = require('node:path'); module.exports = (text) => path.join('left', String(text));`,
    };
    write(root, files);
    const deep = join(createFolder(), 'some', 'where', 'else');
    write(deep, Object.fromEntries(Object.entries(files).toReversed()));
    for (const path of Object.keys(files)) utimesSync(join(deep, path), 1_000_000, 1_000_000);
    const [here, there] = await Promise.all(
      [root, deep].map(async (cwd) => dataIn(await createTestCli({ cwd }).type('--json', 'build'), built)),
    );
    expect(there?.deploymentId).toBe(here?.deploymentId);
    expect(readFileSync(there?.artifact ?? '').equals(readFileSync(here?.artifact ?? ''))).toBe(true);
    expect(here?.workflows).toHaveLength(2);
  });

  test('uses a parent folder’s configuration and several folders, and skips ignored files', async () => {
    write(root, {
      'stepwell.config.json': JSON.stringify({ dirs: ['one', 'two'], ignorePatterns: ['**/drafts/**'] }),
      'one/a.ts': sdk + workflow('a'),
      'two/b.ts': sdk + workflow('b'),
      'two/drafts/c.ts': 'this is no program',
      'three/d.ts': 'nor is this',
    });
    const subfolder = createTestCli({ cwd: join(root, 'two', 'drafts') });
    const { workflows } = dataIn(
      await subfolder.type('--json', 'build', '--out', join(root, 'out'), '--deployment-id', 'mine'),
      built,
    );
    expect(workflows.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(existsSync(join(root, 'out', 'artifact.tgz'))).toBe(true);
    expect(JSON.parse(readFileSync(join(root, 'out', 'manifest.json'), 'utf8'))).toMatchObject({ deploymentId: 'mine' });
  });

  test('counts a workflow that is exported twice once', async () => {
    project({
      'flows/a.ts': `${sdk}${workflow('a')}`,
      'flows/index.ts': `export * from './a.ts'; export { wa as again } from './a.ts';`,
    });
    expect((await build()).workflows).toEqual([{ name: 'a', file: 'flows/a.ts' }]);
  });

  test('prints the output of imported files on stderr', async () => {
    project({ 'flows/a.ts': `${sdk}console.log('loading');\n${workflow('a')}` });
    const printed = await createTestCli({ cwd: root }).type('--json', 'build');
    expect(dataIn(printed, built).workflows).toHaveLength(1);
    expect(printed.err).toContain('loading');
  });

  test.each<[string, Readonly<Record<string, string>>, RegExp]>([
    [
      'one workflow in two files',
      { 'flows/a.ts': sdk + workflow('a', '1'), 'flows/b.ts': sdk + workflow('a', '1') },
      /The workflow a@1 is defined twice: in flows\/a\.ts and in flows\/b\.ts\./,
    ],
    ['what does not parse', { 'flows/a.ts': 'export const = 1;' }, /flows\/a\.ts:1:14: /],
    ['what is not there', { 'flows/a.ts': `import './gone.ts';` }, /flows\/a\.ts:1:8: Could not resolve "\.\/gone\.ts"/],
    ['what throws', { 'flows/a.ts': `throw new Error('no such setting');` }, /cannot be imported: Error: no such setting\./],
    ['what exits', { 'flows/a.ts': 'process.exit(3);' }, /cannot be imported: it exited with code 3\./],
    ['a name that cannot be', { 'flows/a.ts': sdk + workflow('a/b') }, /cannot be imported: TypeError: the name of a workflow/],
    ['no workflow', { 'flows/a.ts': 'export const a = 1;' }, /No file exports a workflow of defineWorkflow/],
    ['no file', {}, /There is no workflow file in flows/],
    ['a version that cannot be', { 'flows/a.ts': sdk + workflow('a', '\\n') }, /\/workflows\/0\/version/],
  ])('refuses %s', async (_what, files, message) => {
    project(files);
    mkdirSync(join(root, 'flows'), { recursive: true });
    const answer = await createTestCli({ cwd: root }).type('--json', 'build');
    expect(errorIn(answer).message).toMatch(message);
    expect(answer.exitCode).not.toBe(0);
  });

  test.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
    [
      'there is no configuration',
      {},
      'no_project',
      /There is no stepwell\.config\.ts in .* or a parent folder: stepwell init creates one\./,
    ],
    ['there are two', { 'stepwell.config.ts': config, 'stepwell.config.json': '{}' }, 'config_invalid', /Keep only one of/],
    [
      'it has invalid values',
      { 'stepwell.config.json': '{"dirs":[],"worker":{"concurrency":0},"colour":1}' },
      'config_invalid',
      /\/dirs: [^]*\/worker\/concurrency: /,
    ],
    ['it is no program', { 'stepwell.config.ts': 'export default {' }, 'config_invalid', /stepwell\.config\.ts cannot be read/],
    [
      'it exports nothing',
      { 'stepwell.config.ts': 'export const config = {};' },
      'config_invalid',
      /stepwell\.config\.ts is invalid/,
    ],
    ['a folder is outside', { 'stepwell.config.json': '{"dirs":"../flows"}' }, 'config_invalid', /\.\.\/flows is outside/],
  ])('is refused where %s', async (_what, files, code, message) => {
    write(root, files);
    const answer = await createTestCli({ cwd: root }).type('--json', 'build');
    expect(errorIn(answer)).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('an application configuration can contain project settings', async () => {
    write(root, { 'stepwell.config.json': '{"dirs":"flows","execution":{"mode":"local"}}', 'flows/a.ts': sdk + workflow('a') });
    expect((await build()).workflows).toHaveLength(1);
    expectExit(await createTestCli({ cwd: root }).type('check-config'), 0);
  });
});

const changed = activatedResponse.extend({
  workflows: z.strictObject({ added: z.array(z.string()), removed: z.array(z.string()), changed: z.array(z.string()) }),
});

/** A key for the in-memory service, which accepts uploads too. */
const admin = (here: CliEnvironment, given: Parameters<CliEnvironment['cliWithScopes']>[1] = {}): Promise<TestCli> =>
  withScopes(here, ['admin'], given);

const withScopes = async (
  here: CliEnvironment,
  scopes: Parameters<CliEnvironment['cliWithScopes']>[0],
  given: Parameters<CliEnvironment['cliWithScopes']>[1] = {},
): Promise<TestCli> => {
  const fetchHere = fetchOf(here.api);
  return here.cliWithScopes(scopes, {
    cwd: root,
    ...given,
    fetch: async (target, init = {}) => {
      if (!target.startsWith('memory:')) return fetchHere(target, init);
      here.api.world.artifacts.receive(target, z.instanceof(Uint8Array).parse(init.body));
      return new Response('');
    },
  });
};

describe('deploy', () => {
  test('builds and activates the project, and prints added, removed and changed workflows', async () => {
    const projectCli = await admin(createCliEnvironment());
    project({
      'flows/a.ts': sdk + workflow('a', '1'),
      'flows/b.ts': `${sdk}import { two } from '../lib/two.ts';\n${workflow('b', undefined, 'return two;')}`,
      'flows/c.ts': sdk + workflow('c'),
      'lib/two.ts': 'export const two = 2;',
    });
    const first = await projectCli.type('deploy');
    expect(first.out).toMatch(/^\(none\) → [0-9a-f]{24}\n\+ a@1\n\+ b\n\+ c\n$/);
    write(root, { 'flows/a.ts': sdk + workflow('a', '1') + workflow('a', '2'), 'lib/two.ts': 'export const two = 3;' });
    rmSync(join(root, 'flows/c.ts'));
    const second = dataIn(await projectCli.type('--json', 'deploy', '--deployment-id', 'second'), changed);
    expect(second).toMatchObject({
      deploymentId: 'second',
      workflows: { added: ['a@2'], removed: ['c'], changed: ['a@1', 'b'] },
    });
    write(root, { 'lib/two.ts': 'export const two = 4;' });
    expect((await projectCli.type('deploy')).out).toMatch(/^second → [0-9a-f]{24}\n~ b\n$/);
    expect((await projectCli.type('deploy')).out).toMatch(/^[0-9a-f]{24} is active already\.\n$/);
  });

  test('--no-activate does not activate, and prints what an activation changes', async () => {
    const projectCli = await admin(createCliEnvironment());
    project({ 'flows/a.ts': sdk + workflow('a') });
    expect((await projectCli.type('deploy', '--no-activate')).out).toMatch(/is verified and not active[^]*\+ a\n$/);
    expect(errorIn(await projectCli.type('--json', 'deployments', 'get')).code).toBe('no_active_deployment');
  });

  test('uses the project’s profile, unless another installation is named', async () => {
    write(root, { 'stepwell.config.json': '{"dirs":"flows","profile":"staging"}', 'flows/a.ts': sdk + workflow('a') });
    const unknownProfile = createTestCli({ cwd: root, env: { HOME: root } });
    expect(errorIn(await unknownProfile.type('--json', 'deploy')).message).toContain('There is no profile staging');
    const workflowNames = await admin(createCliEnvironment());
    expectExit(await workflowNames.type('deploy'), 0);
    expect(workflowNames.sent.length).toBeGreaterThan(0);
  });

  test('fails without a folder and without a project', async () => {
    expect(errorIn(await createTestCli({ cwd: root }).type('--json', 'deploy')).code).toBe('no_project');
    expect(errorIn(await createTestCli({ cwd: root }).type('--json', 'deploy', '--manifest', 'm.json')).message).toContain(
      'require each other',
    );
  });
});

describe('dev', () => {
  const hasStarted = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms >= 10_000 ? ms : 5);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });

  test('deploys every change that changes the artifact, and continues after a failed build', async () => {
    project({ 'flows/a.ts': sdk + workflow('a') });
    const here = createCliEnvironment();
    const projectCli = await admin(here, { sleep: hasStarted });
    const activations = () => here.api.world.notices.activations.length;
    const watching = projectCli.type('dev');
    await expect.poll(activations, { timeout: 30_000 }).toBe(1);
    write(root, { 'flows/b.ts': sdk + workflow('b') });
    await expect.poll(activations, { timeout: 30_000 }).toBe(2);
    const mark = join(root, 'mark');
    const failing = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(mark)}, ''); throw new Error('not yet');`;
    write(root, { 'flows/b.ts': failing });
    await expect.poll(() => existsSync(mark), { timeout: 30_000 }).toBe(true);
    write(root, { 'flows/b.ts': sdk + workflow('b', '2') });
    await expect.poll(activations, { timeout: 30_000 }).toBe(3);
    projectCli.interrupt();
    const { exitCode, out, err } = await watching;
    expect(exitCode).toBe(130);
    expect(out).toMatch(/\+ a\n[^]*\+ b\n[^]*\+ b@2\n- b\n/);
    expect(err).toContain('not yet');
  });

  test('does not deploy a build during which a file changed', async () => {
    const changed = join(root, 'flows/a.ts');
    const other = sdk + workflow('a', undefined, 'return 2;');
    // The build imports this file, and the import changes it.
    const changing = `import { readFileSync, writeFileSync } from 'node:fs';
const path = ${JSON.stringify(changed)};
if (readFileSync(path, 'utf8') !== ${JSON.stringify(other)}) writeFileSync(path, ${JSON.stringify(other)});\n`;
    project({ 'flows/a.ts': changing + sdk + workflow('a') });
    const here = createCliEnvironment();
    const projectCli = await admin(here, { sleep: hasStarted });
    const watching = projectCli.type('dev');
    await expect.poll(() => here.api.world.notices.activations.length, { timeout: 30_000 }).toBe(1);
    projectCli.interrupt();
    await watching;
    const [active] = here.api.world.notices.activations;
    expect(active?.deploymentId).toBe((await build()).deploymentId);
  });

  describe('where a change removes a workflow that an open run uses', () => {
    /** Deploys `a` and `c`, starts a run of `c`, and deletes `c` while `dev` runs. @returns the deployments that were activated */
    const removeWhileOpen = async (
      { isEmbedded = false, ...given }: Parameters<CliEnvironment['cliWithScopes']>[1] & { readonly isEmbedded?: boolean },
      args: readonly string[],
      isDecided: (cli: TestCli, activations: number) => boolean,
    ) => {
      project({ 'flows/a.ts': sdk + workflow('a'), 'flows/c.ts': sdk + workflow('c') });
      const here = createCliEnvironment();
      const local = JSON.stringify({ url, apiKey: await here.api.key(['admin'], { rateLimitPerMinute: null }) });
      if (isEmbedded) write(root, { '.stepwell/local.json': local });
      const projectCli = await admin(here, { sleep: hasStarted, ...given, env: isEmbedded ? { STEPWELL_URL: '' } : {} });
      const activations = () => here.api.world.notices.activations.length;
      const watching = projectCli.type('dev', ...args);
      await expect.poll(activations, { timeout: 30_000 }).toBe(1);
      const key = await here.api.key(['admin']);
      const headers = { 'Idempotency-Key': 'one' };
      const run = await here.api.call('POST', '/v1/runs', { key, headers, body: { workflowName: 'c' } });
      expect(run).toMatchObject({ status: 202 });
      rmSync(join(root, 'flows/c.ts'));
      await expect.poll(() => isDecided(projectCli, activations()), { timeout: 30_000 }).toBe(true);
      projectCli.interrupt();
      return { ...(await watching), activations: activations(), questions: projectCli.questions };
    };
    /** A third deployment is sent once the second one, which removes the workflow, has its answer. */
    const wasAnswered = ({ sent }: TestCli): boolean => {
      const activated = new Set(sent.map(({ path }) => path).filter((path) => path.endsWith('/activate')));
      if (activated.size === 2 && !existsSync(join(root, 'flows/d.ts'))) write(root, { 'flows/d.ts': sdk + workflow('d') });
      return activated.size === 3;
    };

    test('of another installation, it asks, and an answer of no keeps the workflow', async () => {
      const given = { isInteractive: true, answer: false };
      const { activations, questions, err } = await removeWhileOpen(given, [], ({ questions: asked }) => asked.length > 0);
      expect(questions[0]).toMatch(/ c: [^]*Remove them all the same\?$/);
      expect([activations, err.includes('Nothing was activated.')]).toEqual([1, true]);
    });
    test('of another installation in a non-interactive terminal, it names --yes', async () => {
      const { activations, err } = await removeWhileOpen({}, [], wasAnswered);
      expect([activations, err.includes('add --yes')]).toEqual([1, true]);
    });
    test('--yes removes it', async () => {
      expect(await removeWhileOpen({}, ['--yes'], (_cli, activations) => activations === 2)).toMatchObject({ questions: [] });
    });
    test('of the embedded cloud, it is removed without a question', async () => {
      const removed = await removeWhileOpen({ isEmbedded: true }, [], (_cli, activations) => activations === 2);
      expect(removed).toMatchObject({ questions: [], activations: 2 });
    });
  });

  describe('with an embedded cloud that runs in the project', () => {
    /** What `dev` prints from a folder below the project, until it has deployed. */
    const devBelow = async (local: object, ...args: readonly string[]) => {
      project({ 'flows/a.ts': sdk + workflow('a'), 'flows/parts/b.ts': 'export const b = 1;' });
      const here = createCliEnvironment();
      const apiKey = await here.api.key(['admin'], { rateLimitPerMinute: null });
      write(root, { '.stepwell/local.json': JSON.stringify({ url, apiKey, ...local }) });
      const env = { STEPWELL_URL: '', HOME: createFolder() };
      const below = await admin(here, { sleep: hasStarted, env, cwd: join(root, 'flows', 'parts') });
      const watching = below.type('dev', ...args);
      await expect.poll(() => here.api.world.notices.activations.length, { timeout: 30_000 }).toBe(1);
      below.interrupt();
      return watching;
    };
    test('it deploys to that cloud from a folder below, and starts no other', async () => {
      const { out, err } = await devBelow({});
      expect(out).toContain(`API ${url}/v1, of ${root}. Ctrl-C ends.\nRoutes ${url}/v1/openapi.json\n`);
      expect(err).not.toContain('Starting the embedded cloud');
      expect(existsSync(join(root, 'flows', 'parts', '.stepwell'))).toBe(false);
    });
    test.each([[[]], [['--no-start']]])(
      'that was started without --allow-localhost, %j --allow-localhost warns',
      async (args) => {
        expect((await devBelow({ allowsLocalhost: false }, '--allow-localhost', ...args)).err).toMatch(
          /^warning: .* runs without --allow-localhost: .* start it with stepwell start --allow-localhost\.$/m,
        );
      },
    );
    test('that was started with --allow-localhost, nothing is warned of', async () => {
      expect((await devBelow({ allowsLocalhost: true }, '--allow-localhost')).err).not.toContain('without --allow');
      expect((await devBelow({ allowsLocalhost: false })).err).not.toContain('without --allow');
    });
  });

  test.each([
    ['opens the console of an interactive terminal with a link', { isInteractive: true }, [], 1],
    ['opens nothing with --no-browser', { isInteractive: true }, ['--no-browser'], 0],
    ['opens nothing where the terminal is not interactive', {}, [], 0],
  ])('%s', async (_name, given, args, opened) => {
    project({ 'flows/a.ts': sdk + workflow('a') });
    const here = createCliEnvironment();
    const projectCli = await withScopes(here, ['admin', 'runs:read'], { sleep: hasStarted, ...given });
    const watching = projectCli.type('dev', ...args);
    await expect.poll(() => here.api.world.notices.activations.length, { timeout: 30_000 }).toBe(1);
    projectCli.interrupt();
    const { out } = await watching;
    const [, address = ''] = /^Console (\S+) /m.exec(out) ?? [];
    expect(address).toContain(`${url}/console/#link=`);
    expect(projectCli.openedUrls).toEqual(opened === 1 ? [address] : []);
  });

  test('does not use the current profile', async () => {
    project({ 'flows/a.ts': sdk + workflow('a') });
    const home = createFolder();
    const projectCli = createTestCli({ cwd: root, env: { HOME: home } });
    expectExit(await projectCli.type('profiles', 'add', 'prod', '--url', url), 0);
    expectExit(await projectCli.type('profiles', 'use', 'prod'), 0);
    expect(errorIn(await projectCli.type('--json', 'dev', '--no-start')).code).toBe('no_connection');
  });
});

describe('init', () => {
  const shape = z.strictObject({ written: z.array(z.string()), kept: z.array(z.string()), changed: z.array(z.string()) });
  const files = ['stepwell.config.ts', 'workflows/greet.ts', 'tests/greet.test.ts', 'tsconfig.json', '.gitignore'];
  const compiler = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace(/package\.json$/, 'bin/tsc');
  const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

  /** The packages that the next commands of `init` install. */
  const install = (): void => {
    const stepwell = { name: 'stepwell', type: 'module', exports: { './sdk': './sdk.ts', './testing': './testing.ts' } };
    write(root, {
      'node_modules/stepwell/package.json': JSON.stringify(stepwell),
      'node_modules/stepwell/sdk.ts': `export * from ${JSON.stringify(inRepository('lib/sdk/index.ts'))};`,
      'node_modules/stepwell/testing.ts': `export * from ${JSON.stringify(inRepository('lib/testing/index.ts'))};`,
    });
    mkdirSync(join(root, 'node_modules/@types'), { recursive: true });
    symlinkSync(inRepository('node_modules/@types/node'), join(root, 'node_modules/@types/node'));
  };
  /** The compiler's findings in the project. The sources of the packages have stricter settings than the project. */
  const compile = (): string =>
    spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.json')], { cwd: root, encoding: 'utf8' })
      .stdout.split('\n')
      .filter((line) => /^\w/.test(line))
      .join('\n');

  test('writes a project that builds and compiles, and changes nothing the second time', async () => {
    const projectCli = createTestCli({ cwd: root });
    const first = await projectCli.type('--json', 'init');
    expect(dataIn(first, shape)).toEqual({ written: files, kept: [], changed: [] });
    expect((await build()).workflows).toEqual([{ name: 'greet', file: 'workflows/greet.ts' }]);
    install();
    expect(compile()).toBe('');
    write(root, { 'workflows/greet.ts': 'mine' });
    expect(dataIn(await projectCli.type('--json', 'init'), shape)).toEqual({ written: [], kept: files, changed: [] });
    expect(readFileSync(join(root, 'workflows/greet.ts'), 'utf8')).toBe('mine');
  });

  test('after npm init -y it makes the package one of ES modules, and prints the next commands', async () => {
    const manifest = {
      name: 'app',
      type: 'commonjs',
      main: 'index.js',
      scripts: { test: 'echo "Error: no test specified" && exit 1', build: 'tsc' },
    };
    write(root, { 'package.json': JSON.stringify(manifest) });
    const { out } = await createTestCli({ cwd: root }).type('init');
    expect(out).toMatch(/~ package\.json: "type": "module"\n[^]*npx stepwell dev\n[^]*npx stepwell runs start greet/);
    expect(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).toEqual({
      ...manifest,
      type: 'module',
      scripts: { test: 'node --import tsx --test tests/*.test.ts', build: 'tsc' },
    });
    expect((await build()).workflows).toEqual([{ name: 'greet', file: 'workflows/greet.ts' }]);
    install();
    // A mistake in a test is found, and it is the only finding.
    write(root, { 'tests/wrong.test.ts': 'export const one: string = 1;' });
    expect(compile()).toMatch(/^tests\/wrong\.test\.ts\(1,.*$/);
  });

  test('a package with sources in CommonJS keeps its type: the files say that they are ES modules', async () => {
    const manifest = JSON.stringify({ name: 'app', scripts: { test: 'jest' } });
    write(root, { 'package.json': manifest, 'src/index.js': 'module.exports = 1;' });
    const { written, changed } = dataIn(await createTestCli({ cwd: root }).type('--json', 'init'), shape);
    expect(changed).toEqual([]);
    expect(written).toEqual([
      'stepwell.config.mts',
      'workflows/greet.mts',
      'tests/greet.test.mts',
      'tsconfig.json',
      '.gitignore',
    ]);
    expect(readFileSync(join(root, 'package.json'), 'utf8')).toBe(manifest);
    expect((await build()).workflows).toEqual([{ name: 'greet', file: 'workflows/greet.mts' }]);
    install();
    expect(compile()).toBe('');
  });

  test('recognizes a configuration with another extension', async () => {
    write(root, { 'stepwell.config.mjs': 'export default {};' });
    expect((await createTestCli({ cwd: root }).type('init')).out).toContain('stepwell.config.mjs exists and is not changed');
    expect(existsSync(join(root, 'stepwell.config.ts'))).toBe(false);
  });
});
