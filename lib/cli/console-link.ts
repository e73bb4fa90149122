/** The address that signs a browser in to the console. The link is behind `#`, so that no server and no log sees it. */
import type { StepwellClient } from '../client/index.ts';

export async function createConsoleAddress(
  client: Pick<StepwellClient, 'createSessionLink'>,
  url: string,
  signal?: AbortSignal,
): Promise<string> {
  const { link } = await client.createSessionLink(signal === undefined ? {} : { signal });
  return `${url}/console/#link=${link}`;
}

/** The line of `stepwell start` and `stepwell dev`. A key without the scope, or an older service, does not stop them. */
export async function consoleLine(
  client: Pick<StepwellClient, 'createSessionLink'>,
  url: string,
  signal: AbortSignal,
): Promise<{ readonly line: string; /** with a link */ readonly address?: string }> {
  try {
    const address = await createConsoleAddress(client, url, signal);
    return { line: `Console ${address} (works once, within a minute; then: npx stepwell open)`, address };
  } catch {
    return { line: `Console ${url}/console/` };
  }
}
