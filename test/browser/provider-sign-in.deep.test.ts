/** People sign in to the console with an identity provider, in a real browser and the embedded cloud. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { type TestProvider, startProvider } from '../oidc/provider.ts';
import { launchBrowser } from './chromium.ts';
import { type WatchedPage, isReachable, watchedPage } from './signed-in.ts';

let idp: TestProvider;
let cloud: InProcessCloud;
let browser: Browser;
let watched: WatchedPage;
beforeAll(async () => {
  idp = await startProvider();
  const grants = [
    { value: 'platform', keyId: 'platformteam', environment: 'local', scopes: ['admin'] },
    { value: 'support', keyId: 'supportteam1', environment: 'local', scopes: ['runs:read', 'runs:write'] },
  ];
  const oidc = { issuer: idp.issuer, clientId: idp.clientId, grants };
  [cloud, browser] = await Promise.all([startInProcessCloud({ 'stepwell:console': { oidc } }), launchBrowser()]);
  watched = await watchedPage(browser);
  watched.page.setDefaultTimeout(20_000);
});
afterAll(async () => {
  await browser.close();
  await Promise.all([cloud.stop(), idp.stop()]);
});

const auditShape = z.object({
  data: z.array(
    z.object({
      action: z.string(),
      session: z.object({ subject: z.string() }).optional(),
      metadata: z.record(z.string(), z.unknown()),
    }),
  ),
});
const audited = async () => auditShape.parse((await cloud.call('GET', '/v1/audit')).body).data;

test('a person signs in at the provider, returns to the page that they wanted, and is named', async () => {
  const { page } = watched;
  idp.person = { sub: 'bob', groups: ['support'] };
  await page.goto(`${cloud.url}/console/attention`);
  await page.getByRole('heading', { name: 'Sign in to Stepwell' }).waitFor();
  await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).waitFor();
  await isReachable(page, 'sign-in-provider');
  await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
  await page.getByRole('link', { name: 'Continue as bob' }).click();
  await page.getByRole('heading', { name: 'Attention' }).waitFor();
  await page.getByText('oidc:bob').first().waitFor();
  expect(page.url()).toBe(`${cloud.url}/console/attention`);
  // Nothing of the sign-in stays in the tab.
  expect(await page.evaluate('[sessionStorage.length, localStorage.length, document.cookie]')).toEqual([0, 0, '']);
  expect(await page.evaluate("fetch('v1/keys').then(({ status }) => status)")).toBe(403);
  expect(await audited()).toContainEqual(
    expect.objectContaining({ action: 'sessions.create', session: { subject: 'oidc:bob' } }),
  );
});

test('the answer of a sign-in that this tab did not begin is not sent', async () => {
  const other = await watchedPage(browser);
  const sent: string[] = [];
  other.page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(request.url());
  });
  await other.page.goto(`${cloud.url}/console/oidc?code=of-an-attacker&state=guessed`);
  await other.page.getByText('This tab did not begin that sign-in.').waitFor();
  expect(other.page.url()).not.toContain('code');
  expect(sent).toEqual([]);
  await isReachable(other.page, 'sign-in-not-begun');

  // It did begin one, and the answer is of another.
  await other.page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
  await other.page.getByRole('link', { name: 'Continue as bob' }).waitFor();
  await other.page.goto(`${cloud.url}/console/oidc?code=of-an-attacker&state=guessed`);
  await other.page.getByText('This tab did not begin that sign-in.').waitFor();
  expect(sent).toEqual([]);
  await other.page.context().close();
});

test('an answer works once: back and reload do not send it again', async () => {
  const other = await watchedPage(browser);
  await other.page.goto(`${cloud.url}/console/runs`);
  await other.page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
  const href = (await other.page.getByRole('link', { name: 'Continue as bob' }).getAttribute('href')) ?? '';
  await other.page.goto(href);
  await other.page.getByRole('heading', { name: 'Runs' }).waitFor();
  const tokens = idp.asked.get('/token');
  await other.page.goto(href);
  await other.page.getByText('This tab did not begin that sign-in.').waitFor();
  expect(idp.asked.get('/token')).toBe(tokens);
  await other.page.context().close();
});

test('the page says that a person has no grant, and the audit trail of the installation has the reason', async () => {
  const other = await watchedPage(browser);
  idp.person = { sub: 'eve', groups: ['guests'] };
  await other.page.goto(`${cloud.url}/console/`);
  await other.page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
  await other.page.getByRole('link', { name: 'Continue as eve' }).click();
  await other.page.getByText('no grant of this installation applies to you').waitFor();
  await isReachable(other.page, 'sign-in-not-granted');
  expect(await other.page.evaluate("fetch('v1/runs').then(({ status }) => status)")).toBe(401);
  await other.page.context().close();
});

test('the provider’s refusal is shown', async () => {
  const other = await watchedPage(browser);
  await other.page.goto(`${cloud.url}/console/`);
  await other.page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
  await other.page.getByRole('heading', { name: 'Sign in to the provider' }).waitFor();
  const state = new URL(other.page.url()).searchParams.get('state') ?? '';
  await other.page.goto(`${cloud.url}/console/oidc?error=access_denied&state=${state}`);
  await other.page.getByText('did not sign you in: access_denied').waitFor();
  await other.page.context().close();
});

test('a person gets admin by a new sign-in at the provider, as the same person with that right, and comes back to the page', async () => {
  const { page, complaints } = await watchedPage(browser);
  page.setDefaultTimeout(20_000);
  const status = () => page.evaluate("fetch('v1/keys').then(({ status }) => status)");
  const again = async (person: TestProvider['person']): Promise<void> => {
    idp.person = person;
    await page.getByRole('button', { name: 'Sign in again with 127.0.0.1' }).click();
    await page.getByRole('link', { name: `Continue as ${person.sub}` }).click();
    await page.waitForURL(`${cloud.url}/console/keys`);
  };
  idp.person = { sub: 'ada', groups: ['platform'] };
  await page.goto(`${cloud.url}/console/keys`);
  await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
  await page.getByRole('link', { name: 'Continue as ada' }).click();
  // Signing in alone gives no admin.
  await page.getByRole('heading', { name: 'This page needs the right admin' }).waitFor();
  expect(await status()).toBe(403);
  await isReachable(page, 'admin-by-provider');

  await again({ sub: 'bob', groups: ['platform'] });
  await page.getByRole('alert').waitFor();
  await isReachable(page, 'admin-other-person');
  expect(await status()).toBe(403);
  await again({ sub: 'ada', groups: ['support'] });
  await page.getByRole('alert').waitFor();
  expect(await status()).toBe(403);

  await again({ sub: 'ada', groups: ['platform'] });
  await page.getByRole('table').waitFor();
  await page.getByText('for 14 m').waitFor();
  expect(await status()).toBe(200);
  expect(await audited()).toContainEqual(
    expect.objectContaining({ action: 'sessions.raise', session: expect.objectContaining({ subject: 'oidc:ada' }) }),
  );
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('no script failed, and no page broke its policy', () => {
  expect(watched.complaints).toEqual([]);
});
