/** The way of a newcomer, with the printed link alone: draw, test, publish, run, find a failure, repair it, roll back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { blocksIn } from '../e2e/documents.ts';
import { type SignedIn, signIn, typeOver } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  signedIn = await signIn();
});
afterAll(() => signedIn.close());

const panel = (id: string) => signedIn.watched.page.getByRole('complementary', { name: `Node ${id}` });

/** What a person sees, for docs/CONSOLE.md, and that everybody can use it. */
const step = (name: string) => isReachable(signedIn.watched.page, `newcomer-${name}`);

/** `ship.json` of docs/TUTORIAL.md */
function tutorialWorkflow(): { readonly name: string } {
  const block = blocksIn('docs/TUTORIAL.md').find(({ lines }) => lines.includes('cat > ship.json'));
  return z
    .looseObject({ name: z.string() })
    .parse(JSON.parse(/<<'JSON'\n(.*?)\nJSON\n/s.exec(block?.lines ?? '')?.[1] ?? 'null'));
}

/** Adds a script behind the selected node. */
async function addScript(id: string, output: string, code: string): Promise<void> {
  await add('Script');
  const form = panel('script');
  await typeOver(form.getByRole('textbox', { name: 'Code' }), code);
  await form.getByRole('textbox', { name: 'Output variable' }).fill(output);
  await form.getByRole('textbox', { name: 'Id', exact: true }).fill(id);
  await form.getByRole('textbox', { name: 'Id', exact: true }).press('Enter');
  await panel(id).waitFor();
}

const add = (type: string): Promise<void> =>
  signedIn.watched.page.getByRole('region', { name: 'Add a node' }).getByRole('button', { name: type, exact: true }).click();

test('the order workflow of the tutorial is drawn', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('link', { name: 'Workflows' }).click();
  await page.getByRole('button', { name: 'New workflow…' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('ship');
  await step('1-new');
  await page.getByRole('button', { name: 'Open the editor' }).click();
  await add('Start');
  await addScript('charge', 'payment', "return { receipt: 'r-' + ctx.input.order }");
  await addScript('label', 'label', "return ctx.payment.receipt + ' to ' + ctx.input.adress.city");
  await panel('label').getByText('Retries, timeout, joins').click();
  await panel('label').getByRole('spinbutton', { name: 'Attempts' }).fill('1');
  await add('End');
  // A form begins at its top, however far the one before was scrolled.
  await expect.poll(() => panel('end').evaluate(({ scrollTop }) => scrollTop)).toBe(0);
  await panel('end').getByRole('button', { name: '+ output' }).click();
  await panel('end').getByRole('textbox', { name: 'Name' }).fill('label');
  await panel('end').getByRole('textbox', { name: 'Source variable' }).fill('{{ctx.label}}');
  await page.getByText('draft saved').waitFor();
  await page.getByRole('group', { name: 'label, javascript' }).click();
  await step('2-drawn');
  const { name, ...definition } = tutorialWorkflow();
  const draft = async (): Promise<unknown> => (await signedIn.local.call('GET', '/v1/workflows/ship/draft')).body;
  await expect.poll(draft).toMatchObject({ name, definition });
});

test('a test with a pinned result does not charge', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('group', { name: 'charge, javascript' }).click();
  await panel('charge').getByRole('button', { name: 'Pin an output for tests' }).click();
  await panel('charge').getByRole('textbox', { name: 'Pinned output' }).fill('{"receipt": "r-0"}');
  await page.getByRole('button', { name: 'Test…' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Input' }).fill('{"adress": {"city": "Bergen"}}');
  await step('3-pin');
  await page.getByRole('button', { name: 'Run the test' }).click();
  const results = page.getByRole('list', { name: 'Nodes of the test' });
  await results.getByText('pinned').waitFor();
  await page.getByText('r-0 to Bergen').first().waitFor();
  await step('4-tested');
});

test('it is published and run, and its page shows the cause of the failure', async () => {
  const { page } = signedIn.watched;
  await publish('5-publish');
  await page.getByText('v1 is published').waitFor();
  await page.getByRole('button', { name: 'Start a run…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Input' }).fill('{"order": 17, "address": {"city": "Bergen"}}');
  await step('6-start');
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  const reason = page.getByRole('status').filter({ hasText: 'label, attempt 1' });
  await reason.getByText("cannot read property 'city'").waitFor();
  await reason.getByRole('button', { name: 'Show label' }).click();
  await panel('label').getByRole('listitem').first().waitFor();
  await step('7-failed');
});

test('it is corrected, and the failed run continues from its node on the next version', async () => {
  const { page } = signedIn.watched;
  const failed = page.url();
  await page.goto(`${signedIn.local.url}/console/workflows/ship/edit`);
  await page.getByRole('group', { name: 'label, javascript' }).click();
  await typeOver(
    panel('label').getByRole('textbox', { name: 'Code' }),
    "return ctx.payment.receipt + ' to ' + ctx.input.address.city",
  );
  await page.getByText('draft saved').waitFor();
  await publish('8-corrected');
  await page.getByText('v2 is published').waitFor();
  await page.goto(failed);
  await page.getByRole('button', { name: 'Run again from here…' }).first().click();
  await page.getByRole('dialog').getByRole('spinbutton', { name: 'Version' }).fill('2');
  await step('9-rerun');
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await page.locator('.pill', { hasText: 'completed' }).waitFor();
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByText('r-17 to Bergen').first().waitFor();
  await step('10-repaired');
});

test('the first version is published again', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/workflows/ship?version=1`);
  await page.getByRole('button', { name: 'Publish v1 again…' }).click();
  await step('11-roll-back');
  await page.getByRole('button', { name: 'Publish it as v3' }).click();
  await page.getByRole('heading', { name: 'ship v3' }).waitFor();
  await step('12-rolled-back');
  expect(signedIn.watched.complaints).toEqual([]);
});

/** @param name of the picture of the dialog */
async function publish(name: string): Promise<void> {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Publish…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).waitFor();
  await step(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
}
