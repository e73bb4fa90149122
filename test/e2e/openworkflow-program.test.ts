/** The recipe of docs/OPENWORKFLOW.md for a program of the library that stays: run as the page shows it, against the embedded cloud. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freshFolder, preparedFolder, root, startLocal } from './local-start.ts';

const page = readFileSync(join(root, 'docs', 'OPENWORKFLOW.md'), 'utf8');
const [, program = ''] = /```js\n(\/\/ program\.mjs\n[^]*?)```/.exec(page) ?? [];
const [, command = ''] = /```sh\n(node --env-file=[^\n]+)\n```/.exec(page) ?? [];

test('a program of the library runs on the tables of the embedded cloud, and the API lists its run', async () => {
  const folder = freshFolder();
  const cloud = await startLocal(preparedFolder(join(folder, '.stepwell')));
  try {
    // What `npm install` would bring.
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(root, 'node_modules', 'openworkflow'), join(folder, 'node_modules', 'openworkflow'));
    symlinkSync(root, join(folder, 'node_modules', 'stepwell'));
    writeFileSync(join(folder, 'program.mjs'), program);
    const [, ...args] = command.split(' ');
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 60_000 });
    expect(stdout).toBe('Hello, Ada!\n');
    const run = { workflowName: 'greet', status: 'completed', isExternal: true };
    expect(await cloud.call('GET', '/v1/runs')).toMatchObject({ status: 200, body: { data: [run] } });
  } finally {
    await cloud.end('SIGTERM');
  }
});
