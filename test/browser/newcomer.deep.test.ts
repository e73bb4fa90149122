/** The way of a newcomer, with the printed link alone: draw, test, publish, run, find a failure, repair it, roll back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SignedIn, signIn, typeOver } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

const panel = (id: string) => signedIn.watched.page.getByRole('complementary', { name: `Node ${id}` });

test('a workflow is drawn, and tested with a pin', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('link', { name: 'Workflows' }).click();
  await page.getByRole('button', { name: 'New workflow…' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('ship');
  await page.getByRole('button', { name: 'Open the editor' }).click();
  const add = (type: string) =>
    page.getByRole('region', { name: 'Add a node' }).getByRole('button', { name: type, exact: true }).click();
  await add('Start');
  await add('Script');
  await typeOver(panel('script').getByRole('textbox', { name: 'Code' }), "return { receipt: 'r-' + ctx.input.order }");
  await add('Script');
  await typeOver(
    panel('script2').getByRole('textbox', { name: 'Code' }),
    "return ctx.script.receipt + ' to ' + ctx.input.adress.city",
  );
  await add('End');
  await page.getByRole('group', { name: 'script, javascript' }).click();
  await panel('script').getByRole('button', { name: 'Pin an output for tests' }).click();
  await page.getByRole('button', { name: 'Test…' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Input' }).fill('{"adress": {"city": "Bergen"}}');
  await page.getByRole('button', { name: 'Run the test' }).click();
  await page.getByRole('list', { name: 'Nodes of the test' }).getByText('pinned').waitFor();
  await isReachable(page, 'newcomer-test');
});

test('it is published and run, and its failure is found', async () => {
  const { page } = signedIn.watched;
  await page.getByText('draft saved').waitFor();
  await page.getByRole('button', { name: 'Publish…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByText('v1 is published').waitFor();
  await page.getByRole('button', { name: 'Start a run…' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Input' }).fill('{"order": 17, "address": {"city": "Bergen"}}');
  await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText('script2, attempt').first().waitFor({ timeout: 40_000 });
  await isReachable(page, 'newcomer-failure');
});

test('it is corrected, and the failed run continues from its node on the next version', async () => {
  const { page } = signedIn.watched;
  const failed = page.url();
  await page.goto(`${signedIn.local.url}/console/workflows/ship/edit`);
  await page.getByRole('group', { name: 'script2, javascript' }).click();
  await typeOver(
    panel('script2').getByRole('textbox', { name: 'Code' }),
    "return ctx.script.receipt + ' to ' + ctx.input.address.city",
  );
  await page.getByText('draft saved').waitFor();
  await page.getByRole('button', { name: 'Publish…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByText('v2 is published').waitFor();
  await page.goto(failed);
  await page.getByRole('button', { name: 'Run again from here…' }).first().click();
  await page.getByRole('dialog').getByRole('spinbutton', { name: 'Version' }).fill('2');
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await page.locator('.pill', { hasText: 'completed' }).waitFor();
  await isReachable(page, 'newcomer-repaired');
});

test('the first version is published again', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/workflows/ship?version=1`);
  await page.getByRole('button', { name: 'Publish v1 again…' }).click();
  await page.getByRole('button', { name: 'Publish it as v3' }).click();
  await page.getByRole('heading', { name: 'ship v3' }).waitFor();
  expect(signedIn.watched.complaints).toEqual([]);
});
