/** Posts JSON to a configured URL. The rules of `http` nodes apply: public addresses, and the owner's private destinations. */
import { type Response, fetch } from 'undici';
import type { JsonObject } from '../engine/json.ts';
import { type NetworkAccess, destinationOf, forbiddenMessage, isPublicAddress } from '../egress/destination.ts';
import { pinnedAgent } from '../egress/pinned-agent.ts';

export interface JsonRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** The server gave no response; `unreachable` is the message for the log. */
export interface Unreachable {
  readonly unreachable: string;
  /** the address rules forbid the destination */
  readonly isForbidden: boolean;
}

/**
 * @param read reads the response; the connection is closed afterwards
 * @throws the signal's reason on an abort, and errors of `read`
 */
export async function guardedPost<Value>(
  { url, headers, body }: JsonRequest,
  { networkAccess, signal }: { readonly networkAccess: NetworkAccess; readonly signal: AbortSignal },
  read: (response: Response) => Promise<Value>,
): Promise<Value | Unreachable> {
  signal.throwIfAborted();
  const { hostname, host, protocol } = new URL(url);
  const destination = await destinationOf(hostname, networkAccess);
  if ('refused' in destination) {
    const isForbidden = destination.refused === 'forbidden';
    return { unreachable: isForbidden ? forbiddenMessage(hostname) : `${hostname} has no address at the moment`, isForbidden };
  }
  // The request carries a key and the text of users.
  if (protocol === 'http:' && destination.addresses.some(({ address }) => isPublicAddress(address)))
    return {
      unreachable: `${hostname} is on the public internet, where the address must begin with https://`,
      isForbidden: true,
    };
  const agent = pinnedAgent(destination.addresses);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Stepwell', ...headers },
      body: JSON.stringify(body),
      redirect: 'manual',
      dispatcher: agent,
      signal,
    });
    return await read(response);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    // fetch reports only that it failed; the reason is in the cause.
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    return { unreachable: `the request to ${host} failed: ${reason.slice(0, 300)}`, isForbidden: false };
  } finally {
    await agent.destroy();
  }
}

/** Reads a response body as text; undefined when it exceeds `maxBytes`. */
export async function textWithin(response: Pick<Response, 'body'>, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
