/** Pages on a phone of 320 pixels. */
import { expect } from 'vitest';
import type { SignedIn } from './sign-in.ts';

/** Each page, when it has its content, is no wider than the screen. The last one stays open. */
export async function fitsNarrow({ local, watched: { page } }: SignedIn, paths: readonly string[]): Promise<void> {
  await page.setViewportSize({ width: 320, height: 640 });
  for (const path of paths) {
    await page.goto(`${local.url}/console/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('[aria-busy]').first().waitFor({ state: 'detached' });
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect(overflow, path).toBe(0);
  }
}
