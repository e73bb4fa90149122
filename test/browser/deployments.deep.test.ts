/** The page of deployments: what each one holds, activation, roll back, and a refusal with its reasons. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { bundlePaths } from '../../lib/ports/bundles.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn, signInWithScopes } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

/** A run of it stays open: its code never says that the run has ended. */
const open = { [bundlePaths.workflow]: `export const POST = () => Response.json({});\n` };

async function create(id: string, workflows: readonly string[]): Promise<void> {
  const { manifest, archive } = await packedDeployment(id, { workflows, files: open });
  const form = new FormData();
  form.append('manifest', JSON.stringify(manifest));
  form.append('artifact', new Blob([Buffer.from(archive)], { type: 'application/gzip' }), 'artifact.tgz');
  const headers = { authorization: `Bearer ${signedIn.local.apiKey}` };
  const answer = await fetch(`${signedIn.local.url}/v1/deployments`, { method: 'POST', headers, body: form });
  expect(answer.status, await answer.text()).toBe(201);
}
const activeId = async (): Promise<string> =>
  z.looseObject({ deploymentId: z.string() }).parse((await signedIn.local.call('GET', '/v1/deployments/active')).body)
    .deploymentId;
const row = (id: string) => signedIn.watched.page.getByRole('row').filter({ hasText: id });

test('without a deployment the page says how to make one', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Deployments' }).click();
  await page.getByRole('heading', { name: 'No code is deployed yet' }).waitFor();
  await isReachable(page, 'deployments-empty');
});

test('a deployment is activated', async () => {
  const { page } = signedIn.watched;
  await create('orders-1', ['fulfil-order', 'refund']);
  await page.reload();
  await page.getByRole('button', { name: 'Activate orders-1…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Activate orders-1?' });
  await dialog.getByText('It adds the workflows fulfil-order, refund.').waitFor();
  await dialog.getByRole('button', { name: 'Activate it' }).click();
  await row('orders-1').getByText('active', { exact: true }).waitFor();
  expect(await activeId()).toBe('orders-1');
});

test('the dialog says that open runs stay on their deployment, and the list counts them', async () => {
  const { page } = signedIn.watched;
  for (const key of ['one', 'two', 'three']) {
    const started = await signedIn.local.call(
      'POST',
      '/v1/runs',
      { workflowName: 'fulfil-order', input: {} },
      { 'idempotency-key': key },
    );
    expect(started.status, JSON.stringify(started.body)).toBe(202);
  }
  await create('orders-2', ['fulfil-order', 'refund', 'returns']);
  await page.reload();
  await row('orders-1').getByRole('link', { name: 'Runs of orders-1, 3 open' }).click();
  // The head, and the three runs that the deployment executes.
  await expect.poll(() => page.getByRole('row').count()).toBe(4);
  await page.goBack();
  await page.getByRole('button', { name: 'Activate orders-2…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Activate orders-2?' });
  await dialog.getByText('3 open runs of orders-1 stay on that deployment until they end.').waitFor();
  await isReachable(page, 'deployments-activate');
  await dialog.getByRole('button', { name: 'Activate it' }).click();
  await row('orders-2').getByText('active', { exact: true }).waitFor();
  await isReachable(page, 'deployments');
});

test('an earlier deployment is active again after a roll back', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Roll back to orders-1…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Roll back to orders-1?' });
  await dialog.getByText('It removes the workflow returns.').waitFor();
  await isReachable(page, 'deployments-rollback');
  await dialog.getByRole('button', { name: 'Roll back' }).click();
  await row('orders-1').getByText('active', { exact: true }).waitFor();
  expect(await activeId()).toBe('orders-1');
});

test('a refusal names each workflow in use with its pointer, and can be overruled', async () => {
  const { page } = signedIn.watched;
  await create('orders-3', ['refund']);
  await page.reload();
  await page.getByRole('button', { name: 'Activate orders-3…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Activate orders-3?' });
  await dialog.getByRole('button', { name: 'Activate it' }).click();
  const errors = dialog.getByRole('list', { name: 'Errors' });
  await errors.getByText('workflows/fulfil-order').waitFor();
  expect(await errors.textContent()).toContain('3 open runs end on their deployment');
  await isReachable(page, 'deployments-refused');
  expect(await activeId()).toBe('orders-1');
  await dialog.getByRole('checkbox', { name: 'Remove these workflows all the same' }).check();
  await dialog.getByRole('button', { name: 'Activate it' }).click();
  await row('orders-3').getByText('active', { exact: true }).waitFor();
  expect(await activeId()).toBe('orders-3');
});

test('a deployment with open runs is not removed, and one without is', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Remove orders-1…' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('dialog').getByText('has not ended and needs the deployment').waitFor();
  await isReachable(page, 'deployments-in-use');
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  await page.getByRole('button', { name: 'Remove orders-2…' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await row('orders-2').waitFor({ state: 'detached' });
});

test('an active deployment is deactivated', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Deactivate orders-3…' }).click();
  await isReachable(page, 'deployments-deactivate');
  await page.getByRole('button', { name: 'Deactivate it' }).click();
  await page.getByRole('button', { name: 'Roll back to orders-3…' }).waitFor();
  expect((await signedIn.local.call('GET', '/v1/deployments/active')).body).toMatchObject({ code: 'no_active_deployment' });
});

test('a person who may not read or change deployments sees which scope is missing', async () => {
  const reader = await signInWithScopes(signedIn, ['runs:read']);
  await reader.page.goto(`${signedIn.local.url}/console/deployments`);
  await reader.page.getByText('This session lacks the scope deploy:read').waitFor();
  await isReachable(reader.page, 'deployments-scope');
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
  const other = await signInWithScopes(signedIn, ['runs:read', 'deploy:read']);
  await other.page.goto(`${signedIn.local.url}/console/deployments`);
  await other.page.getByRole('button', { name: 'Roll back to orders-1…' }).click();
  await other.page.getByRole('button', { name: 'Roll back', exact: true }).click();
  await other.page.getByRole('dialog').getByText('This session lacks the scope deploy:write').waitFor();
  await other.page.context().close();
});

test('a failed list can be tried again', async () => {
  const { page } = signedIn.watched;
  await page.route('**/v1/deployments?**', (route) => route.fulfill({ status: 500, json: { message: 'Something failed.' } }));
  await page.goto(`${signedIn.local.url}/console/deployments`);
  await page.getByText('Something failed.').waitFor();
  await page.unroute('**/v1/deployments?**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await row('orders-1').waitFor();
});

test('the page fits 320 pixels', async () => {
  const { page } = signedIn.watched;
  await fitsNarrow(signedIn, ['deployments']);
  await row('orders-1').waitFor();
  await isReachable(page, 'deployments-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
