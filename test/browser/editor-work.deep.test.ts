/** Work in the editor: drafts, a test with a pin, publishing, two authors at once, and unsaved changes that survive. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { preparedFolder } from '../e2e/local-start.ts';
import { type SignedIn, signIn, signInWithScopes, typeOver } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let signedIn: SignedIn;
beforeAll(async () => {
  const directory = preparedFolder();
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ 'mail.api-key': 'not-shown' }), { mode: 0o600 });
  signedIn = await signIn(directory);
});
afterAll(() => signedIn.close());

const script = (id: string, code: string) => ({ id, type: 'javascript', config: { code, outputVariable: id } });
const quote = (price: string, tax: string) => ({
  nodes: [
    { id: 'start', type: 'start' },
    script('price', price),
    script('tax', tax),
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'total', sourceVariable: '{{ctx.tax}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'price' },
    { source: 'price', target: 'tax' },
    { source: 'tax', target: 'end' },
  ],
});
const node = (id: string) => signedIn.watched.page.getByRole('group', { name: `${id}, javascript` });
const panel = (id: string) => signedIn.watched.page.getByRole('complementary', { name: `Node ${id}` });
const code = (id: string) => panel(id).getByRole('textbox', { name: 'Code' });
const edit = async (name: string): Promise<void> => {
  await signedIn.watched.page.goto(`${signedIn.local.url}/console/workflows/${name}/edit`);
  await node('price').waitFor();
};
const draftShape = z.looseObject({
  definition: z.looseObject({ nodes: z.array(z.looseObject({ id: z.string(), config: z.unknown() })) }),
});
const versionShape = z.looseObject({ version: z.int() });

test('a change is saved as a draft, which the next visit continues', async () => {
  const { page } = signedIn.watched;
  const created = await signedIn.local.call('POST', '/v1/workflows', {
    name: 'quote',
    ...quote('return 10', 'return ctx.price * 2'),
  });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  await edit('quote');
  await page.getByText('no changes').waitFor();
  await node('price').click();
  await typeOver(code('price'), 'return 20');
  await page.getByText('draft saved').waitFor();
  await edit('quote');
  await node('price').click();
  await expect.poll(() => code('price').textContent()).toBe('return 20');
});

test('a test runs the draft with a pinned output, and shows each node', async () => {
  const { page } = signedIn.watched;
  await panel('price').getByRole('button', { name: 'Pin an output for tests' }).click();
  await panel('price').getByRole('textbox', { name: 'Pinned output' }).fill('7');
  await page.getByRole('button', { name: 'Test…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Test what you see' });
  await dialog.getByText('Pinned, so they do not run: price').waitFor();
  await isReachable(page, 'editor-test');
  await dialog.getByRole('button', { name: 'Run the test' }).click();
  const nodes = page.getByRole('list', { name: 'Nodes of the test' });
  await nodes.getByText('14').first().waitFor();
  await nodes.getByText('pinned').waitFor();
  await page.getByRole('group', { name: 'tax, javascript, completed' }).waitFor();
  await isReachable(page, 'editor-tested');
  await page.getByRole('button', { name: 'Delete this test' }).click();
  await expect
    .poll(async () => JSON.stringify((await signedIn.local.call('GET', '/v1/runs?includeTests=true')).body), {
      timeout: 30_000,
    })
    .toContain('"data":[]');
});

test('a pin is part of the draft, so the next visit of any browser has it', async () => {
  const { page } = signedIn.watched;
  await page.getByText('draft saved').waitFor();
  const draft = async () => (await signedIn.local.call('GET', '/v1/workflows/quote/draft')).body;
  await expect.poll(draft).toMatchObject({ pinned: { price: { output: 7 } } });
  const other = await signInWithScopes(signedIn, ['runs:read', 'payloads:read', 'workflows:read', 'workflows:write']);
  await other.page.goto(`${signedIn.local.url}/console/workflows/quote/edit`);
  await other.page.getByRole('group', { name: 'price, javascript' }).click();
  const pin = other.page.getByRole('complementary', { name: 'Node price' }).getByRole('textbox', { name: 'Pinned output' });
  expect(await pin.inputValue()).toBe('7');
  await pin.fill('8');
  await expect.poll(draft).toMatchObject({ pinned: { price: { output: 8 } }, updatedBy: expect.stringContaining('key:') });
  await isReachable(other.page, 'editor-pin-kept');
  await other.page.context().close();
  // This page has read the revision before. Its next change is a conflict, for pins too.
  await panel('price').getByRole('textbox', { name: 'Pinned output' }).fill('9');
  await page.getByText('another author saved a draft').waitFor();
  await page.getByRole('button', { name: 'Choose…' }).click();
  await page.getByRole('button', { name: 'Take the saved draft' }).click();
  await node('price').click();
  await expect.poll(() => panel('price').getByRole('textbox', { name: 'Pinned output' }).inputValue()).toBe('8');
  await page.getByRole('button', { name: 'Remove the pin' }).click();
  await expect.poll(async () => JSON.stringify(await draft())).toContain('"pinned":{}');
});

test('an edge gets another target by keyboard and by pointer, each undone in one step', async () => {
  const { page } = signedIn.watched;
  await edit('quote');
  const edges = async () => {
    await page.getByText('draft saved').waitFor();
    const { body } = await signedIn.local.call('GET', '/v1/workflows/quote/draft');
    const shape = z.looseObject({
      definition: z.looseObject({ edges: z.array(z.looseObject({ source: z.string(), target: z.string() })) }),
    });
    return shape.parse(body).definition.edges.map(({ source, target }) => `${source} ${target}`);
  };
  const whole = ['start price', 'price tax', 'tax end'];
  const moved = ['start price', 'price end', 'tax end'];
  expect(await edges()).toEqual(whole);
  await page.getByRole('button', { name: 'Outline' }).click();
  const ofPrice = page.getByRole('list', { name: 'Edges of price' });
  await ofPrice
    .getByRole('button', { name: /output.*tax/ })
    .first()
    .focus();
  await page.keyboard.press('Enter');
  const target = page.getByRole('combobox', { name: 'To', exact: true });
  await target.waitFor();
  await isReachable(page, 'editor-edge');
  await target.focus();
  await page.keyboard.type('end');
  await expect.poll(edges).toEqual(moved);
  await page.getByRole('heading', { name: 'Edge' }).click();
  await page.keyboard.press('Control+z');
  await expect.poll(edges).toEqual(whole);

  await page.getByRole('button', { name: 'Canvas' }).click();
  const end = page.getByRole('group', { name: 'end, end' });
  await end.waitFor();
  const anchor = page.locator('[data-testid="rf__edge-1"] .react-flow__edgeupdater-target');
  const [from, to] = [await anchor.boundingBox(), await end.locator('.react-flow__handle.target').boundingBox()];
  if (from === null || to === null) throw new Error('the edge has no end that one can drag');
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x - 30, to.y, { steps: 8 });
  await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 4 });
  await page.mouse.up();
  await expect.poll(edges).toEqual(moved);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(edges).toEqual(whole);
});

test('a script completes the names that earlier nodes write', async () => {
  const { page } = signedIn.watched;
  await node('tax').click();
  await page.locator('.cm-content').first().waitFor();
  await typeOver(code('tax'), 'return ctx');
  await page.keyboard.type('.');
  await page.getByRole('option', { name: 'price' }).waitFor();
  await isReachable(page, 'editor-completion');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.keyboard.type(' * 2');
  await expect.poll(() => code('tax').textContent()).toBe('return ctx.price * 2');
  await page.getByText('draft saved').waitFor();
});

test('the draft is published with a note, as the next version', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'Publish…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Publish v2 of quote' });
  await dialog.getByText('/config/code').waitFor();
  await dialog.getByRole('textbox', { name: 'Note' }).fill('dearer');
  await isReachable(page, 'editor-publish');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await page.getByText('v2 is published').waitFor();
  const { body } = await signedIn.local.call('GET', '/v1/workflows/quote/versions');
  expect(JSON.stringify(body)).toContain('dearer');
  expect((await signedIn.local.call('GET', '/v1/workflows/quote/draft')).status).toBe(404);
});

test('a version that was published meanwhile is merged by node', async () => {
  const { page } = signedIn.watched;
  const published = await signedIn.local.call('POST', '/v1/workflows/quote/versions', quote('return 30', 'return ctx.price * 5'));
  expect(versionShape.parse(published.body).version).toBe(3);
  await node('price').click();
  await typeOver(code('price'), 'return 40');
  await page.getByRole('button', { name: 'Publish…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  const dialog = page.getByRole('dialog', { name: 'v3 was published meanwhile' });
  await dialog.getByText('1 part was changed on both sides').waitFor();
  await isReachable(page, 'editor-merge');
  await dialog.getByRole('button', { name: 'Publish over v3' }).click();
  await page.getByText('v4 is published').waitFor();
  const text = JSON.stringify((await signedIn.local.call('GET', '/v1/workflows/quote?version=4')).body);
  expect(text).toContain('return 40');
  expect(text).toContain('ctx.price * 5');
});

test('a save that a publication overtook is no conflict, and the next change is saved', async () => {
  const { page } = signedIn.watched;
  await node('price').click();
  await typeOver(code('price'), 'return 44');
  await page.getByText('draft saved').waitFor();
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  await page.route('**/draft', async (route) => {
    if (route.request().method() !== 'POST' || isHeld) return route.continue();
    isHeld = true;
    await held.promise;
    return route.continue();
  });
  await typeOver(code('price'), 'return 45');
  await expect.poll(() => isHeld).toBe(true);
  await page.getByRole('button', { name: 'Publish…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByText('v5 is published').waitFor();
  const answered = page.waitForResponse(
    (response) => response.url().endsWith('/draft') && response.request().method() === 'POST',
  );
  held.resolve();
  await answered;
  await page.unroute('**/draft');
  await node('price').click();
  await typeOver(code('price'), 'return 46');
  await page.getByText('draft saved').waitFor();
  const draft = async () => JSON.stringify((await signedIn.local.call('GET', '/v1/workflows/quote/draft')).body);
  await expect.poll(draft).toContain('return 46');
});

