/** What a browser received: headers and body of each response, and each message of its event streams. A test searches it for texts. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Page, Request, Response } from 'playwright-core';
import { expect, vi } from 'vitest';

export interface Received {
  /** a test can add what it received itself */
  readonly parts: { readonly url: string; readonly bytes: Buffer }[];
  /** the addresses of the responses and streams that have the text in any form */
  readonly holding: (text: string) => readonly string[];
  /** Waits until the page has all responses. A page that is left earlier drops the body of a response. */
  readonly arrived: () => Promise<void>;
  /** Waits for the bodies. @returns responses that no page waited for and that were received at no other time */
  readonly settle: () => Promise<readonly string[]>;
  /** the messages of event streams so far */
  readonly messages: () => number;
}

/** Every form in which a text could be in a response. Base64 depends on what is before it, so it is searched at each offset. */
export const formsOf = (text: string): readonly string[] => {
  const aligned = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.from('\0'.repeat(offset) + text)
      .toString('base64')
      .replace(/=+$/, '');
    // The first and the last characters also have bits of the neighbours.
    const inner = encoded.slice(offset === 0 ? 0 : offset + 1, -1);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const json = JSON.stringify(text).slice(1, -1);
  const html = text.replaceAll('"', '&quot;');
  const numeric = text.replaceAll(/["&<>']/g, (letter) => `&#${letter.codePointAt(0)};`);
  const forms = [
    text,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(text),
    html,
    numeric,
    Buffer.from(text).toString('hex'),
  ];
  return [...new Set([...forms, ...aligned])];
};

export async function recordOf(page: Page): Promise<Received> {
  const parts: { readonly url: string; readonly bytes: Buffer }[] = [];
  const pending: Promise<void>[] = [];
  const unread = new Set<string>();
  /** A response that its page did not wait for has no body. */
  const bodyOf = async (response: Response): Promise<Buffer> => {
    const bytes = await Promise.race([response.body().catch(() => undefined), wait(10_000, undefined)]);
    if (bytes === undefined) unread.add(response.url());
    return bytes ?? Buffer.alloc(0);
  };
  page.on('response', (response) => {
    const read = async (): Promise<void> => {
      const headers = JSON.stringify(await response.allHeaders());
      // A stream of events has no end while its page is open: its messages come by the protocol of the browser.
      const body = headers.includes('text/event-stream') ? Buffer.alloc(0) : await bodyOf(response);
      parts.push({ url: response.url(), bytes: Buffer.concat([Buffer.from(headers), body]) });
    };
    pending.push(read());
  });
  const open = new Set<Request>();
  // An event stream has no end.
  page.on('request', (request) => void (request.resourceType() !== 'eventsource' && open.add(request)));
  const close = (request: Request): void => void open.delete(request);
  page.on('requestfinished', close).on('requestfailed', close);
  const arrived = async (): Promise<void> => {
    await vi.waitFor(() => expect([...open].map((request) => request.url())).toEqual([]), { timeout: 20_000, interval: 20 });
    await Promise.all(pending);
  };
  let messages = 0;
  const browser = await page.context().newCDPSession(page);
  const urls = new Map<string, string>();
  browser.on('Network.requestWillBeSent', ({ requestId, request }) => void urls.set(requestId, request.url));
  browser.on('Network.eventSourceMessageReceived', ({ requestId, eventName, data }) => {
    messages += 1;
    parts.push({ url: `stream ${urls.get(requestId) ?? ''}`, bytes: Buffer.from(`${eventName} ${data}`) });
  });
  await browser.send('Network.enable');
  return {
    parts,
    holding: (text) => {
      const forms = formsOf(text).map((form) => Buffer.from(form));
      return parts.filter(({ bytes }) => forms.some((form) => bytes.includes(form))).map(({ url }) => url);
    },
    arrived,
    settle: async () => {
      await Promise.all(pending);
      const read = new Set(parts.flatMap(({ url, bytes }) => (bytes.length > 1_000 ? [url] : [])));
      return [...unread].filter((url) => !read.has(url));
    },
    messages: () => messages,
  };
}
