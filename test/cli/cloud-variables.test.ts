import { expect, test } from 'vitest';
import { cloudVariables } from '../../lib/cli/project/cloud-process.ts';

const options = { allowLocalhost: false };

test('the process of the embedded cloud has two allocation arenas', () => {
  expect(cloudVariables({ cwd: '/', env: { HOME: '/home' } }, options)).toMatchObject({ HOME: '/home', MALLOC_ARENA_MAX: '2' });
});

test('another number of arenas in the environment wins', () => {
  expect(cloudVariables({ cwd: '/', env: { MALLOC_ARENA_MAX: '8' } }, options)).toMatchObject({ MALLOC_ARENA_MAX: '8' });
});
