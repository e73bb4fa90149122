/**
 * What a user of the Workflow DevKit does first, in an empty folder outside of the repository, by docs/DEVKIT.md alone: its files and its
 * commands, with the packed packages in place of published ones, at each supported version.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { blocksIn } from '../e2e/documents.ts';
import { freePort } from '../e2e/listening.ts';
import { type Application, type Packed, createApplication, packAll, root } from '../scripts/packed.ts';
import { rotatingItem } from '../tier.ts';
import { sdkVersions } from './built-app.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const page = 'docs/DEVKIT.md';
const blocks = blocksIn(page).filter(({ heading }) => heading === 'Ten minutes');
const [
  install = '',
  startCloud = '',
  deploy = '',
  variables = '',
  startRun = '',
  kill = '',
  explain = '',
  finish = '',
  startPlain = '',
  finishPlain = '',
] = blocks.map(({ lines }) => lines.trimEnd());
const files = [...readFileSync(join(root, page), 'utf8').matchAll(/Save this as `([^`]+)`.*\n\n```(?:ts|js)\n([^]*?)```/g)].map(
  ([, name = '', text = '']) => [name, text] as const,
);
/** What the last command prints. */
const [, result = ''] = /The last command prints:\n\n```text\n([^]*?)```/.exec(readFileSync(join(root, page), 'utf8')) ?? [];

let packed: Packed;
beforeAll(async () => {
  packed = await packAll();
});

const clouds: ChildProcess[] = [];
afterEach(async () => {
  for (const cloud of clouds.splice(0)) {
    if (cloud.exitCode !== null || cloud.signalCode !== null) continue;
    cloud.kill('SIGINT');
    await once(cloud, 'exit');
  }
});

/** The command of the page that runs in a terminal of its own. @returns when it serves requests */
async function runCloud(app: Application, port: number): Promise<ChildProcess> {
  const [npx, program = '', ...args] = startCloud.split(' ');
  expect(npx).toBe('npx');
  const cloud = spawn(join(app.folder, 'node_modules', '.bin', program), args, {
    cwd: app.folder,
    env: { ...app.env(), STEPWELL_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  clouds.push(cloud);
  let output = '';
  const collect = (chunk: Buffer): void => void (output += chunk.toString());
  cloud.stdout.on('data', collect);
  cloud.stderr.on('data', collect);
  await expect.poll(() => output, { timeout: 60_000, interval: 50 }).toContain('Stepwell is running');
  return cloud;
}

const shell =
  (app: Application) =>
  async (...lines: readonly string[]): Promise<string> =>
    (await app.run('sh', ['-ec', lines.join('\n').replaceAll(/^npx /gm, 'npx --no-install ')])).stdout;

test.each(rotatingItem(sdkVersions))('an app of workflow %s survives the end of its cloud', async (version) => {
  const app = await createApplication(packed.folder, `first-app-${version}`);
  const paste = shell(app);
  await paste(
    install
      .replace('npm init -y\n', '')
      .replace(' workflow ', ` workflow@${version} `)
      .replace(/ stepwell$/m, () => ` ${packed.archive('stepwell')}`)
      .replace(/ stepwell-cli$/m, () => ` ${packed.archive('stepwell-cli')}`),
  );
  for (const [name, text] of files) {
    mkdirSync(dirname(join(app.folder, name)), { recursive: true });
    writeFileSync(join(app.folder, name), text);
  }
  const port = await freePort();
  const first = await runCloud(app, port);
  expect(await paste(deploy)).toContain('+ workflow//./workflows/order//order');

  const [begin = '', look = ''] = startRun.split('\n');
  const run = (await paste(variables, begin, 'echo "$RUN"')).trim();
  const setting = `RUN=${run}`;
  await expect.poll(() => paste(setting, look), { timeout: 120_000 }).toMatch(/wait_\w+ .*waiting/);
  await Promise.all([once(first, 'exit'), paste(kill)]);

  await runCloud(app, port);
  await expect.poll(() => paste(setting, explain), { timeout: 60_000 }).toMatch(/^Node \S+ \(hook\) waits for /);
  expect(await paste(variables, setting, finish)).toBe(result);
  expect(await paste(setting, look)).toMatch(
    /^wrun_\w+ {2}✓ completed[^]*^input {5}\["tea"\]$[^]*^charge +step +✓ completed +2 /m,
  );

  const plain = `RUN=${(await paste(startPlain, 'echo "$RUN"')).trim()}`;
  await expect.poll(() => paste(plain, explain), { timeout: 60_000 }).toMatch(/^Node \S+ \(hook\) waits for /);
  const [resume = '', read = ''] = finishPlain.split('\n');
  expect(await paste(variables, plain, resume)).toMatch(/^Hook hook_\w+ of wrun_\w+ is resumed\.$/m);
  expect(JSON.parse(await paste(plain, read))).toEqual({ item: 'coffee', price: 60, receipt: 'receipt-60-2', by: 'ada' });
});
