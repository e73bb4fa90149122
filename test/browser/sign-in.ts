/** An embedded cloud, a browser, and a page of the console that is signed in. */
import type { Browser, Locator } from 'playwright-core';
import { vi } from 'vitest';
import * as z from 'zod';
import { type LocalStart, npmStart, preparedFolder, startLocal } from '../e2e/local-start.ts';
import { launchBrowser } from './chromium.ts';
import { type WatchedPage, watchedPage } from './signed-in.ts';

export interface SignedIn {
  readonly local: LocalStart;
  readonly browser: Browser;
  readonly watched: WatchedPage;
  close(): Promise<void>;
}

const defined = (text: string | undefined): string => {
  if (text === undefined) throw new Error('no link is printed yet');
  return text;
};

/**
 * Signs in by the link that `npm start` prints.
 * @param directory the state of the cloud, for example with secrets
 * @param settings replace those of the tests
 */
export async function signIn(directory = preparedFolder(), settings: Readonly<Record<string, string>> = {}): Promise<SignedIn> {
  const [local, browser] = await Promise.all([startLocal(directory, npmStart, settings), launchBrowser()]);
  const watched = await watchedPage(browser);
  watched.page.setDefaultTimeout(20_000);
  const link = await vi.waitFor(() => defined(/Console (\S+#link=\S+)/.exec(local.printed())?.[1]), { timeout: 20_000 });
  await watched.page.goto(link);
  await watched.page.getByRole('heading', { name: 'No run exists yet' }).waitFor();
  return {
    local,
    browser,
    watched,
    async close() {
      await browser.close();
      await local.end('SIGTERM');
    },
  };
}

/** Replaces the text of a field for scripts as a person does: it is selected by keys, and typed over. */
export async function typeOver(field: Locator, text: string): Promise<void> {
  // Until CodeMirror is loaded, the field is an ordinary one, which is then replaced.
  await field.page().locator('.cm-content').first().waitFor();
  await field.focus();
  await field.press('ControlOrMeta+a');
  await field.page().keyboard.insertText(text);
}

/** Another page in a context of its own, signed in with a new key that has only these scopes. */
export async function signInWithScopes({ local, browser }: SignedIn, scopes: readonly string[]): Promise<WatchedPage> {
  const created = await local.call('POST', '/v1/keys', { scopes });
  const { key } = z.object({ key: z.string() }).parse(created.body);
  const watched = await watchedPage(browser);
  watched.page.setDefaultTimeout(20_000);
  await watched.page.goto(`${local.url}/console/`);
  await watched.page.getByLabel('Or sign in with an API key').fill(key);
  await watched.page.getByRole('button', { name: 'Sign in' }).click();
  await watched.page.getByRole('heading', { name: 'Sign in to Stepwell' }).waitFor({ state: 'detached' });
  return watched;
}
