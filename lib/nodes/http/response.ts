/** Converts an HTTP response to a value that can be stored, or to a failure of the node. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';

export interface HttpResponse {
  readonly status: number;
  readonly headers: JsonObject;
  /** parsed JSON, text, or base64 with `bodyEncoding` set, by content type and content */
  readonly body: JsonValue;
  readonly bodyEncoding?: 'base64';
}

/** Reads a response; undefined when it exceeds `maxBytes` after decompression. */
export async function readResponse(response: FetchResponse, maxBytes: number): Promise<HttpResponse | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const type = response.headers.get('content-type') ?? '';
  return { status: response.status, headers: headersOf(response), ...bodyOf(Buffer.concat(chunks), type) };
}

/** The used part of a response, common to all fetch implementations. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null; getSetCookie(): string[]; entries(): Iterable<[string, string]> };
  readonly body: AsyncIterable<Uint8Array> | null;
}

const headersOf = ({ headers }: FetchResponse): JsonObject => {
  const cookies = headers.getSetCookie();
  const single = [...headers.entries()].filter(([name]) => name !== 'set-cookie');
  return Object.fromEntries<JsonValue>(cookies.length === 0 ? single : [...single, ['set-cookie', cookies]]);
};

function bodyOf(bytes: Buffer, type: string): Pick<HttpResponse, 'body' | 'bodyEncoding'> {
  const text = textOf(bytes, type);
  if (text === undefined) return { body: bytes.toString('base64'), bodyEncoding: 'base64' };
  if (!/[/+]json\s*(;|$)/i.test(type)) return { body: text };
  if (text.trim() === '') return { body: null };
  try {
    const body: JsonValue = JSON.parse(text);
    return { body };
  } catch {
    return { body: text };
  }
}

/** Undefined when the bytes are not valid text in their charset (default UTF-8). */
const textOf = (bytes: Buffer, type: string): string | undefined => {
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

/** In characters: enough to see the server's error message. */
export const maxBodyExcerpt = 2_000;

/** 429 is a rate limit; 408, 425 and 5xx are server errors; a retry of any other status would fail again. */
export const statusFailure = (answer: HttpResponse): Failure => {
  const message = `the server returned status ${answer.status}`;
  const details: JsonObject = { status: answer.status, body: excerpt(answer) };
  if (answer.status === 429) return { cause: 'rate_limit', code: 'http_status', message, details };
  const isServerError = answer.status >= 500 || answer.status === 408 || answer.status === 425;
  return { cause: isServerError ? 'provider_error' : 'invalid', code: 'http_status', message, details };
};

const excerpt = ({ body, bodyEncoding }: HttpResponse): string => {
  if (bodyEncoding === 'base64') return '(not text)';
  return (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, maxBodyExcerpt);
};
