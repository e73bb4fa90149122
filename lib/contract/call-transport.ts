/**
 * A way to the services of AWS without HTTP, which a process may offer to the AWS clients of its functions. The embedded cloud offers one
 * to each thread of a function: a request over a local socket costs more processor time than the call itself. Lambda offers none, so
 * there the clients use HTTPS.
 */

/** A signed request, as HTTP would carry it. */
export interface CallRequest {
  readonly method: string;
  /** path and query */
  readonly url: string;
  /** names and values in turn, names in lower case */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array;
}

export interface CallResponse {
  readonly status: number;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface CallTransport {
  /** @throws when the other side has ended */
  send(request: CallRequest): Promise<CallResponse>;
}

const key = Symbol.for('stepwell:call-transport');

const isTransport = (value: unknown): value is CallTransport =>
  typeof value === 'object' && value !== null && 'send' in value && typeof value.send === 'function';

/** Offers a transport to the clients that this thread creates from now on. */
export const offerTransport = (transport: CallTransport): boolean => Reflect.set(globalThis, key, transport);

/** The transport that this thread offers; undefined: none. */
export function offeredTransport(): CallTransport | undefined {
  const offered: unknown = Reflect.get(globalThis, key);
  return isTransport(offered) ? offered : undefined;
}
