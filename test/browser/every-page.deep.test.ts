/** Each page of the console with hostile content, wide and on a phone: it is shown as text, nothing runs, and nothing overflows. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { preparedFolder } from '../e2e/local-start.ts';
import { type Installation, everyAddress, everyPageIsListed, getAdmin, openAddress, populate } from './every-page.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { isReachable } from './signed-in.ts';

const markup = `<img src=x onerror="pwned=1"><script>pwned=1</script>`;
/** Right-to-left override and isolate, which are never closed. */
const bidi = '\u202Egpj.exe\u2067 0123';
/** With keys that no request may have: an answer of another service may have any. */
const answerOf = (big: number): string =>
  `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":"12","length":1e9,"hasOwnProperty":null,` +
  `${JSON.stringify(markup)}:${JSON.stringify(`${markup}${bidi}`)},"big":"${'W'.repeat(big)}"}`;
const sizes: Readonly<Record<string, number>> = { keys: 10, big: 2e6, omitted: 5e6 };
const answers = createServer(({ url = '' }, response) => {
  const name = new URL(url, 'http://localhost').pathname.slice(1);
  response.writeHead(200, { 'content-type': 'application/json' }).end(answerOf(sizes[name] ?? 0));
});

const hostile = {
  name: `constructor.${'W'.repeat(116)}`,
  text: `${markup}${bidi}${'W'.repeat(150)}`,
  devKitName: `${markup}${'W'.repeat(150)}`,
  input: `{"lines":[${JSON.stringify(markup)},2],"constructor":{"prototype":{"polluted":true}},"count":"12","text":${JSON.stringify(markup)},"${'k'.repeat(200)}":null}`,
  // Nearly the largest result of a script. Answers of other services are larger.
  code: `return { big: 'W'.repeat(1e6), constructor: '12', toString: 1, [${JSON.stringify(markup)}]: ${JSON.stringify(`${markup}${bidi}`)} }`,
};

let signedIn: SignedIn;
let made: Installation;
beforeAll(async () => {
  answers.listen(0, '127.0.0.1');
  await once(answers, 'listening');
  const { port } = z.object({ port: z.number() }).parse(answers.address());
  signedIn = await signIn(preparedFolder(), { STEPWELL_ALLOW_LOCALHOST: 'true' });
  const keys = '"constructor":{"prototype":{"polluted":true}},"toString":{"constructor":"12"},"hasOwnProperty":{}';
  const large = {
    server: `http://127.0.0.1:${port}`,
    input: `{${keys},"lines":{${keys},${JSON.stringify(markup)}:${JSON.stringify(bidi)},"big":"${'W'.repeat(1e6)}"}}`,
    pinned: { constructor: { prototype: { polluted: true } }, [markup]: bidi, big: 'W'.repeat(4e6) },
  };
  made = await populate(signedIn, { ...hostile, large });
  await getAdmin(signedIn);
});
afterAll(async () => {
  await signedIn.close();
  answers.close();
});

test('each page of the console takes part', () => {
  everyPageIsListed();
});

const found = z.object({
  ran: z.boolean(),
  polluted: z.boolean(),
  inserted: z.number(),
  overflow: z.number(),
  reordered: z.array(z.string()),
  wide: z.array(z.string()),
});

/**
 * What hostile content did to the page. A text with an override that is not closed reorders what follows it in the same paragraph, so
 * it must be the only text of its paragraph, or of an element that isolates it.
 */