test('a draft that another author saved is not overwritten unasked', async () => {
  const { page } = signedIn.watched;
  await node('price').click();
  await typeOver(code('price'), 'return 50');
  await page.getByText('draft saved').waitFor();
  const { body } = await signedIn.local.call('GET', '/v1/workflows/quote/draft');
  const { revision } = z.looseObject({ revision: z.int() }).parse(body);
  const other = await signedIn.local.call('POST', '/v1/workflows/quote/draft', {
    definition: { ...quote('return 60', 'return 1'), options: {} },
    revision,
    basedOn: 5,
  });
  expect(other.status, JSON.stringify(other.body)).toBe(200);
  await typeOver(code('price'), 'return 51');
  await page.getByText('another author saved a draft').waitFor();
  await page.getByRole('button', { name: 'Choose…' }).click();
  await isReachable(page, 'editor-conflict');
  await page.getByRole('button', { name: 'Take the saved draft' }).click();
  await node('price').click();
  await expect.poll(() => code('price').textContent()).toBe('return 60');
});

test('leaving unsaved work asks, and its copy is offered on return', async () => {
  const { page } = signedIn.watched;
  await page.route('**/draft', (route) => (route.request().method() === 'POST' ? route.abort() : route.continue()));
  await typeOver(code('price'), 'return 70');
  await page.getByText('not saved; a copy is in this browser').waitFor();
  await page.getByRole('link', { name: 'Attention' }).click();
  const dialog = page.getByRole('dialog', { name: 'Leave unsaved work?' });
  await isReachable(page, 'editor-leave');
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('heading', { name: 'Attention' }).waitFor();
  await page.unroute('**/draft');
  await edit('quote');
  await page.getByText('This browser has changes that were not saved').waitFor();
  await isReachable(page, 'editor-offer');
  await page.getByRole('button', { name: 'Use them' }).click();
  await node('price').click();
  await expect.poll(() => code('price').textContent()).toBe('return 70');
  await page.getByText('draft saved').waitFor();
});

