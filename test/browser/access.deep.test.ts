/** The pages of keys and of the audit trail, which need admin for a quarter of an hour. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable } from './signed-in.ts';
import { nap } from './workflows.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

const open = async (name: string): Promise<void> => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name, exact: true }).click();
};
const raise = async (text: string): Promise<void> => {
  const { page } = signedIn.watched;
  await page.getByLabel('An API key with admin').fill(text);
  await page.getByRole('button', { name: 'Get admin for 15 minutes' }).click();
};
const status = (path: string): Promise<unknown> =>
  signedIn.watched.page.evaluate(`fetch('v1/${path}').then(({ status }) => status)`);

test('the page of keys asks for admin, and refuses a key without it', async () => {
  const { page } = signedIn.watched;
  await open('Keys');
  await page.getByRole('heading', { name: 'This page needs the right admin' }).waitFor();
  await isReachable(page, 'keys-needs-admin');
  expect(await status('keys')).toBe(403);
  const weak = z
    .object({ key: z.string() })
    .parse((await signedIn.local.call('POST', '/v1/keys', { scopes: ['runs:read'] })).body);
  await raise(weak.key);
  await page.getByRole('alert').getByText('That key does not have admin.').waitFor();
  expect(await page.getByLabel('An API key with admin').inputValue()).toBe('');
  await isReachable(page, 'keys-refused');
});

test('a key with admin opens it, and its text stays nowhere in the page', async () => {
  const { page } = signedIn.watched;
  await raise(signedIn.local.apiKey);
  await page.getByRole('table').waitFor();
  await page.getByText('for 14 m').waitFor();
  expect(await page.content()).not.toContain(signedIn.local.apiKey);
  expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
  await isReachable(page, 'keys');
});

test('a key is created, shown once, and revoked', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Create a key…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await dialog.getByText('Choose at least one scope.').waitFor();
  await dialog.getByRole('checkbox', { name: 'trigger:write' }).check();
  await dialog.getByRole('checkbox', { name: 'runs:read' }).check();
  await isReachable(page, 'keys-create');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  const text = (await page.locator('pre.secret').textContent()) ?? '';
  expect(text).toMatch(/^sw_local_/);
  const works = () => fetch(`${signedIn.local.url}/v1/runs`, { headers: { authorization: `Bearer ${text}` } });
  expect((await works()).status).toBe(200);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const id = text.split('_')[2] ?? '';
  const row = page.getByRole('row').filter({ hasText: id });
  await row.getByText('trigger:write').waitFor();
  expect(await page.content()).not.toContain(text);

  await row.getByRole('button', { name: `Revoke ${id}` }).click();
  await isReachable(page, 'keys-revoke');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('checkbox', { name: 'Revoked and expired keys too' }).check();
  await row.getByText('revoked', { exact: true }).waitFor();
  expect(page.url()).toContain('all=true');
  await expect.poll(async () => (await works()).status, { timeout: 30_000 }).toBe(401);
  // The key of this session cannot be revoked here.
  expect(await page.getByRole('row').filter({ hasText: 'yours' }).getByRole('button').count()).toBe(0);
});

test('the trail names the person, and leads to the run', async () => {
  const { page } = signedIn.watched;
  await signedIn.local.call('POST', '/v1/workflows', nap);
  const started = await signedIn.local.call(
    'POST',
    '/v1/runs',
    { workflowName: nap.name, input: {} },
    { 'idempotency-key': 'one' },
  );
  const { runId } = z.object({ runId: z.string() }).parse(started.body);
  await open('Audit trail');
  const raised = page.getByRole('row').filter({ hasText: 'sessions.raise' }).filter({ hasText: 'done' });
  await raised.getByText('a person').waitFor();
  await page.getByRole('link', { name: `run/${runId}` }).waitFor();
  await isReachable(page, 'audit');
  await raised.getByText('Details').click();
  await isReachable(page, 'audit-details');
  await page.getByRole('combobox', { name: 'Action' }).fill('keys.revoke');
  await page.getByRole('combobox', { name: 'Action' }).press('Enter');
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  expect(page.url()).toContain('action=keys.revoke');
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  await expect.poll(() => page.url()).toContain('actor=key%3A');
  await page.getByRole('row').filter({ hasText: 'keys.create' }).first().waitFor();
  await page.getByRole('checkbox', { name: 'Refused only' }).check();
  await page.getByRole('row').filter({ hasText: 'missing_scope' }).first().waitFor();
  await page.goto(`${signedIn.local.url}/console/audit?action=no.such`);
  await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
  await isReachable(page, 'audit-empty');
  await page.getByRole('link', { name: 'Show all entries' }).click();
  await page.getByRole('link', { name: `run/${runId}` }).click();
  await page.getByRole('heading', { name: nap.name }).waitFor();
});

test('a link raises too, and admin is given back', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/keys`);
  await page.getByRole('button', { name: 'Give it back' }).click();
  await page.getByRole('heading', { name: 'This page needs the right admin' }).waitFor();
  expect(await status('keys')).toBe(403);
  const { link } = z.object({ link: z.string() }).parse((await signedIn.local.call('POST', '/v1/sessions/links')).body);
  await raise(`${signedIn.local.url}/console/#link=${link}`);
  await page.getByRole('table').waitFor();
});

test('the pages fit 320 pixels', async () => {
  await fitsNarrow(signedIn, ['audit', 'keys?all=true']);
  await isReachable(signedIn.watched.page, 'keys-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
