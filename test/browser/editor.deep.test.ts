/** The editor in Chromium: a workflow is drawn with the palette and the outline, and its findings lead to their places. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SignedIn, signIn, typeOver } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

test('a new workflow is drawn: each node is added behind the selected one', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('link', { name: 'Workflows' }).click();
  await page.getByRole('button', { name: 'New workflow…' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('quote');
  await page.getByRole('button', { name: 'Open the editor' }).click();
  const palette = page.getByRole('region', { name: 'Add a node' });
  for (const type of ['Start', 'Script', 'Condition', 'End'])
    await palette.getByRole('button', { name: type, exact: true }).click();
  await page.getByRole('group', { name: 'end, end' }).waitFor();
  await expect.poll(() => page.locator('.react-flow__edge').count()).toBe(3);
  await page.getByRole('group', { name: 'condition, condition' }).click();
  await page.getByRole('complementary', { name: 'Node condition' }).waitFor();
  await isReachable(page, 'editor-canvas');
  await page.getByRole('button', { name: 'Arrange' }).click();
  await page.getByRole('group', { name: 'script, javascript' }).click();
  await isReachable(page, 'editor-script');
});

test('a finding is shown at its field, and leads there from the list', async () => {
  const { page } = signedIn.watched;
  const panel = page.getByRole('complementary', { name: 'Node script' });
  await typeOver(panel.getByRole('textbox', { name: 'Code' }), 'return ctx.nothing');
  await page.getByText('1 warning').click();
  await page.getByRole('list', { name: 'Findings' }).getByText('no node writes ctx.nothing').waitFor();
  await typeOver(panel.getByRole('textbox', { name: 'Code' }), 'return (');
  await page.getByText('1 error').first().waitFor();
  await page.getByRole('button', { name: 'Outline' }).click();
  await page.getByRole('button', { name: /^end/ }).first().click();
  await page.getByRole('list', { name: 'Findings' }).getByRole('button').click();
  await panel.getByText('Unexpected').first().waitFor();
  await isReachable(page, 'editor-findings');
});

test('undo and redo take back and repeat what was typed, by keys too', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Undo' }).click();
  const code = page.getByRole('complementary', { name: 'Node script' }).getByRole('textbox', { name: 'Code' });
  await expect.poll(() => code.textContent()).not.toBe('return (');
  await page.getByRole('button', { name: 'Outline' }).focus();
  await page.keyboard.press('Control+Shift+z');
  await expect.poll(() => code.textContent()).toBe('return (');
  await typeOver(code, 'return ctx.input');
});

test('the outline connects, selects and removes without a pointer', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('combobox', { name: 'Handle of script' }).selectOption('error');
  await page.getByRole('combobox', { name: 'Connect script to' }).selectOption('end');
  await page.getByRole('button', { name: /^error\s+end$/ }).click();
  await page.getByRole('complementary', { name: 'Edge' }).waitFor();
  await isReachable(page, 'editor-outline');
  await page.getByRole('combobox', { name: 'Only if the value is' }).selectOption('equals');
  await page.getByRole('textbox', { name: 'Compared with' }).fill('7');
  await page.getByRole('button', { name: 'JSON' }).click();
  await expect.poll(() => page.getByRole('textbox', { name: 'The definition as JSON' }).inputValue()).toContain('"value": 7');
  await isReachable(page, 'editor-json');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
