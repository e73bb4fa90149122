/** The page of the settings: what the deployment of the embedded cloud has, without secrets. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable, watchedPage } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

test('it has the version, the limits and what is on', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await page.getByRole('table', { name: 'Limits' }).waitFor();
  await page.getByRole('row', { name: 'requireHttps off' }).waitFor();
  await page.getByRole('row', { name: 'workerTimeoutSeconds 900' }).waitFor();
  await isReachable(page, 'settings');
  const text = (await page.getByRole('main').textContent()) ?? '';
  expect(text).toContain('0.1.0');
  expect(text).not.toMatch(/arn:|sw_|secret:/);
});

test('without deploy:read it says which scope is missing', async () => {
  const created = await signedIn.local.call('POST', '/v1/keys', { scopes: ['runs:read'] });
  const { key } = z.object({ key: z.string() }).parse(created.body);
  const other = await watchedPage(signedIn.browser);
  await other.page.goto(`${signedIn.local.url}/console/settings`);
  await other.page.getByLabel('Or sign in with an API key').fill(key);
  await other.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await other.page.getByRole('alert').getByText('deploy:read').first().waitFor();
  await isReachable(other.page, 'settings-missing-scope');
  await other.page.context().close();
});

test('it fits 320 pixels', async () => {
  await fitsNarrow(signedIn, ['settings']);
  await isReachable(signedIn.watched.page, 'settings-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
