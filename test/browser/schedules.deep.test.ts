/** The pages of schedules: create one with a preview of its due times, run it now, change, pause and delete it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn, signInWithScopes } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

const report = {
  name: 'report',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'end', type: 'end' },
  ],
  edges: [{ source: 'start', target: 'end' }],
};

const scheduleShape = z.looseObject({
  scheduleId: z.string(),
  cron: z.string().optional(),
  rate: z.string().optional(),
  timeZone: z.string().optional(),
  paused: z.boolean(),
  input: z.unknown(),
  overlap: z.string(),
  nextRunAt: z.string().optional(),
});
const stored = async (id: string) => scheduleShape.parse((await signedIn.local.call('GET', `/v1/schedules/${id}`)).body);

test('the menu leads to the schedules, which say how to create one', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await isReachable(page, 'areas-menu');
  await page.getByRole('link', { name: 'Schedules' }).click();
  await page.getByRole('heading', { name: 'No schedule exists yet' }).waitFor();
  await page.getByRole('link', { name: 'Schedules' }).waitFor({ state: 'hidden' });
  await isReachable(page, 'schedules-empty');
});

test('a new schedule shows what is wrong with it, and its next ten due times, before it exists', async () => {
  const { page } = signedIn.watched;
  expect((await signedIn.local.call('POST', '/v1/workflows', report)).status).toBe(201);
  await page.getByRole('button', { name: 'New schedule…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New schedule' });
  await dialog.getByLabel('Id').fill('nightly');
  await dialog.getByLabel('Workflow').fill('report');
  await dialog.getByLabel('Input of each run, as JSON').fill('{"lines": 5}');
  await dialog.getByLabel('Cron', { exact: true }).fill('0 25 * * *');
  await dialog.getByText('cron the field hours').waitFor();
  await isReachable(page, 'schedule-invalid');
  await dialog.getByLabel('Cron', { exact: true }).fill('0 3 * * 1-5');
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  const times = dialog.getByRole('list', { name: 'Next due times' }).getByRole('listitem');
  await expect.poll(() => times.count()).toBe(10);
  for (const text of await times.allTextContents()) expect(text).toMatch(/^(Mon|Tue|Wed|Thu|Fri), .*03:00/);
  await isReachable(page, 'schedule-new');
  await dialog.getByRole('button', { name: 'Create it' }).click();
  await page.getByRole('heading', { name: 'nightly' }).waitFor();
  await expect
    .poll(() => stored('nightly'))
    .toMatchObject({ cron: '0 3 ? * MON-FRI *', timeZone: 'Europe/Berlin', input: { lines: 5 } });
});

test('the due times of its page begin with the one that the server has', async () => {
  const { page } = signedIn.watched;
  const first = page.getByRole('region', { name: 'Next' }).locator('time').first();
  expect(await first.getAttribute('datetime')).toBe((await stored('nightly')).nextRunAt);
  expect(await page.getByRole('region', { name: 'Next' }).getByRole('listitem').count()).toBe(10);
  await isReachable(page, 'schedule');
});

test('a run now has the input of the schedule', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Run now…' }).click();
  await isReachable(page, 'schedule-run-now');
  await page.getByRole('button', { name: 'Start a run' }).click();
  await page.getByRole('heading', { name: 'report', exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByText('lines').first().waitFor();
  await page.goBack();
  await page.goBack();
});

test('a schedule is paused, resumed and changed', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/schedules/nightly`);
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('button', { name: 'Pause it' }).click();
  await page.locator('.pill', { hasText: 'paused' }).waitFor();
  await page.getByRole('heading', { name: 'Next, if it is resumed now' }).waitFor();
  expect(await stored('nightly')).toMatchObject({ paused: true });
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('button', { name: 'Resume it' }).click();
  await page.locator('.pill', { hasText: 'enabled' }).waitFor();
  await page.getByRole('button', { name: 'Edit…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit nightly' });
  await dialog.getByRole('button', { name: 'Rate' }).click();
  await dialog.getByLabel('Every').fill('90 minutes');
  await dialog.getByLabel('While a run of the schedule is open').selectOption('allow');
  await dialog.getByRole('button', { name: 'Save it' }).click();
  await page.getByText('every 90 minutes').waitFor();
  const changed = await stored('nightly');
  expect(changed).toMatchObject({ rate: '90 minutes', overlap: 'allow', input: { lines: 5 } });
  expect(changed.cron).toBeUndefined();
  const first = page.getByRole('region', { name: 'Next' }).locator('time').first();
  await expect.poll(() => first.getAttribute('datetime')).toBe(changed.nextRunAt);
});

test('what the server refuses is shown with its pointer, and the dialog stays open', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Edit…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit nightly' });
  await dialog.getByLabel('Version').fill('9');
  await dialog.getByRole('button', { name: 'Save it' }).click();
  await dialog.getByText('/version').waitFor();
  await isReachable(page, 'schedule-refused');
  await dialog.getByRole('button', { name: 'Back' }).click();
});

test('a run now of a schedule that is pinned starts its version', async () => {
  const { page, local } = { page: signedIn.watched.page, local: signedIn.local };
  const { name: _name, ...next } = report;
  expect((await local.call('POST', '/v1/workflows/report/versions', next)).status).toBe(201);
  const pinned = { scheduleId: 'pinned', workflowName: 'report', version: 1, rate: '1 day', paused: true, input: { lines: 1 } };
  expect((await local.call('POST', '/v1/schedules', pinned)).status).toBe(201);
  await page.goto(`${local.url}/console/schedules/pinned`);
  await page.getByRole('button', { name: 'Run now…' }).click();
  await page.getByText('it starts v1').waitFor();
  await isReachable(page, 'schedule-run-pinned');
  await page.getByRole('button', { name: 'Start a run' }).click();
  await page.getByRole('heading', { name: 'report', exact: true }).waitFor();
  const started = await local.call('GET', '/v1/runs?workflowName=report&version=1&limit=1');
  expect(page.url()).toContain(z.object({ data: z.tuple([z.object({ runId: z.string() })]) }).parse(started.body).data[0].runId);
  expect((await local.call('DELETE', '/v1/schedules/pinned')).status).toBe(200);
  await page.goto(`${local.url}/console/schedules/nightly`);
});

test('the list has each schedule, and its filter is in the address', async () => {
  const { page } = signedIn.watched;
  const created = await signedIn.local.call('POST', '/v1/schedules', {
    scheduleId: 'monthly',
    workflowName: 'report',
    cron: '0 6 1 * *',
    paused: true,
  });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  await page.getByRole('link', { name: 'Schedules' }).first().click();
  await page.getByRole('row').filter({ hasText: 'monthly' }).getByText('paused').waitFor();
  await page.getByRole('row').filter({ hasText: 'nightly' }).getByText('enabled').waitFor();
  await isReachable(page, 'schedules');
  await page.getByRole('searchbox').fill('month');
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  expect(new URL(page.url()).search).toBe('?name=month');
  await page.getByRole('searchbox').fill('none');
  await page.getByText('No schedule matches').waitFor();
});

test('a person who may not change schedules sees which scope is missing', async () => {
  const reader = await signInWithScopes(signedIn, ['runs:read']);
  await reader.page.goto(`${signedIn.local.url}/console/schedules`);
  await reader.page.getByText('This session lacks the scope workflows:read').waitFor();
  await isReachable(reader.page, 'schedules-scope');
  await reader.page.goto(`${signedIn.local.url}/console/schedules/nightly`);
  await reader.page.getByText('This session lacks the scope workflows:read').waitFor();
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
});

test('a failed list can be tried again', async () => {
  const { page } = signedIn.watched;
  await page.route('**/v1/schedules**', (route) =>
    route.fulfill({ status: 500, json: { code: 'internal', message: 'Something failed.', recovery: 'Try again.' } }),
  );
  await page.goto(`${signedIn.local.url}/console/schedules`);
  await page.getByText('Something failed.').waitFor();
  await isReachable(page, 'schedules-error');
  await page.unroute('**/v1/schedules**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('row').filter({ hasText: 'monthly' }).waitFor();
});

test('a schedule is deleted, and its page says so', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('link', { name: 'monthly' }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await isReachable(page, 'schedule-delete');
  await page.getByRole('button', { name: 'Delete the schedule' }).click();
  await page.getByRole('heading', { name: 'Schedules' }).waitFor();
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  await page.goto(`${signedIn.local.url}/console/schedules/monthly`);
  await page.getByText('The resource does not exist.').waitFor();
});

test('the pages fit 320 pixels', async () => {
  const { page } = signedIn.watched;
  await fitsNarrow(signedIn, ['schedules', 'schedules/nightly']);
  await isReachable(page, 'schedule-narrow');
  await page.getByRole('button', { name: 'Edit…' }).click();
  await page.getByRole('dialog', { name: 'Edit nightly' }).waitFor();
  const sizes = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog'))";
  expect(await page.evaluate(sizes), 'the dialog').toBe(0);
  await isReachable(page, 'schedule-edit-narrow');
  await page.goto(`${signedIn.local.url}/console/schedules`);
  await page.getByRole('row').nth(1).waitFor();
  await isReachable(page, 'schedules-narrow');
  await page.getByRole('button', { name: 'More' }).click();
  await isReachable(page, 'areas-menu-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
