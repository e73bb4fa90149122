/** `deploy`, `activate`, `rollback` and `deployments …`. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { upload } from '../../lib/cli/actions/deploy.ts';
import { CliError } from '../../lib/cli/command.ts';
import * as deployments from '../../lib/api/schemas/deployments.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { fetchOf } from '../client/in-process.ts';
import {
  type CliEnvironment,
  type TestCli,
  createCliEnvironment,
  dataIn,
  errorIn,
  expectExit,
  createFolder,
} from './test-cli.ts';

const changed = {
  workflows: z.strictObject({ added: z.array(z.string()), removed: z.array(z.string()), changed: z.array(z.string()) }),
};
const activated = deployments.activatedResponse.extend(changed);
const uploaded = z.strictObject({
  deploymentId: z.string(),
  status: z.string(),
  previousDeploymentId: z.string().nullable(),
  ...changed,
});
const listShape = z.strictObject({
  items: z.array(deployments.deploymentList.shape.data.unwrap().element),
  hasMore: z.boolean(),
});

let environment: CliEnvironment;
let admin: TestCli;
let cwd: string;
let uploads: number;
beforeEach(async () => {
  environment = createCliEnvironment();
  cwd = createFolder();
  uploads = 0;
  const fetchApi = fetchOf(environment.api);
  admin = await environment.cliWithScopes(['admin'], {
    cwd,
    fetch: async (target, init = {}) => {
      if (!target.startsWith('memory:')) return fetchApi(target, init);
      uploads += 1;
      environment.api.world.artifacts.receive(target, z.instanceof(Uint8Array).parse(init.body));
      return new Response('');
    },
  });
});

const bundle = 'export const POST = () => Response.json({ run: { status: "completed" } });\n';
function folder(name: string, workflows: readonly string[], more: Readonly<Record<string, unknown>> = {}, text = bundle): string {
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(cwd, name, path)), { recursive: true });
    writeFileSync(join(cwd, name, path), content);
  };
  write('.well-known/workflow/v1/flow.js', text);
  write('.well-known/workflow/v1/step.js', text);
  write('manifest.json', JSON.stringify({ workflows: workflows.map((each) => ({ name: each })), steps: [], ...more }));
  return name;
}

describe('deploy', () => {
  test('packs, uploads and activates a folder, and prints what changed', async () => {
    const first = await admin.type('deploy', folder('one', ['orders', 'mails']), '--deployment-id', 'one');
    expect([first.exitCode, first.out]).toEqual([0, '(none) → one\n+ orders\n+ mails\n']);
    expect(first.err).toMatch(/^one: 2 files, \d+ bytes packed$/m);
    const second = await admin.type('--json', 'deploy', folder('two', ['orders', 'bills'], { deploymentId: 'two' }));
    expect(dataIn(second, activated)).toMatchObject({
      deploymentId: 'two',
      previousDeploymentId: 'one',
      workflows: { added: ['bills'], removed: ['mails'], changed: [] },
    });
  });
  test('the same content has the same deployment id and is not uploaded again', async () => {
    const idOf = async () => dataIn(await admin.type('--json', 'deploy', folder('one', ['orders'])), activated).deploymentId;
    const id = await idOf();
    expect(id).toMatch(/^[0-9a-f]{24}$/);
    expect(await idOf()).toBe(id);
    expect(uploads).toBe(1);
  });
  test('--no-activate does not activate, and prints what an activation changes', async () => {
    await admin.type('deploy', folder('one', ['orders']), '--deployment-id', 'one');
    const answer = await admin.type(
      '--json',
      'deploy',
      folder('two', ['mails'], {}, `${bundle}//`),
      '--deployment-id',
      'two',
      '--no-activate',
    );
    expect(dataIn(answer, uploaded)).toEqual({
      deploymentId: 'two',
      status: 'created',
      previousDeploymentId: 'one',
      workflows: { added: ['mails'], removed: ['orders'], changed: [] },
    });
    expect((await admin.type('deployments', 'get')).out).toMatch(/^one {2}✓ active/);
  });
  test('accepts a packed archive, and refuses one that does not match its manifest', async () => {
    const { manifest, archive } = await packedDeployment('packed');
    writeFileSync(join(cwd, 'a.tgz'), archive);
    writeFileSync(join(cwd, 'm.json'), JSON.stringify(manifest));
    expectExit(await admin.type('deploy', '--artifact', 'a.tgz', '--manifest', 'm.json'), 0);
    writeFileSync(join(cwd, 'b.tgz'), Buffer.concat([archive, Buffer.from('x')]));
    const before = admin.sent.length;
    const answer = await admin.type('--json', 'deploy', '--artifact', 'b.tgz', '--manifest', 'm.json');
    expect([answer.exitCode, errorIn(answer).message]).toEqual([3, 'b.tgz does not match m.json: its size or digest differs.']);
    expect(admin.sent.length).toBe(before);
  });
  test.each([
    ['without a manifest', () => mkdirSync(join(cwd, 'x')), 'manifest.json cannot be read'],
    ['with a manifest that names no workflows', () => folder('x', [], { workflows: 'all' }), '/workflows: '],
    ['with a link', () => symlinkSync(cwd, join(cwd, folder('x', ['a']), 'link')), 'is neither a file nor a folder'],
  ])('a folder %s is refused, and nothing is sent', async (_what, make, message) => {
    make();
    const answer = await admin.type('--json', 'deploy', 'x');
    expect(answer.exitCode).toBe(3);
    expect(errorIn(answer).message).toContain(message);
    expect(admin.sent).toEqual([]);
  });
});

describe('the upload', () => {
  const order = { method: 'PUT', url: 'https://bucket.example.com/a?signature=secret', headers: { 'x-own': 'yes' } } as const;
  const uploadWith = (...answers: readonly (() => Response)[]) => {
    let tries = 0;
    const shell = {
      fetch: async (): Promise<Response> => {
        const answer = answers[Math.min(tries, answers.length - 1)];
        tries += 1;
        if (answer === undefined) throw new TypeError('fetch failed');
        return answer();
      },
      sleep: () => Promise.resolve(),
      signal: new AbortController().signal,
    };
    return { done: upload(shell, order, new Uint8Array(3)), tries: () => tries };
  };
  const denied = () => new Response('<Error><Code>AccessDenied</Code><Message>secret</Message></Error>', { status: 403 });
  const unavailable = () => new Response('', { status: 503 });

  test('is retried after transient errors', async () => {
    const { done, tries } = uploadWith(unavailable, () => new Response(''));
    await done;
    expect(tries()).toBe(2);
  });
  test('a refusal is not retried, and its message omits the presigned URL', async () => {
    const { done, tries } = uploadWith(denied);
    const error = await done.catch((error: unknown) => error);
    expect(error).toBeInstanceOf(CliError);
    expect(String(error)).toContain('The upload was refused: 403 AccessDenied.');
    expect(String(error)).not.toContain('secret');
    expect(tries()).toBe(1);
  });
  test('without a response the command exits with 4', async () => {
    const error = await uploadWith().done.catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'unreachable', exitCode: 4 });
  });
});

describe('activate, rollback and deployments', () => {
  beforeEach(async () => {
    for (const id of ['one', 'two']) expectExit(await admin.type('deploy', folder(id, [id], { deploymentId: id })), 0);
  });
  test('rollback activates the previous deployment or a named one', async () => {
    expect((await admin.type('rollback')).out).toBe('two → one\n+ one\n- two\n');
    expect(dataIn(await admin.type('--json', 'rollback', '--deployment-id', 'two'), activated).previousDeploymentId).toBe('one');
  });
  test('activate prints the change, and refuses an unknown deployment', async () => {
    expect((await admin.type('activate', 'one')).out).toMatch(/^two → one\n/);
    const answer = await admin.type('--json', 'activate', 'three');
    expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'not_found']);
  });
  test('list and get show deployments; remove refuses the active one', async () => {
    const { items } = dataIn(await admin.type('--json', 'deployments', 'list'), listShape);
    expect(new Map(items.map(({ deploymentId, status }) => [deploymentId, status]))).toEqual(
      new Map([
        ['one', 'inactive'],
        ['two', 'active'],
      ]),
    );
    expect((await admin.type('deployments', 'list')).out).toMatch(/^two +default +✓ active/m);
    expect(dataIn(await admin.type('--json', 'deployments', 'get'), deployments.deploymentResponse).deploymentId).toBe('two');
    expect((await admin.type('deployments', 'get', 'one')).out).toContain('.well-known/workflow/v1/flow.js');
    const answer = await admin.type('--json', 'deployments', 'remove', 'two');
    expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'deployment_active']);
    expect((await admin.type('deployments', 'remove', 'one')).out).toBe('one is removed; its id cannot be used again.\n');
  });
  test('deployments of another app are activated beside them, and apps lists both', async () => {
    const shipped = await admin.type('deploy', folder('three', ['three'], { deploymentId: 'three', app: '@acme/three' }));
    expect(shipped.out).toBe('@acme/three: (none) → three\n+ three\n');
    expect((await admin.type('deploy', folder('four', ['three']), '--app', 'four')).err).toContain('three (the app @acme/three)');
    expect((await admin.type('deployments', 'apps')).out).toMatch(/^@acme\/three +three .*\n?default +two /m);
    expect(errorIn(await admin.type('--json', 'rollback'))).toMatchObject({
      code: 'app_required',
      message: expect.stringContaining('@acme/three, default'),
    });
    expect((await admin.type('rollback', '--app', 'default')).out).toMatch(/^two → one\n/);
    const shown = await admin.type('--json', 'deployments', 'get', '--app', '@acme/three');
    expect(dataIn(shown, deployments.deploymentResponse)).toMatchObject({ deploymentId: 'three', app: '@acme/three' });
    expect((await admin.type('deactivate', 'three')).out).toContain('The app @acme/three has no active deployment');
  });
  test('a change that removes a workflow in use asks first, and --yes accepts it', async () => {
    expectExit(await admin.type('runs', 'start', 'two'), 0);
    const declined = await admin.type('activate', 'one');
    expect([declined.exitCode, errorIn(await admin.type('--json', 'activate', 'one')).code]).toEqual([
      3,
      'confirmation_required',
    ]);
    expect(declined.err).toContain('two: 1 open run ends on its deployment');
    expect((await admin.type('activate', 'one', '--yes')).out).toMatch(/^two → one\n/);
  });
  test('get fails if no deployment is active', async () => {
    const other = await createCliEnvironment().cliWithScopes(['admin']);
    const answer = await other.type('--json', 'deployments', 'get');
    expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'no_active_deployment']);
  });
});
