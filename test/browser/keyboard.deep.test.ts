/** The shortcuts: pages by letter, rows by j and k, the search field, the palette, and the list of the shortcuts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable } from './signed-in.ts';
import { nap } from './workflows.ts';

let signedIn: SignedIn;
let runIds: readonly string[] = [];
beforeAll(async () => {
  signedIn = await signIn();
  expect((await signedIn.local.call('POST', '/v1/workflows', nap)).status).toBe(201);
  const started: string[] = [];
  for (const key of ['one', 'two', 'three']) {
    const { body } = await signedIn.local.call(
      'POST',
      '/v1/runs',
      { workflowName: nap.name, input: {} },
      { 'idempotency-key': key },
    );
    started.push(z.object({ runId: z.string() }).parse(body).runId);
  }
  runIds = started.toReversed();
  await signedIn.watched.page.getByRole('row').nth(3).waitFor();
});
afterAll(() => signedIn.close());

const focusedHref = (): Promise<unknown> =>
  signedIn.watched.page.evaluate("document.activeElement?.getAttribute('href') ?? document.activeElement?.tagName");
const press = async (...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await signedIn.watched.page.keyboard.press(key);
};
const heading = (name: string) => signedIn.watched.page.getByRole('heading', { level: 1, name }).waitFor();

test('the question mark opens the list of the shortcuts, and Escape closes it', async () => {
  const { page } = signedIn.watched;
  await press('?');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await list.getByText('Go to a page, a workflow or a run').waitFor();
  await isReachable(page, 'shortcuts');
  await press('Escape');
  await list.waitFor({ state: 'detached' });
});

test('g and a letter go to a page', async () => {
  for (const [letter, title] of [
    ['w', 'Workflows'],
    ['a', 'Attention'],
    ['s', 'Schedules'],
    ['d', 'Deployments'],
    ['i', 'Signals'],
    ['l', 'Lenses'],
    ['q', 'Queries'],
    ['r', 'Runs'],
  ] as const) {
    await press('g', letter);
    await heading(title);
  }
});

test('j and k move in the rows, x selects one, and Enter opens it', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('row').nth(3).waitFor();
  await press('j', 'j', 'j', 'k');
  expect(await focusedHref()).toBe(`/console/runs/${runIds[1]}`);
  await isReachable(page, 'shortcut-row');
  await press('x');
  await page.getByText('1 selected').waitFor();
  expect(await page.getByRole('checkbox', { name: `Select ${runIds[1]}` }).isChecked()).toBe(true);
  await page.getByRole('checkbox', { name: `Select ${runIds[1]}` }).uncheck();
  await press('k', 'Enter');
  await page.getByText('Wait for the night sleeps').first().waitFor();
  expect(page.url()).toContain(runIds[0]);
});

test('brackets move between tabs', async () => {
  const { page } = signedIn.watched;
  await press(']');
  await expect.poll(() => page.getByRole('tab', { selected: true }).textContent()).toContain('Waterfall');
  await press('[');
  await expect.poll(() => page.getByRole('tab', { selected: true }).textContent()).toContain('Graph');
});

test('the slash focuses the search, where letters are text again', async () => {
  const { page } = signedIn.watched;
  await press('g', 'w');
  await heading('Workflows');
  await press('/');
  await page.keyboard.type('gr?j');
  expect(await page.getByRole('searchbox', { name: 'Name' }).inputValue()).toBe('gr?j');
  await heading('Workflows');
  expect(await page.getByRole('dialog').count()).toBe(0);
});

test('the palette goes to a page, to a workflow by name, and to a run by its id', async () => {
  const { page } = signedIn.watched;
  const field = page.getByRole('combobox', { name: 'Page, workflow or id of a run' });
  await press('Control+k');
  await field.fill('sched');
  await page.getByRole('option', { name: 'Schedules' }).waitFor();
  await isReachable(page, 'palette');
  await press('Enter');
  await heading('Schedules');
  await press('Control+k');
  await field.fill('nightly');
  await page.getByRole('option', { name: 'nightly-report workflow' }).waitFor();
  await press('Enter');
  await heading('nightly-report v1');
  await press('Control+k');
  await field.fill(runIds[2] ?? '');
  await press('Enter');
  await page.getByText('Wait for the night sleeps').first().waitFor();
  expect(page.url()).toContain(runIds[2]);
});

test('the palette finds workflows behind the first hundred by how their names begin', async () => {
  const { page } = signedIn.watched;
  const graph = { nodes: [{ id: 'start', type: 'start' }], edges: [] };
  for (const n of Array.from({ length: 101 }, (_, index) => index)) {
    const { status } = await signedIn.local.call('POST', '/v1/workflows', { name: `many-${n}`, ...graph });
    expect(status).toBe(201);
  }
  expect((await signedIn.local.call('POST', '/v1/workflows', { name: 'zebra-check', ...graph })).status).toBe(201);
  await page.reload();
  await page.getByText('Wait for the night sleeps').first().waitFor();
  await press('Control+k');
  const field = page.getByRole('combobox', { name: 'Page, workflow or id of a run' });
  await field.fill('many-10');
  await page.getByRole('option', { name: 'many-100 workflow' }).waitFor();
  await field.fill('zebra');
  await page.getByRole('option', { name: 'zebra-check workflow' }).waitFor();
  await isReachable(page, 'palette-searched');
  await press('Enter');
  await heading('zebra-check v1');
  await page.goBack();
  await page.getByText('Wait for the night sleeps').first().waitFor();
});

test('the arrows choose in the palette, and it says when nothing has the name', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Go to…' }).click();
  const chosen = page.getByRole('option', { selected: true });
  await expect.poll(() => chosen.textContent()).toBe('Runs page');
  await press('ArrowDown');
  await expect.poll(() => chosen.textContent()).toBe('Compare page');
  await press('ArrowUp', 'ArrowUp');
  await expect.poll(() => chosen.textContent()).not.toBe('Runs page');
  await page.keyboard.type('zzz');
  await page.getByText('Nothing has that name.').waitFor();
  await isReachable(page, 'palette-empty');
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('keys without a modifier can be turned off, and stay off after a reload', async () => {
  const { page } = signedIn.watched;
  await press('?');
  await page.getByRole('checkbox', { name: 'Keys without Ctrl or Command' }).uncheck();
  await press('Escape');
  await page.reload();
  await page.getByText('Wait for the night sleeps').first().waitFor();
  await press('g', 'w', '?');
  expect(page.url()).toContain(runIds[2]);
  expect(await page.getByRole('dialog').count()).toBe(0);
  await press('Control+k');
  await page.getByRole('combobox', { name: 'Page, workflow or id of a run' }).fill('short');
  await press('Enter');
  await page.getByRole('checkbox', { name: 'Keys without Ctrl or Command' }).check();
  await press('Escape', 'g', 'w');
  await heading('Workflows');
});

test('the palette and the list fit 320 pixels', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 320, height: 640 });
  await page.getByRole('button', { name: 'Go to…' }).click();
  await page.getByRole('option').first().waitFor();
  await isReachable(page, 'palette-narrow');
  await press('Escape', '?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await isReachable(page, 'shortcuts-narrow');
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(overflow).toBe(0);
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