const inspection = `(() => {
  const isolates = (element) => {
    const { unicodeBidi, display } = getComputedStyle(element);
    return /isolate|plaintext/.test(unicodeBidi) || !/^(inline|contents)$/.test(display);
  };
  // The innermost elements beyond the edge that no ancestor clips or scrolls.
  const clips = (element) => element !== null && element !== document.documentElement && (getComputedStyle(element).overflowX !== 'visible' || clips(element.parentElement));
  const beyond = (element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  const isWide = (element) => beyond(element) && ![...element.children].some(beyond) && !clips(element.parentElement);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const reordered = [];
  // Where the letters are: an isolate that its text does not close can reach beyond the element.
  const isBackwards = ({ parentElement }, data) => {
    const at = data.search(/[A-Za-z]{3}/);
    if (at < 0 || /[\\u202E\\u2067]/.test(data) || parentElement.closest('script, style, textarea, option, title, svg') !== null) return false;
    const placeOf = (offset) => {
      const letter = document.createRange();
      letter.setStart(texts.currentNode, offset);
      letter.setEnd(texts.currentNode, offset + 1);
      return letter.getBoundingClientRect();
    };
    const [first, next] = [placeOf(at), placeOf(at + 1)];
    return first.width > 0 && first.top === next.top && next.left < first.left;
  };
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (isBackwards(texts.currentNode, data)) reordered.push('backwards: ' + data.slice(0, 60) + ' in ' + parentElement.parentElement.outerHTML.slice(0, 160));
    if (!data.includes('\\u202E') || parentElement.closest('script, style, textarea, option, title') !== null) continue;
    let around = parentElement;
    while (!isolates(around)) around = around.parentElement;
    const after = document.createRange();
    after.setStartAfter(texts.currentNode);
    after.setEnd(around, around.childNodes.length);
    const rest = after.toString().trim();
    if (rest !== '' && ![...around.children].some((child) => !/^inline/.test(getComputedStyle(child).display)))
      reordered.push(around.outerHTML.slice(0, 200));
  }
  return {
    ran: 'pwned' in window,
    polluted: 'polluted' in {},
    inserted: document.querySelectorAll('img[src="x"], script:not([src])').length,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    reordered,
    wide: [...document.querySelectorAll('body *')].filter(isWide).map((element) => element.outerHTML.slice(0, 120)).slice(0, 4),
  };
})()`;

const faultsIn = async (page: Page): Promise<readonly unknown[]> => {
  const { ran, polluted, inserted, overflow, reordered, wide } = found.parse(await page.evaluate(inspection));
  const said = signedIn.watched.complaints.splice(0);
  const isFine = !ran && !polluted && inserted === 0 && overflow === 0 && reordered.length === 0 && said.length === 0;
  return isFine ? [] : [{ ran, polluted, inserted, overflow, reordered, wide, said }];
};

const widths = [1_280, 320];
/** These show nothing that an author writes: a filter without a match, forms, keys. Each other page shows some of it, as text. */
const showNothing = ['runs', 'compare', 'keys', 'settings'];

/** The events of the run with large values have the names of its nodes alone. */
async function showsHostileText(page: Page, patienceMs: number): Promise<boolean> {
  const marks = [markup, hostile.name.slice(0, 60), '__proto__'];
  const until = Date.now() + patienceMs;
  for (;;) {
    const text = (await page.locator('main').textContent()) ?? '';
    if (marks.some((mark) => text.includes(mark))) return true;
    if (Date.now() >= until) return false;
    await page.waitForTimeout(100);
  }
}

test.each(widths)('%d pixels wide, no page runs, inserts, reorders or overflows by its content', async (width) => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width, height: 800 });
  const faults: Record<string, unknown> = {};
  const silent: string[] = [];
  for (const path of everyAddress(made)) {
    await openAddress(signedIn, path);
    const name = path.replace(/\?.*$/, '');
    // A page can show its parts one after the other. Only a text that never appears is missing.
    if (!(await showsHostileText(page, showNothing.includes(name) ? 0 : 20_000))) silent.push(name);
    const own = await faultsIn(page);
    if (own.length > 0) faults[path] = own;
    if (width === 320) await isReachable(page, `hostile-${path.replaceAll(/\W+/g, '-').slice(0, 70)}`);
  }
  expect(faults).toEqual({});
  expect(silent).toEqual(showNothing);
});

