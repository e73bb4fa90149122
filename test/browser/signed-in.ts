/** A signed-in page of the console in a real browser, and what must hold on each of its pages. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import * as z from 'zod';

const violationsShape = z.array(
  z.looseObject({ id: z.string(), help: z.string(), nodes: z.array(z.looseObject({ html: z.string() })) }),
);

export interface WatchedPage {
  readonly page: Page;
  /** what the console of the browser and the policy of the page complained about */
  readonly complaints: string[];
}

/** A page in its own context, which records errors of scripts and violations of the Content-Security-Policy. */
export async function watchedPage(browser: Browser, size = { width: 1_280, height: 800 }): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: size, colorScheme: 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A refused request is an answer that the page handles; the browser reports it too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  return { page, complaints };
}

/**
 * axe in both colour schemes, and a picture of each in STEPWELL_PICTURES, if it is set. Playwright evaluates axe through the protocol of
 * the browser, so the policy of the page stays in force.
 */
export async function isReachable(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const folder = process.env['STEPWELL_PICTURES'];
    if (folder !== undefined) {
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    }
    await page.evaluate(axe.source);
    const found = violationsShape.parse(await page.evaluate('axe.run().then(({ violations }) => violations)'));
    const said = found.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
    expect(said, `${name}, ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  // axe has no rule for this any more: a label with a repeated id names the wrong field.
  const ids = z.array(z.string()).parse(await page.evaluate("[...document.querySelectorAll('[id]')].map(({ id }) => id)"));
  expect(
    ids.filter((id, at) => ids.indexOf(id) !== at),
    `repeated ids of ${name}`,
  ).toEqual([]);
}
