import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { findDynoxide, startDynoxide, type DynamodbEmulator } from '../../lib/local/emulators/dynoxide.ts';
import { endStaleProcess, recordProcess } from '../../lib/local/emulators/stale-process.ts';
import { freshFolder } from './stacks.ts';

const sleeper = (...words: readonly string[]) =>
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', ...words], { stdio: 'ignore' });
const started: { kill(signal?: NodeJS.Signals): unknown }[] = [];
const emulators: DynamodbEmulator[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const emulator of emulators.splice(0)) await emulator.stop();
});
const recordShape = z.object({ pid: z.number() });
/** Whether the process runs: it has not exited, and is no zombie. */
const runs = (pid: number): boolean => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';

describe('a process left over by a killed start', () => {
  test('is ended when it still has its unique argument', async () => {
    const file = join(freshFolder(), 'child.pid');
    const child = sleeper('unique-argument');
    started.push(child);
    const exited = once(child, 'exit');
    recordProcess(file, child.pid ?? 0, 'unique-argument');
    await expect.poll(() => endStaleProcess(file)).toBe(true);
    expect((await exited)[1]).toBe('SIGKILL');
    expect(existsSync(file)).toBe(false);
  });

  test('is left alone when another process has its id', async () => {
    const file = join(freshFolder(), 'child.pid');
    const otherProcess = sleeper('another-argument');
    started.push(otherProcess);
    recordProcess(file, otherProcess.pid ?? 0, 'unique-argument');
    expect(await endStaleProcess(file)).toBe(false);
    expect(runs(otherProcess.pid ?? 0)).toBe(true);
  });

  test('may have left an invalid record, or none', async () => {
    const file = join(freshFolder(), 'child.pid');
    expect(await endStaleProcess(file)).toBe(false);
    writeFileSync(file, '{"pid":');
    expect(await endStaleProcess(file)).toBe(false);
  });
});

const binary = findDynoxide();

// dynoxide's binary exists for some platforms only
describe.runIf(binary !== undefined)('dynoxide', () => {
  test('exits with its parent, also when the parent is killed', async () => {
    const folder = freshFolder();
    const program = `
      import { startDynoxide } from ${JSON.stringify(new URL('../../lib/local/emulators/dynoxide.ts', import.meta.url).href)};
      const emulator = await startDynoxide(${JSON.stringify(binary)}, ${JSON.stringify(folder)}, () => {});
      console.log('up');
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parent.stdout, 'data');
    const { pid } = recordShape.parse(JSON.parse(readFileSync(join(folder, 'dynoxide.pid'), 'utf8')));
    expect(runs(pid)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => runs(pid), { timeout: 10_000 }).toBe(false);
  });

  test('that an earlier start left running is ended by the next start', async () => {
    const folder = freshFolder();
    const database = join(folder, 'dynamodb.sqlite');
    const leftOver = sleeper(database);
    started.push(leftOver);
    const exited = once(leftOver, 'exit');
    await once(leftOver, 'spawn');
    recordProcess(join(folder, 'dynoxide.pid'), leftOver.pid ?? 0, database);
    emulators.push(await startDynoxide(binary ?? '', folder, () => {}));
    expect((await exited)[1]).toBe('SIGKILL');
  });
});