test('values of megabytes, and names that every object has, are shown as they are', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 1_280, height: 800 });
  const large = made.large ?? '';
  await openAddress(signedIn, `runs/${large}?tab=data`);
  await page.getByRole('button', { name: 'all 1000002 characters' }).click();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  const outputs = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Outputs of nodes' }) });
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString'])
    await outputs.locator('.key').getByText(`${name}:`, { exact: true }).first().waitFor();
  await outputs.getByText(/^"5,000,\d+ bytes: too large for a response of the API\."$/).waitFor();
  expect(await outputs.getByText('undefined', { exact: true }).count()).toBe(0);
  expect(await faultsIn(page), 'data').toEqual([]);
  await openAddress(signedIn, `runs/${large}?node=__proto__`);
  const panel = page.getByRole('complementary', { name: 'Node __proto__' });
  await panel.locator('.key').getByText('__proto__:', { exact: true }).first().waitFor();
  await openAddress(signedIn, `runs/${large}?node=constructor`);
  await page.getByRole('button', { name: 'all 2000002 characters' }).first().click();
  expect(await faultsIn(page), 'two megabytes').toEqual([]);
  await openAddress(signedIn, `runs/${large}?node=hasOwnProperty`);
  await page
    .getByText(/^5,000,\d+ bytes: too large for a response of the API\.$/)
    .first()
    .waitFor();
  await openAddress(signedIn, `compare?a=${large}&b=${made.completed}`);
  await page.getByRole('button', { name: 'Outputs of __proto__: different' }).click();
  await page.getByRole('button', { name: 'Outputs of hasOwnProperty: different' }).click();
  expect(await faultsIn(page), 'compare').toEqual([]);
  await isReachable(page, 'hostile-compare-large');
});

test('a form with arguments of such names sends them as they are, and what the server refuses is named', async () => {
  const { page } = signedIn.watched;
  await openAddress(signedIn, 'workflows/constructor');
  await page.getByRole('button', { name: 'Start a run' }).click();
  const dialog = page.getByRole('dialog');
  await isReachable(page, 'hostile-start');
  await dialog.getByLabel('__proto__ object').fill('{"polluted": true}');
  await dialog.getByLabel('constructor object').fill('{"prototype": {"polluted": true}}');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await dialog.getByText('contains a key that cannot be stored, "__proto__"').waitFor();
  await dialog.getByLabel('__proto__ object').fill('');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.locator('.key').getByText('constructor:', { exact: true }).first().waitFor();
  expect(await faultsIn(page), 'started').toEqual([]);
});

test('the editor tests with a pin of four megabytes', async () => {
  const { page } = signedIn.watched;
  await openAddress(signedIn, 'workflows/constructor/edit');
  await page
    .getByRole('group', { name: /^.*, http$/ })
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Test…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Pinned, so they do not run: constructor.').waitFor();
  // The example has a value for each argument, and no request may have this key.
  await dialog.getByRole('button', { name: 'Run the test' }).click();
  await dialog.getByText('contains a key that cannot be stored, "__proto__"').waitFor();
  await dialog.getByLabel('Input, as JSON').fill('{"constructor": {"prototype": {"polluted": true}}}');
  await dialog.getByRole('button', { name: 'Run the test' }).click();
  await page.getByLabel('Nodes of the test').getByText('pinned').waitFor();
  expect(await faultsIn(page), 'tested').toEqual([]);
});

test('what only a deployment writes is text too', async () => {
  const { page } = signedIn.watched;
  const rewritten = (value: unknown): unknown => {
    if (typeof value === 'string') return `${markup}${'W'.repeat(150)}`;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(rewritten);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rewritten(each)]));
  };
  await page.route('**/v1/installation', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: rewritten(await response.json()) });
  });
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    await openAddress(signedIn, 'settings');
    await page.getByText(markup).first().waitFor();
    expect(await faultsIn(page), 'settings').toEqual([]);
  }
  await page.unrouteAll();
});

test('on a phone what is opened fits too: the filters, the cost, and the sign-in over an ended session', async () => {
  const { page } = signedIn.watched;
  await page.setViewportSize({ width: 320, height: 800 });
  await openAddress(signedIn, 'runs');
  await page.getByText('More filters').click();
  await page.getByLabel('Correlation id').fill('W'.repeat(120));
  expect(await faultsIn(page), 'filters').toEqual([]);
  await isReachable(page, 'phone-filters');
  await openAddress(signedIn, `runs/${made.failed}`);
  await page.getByText(/^≈ \$/).click();
  await page.getByRole('row').filter({ hasText: 'write units' }).waitFor();
  expect(await faultsIn(page), 'cost').toEqual([]);
  await isReachable(page, 'phone-cost');
  await page.evaluate("fetch('v1/session', { method: 'DELETE' }).then(({ status }) => status)");
  await page.getByRole('button', { name: 'Run again…' }).click();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  expect(await faultsIn(page), 'ended session').toEqual([]);
  await isReachable(page, 'phone-session-ended');
});
