/**
 * The budgets of the console. Times are the best of several trials, because other programs share the machine; bytes, requests and
 * elements are counted.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CDPSession, Page } from 'playwright-core';
import * as z from 'zod';
import { largeRunId, serveLargeRun } from './large-run.ts';
import { type SignedIn, signIn } from './sign-in.ts';

let signedIn: SignedIn;
let protocol: CDPSession;
beforeAll(async () => {
  signedIn = await signIn();
  protocol = await signedIn.watched.page.context().newCDPSession(signedIn.watched.page);
  await protocol.send('Performance.enable');
});
afterAll(() => signedIn.close());

const trials = 5;
/** Of script and layout, in a frame of 16.7 ms. */
const frameBudgetMs = 8;
const firstRowsBudgetMs = 1_000;
const firstRowsBudgetBytes = 300_000;

const metrics = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });
const workMs = async (): Promise<number> => {
  const read = metrics.parse(await protocol.send('Performance.getMetrics')).metrics;
  const seconds = (name: string): number => read.find((each) => each.name === name)?.value ?? 0;
  return 1_000 * (seconds('ScriptDuration') + seconds('LayoutDuration') + seconds('RecalcStyleDuration'));
};

/** Milliseconds of script, style and layout for each frame: the best of the trials. */
async function bestFrame(page: Page, frames: (page: Page) => Promise<number>): Promise<number> {
  let best = Infinity;
  for (let trial = 0; trial < trials; trial += 1) {
    const before = await workMs();
    const count = await frames(page);
    best = Math.min(best, ((await workMs()) - before) / count);
  }
  return best;
}

const scrolled =
  (selector: string) =>
  async (page: Page): Promise<number> =>
    z.number().parse(
      await page.evaluate(`(async () => {
        const scroller = document.querySelector(${JSON.stringify(selector)});
        for (let frame = 0; frame < 60; frame += 1) {
          scroller.scrollTop += 900;
          await new Promise(requestAnimationFrame);
        }
        scroller.scrollTop = 0;
        return 60;
      })()`),
    );

const panned =
  (selector: string) =>
  async (page: Page): Promise<number> =>
    z.number().parse(
      await page.evaluate(`(async () => {
        const pane = document.querySelector(${JSON.stringify(selector)});
        const { left, top } = pane.getBoundingClientRect();
        const at = (type, x, y) => pane.dispatchEvent(new MouseEvent(type, {
          bubbles: true, cancelable: true, view: window, clientX: left + x, clientY: top + y, button: 0, buttons: 1,
        }));
        at('mousedown', 300, 200);
        for (let frame = 0; frame < 60; frame += 1) {
          at('mousemove', 300 + 4 * frame, 200 + frame);
          await new Promise(requestAnimationFrame);
        }
        at('mouseup', 540, 260);
        return 60;
      })()`),
    );

const elements = (page: Page): Promise<unknown> => page.evaluate("document.querySelectorAll('*').length");

test('of 20,000 events the first rows are shown within a second, from 300 KB', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  const served = await serveLargeRun(page, { nodes: 1_000, events: 20_000 });
  let best = Infinity;
  for (let trial = 0; trial < trials; trial += 1) {
    served.bytes = 0;
    await page.goto(`${local.url}/console/runs`);
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    const begun = performance.now();
    await page.evaluate(`(() => {
      history.pushState(null, '', ${JSON.stringify(`/console/runs/${largeRunId}?tab=events`)});
      dispatchEvent(new PopStateEvent('popstate'));
    })()`);
    await page.getByRole('button', { name: 'node.completed' }).first().waitFor();
    best = Math.min(best, performance.now() - begun);
  }
  process.stdout.write(`20,000 events: first rows in ${best.toFixed(0)} ms, ${served.bytes} bytes\n`);
  expect(served.bytes).toBeLessThanOrEqual(firstRowsBudgetBytes);
  expect(best).toBeLessThan(firstRowsBudgetMs);
});

test('the list of 20,000 events has only the rows in view, and scrolls within a frame', async () => {
  const { page } = signedIn.watched;
  await page.getByRole('region', { name: 'Events' }).waitFor();
  expect(await page.getByRole('region', { name: 'Events' }).getByRole('listitem').count()).toBeLessThan(60);
  const ms = await bestFrame(page, scrolled('.scroller'));
  process.stdout.write(`20,000 events: ${ms.toFixed(1)} ms a frame\n`);
  expect(ms).toBeLessThanOrEqual(frameBudgetMs);
});

test('the end of the list is read when one scrolls there, without the events between', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  const served = await serveLargeRun(page, { nodes: 10, events: 20_000 });
  await page.goto(`${local.url}/console/runs/${largeRunId}?tab=events`);
  await page.getByRole('button', { name: 'node.completed' }).first().waitFor();
  const before = served.requests;
  await page.evaluate("(() => { const s = document.querySelector('.scroller'); s.scrollTop = s.scrollHeight; })()");
  await page.getByRole('button', { name: '20000' }).waitFor();
  expect(served.requests - before).toBeLessThanOrEqual(3);
});

test('a waterfall of 10,000 attempts scrolls within a frame', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  await page.goto(`${local.url}/console/runs/${largeRunId}?tab=waterfall`);
  await page.getByRole('table').and(page.locator('[aria-rowcount="10000"]')).waitFor();
  expect(await page.getByRole('row').count()).toBeLessThan(60);
  const ms = await bestFrame(page, scrolled('.scroller'));
  process.stdout.write(`10,000 attempts: ${ms.toFixed(1)} ms a frame\n`);
  expect(ms).toBeLessThanOrEqual(frameBudgetMs);
});

test('a graph of 2,000 nodes is a drawing that pans within a frame, and has elements where one zooms in', async () => {
  const { local, watched } = signedIn;
  const { page } = watched;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await serveLargeRun(page, { nodes: 2_000, events: 10_000 });
  await page.goto(`${local.url}/console/runs/${largeRunId}`);
  await page.getByRole('img', { name: /A graph of 2000 nodes/ }).waitFor();
  expect(await page.locator('.react-flow__node').count()).toBe(0);
  expect(z.number().parse(await elements(page))).toBeLessThan(400);
  const ms = await bestFrame(page, panned('.react-flow__pane'));
  process.stdout.write(`2,000 nodes: ${ms.toFixed(1)} ms a frame\n`);
  expect(ms).toBeLessThanOrEqual(frameBudgetMs);

  const graph = page.locator('.graph');
  await graph.hover();
  for (let step = 0; step < 12 && (await page.locator('.react-flow__node').count()) === 0; step += 1)
    await page.mouse.wheel(0, -400);
  await page.locator('.react-flow__node').first().waitFor();
  const shown = await page.locator('.react-flow__node').count();
  expect(shown).toBeLessThanOrEqual(150);
});

test('no script failed, and no page broke its policy', () => {
  expect(signedIn.watched.complaints).toEqual([]);
});
