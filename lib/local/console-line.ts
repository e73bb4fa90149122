/** The last line after a start: an address that signs a browser in to the console, once and within a minute. */
import * as z from 'zod';

const linkShape = z.object({ link: z.string() });

/** Without a link, for example in a project whose template is older, the address of the console alone. */
export async function consoleLine(url: string, apiKey: string): Promise<string> {
  try {
    const response = await fetch(`${url}/v1/sessions/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const { link } = linkShape.parse(await response.json());
    return `Console  ${url}/console/#link=${link}\n         It signs in once, within a minute. Another: npx stepwell open`;
  } catch {
    return `Console  ${url}/console/`;
  }
}
