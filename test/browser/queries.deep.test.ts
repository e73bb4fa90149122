/** The pages of stored queries: a query runs with arguments against a real database, and its rows are a table. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { preparedFolder } from '../e2e/local-start.ts';
import { type Database, startDatabase } from '../nodes/data-query/database.ts';
import { fitsNarrow } from './narrow.ts';
import { type SignedIn, signIn, signInWithScopes } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

let database: Database;
let signedIn: SignedIn;
beforeAll(async () => {
  database = await startDatabase();
  await database.db.exec(`
    create table orders (id int, customer text, total numeric, note jsonb);
    insert into orders select n, 'ann', n * 10.5, '{"gift": true}' from generate_series(1, 130) n;
    insert into orders values (500, '<b>bob</b>', 5, null);
  `);
  const directory = preparedFolder();
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ 'orders-db': database.connection }), { mode: 0o600 });
  signedIn = await signIn(directory);
});
afterAll(async () => {
  await signedIn.close();
  await database.stop();
});

const recent = {
  name: 'recent-orders',
  kind: 'postgres',
  description: 'The newest orders of a customer',
  connection: 'orders-db',
  statement: 'select id, customer, total, note from orders where customer = :customer and total >= :least order by id desc',
  parameters: [
    { name: 'customer', type: 'string', required: true },
    { name: 'least', type: 'number', default: 0 },
  ],
};
const remove = {
  name: 'remove-orders',
  kind: 'postgres',
  connection: 'orders-db',
  statement: 'delete from orders where customer = :customer returning id',
  readOnly: false,
  parameters: [{ name: 'customer', type: 'string', required: true }],
};
const result = () => signedIn.watched.page.getByRole('region', { name: 'Result' });
const rows = () => result().getByRole('region', { name: 'Rows' }).getByRole('row');

test('without a query the page says how to publish one', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Queries' }).click();
  await page.getByRole('heading', { name: 'No query is published yet' }).waitFor();
  await isReachable(page, 'queries-empty');
});

test('a query runs with arguments, and its rows are a table', async () => {
  const { page } = signedIn.watched;
  for (const query of [recent, remove]) {
    const { status, body } = await signedIn.local.call('POST', '/v1/queries', query);
    expect(status, JSON.stringify(body)).toBe(201);
  }
  await page.reload();
  await page.getByRole('link', { name: 'remove-orders' }).waitFor();
  await isReachable(page, 'queries');
  await page.getByRole('link', { name: 'recent-orders' }).click();
  await page.getByRole('textbox', { name: 'customer' }).fill('ann');
  await page.getByRole('spinbutton', { name: 'least' }).fill('1300');
  await page.getByRole('button', { name: 'Run it' }).click();
  await result().locator('.status', { hasText: 'completed' }).waitFor();
  // The head, and the orders 124 to 130.
  expect(await rows().count()).toBe(8);
  expect(await rows().nth(1).textContent()).toBe('130ann1365.0{"gift":true}');
  await isReachable(page, 'query');
});

test('a long result shows its first rows, and more on demand', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('spinbutton', { name: 'least' }).fill('0');
  await page.getByRole('button', { name: 'Run it' }).click();
  await result().getByText('130 rows').waitFor();
  expect(await rows().count()).toBe(101);
  await result().getByRole('button', { name: '30 more' }).click();
  await expect.poll(() => rows().count()).toBe(131);
});

test('a value with markup is text, null is marked, and an empty result says so', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('textbox', { name: 'customer' }).fill('<b>bob</b>');
  await page.getByRole('button', { name: 'Run it' }).click();
  await result().getByText('1 row', { exact: true }).waitFor();
  expect(await rows().nth(1).textContent()).toBe('500<b>bob</b>5null');
  await page.getByRole('textbox', { name: 'customer' }).fill('unknown');
  await page.getByRole('button', { name: 'Run it' }).click();
  await result().getByText('The result has no rows.').waitFor();
});

test('a query that can change data asks first', async () => {
  const { page } = signedIn.watched;
  const count = async () => (await database.db.query('select 1 from orders where customer like $1', ['<b>%'])).rows.length;
  await page.goto(`${signedIn.local.url}/console/queries/remove-orders`);
  await page.getByRole('textbox', { name: 'customer' }).fill('<b>bob</b>');
  await page.getByRole('button', { name: 'Run it…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run remove-orders?' });
  await dialog.getByText('can change data').waitFor();
  await isReachable(page, 'query-writes');
  expect(await count()).toBe(1);
  await dialog.getByRole('button', { name: 'Run it' }).click();
  await result().getByText('1 row', { exact: true }).waitFor();
  expect(await count()).toBe(0);
});

test('a statement that the database rejects shows its error', async () => {
  const { page } = signedIn.watched;
  const wrong = { name: 'wrong', kind: 'postgres', connection: 'orders-db', statement: 'select nothing from nowhere' };
  expect((await signedIn.local.call('POST', '/v1/queries', wrong)).status).toBe(201);
  await page.goto(`${signedIn.local.url}/console/queries/wrong`);
  await page.getByRole('button', { name: 'Run it' }).click();
  await result().getByText('nowhere').first().waitFor();
  await isReachable(page, 'query-failed');
});

test('a query is published in the page: what the server refuses is shown at its field, then its next version too', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/queries`);
  await page.getByRole('button', { name: 'New query…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New query' });
  const field = (name: RegExp) => dialog.getByRole('textbox', { name });
  await field(/^Name/).fill('order-count');
  await field(/^Connection/).fill('orders-db');
  await field(/^Statement/).fill('select count(*)::int as orders from orders where customer = :customer');
  await field(/^Parameters/).fill('[{"name": "not a name", "type": "string"}]');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await dialog.getByText('/parameters/0/name').waitFor();
  expect(await field(/^Parameters/).getAttribute('aria-invalid')).toBe('true');
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('parameters');
  await isReachable(page, 'query-publish-refused');
  await field(/^Parameters/).fill('[{"name": "customer", "type": "string", "required": true}]');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: 'order-count v1' }).waitFor();
  await page.getByRole('textbox', { name: 'customer' }).fill('ann');
  await page.getByRole('button', { name: 'Run it' }).click();
  await expect.poll(() => rows().nth(1).textContent()).toBe('130');
  await page.getByRole('button', { name: 'New version…' }).click();
  const next = page.getByRole('dialog', { name: 'Publish v2 of order-count' });
  await next.getByRole('textbox', { name: 'Description' }).fill('How many orders a customer has');
  await next.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: 'order-count v2' }).waitFor();
  const { body } = await signedIn.local.call('GET', '/v1/queries/order-count');
  expect(body).toMatchObject({
    version: 2,
    query: { description: 'How many orders a customer has', readOnly: true, parameters: [{ name: 'customer' }] },
  });
});

test('a query is checked while it is typed, with the errors that the server would give', async () => {
  const { page, complaints } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/queries`);
  await page.getByRole('button', { name: 'New query…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New query' });
  const field = (name: RegExp) => dialog.getByRole('textbox', { name });
  const shown = async (): Promise<readonly string[]> => dialog.locator('li').allTextContents();
  await field(/^Name/).fill('typed-query');
  await field(/^Connection/).fill('orders-db');
  for (const [statement, parameters] of [
    ['select :customer', '[]'],
    ["select 'open", '[]'],
    ['select :a', '[{"name": "a", "type": "string"}, {"name": "a", "type": "number"}]'],
    ['select 1', '[{"name": "a b", "type": "text", "required": 1}]'],
  ] as const) {
    await field(/^Statement/).fill(statement);
    await field(/^Parameters/).fill(parameters);
    const body = { name: 'typed-query', kind: 'postgres', readOnly: true, connection: 'orders-db', statement };
    const answer = await signedIn.local.call('POST', '/v1/queries', { ...body, parameters: JSON.parse(parameters) });
    const { errors } = z
      .object({ errors: z.array(z.looseObject({ pointer: z.string(), message: z.string(), severity: z.string().optional() })) })
      .parse(answer.body);
    const expected = errors.flatMap(({ pointer, message, severity }) =>
      severity === 'warning' ? [] : [`${pointer} ${message}`],
    );
    expect(expected.length, statement).toBeGreaterThan(0);
    await expect.poll(async () => (await shown()).toSorted()).toEqual(expected.toSorted());
  }
  await isReachable(page, 'query-typed');
  await field(/^Statement/).fill('select 1');
  await field(/^Parameters/).fill('');
  await expect.poll(shown).toEqual([]);
  expect(complaints).toEqual([]);
});

test('a failed list can be tried again, and a query that does not exist says so', async () => {
  const { page } = signedIn.watched;
  await page.goto(`${signedIn.local.url}/console/queries/none`);
  await page.getByText('No query has that name.').waitFor();
  await page.route('**/v1/queries**', (route) => route.fulfill({ status: 500, json: { message: 'Something failed.' } }));
  await page.goto(`${signedIn.local.url}/console/queries`);
  await page.getByText('Something failed.').waitFor();
  await page.unroute('**/v1/queries**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'recent-orders' }).waitFor();
});

test('a person who may not read queries sees which scope is missing', async () => {
  const reader = await signInWithScopes(signedIn, ['runs:read', 'workflows:write']);
  await reader.page.goto(`${signedIn.local.url}/console/queries`);
  await reader.page.getByText('This session lacks the scope queries:read').waitFor();
  await isReachable(reader.page, 'queries-scope');
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
});

test('the pages fit 320 pixels', async () => {
  const { page } = signedIn.watched;
  await fitsNarrow(signedIn, ['queries', 'queries/recent-orders']);
  await page.getByRole('textbox', { name: 'customer' }).fill('ann');
  await page.getByRole('button', { name: 'Run it' }).click();
  await rows().first().waitFor();
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(overflow).toBe(0);
  await isReachable(page, 'query-narrow');
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
