/** The request handler of AWS clients over a transport that the process offers (lib/contract/call-transport.ts). */
import { Readable } from 'node:stream';
import type { CallRequest, CallTransport } from '../contract/call-transport.ts';

/** What this handler reads of an `HttpRequest` of the SDK. */
interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly (string | null)[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface ClientResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | Readable;
}

interface CallOptions {
  readonly abortSignal?: Partial<Pick<AbortSignal, 'aborted' | 'addEventListener' | 'removeEventListener'>>;
  readonly requestTimeout?: number;
}

/** The SDK accepts the bytes of such a body at once. It pipes every other body, for example an object of S3. */
const isJson = (headers: Readonly<Record<string, string>>): boolean =>
  headers['content-type']?.startsWith('application/x-amz-json') === true;

const namedError = (name: string, message: string): Error => Object.assign(new Error(message), { name });

function urlOf({ path, query = {} }: ClientRequest): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each ?? ''));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

async function bodyOf(body: unknown): Promise<string | Uint8Array> {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof Readable) return Buffer.concat(await body.toArray());
  throw new TypeError('The body of the request is neither text, nor bytes, nor a stream');
}

async function callRequestOf(request: ClientRequest): Promise<CallRequest> {
  const headers: string[] = [];
  for (const name in request.headers) headers.push(name.toLowerCase(), request.headers[name] ?? '');
  return { method: request.method, url: urlOf(request), headers, body: await bodyOf(request.body) };
}

export class TransportHandler {
  readonly #transport: CallTransport;
  readonly #requestTimeoutMs: number;

  /** @param requestTimeoutMs until the whole response has arrived */
  constructor(transport: CallTransport, requestTimeoutMs: number) {
    this.#transport = transport;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  async handle(request: ClientRequest, { abortSignal, requestTimeout }: CallOptions = {}): Promise<{ response: ClientResponse }> {
    const call = await callRequestOf(request);
    const timeoutMs = requestTimeout ?? this.#requestTimeoutMs;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => settle(() => reject(namedError('AbortError', 'Request aborted')));
      const timer = setTimeout(() => {
        settle(() => reject(namedError('TimeoutError', `The request had no response within ${timeoutMs} ms`)));
      }, timeoutMs);
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        abortSignal?.removeEventListener?.('abort', onAbort);
        finish();
      };
      if (abortSignal?.aborted === true) return onAbort();
      abortSignal?.addEventListener?.('abort', onAbort);
      this.#transport.send(call).then(
        ({ status, headers, body }) =>
          settle(() =>
            resolve({
              response: { statusCode: status, headers: { ...headers }, body: isJson(headers) ? body : Readable.from([body]) },
            }),
          ),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }

  /** The transport outlives its clients. */
  destroy(): void {}

  /** The SDK sets options of HTTP, which have no meaning here. */
  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }
}