test('nodes are copied and pasted with their edges, by keys', async () => {
  const { page } = signedIn.watched;
  await signedIn.watched.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await node('price').click();
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  await page.getByRole('group', { name: 'price2, javascript' }).waitFor();
  await page.keyboard.press('Control+z');
  await expect.poll(() => page.getByRole('group', { name: 'price2, javascript' }).count()).toBe(0);
});

test('the editor fits 320 pixels', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 320, height: 640 });
  await node('price').click();
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(overflow).toBe(0);
  await isReachable(page, 'editor-narrow');
});

test('a header completes the secrets of the project, and the model of a lens those that are configured', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${signedIn.local.url}/console/workflows/mailing/edit`);
  const palette = page.getByRole('region', { name: 'Add a node' });
  for (const type of ['Start', 'HTTP request', 'Lens']) await palette.getByRole('button', { name: type, exact: true }).click();
  await page.getByRole('group', { name: 'request, http' }).click();
  const headers = panel('request').getByRole('group', { name: 'Headers' });
  await headers.getByRole('textbox', { name: 'New name' }).fill('authorization');
  await headers.getByRole('button', { name: '+ add' }).click();
  const header = headers.getByRole('group', { name: 'authorization' }).getByRole('textbox');
  await typeOver(header, 'Bearer ');
  await page.keyboard.type('{{secret:mail');
  await page.getByRole('option', { name: 'secret:mail.api-key' }).waitFor();
  await isReachable(page, 'editor-secrets');
  await page.keyboard.press('Enter');
  await expect.poll(() => header.textContent()).toBe('Bearer {{secret:mail.api-key}}');
  await typeOver(panel('request').getByRole('textbox', { name: 'Url' }), '{{');
  await page.getByRole('option', { name: 'ctx' }).waitFor();
  expect(await page.locator('.cm-tooltip-autocomplete li').allTextContents()).toEqual([expect.stringContaining('ctx')]);
  await page.keyboard.press('Escape');
  await page.getByRole('group', { name: 'lens, lens' }).click();
  await panel('lens').getByRole('combobox', { name: 'Model' }).waitFor();
  expect(
    await panel('lens')
      .locator('datalist option')
      .evaluateAll((options) => options.map((each) => each.getAttribute('value'))),
  ).toEqual(['default']);
  await isReachable(page, 'editor-models');
});

test('the box of an idempotent node shows the default of its type, and the draft keeps a choice that differs', async () => {
  const { page } = signedIn.watched;
  const created = await signedIn.local.call('POST', '/v1/workflows', { name: 'effects', ...quote('return 1', 'return 2') });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  await edit('effects');
  const idempotent = (id: string) => panel(id).getByRole('checkbox', { name: 'Idempotent' });
  const open = async (id: string): Promise<void> => {
    // The settings of the node before may have left it open.
    await panel(id).waitFor();
    if (!(await idempotent(id).isVisible())) await panel(id).getByText('Retries, timeout, joins').click();
    await idempotent(id).waitFor();
  };
  const configOf = async (id: string): Promise<unknown> => {
    const { body } = await signedIn.local.call('GET', '/v1/workflows/effects/draft');
    return draftShape.parse(body).definition.nodes.find((each) => each.id === id)?.config;
  };
  await node('price').click();
  await open('price');
  expect(await idempotent('price').isChecked()).toBe(true);
  await idempotent('price').uncheck();
  await expect.poll(() => configOf('price')).toMatchObject({ idempotent: false });
  await page.getByRole('region', { name: 'Add a node' }).getByRole('button', { name: 'HTTP request', exact: true }).click();
  await page.getByRole('group', { name: 'request, http' }).click();
  await open('request');
  expect(await idempotent('request').isChecked()).toBe(false);
  await idempotent('request').check();
  await expect.poll(() => configOf('request')).toMatchObject({ idempotent: true });
  await isReachable(page, 'editor-idempotent');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
