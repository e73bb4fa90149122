/** Sends messages to applications, behind the guard of the http node. The whole URL is fixed, so no redirect is followed. */
import { type RequestInit, type Response, fetch } from 'undici';
import type { JsonValue } from '../engine/json.ts';
import { appDestinationOf } from './app-address.ts';
import type { NetworkAccess } from './destination.ts';
import { pinnedAgent } from './pinned-agent.ts';
import { type Instant, between } from '../engine/time.ts';
import { type WebhookRequest, maxWebhookResponseBytes } from '../ports/bundles.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppCalls, AppRequest, AppResponse } from '../ports/devkit.ts';

/** The answer to a message is a few fields. */
const maxAnswerBytes = 65_536;

export class HttpAppCalls implements AppCalls {
  readonly #access: () => NetworkAccess;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(access: () => NetworkAccess, clock: Pick<Clock, 'now'>) {
    this.#access = access;
    this.#clock = clock;
  }

  async post({ url, headers, body }: AppRequest, limits: Parameters<AppCalls['post']>[1]): Promise<AppResponse> {
    return this.#send(url, { method: 'POST', headers, body }, limits, async (response): Promise<AppResponse> => {
      const bytes = await bytesOf(response, maxAnswerBytes);
      const body = bytes === undefined ? undefined : jsonIn(Buffer.from(bytes).toString());
      return { kind: 'responded', status: response.status, body };
    });
  }

  async forward(request: WebhookRequest, limits: Parameters<AppCalls['forward']>[1]): ReturnType<AppCalls['forward']> {
    const { url, method, headers, body } = request;
    const hasBody = body.byteLength > 0 && method !== 'GET' && method !== 'HEAD';
    const sent = { method, headers, ...(hasBody ? { body } : {}) };
    return this.#send(url, sent, limits, async (response): ReturnType<AppCalls['forward']> => {
      const bytes = await bytesOf(response, maxWebhookResponseBytes);
      if (bytes === undefined) return failed(`the response is larger than ${maxWebhookResponseBytes} bytes`);
      return {
        kind: 'answered',
        response: { status: response.status, headers: Object.fromEntries(response.headers), body: bytes },
      };
    });
  }

  async #send<Result>(
    address: string,
    request: Pick<RequestInit, 'method' | 'headers' | 'body'>,
    { endsAt }: { readonly endsAt: Instant },
    read: (response: Response) => Promise<Result>,
  ): Promise<Result | Extract<AppResponse, { readonly kind: 'failed' }>> {
    const url = new URL(address);
    const destination = await appDestinationOf(url, this.#access());
    if ('refused' in destination) return failed(destination.refused);
    const agent = pinnedAgent(destination.addresses);
    try {
      const signal = AbortSignal.timeout(Math.max(1, between(this.#clock.now(), endsAt)));
      return await read(await fetch(url, { ...request, redirect: 'manual', dispatcher: agent, signal }));
    } catch (error) {
      return failed(`the request to ${url.origin} failed: ${reasonOf(error)}`);
    } finally {
      await agent.destroy();
    }
  }
}

/** Reads no more than the limit. @returns undefined: the body is larger */
async function bytesOf({ body }: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    if (!(chunk instanceof Uint8Array)) continue;
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const failed = (reason: string): Extract<AppResponse, { readonly kind: 'failed' }> => ({ kind: 'failed', reason });

/** fetch reports only that it failed; the reason is in the cause. */
const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
};

function jsonIn(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
