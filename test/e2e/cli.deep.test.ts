/** docs/CLI.md as a session: runs every line with the real program against `npm start`. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { freshFolder, preparedFolder, root, startLocal, type LocalStart } from './local-start.ts';

const folder = freshFolder();
/** Before the real npx in the path: npx takes a second of each of the lines, and the program a tenth. */
const npxFolder = join(folder, 'bin');
mkdirSync(npxFolder);
writeFileSync(
  join(npxFolder, 'npx'),
  `#!/bin/sh\n[ "$1" = stepwell ] && shift && exec '${process.execPath}' '${join(root, 'bin/stepwell-cli.mjs')}' "$@"\necho "npx $1 is no line of the page" >&2\nexit 1\n`,
  { mode: 0o755 },
);
const env = {
  ...process.env,
  HOME: folder,
  XDG_CONFIG_HOME: join(folder, 'config'),
  STEPWELL_DIR: join(folder, '.stepwell'),
  // `doctor` warns where another cloud has the usual port, and the session would end.
  STEPWELL_PORT: '0',
  // Without this, npm checks its registry for updates.
  npm_config_update_notifier: 'false',
  PATH: `${npxFolder}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
};
let local: LocalStart;
beforeAll(async () => {
  local = await startLocal(preparedFolder(env.STEPWELL_DIR));
});
afterAll(() => local.end('SIGKILL'));

const text = readFileSync(join(root, 'docs/CLI.md'), 'utf8');
const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, lines = '']) => lines);

test('the whole session succeeds, with the output of the page', async () => {
  expect(blocks.length).toBeGreaterThanOrEqual(5);
  // One shell, because lines use variables of earlier lines.
  const session = promisify(execFile)('sh', ['-ec', blocks.join('\n')], { cwd: root, env });
  // What was printed last tells which line failed: a command of `--json` and `doctor` say it there.
  const { stdout } = await session.catch((cause: unknown) => {
    const printed = z.looseObject({ stdout: z.string() }).parse(cause).stdout;
    throw new Error(`a line of the page failed after:\n${printed.slice(-2_000)}`, { cause });
  });
  expect(stdout).toContain('Usage: stepwell runs start [options] <workflow>');
  expect(stdout).toMatch(/^✓ ok {4}embedded cloud: running at http/m);
  expect(stdout).toContain('✓ examples/order-total/workflow.json is valid\norder-total@1\n');
  // 14 events; on a busy machine also a `node.started` for each attempt of more than a second.
  expect(stdout).toMatch(/^ +1[4-9] {2}\S+ {2}run\.completed\n✓ completed {2}wrun_\w+\n\{\n {2}"due": 135\n\}$/m);
  expect(stdout).toMatch(
    /run\.completed\n✓ completed {2}(wrun_\w+)\n\{\n {2}"due": 7\n\}\nwrun_\w+ and all of its data are deleted\.$/m,
  );
  expect(stdout).toMatch(/^nightly +order-total +0 3 \? \* MON-FRI \* \(Europe\/Berlin\) +◷ paused$/m);
  expect(stdout).toContain('nightly is deleted; runs that it started continue.\n');
  expect(stdout).toMatch(/ info +node_completed +price /);
  expect(stdout).toContain('{\n  "title": "3 pieces"\n}\n');
  expect(stdout).toMatch(/^sig_\w+ is (delivered|stored)[^]*"shipped": "order-17",\n {2}"approvedBy": "ann"/m);
  expect(stdout).toMatch(/^tone@1\ntone@2\ntone is archived since .*\nrecent-orders@1\n/m);
  expect(stdout).toMatch(/^recent-orders +postgres +1 /m);
  expect(stdout).toMatch(/^Node minute \(delay\) sleeps until /m);
  expect(stdout).toContain('Woken: minute.\n');
  expect(stdout).toMatch(/1 done, 0 skipped, 0 failed, 0 not tried\.\n[^]*1 done, 0 skipped/);
  expect(stdout).toMatch(/^sw_local_\w+$/m);
  expect(stdout).toMatch(/runs\.cancel +run\/wrun_\w+ +✓ success/);
});

test('npx finds the program in a checkout', () => {
  const PATH = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  const { status, stdout } = spawnSync('npx', ['stepwell', '--help'], { cwd: root, env: { ...env, PATH }, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^Usage: stepwell /) });
});

test('exit code and output format are passed on', () => {
  const { status, stdout } = spawnSync(process.execPath, ['bin/stepwell-cli.mjs', 'runs', 'get', 'nothing', '--json'], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  expect(status).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'usage' } });
});

test('Ctrl-C ends a command that reads stdin', async () => {
  const child = spawn(process.execPath, ['bin/stepwell-cli.mjs', 'runs', 'start-batch', '-'], { cwd: root, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  // More than a pipe holds: the command reads it, and waits for the rest.
  await new Promise((resolve) => child.stdin.write('\n'.repeat(2_000_000), resolve));
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([130, null]);
});

test('without a terminal there is no prompt', () => {
  const args = ['bin/stepwell-cli.mjs', 'runs', 'rerun', '--workflow', 'order-total'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' });
  expect(status).toBe(3);
  expect(stderr).toContain('This terminal is not interactive: add --yes.');
});
