/** `catalogue`. */
import { expect, test } from 'vitest';
import { catalogueResponse } from '../../lib/api/schemas/installation.ts';
import { createCliEnvironment, dataIn, errorIn } from './test-cli.ts';

test('catalogue lists the names that workflows of the project can use', async () => {
  const author = await createCliEnvironment().cliWithScopes(['workflows:read']);
  const shown = await author.type('catalogue');
  expect(shown.exitCode).toBe(0);
  expect(shown.out).toMatch(/^secret +stripe +\{\{secret:stripe\}\}$/m);
  expect(shown.out).toMatch(/^model +fast *$/m);
  expect(dataIn(await author.type('--json', 'catalogue'), catalogueResponse)).toEqual({
    secrets: ['stripe', 'shared'],
    models: ['fast'],
    databases: [],
  });
});

test('catalogue names the scope that a key lacks', async () => {
  const reader = await createCliEnvironment().cliWithScopes(['runs:read']);
  const refused = await reader.type('--json', 'catalogue');
  expect([refused.exitCode, errorIn(refused).code]).toEqual([1, 'missing_scope']);
});
