/** What tests share is made once, in whichever process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolder } from '../e2e/local-start.ts';
import { madeOnce } from './built-app.ts';

test('callers that want a folder at the same time get the one that the first of them makes', async () => {
  const folder = join(freshFolder(), 'app');
  let calls = 0;
  const make = async (making: string): Promise<void> => {
    calls += 1;
    await new Promise((resolve) => setTimeout(resolve, 100));
    writeFileSync(join(making, 'made'), String(calls));
  };
  const folders = await Promise.all([1, 2, 3].map(() => madeOnce(folder, make)));
  expect([calls, folders, readFileSync(join(folder, 'made'), 'utf8')]).toEqual([1, [folder, folder, folder], '1']);
});

test('all callers get the reason for which a folder cannot be made', async () => {
  const folder = join(freshFolder(), 'app');
  const fail = async (): Promise<void> => {
    throw new Error('no such version');
  };
  const results = await Promise.allSettled([1, 2].map(() => madeOnce(folder, fail)));
  expect(results.map((result) => String(result.status === 'rejected' ? result.reason : result.value))).toEqual([
    'Error: no such version',
    'Error: Error: no such version',
  ]);
});
