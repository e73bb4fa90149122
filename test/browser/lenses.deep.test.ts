/** The pages of lenses: the prompt follows what one types, and the model is called with it. */
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

const blurb = {
  name: 'product-blurb',
  description: 'A few words about a product',
  template: 'Write two sentences about [[product]] for [[audience!]]. At most [[words]] words.',
  input: {
    fields: {
      product: { type: 'string', required: true, maxLength: 200 },
      words: { type: 'integer', required: true, min: 5 },
    },
  },
};
const publish = async (path: string, lens: unknown): Promise<void> => {
  const { status, body } = await signedIn.local.call('POST', path, lens);
  expect(status, JSON.stringify(body)).toBe(201);
};

test('without a lens the page says how to publish one', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Lenses' }).click();
  await page.getByRole('heading', { name: 'No lens is published yet' }).waitFor();
  await isReachable(page, 'lenses-empty');
});

test('the list leads to a lens, whose prompt follows the typed values', async () => {
  const { page } = signedIn.watched;
  await publish('/v1/lenses', blurb);
  await publish('/v1/lenses', { name: 'summary', template: 'Summarize [[text]].' });
  await page.reload();
  await page.getByRole('link', { name: 'summary' }).waitFor();
  await isReachable(page, 'lenses');
  await page.getByRole('searchbox', { name: 'Name' }).fill('blurb');
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  await page.getByRole('link', { name: 'product-blurb' }).click();
  const prompt = page.getByRole('region', { name: 'Prompt' });
  await prompt.getByText('Values are missing: product, words').waitFor();
  await isReachable(page, 'lens');
  await page.getByRole('textbox', { name: 'product' }).fill('a lamp');
  await page.getByRole('textbox', { name: 'words' }).fill('20');
  await prompt.getByText('Write two sentences about a lamp for . At most 20 words.').waitFor();
});

test('the model answers the prompt that the page shows, and the call leaves no run', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('textbox', { name: 'audience' }).fill('night owls');
  const prompt = (await page.getByLabel('Rendered prompt').textContent()) ?? '';
  await page.getByRole('button', { name: 'Call the model' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.locator('.status', { hasText: 'completed' }).waitFor();
  // The model of the embedded cloud repeats its prompt.
  expect(await result.getByLabel('Answer').textContent()).toBe(prompt);
  await result.getByText('durationMs').waitFor();
  await isReachable(page, 'lens-answer');
  await page.getByRole('link', { name: 'Lenses' }).first().click();
  await expect
    .poll(async () => (await signedIn.local.call('GET', '/v1/runs?includeTests=true')).body)
    .toMatchObject({ data: [] });
});

test('a value that breaks the contract is named', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('link', { name: 'product-blurb' }).click();
  await page.getByRole('textbox', { name: 'product' }).fill('a lamp');
  await page.getByRole('textbox', { name: 'words' }).fill('2');
  await page.getByRole('button', { name: 'Call the model' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByText('input_contract_violation').waitFor();
  await result.getByText('below_min').waitFor();
  await isReachable(page, 'lens-violation');
  await result.getByRole('button', { name: 'Clear' }).click();
  await result.waitFor({ state: 'detached' });
});

test('an earlier version is shown and tried, and the address names it', async () => {
  const { page } = signedIn.watched;
  await publish('/v1/lenses/summary/versions', { template: 'Summarize [[text]] in one sentence.' });
  await page.goto(`${signedIn.local.url}/console/lenses/summary`);
  await page.getByRole('heading', { name: 'summary v2' }).waitFor();
  await page.getByRole('combobox', { name: 'Version' }).selectOption('1');
  await page.getByRole('heading', { name: 'summary v1' }).waitFor();
  expect(new URL(page.url()).search).toBe('?version=1');
  await page.getByRole('textbox', { name: 'text' }).fill('a book');
  await page.getByRole('button', { name: 'Call the model' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.locator('.status', { hasText: 'completed' }).waitFor();
  expect(await result.getByLabel('Answer').textContent()).toBe('Summarize a book.');
});

test('a lens that does not exist, and a failed list, say so', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/lenses/none`);
  await page.getByText('No lens has that name.').waitFor();
  await isReachable(page, 'lens-none');
  await page.route('**/v1/lenses**', (route) => route.fulfill({ status: 500, json: { message: 'Something failed.' } }));
  await page.goto(`${signedIn.local.url}/console/lenses`);
  await page.getByText('Something failed.').waitFor();
  await page.unroute('**/v1/lenses**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'summary' }).waitFor();
});

test('a lens is published in the page: what the server refuses is shown at its field, then its next version too', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/lenses`);
  await page.getByRole('button', { name: 'New lens…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New lens' });
  const field = (name: string) => dialog.getByRole('textbox', { name, exact: true });
  await field('Name').fill('no spaces allowed');
  await field('Template').fill('Greet [[name]].');
  await field('Contract of the input, as JSON').fill('{"fields": ');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await dialog.getByText('The text is not JSON').waitFor();
  expect(await field('Contract of the input, as JSON').getAttribute('aria-invalid')).toBe('true');
  await field('Contract of the input, as JSON').fill('{"fields": {"name": {"type": "text"}}}');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await dialog.getByText('must be a lens name').waitFor();
  // Each error describes its own field, by its pointer.
  const described =
    "document.getElementById(document.querySelector('dialog [name=name]').getAttribute('aria-describedby')).textContent";
  expect(await page.evaluate(described)).toContain('/name');
  expect(await field('Contract of the input, as JSON').getAttribute('aria-invalid')).toBe('true');
  expect(await field('Template').getAttribute('aria-invalid')).toBe('false');
  await isReachable(page, 'lens-publish-refused');
  await field('Name').fill('greeting');
  await field('Contract of the input, as JSON').fill('{"fields": {"name": {"type": "string"}}}');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: 'greeting v1' }).waitFor();
  await page.getByRole('button', { name: 'New version…' }).click();
  const next = page.getByRole('dialog', { name: 'Publish v2 of greeting' });
  expect(await next.getByRole('textbox', { name: 'Template' }).inputValue()).toBe('Greet [[name]].');
  await next.getByRole('textbox', { name: 'Template' }).fill('Greet [[name]] kindly.');
  await next.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: 'greeting v2' }).waitFor();
  const stored = await signedIn.local.call('GET', '/v1/lenses/greeting');
  expect(stored.body).toMatchObject({
    version: 2,
    template: 'Greet [[name]] kindly.',
    input: { fields: { name: { type: 'string' } } },
  });
});

