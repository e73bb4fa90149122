/** Sends JSON to an address of the configuration, by the rules that nodes' own requests go by: the public internet and nothing nearer. */
import { type Response, fetch } from 'undici';
import type { JsonObject } from '../engine/json.ts';
import { type NetworkAccess, destinationOf, pinnedAgent } from '../nodes/http/destination.ts';

export interface JsonRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** No answer at all, in words for the reader of a log. */
export interface Unreachable {
  readonly unreachable: string;
  /** by our rules, not by chance */
  readonly isForbidden: boolean;
}

/**
 * @param read what becomes of the answer; the connection is gone when it is done
 * @throws the signal's reason where that aborts, and what `read` throws
 */
export async function guardedPost<Value>(
  { url, headers, body }: JsonRequest,
  { networkAccess, signal }: { readonly networkAccess: NetworkAccess; readonly signal: AbortSignal },
  read: (response: Response) => Promise<Value>,
): Promise<Value | Unreachable> {
  signal.throwIfAborted();
  const { hostname, host } = new URL(url);
  const destination = await destinationOf(hostname, networkAccess);
  if ('refused' in destination) {
    const isForbidden = destination.refused === 'forbidden';
    const reason = isForbidden ? 'is not an address of the public internet' : 'has no address at the moment';
    return { unreachable: `${hostname} ${reason}`, isForbidden };
  }
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
    // The reason lies below: fetch itself only says that it failed.
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    return { unreachable: `${host} could not be asked: ${reason.slice(0, 300)}`, isForbidden: false };
  } finally {
    await agent.destroy();
  }
}

/** At most so many bytes of an answer, as text; undefined where there are more. */
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
