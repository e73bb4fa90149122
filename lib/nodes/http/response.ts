/** What came back, made a value that can be stored. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';

export interface HttpResponse {
  readonly status: number;
  readonly headers: JsonObject;
  /** parsed where it says it is JSON and is; text where it is text; else base64, and `bodyEncoding` says so */
  readonly body: JsonValue;
  readonly bodyEncoding?: 'base64';
}

/** Reads at most so many bytes, counted as they come out of any compression; undefined where there are more. */
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

/** The part of a response that is read, whichever fetch it came from. */
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

/** Undefined where the bytes are no text in the encoding they name, UTF-8 where they name none. */
const textOf = (bytes: Buffer, type: string): string | undefined => {
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};