test('a person who may not read or try lenses sees which scope is missing', async () => {
  const reader = await signInWithScopes(signedIn, ['runs:read']);
  await reader.page.goto(`${signedIn.local.url}/console/lenses`);
  await reader.page.getByText('This session lacks the scope workflows:read').waitFor();
  await isReachable(reader.page, 'lenses-scope');
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
  const other = await signInWithScopes(signedIn, ['runs:read', 'workflows:read']);
  await other.page.goto(`${signedIn.local.url}/console/lenses/summary`);
  await other.page.getByRole('button', { name: 'Call the model' }).click();
  await other.page.getByText('This session lacks the scope workflows:write').waitFor();
  await other.page.context().close();
});

test('the pages fit 320 pixels', async () => {
  const { page } = signedIn.watched;
  await fitsNarrow(signedIn, ['lenses', 'lenses/product-blurb']);
  await isReachable(page, 'lens-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});

test('a lens is checked while it is typed, with the errors that the server would give', async () => {
  const { page, complaints } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/lenses`);
  await page.getByRole('button', { name: 'New lens…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New lens' });
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
  const field = (name: string) => dialog.getByRole('textbox', { name, exact: true });
  const shown = async (): Promise<readonly string[]> => dialog.locator('li').allTextContents();
  const contract = field('Contract of the input, as JSON');
  await field('Template').fill('Greet [[name:strng]].');
  await expect.poll(shown).toEqual(['/template name has the unknown type strng']);
  // The name is empty and required. It is marked when a person publishes.
  expect(await field('Name').getAttribute('aria-invalid')).toBe('false');
  await field('Template').fill('Greet [[name]].');
  await expect.poll(shown).toEqual([]);
  await field('Name').fill('typed-lens');
  for (const text of [
    '{"fields": {"name": {"type": "text"}}}',
    '{"field": {"name": {"type": "string"}}}',
    '{"fields": {"name": {"type": "string", "min": 3, "max": 1, "itemType": "string"}}}',
    '{"jsonSchema": {"$ref": "https://example.com/schema"}}',
    '[]',
  ]) {
    await contract.fill(text);
    const body = { name: 'typed-lens', template: 'Greet [[name]].', input: JSON.parse(text) };
    const { errors } = z
      .object({ errors: z.array(z.looseObject({ pointer: z.string(), message: z.string() })) })
      .parse((await signedIn.local.call('POST', '/v1/lenses', body)).body);
    expect(errors.length, text).toBeGreaterThan(0);
    expect(errors.map(({ message }) => message)).not.toContain('Invalid input');
    await expect.poll(shown).toEqual(errors.map(({ pointer, message }) => `${pointer} ${message}`));
  }
  expect(await page.evaluate('document.activeElement.name')).toBe('input');
  await isReachable(page, 'lens-typed');
  await contract.fill('{"fields": ');
  await expect.poll(shown).toEqual([expect.stringContaining('The text is not JSON')]);
  expect(sent).toEqual([]);
  expect(complaints).toEqual([]);
});
