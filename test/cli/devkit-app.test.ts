/** `deploy` in the folder of an app of the Workflow DevKit. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import * as deployments from '../../lib/api/schemas/deployments.ts';
import { fetchOf } from '../client/in-process.ts';
import { type TestCli, createCliEnvironment, createFolder, dataIn, errorIn } from './test-cli.ts';

let cwd: string;
let admin: TestCli;
let adminWith: (env: Readonly<Record<string, string>>) => Promise<TestCli>;
beforeEach(async () => {
  const environment = createCliEnvironment();
  cwd = createFolder();
  const fetchApi = fetchOf(environment.api);
  const upload = async (target: string, init: RequestInit = {}): Promise<Response> => {
    if (!target.startsWith('memory:')) return fetchApi(target, init);
    environment.api.world.artifacts.receive(target, z.instanceof(Uint8Array).parse(init.body));
    return new Response('');
  };
  adminWith = (env) => environment.cliWithScopes(['admin'], { cwd, env, fetch: upload });
  admin = await adminWith({});
});

const sdk = 'var cache = Symbol.for("@workflow/world//cache");';
const builder = {
  version: '1.0.0',
  workflows: { 'workflows/order.ts': { order: { workflowId: 'workflow//./workflows/order//order', graph: {} } } },
  steps: {
    'workflows/order.ts': { quote: { stepId: 'step//./workflows/order//quote' } },
    'node_modules/workflow/dist/stdlib.js': { fetch: { stepId: 'step//./node_modules/workflow/dist/stdlib//fetch' } },
    'node_modules/@workflow/core/dist/runtime/run.js': {
      'Run#cancel': { stepId: 'step//@workflow/core/runtime/run@5.0.0-beta.35//Run#cancel' },
    },
    'node_modules/workflow/dist/internal/builtins.js': { json: { stepId: '__builtin_response_json' } },
  },
  classes: {},
};

function write(files: Readonly<Record<string, string>>, folder = cwd): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const installed = (sdkVersion: string, specVersion: number): Readonly<Record<string, string>> => ({
  'package.json': '{"name":"shop"}',
  'node_modules/workflow/package.json': JSON.stringify({ version: sdkVersion, type: 'module', exports: { './api': './api.js' } }),
  'node_modules/workflow/api.js': 'export const resumeWebhook = () => new Response();',
  'node_modules/@workflow/core/package.json': '{}',
  'node_modules/@workflow/world/package.json': JSON.stringify({ version: sdkVersion, type: 'module' }),
  'node_modules/@workflow/world/dist/spec-version.js': `export const SPEC_VERSION_CURRENT = ${specVersion};`,
});
const built = (names: readonly string[], manifest: object = builder): Readonly<Record<string, string>> =>
  Object.fromEntries([
    ...names.map((name) => [`.well-known/workflow/v1/${name}`, sdk]),
    ['.well-known/workflow/v1/manifest.json', JSON.stringify(manifest)],
  ]);

const activated = deployments.activatedResponse.loose();
const deployed = async (...args: readonly string[]) => {
  const { deploymentId } = dataIn(await admin.type('deploy', ...args, '--json'), activated);
  return dataIn(await admin.type('deployments', 'get', deploymentId, '--json'), deployments.deploymentResponse);
};

test('of version 4: its two bundles, its names and what it is built with', async () => {
  write({ ...installed('4.8.9', 3), ...built(['flow.js', 'step.js', 'webhook.js', 'flow.js.debug.json', 'step.js.debug.json']) });
  expect(await deployed()).toMatchObject({
    status: 'active',
    app: 'shop',
    runtime: 'devkit',
    devkit: { sdkVersion: '4.8.9', specVersion: 3, nodeVersion: process.versions.node, format: 'commonjs' },
    workflows: [{ name: 'workflow//./workflows/order//order' }],
    steps: [{ name: 'step//./workflows/order//quote' }],
    files: [
      { path: '.well-known/workflow/v1/flow.js' },
      { path: '.well-known/workflow/v1/host.mjs' },
      { path: '.well-known/workflow/v1/manifest.json' },
      { path: '.well-known/workflow/v1/step.js' },
    ],
  });
});

test('with a namespace of its queues: another deployment than without', async () => {
  const app = { ...installed('4.8.9', 3), ...built(['flow.js', 'step.js']) };
  write(app);
  const plain = await deployed();
  admin = await adminWith({ WORKFLOW_QUEUE_NAMESPACE: 'shop' });
  const named = await deployed();
  expect([plain.devkit, named.devkit]).toMatchObject([{ format: 'commonjs' }, { format: 'commonjs', queueNamespace: 'shop' }]);
  expect(named.deploymentId).not.toBe(plain.deploymentId);
});

test('of version 5: its one module, also from another folder, and with the app of the configuration', async () => {
  const app = join(cwd, 'apps/orders');
  write(
    {
      ...installed('5.0.0-beta.35', 5),
      ...built(['flow.mjs', 'step.mjs', '__step_registrations.mjs']),
      'stepwell.config.json': '{"app":"orders"}',
    },
    app,
  );
  expect(await deployed('apps/orders')).toMatchObject({
    app: 'orders',
    devkit: { sdkVersion: '5.0.0-beta.35', specVersion: 5, format: 'module' },
    files: ['flow.mjs', 'host.mjs', 'manifest.json'].map((name) => ({ path: `.well-known/workflow/v1/${name}` })),
  });
});

test('a new build changes all workflows', async () => {
  write({ ...installed('4.8.9', 3), ...built(['flow.js', 'step.js']) });
  await deployed();
  write({ '.well-known/workflow/v1/step.js': `${sdk} // changed` });
  expect((await admin.type('deploy')).out).toContain('~ workflow//./workflows/order//order');
});

test('the same content is the same deployment', async () => {
  write({ ...installed('4.8.9', 3), ...built(['flow.js', 'step.js']) });
  const { deploymentId } = await deployed();
  expect((await deployed()).deploymentId).toBe(deploymentId);
});

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  [
    'without its bundles',
    { ...installed('4.8.9', 3), ...built([]) },
    /has no flow\.mjs, only manifest\.json\. Run npx workflow build/,
  ],
  [
    'without the bundle for steps',
    { ...installed('4.8.9', 3), ...built(['flow.js']) },
    /step\.js cannot be read: .*Run npx workflow build/,
  ],
  [
    'with another manifest',
    { ...installed('4.8.9', 3), ...built(['flow.js', 'step.js'], { workflows: [] }) },
    /is not a manifest of the Workflow DevKit/,
  ],
  ['without the SDK', built(['flow.js', 'step.js']), /The package workflow is not installed in .*: run npm install/],
  [
    'of a version that is not supported',
    { ...installed('4.2.0', 3), ...built(['flow.js', 'step.js']) },
    /4\.2\.0, which Stepwell does not support: use workflow 4\.8/,
  ],
])('%s the command says what to do', async (_what, files, message) => {
  write(files);
  const result = await admin.type('deploy', '--json');
  expect(JSON.stringify(errorIn(result))).toMatch(message);
});
