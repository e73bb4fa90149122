/**
 * A server of the examples whose framework has an integration of the Workflow DevKit: installed and built by its own tools with the packed
 * packages, in a folder outside of the repository. Its runs are executed in the server by messages to its address, or as deployed code, and
 * survive the end of the cloud.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { freePort } from '../e2e/listening.ts';
import { type LocalStart, preparedFolder, startLocal } from '../e2e/local-start.ts';
import { type Application, createApplication, packAll, root } from '../scripts/packed.ts';

const manifest = z.looseObject({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});
const started = z.strictObject({ runId: z.string() });

interface ServerExample {
  /** of its folder in `examples` */
  readonly name: string;
  /** the program that serves what was built, and its arguments */
  readonly program: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const jsonOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return JSON.parse(text);
};
const post = async (url: string, fields: Readonly<Record<string, string>>): Promise<unknown> =>
  jsonOf(await fetch(url, { method: 'POST', body: new URLSearchParams(fields) }));

export function serverExample({ name, program, environment = {} }: ServerExample): void {
  let app: Application;
  beforeAll(async () => {
    const packed = await packAll();
    app = await createApplication(packed.folder, name);
    cpSync(join(root, 'examples', name), app.folder, { recursive: true });
    const file = join(app.folder, 'package.json');
    const { dependencies, devDependencies, ...rest } = manifest.parse(JSON.parse(readFileSync(file, 'utf8')));
    dependencies['stepwell'] = packed.archive('stepwell');
    devDependencies['stepwell-cli'] = packed.archive('stepwell-cli');
    writeFileSync(file, JSON.stringify({ ...rest, dependencies, devDependencies }));
    await app.run('npm', ['install']);
    await app.run('npm', ['run', 'build'], { env: environment });
  });

  const directory = preparedFolder();
  let port = 0;
  let cloud: LocalStart;
  /** The same address at each start, because the server keeps it. */
  const startCloud = async (): Promise<void> => {
    cloud = await startLocal(directory, undefined, { STEPWELL_PORT: String(port), STEPWELL_ALLOW_LOCALHOST: 'true' });
  };
  beforeAll(async () => {
    port = await freePort();
    await startCloud();
  });
  afterAll(() => cloud.end('SIGTERM'));

  let server: ChildProcess | undefined;
  afterEach(async () => {
    if (server === undefined) return;
    server.kill('SIGTERM');
    await once(server, 'exit');
  });

  /** Starts the built server. @returns its address */
  async function startServer(settings: Readonly<Record<string, string>>): Promise<string> {
    const serverPort = await freePort();
    const address = `http://localhost:${serverPort}`;
    const child = spawn(process.execPath, program, {
      cwd: app.folder,
      env: {
        ...app.env(),
        PORT: String(serverPort),
        WORKFLOW_TARGET_WORLD: 'stepwell/world',
        STEPWELL_URL: cloud.url,
        STEPWELL_API_KEY: cloud.apiKey,
        ...environment,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    server = child;
    let output = '';
    const collect = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const isServing = (): Promise<string> =>
      fetch(address).then(
        async (response) => response.text(),
        () => output,
      );
    await expect.poll(isServing, { timeout: 60_000 }).toContain('<h1>Orders</h1>');
    return address;
  }

  const explained = (runId: string) => (): Promise<string> => cli(cloud, app.folder, 'explain', runId);

  /** Orders the item, kills the cloud while the run sleeps, starts it again, approves the order. @returns the run as the API shows it */
  async function orderAcrossKill(address: string, item: string, receipt: string): Promise<unknown> {
    const { runId } = started.parse(await post(`${address}/orders`, { item }));
    await expect.poll(explained(runId), { timeout: 60_000 }).toMatch(/sleep/);
    await cloud.end('SIGKILL');
    await startCloud();
    await expect.poll(explained(runId), { timeout: 120_000 }).toMatch(/^Node \S+ \(hook\) waits for /);
    expect(await post(`${address}/orders/approve`, { item, by: 'ada' })).toEqual({ runId });
    const see = async (): Promise<unknown> => jsonOf(await fetch(`${address}/orders/${runId}`));
    const result = { item, price: item.length * 10, receipt, by: 'ada' };
    await expect.poll(see, { timeout: 60_000 }).toEqual({ status: 'completed', result });
    return (await cloud.call('GET', `/v1/runs/${runId}`)).body;
  }

  test('executes the steps of its runs itself, from messages that the service posts to its address', async () => {
    const address = await startServer({ SHOP_NAME: 'the tea shop' });
    const run = await orderAcrossKill(address, 'tea', 'receipt-30-of-the tea shop');
    const { deploymentId } = z.looseObject({ deploymentId: z.string().startsWith('dpl_app_') }).parse(run);
    expect((await cloud.call('GET', `/v1/deployments/${deploymentId}/health`)).body).toMatchObject({ healthy: true });
    const forged = await fetch(`${address}/.well-known/workflow/v1/flow`, {
      method: 'POST',
      body: '{"runId":"wrun_1"}',
      headers: { 'x-vqs-queue-name': '__wkf_workflow_x', 'x-vqs-message-id': 'm', 'x-vqs-message-attempt': '1' },
    });
    expect(forged.status).toBe(401);
  });

  test('is a client of deployed code, with the execution mode `remote`', async () => {
    await app.run('npx', ['--no-install', 'workflow', 'build']);
    const printed = await cli(cloud, app.folder, 'deploy', '--json');
    const { data } = z.object({ data: z.object({ deploymentId: z.string() }) }).parse(JSON.parse(printed));
    const address = await startServer({ SHOP_NAME: 'the tea shop', WORKFLOW_EXECUTION_MODE: 'remote' });
    const run = await orderAcrossKill(address, 'milk', 'receipt-40-of-a shop without a name');
    expect(run).toMatchObject({ deploymentId: data.deploymentId });
  });
}
