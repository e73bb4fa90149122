/** `catalogue` and `installation`. */
import { expect, test } from 'vitest';
import { catalogueResponse, installationResponse } from '../../lib/api/schemas/installation.ts';
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

test('installation shows the version and each setting by its name', async () => {
  const operator = await createCliEnvironment().cliWithScopes(['deploy:read']);
  const { exitCode, out } = await operator.type('installation');
  expect(exitCode).toBe(0);
  expect(out).toMatch(/^Stepwell 1\.2\.3 in eu-west-1$/m);
  expect(out).toMatch(/^retentionDays +30$/m);
  expect(out).toMatch(/^watchers +no limit$/m);
  expect(out).toMatch(/^traces +off$/m);
  expect(out).toMatch(/^runEvents +failed$/m);
  expect(out).toMatch(/^secrets +stripe, shared$/m);
  expect(dataIn(await operator.type('--json', 'installation'), installationResponse)).toMatchObject({ version: '1.2.3' });
  const author = await createCliEnvironment().cliWithScopes(['workflows:read']);
  expect(errorIn(await author.type('--json', 'installation')).code).toBe('missing_scope');
});
