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
/** Neither gone nor only waiting for somebody to hear that it has ended. */
const runs = (pid: number): boolean => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';

describe('a process left over by a killed start', () => {
  test('is ended when it still bears its mark', async () => {
    const file = join(freshFolder(), 'child.pid');
    const child = sleeper('the-mark');
    started.push(child);
    const gone = once(child, 'exit');
    recordProcess(file, child.pid ?? 0, 'the-mark');
    await expect.poll(() => endStaleProcess(file)).toBe(true);
    expect((await gone)[1]).toBe('SIGKILL');
    expect(existsSync(file)).toBe(false);
  });

  test('is left alone when its number belongs to somebody else now', async () => {
    const file = join(freshFolder(), 'child.pid');
    const stranger = sleeper('another-mark');
    started.push(stranger);
    recordProcess(file, stranger.pid ?? 0, 'the-mark');
    expect(await endStaleProcess(file)).toBe(false);
    expect(runs(stranger.pid ?? 0)).toBe(true);
  });

  test('may have left a broken record, or none', async () => {
    const file = join(freshFolder(), 'child.pid');
    expect(await endStaleProcess(file)).toBe(false);
    writeFileSync(file, '{"pid":');
    expect(await endStaleProcess(file)).toBe(false);
  });
});

const binary = findDynoxide();

// dynoxide comes as a binary for some machines only
describe.runIf(binary !== undefined)('dynoxide', () => {
  test('ends with its parent, even when that is killed', async () => {
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

  test('of an earlier start that was left over all the same is ended by the next', async () => {
    const folder = freshFolder();
    const database = join(folder, 'dynamodb.sqlite');
    const leftOver = sleeper(database);
    started.push(leftOver);
    const gone = once(leftOver, 'exit');
    await once(leftOver, 'spawn');
    recordProcess(join(folder, 'dynoxide.pid'), leftOver.pid ?? 0, database);
    emulators.push(await startDynoxide(binary ?? '', folder, () => {}));
    expect((await gone)[1]).toBe('SIGKILL');
  });
});
