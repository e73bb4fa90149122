/** Sends a function's proxy result as an HTTP response: at once, or as its chunks arrive. */
import type { ServerResponse } from 'node:http';
import * as z from 'zod';
import { once } from 'node:events';
import { preludeEnd, preludeType } from '../lambda/response-stream.ts';
import type { ChunkReader } from '../lambda/thread.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const headShape = z.looseObject({
  statusCode: z.coerce.number().int().min(100).max(599).default(200),
  headers: z.record(z.string(), scalar).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(scalar)).nullish(),
  cookies: z.array(z.string()).nullish(),
});

const resultShape = headShape.extend({ body: z.string().nullish(), isBase64Encoded: z.boolean().nullish() });

export type ResponseHead = z.infer<typeof headShape>;

const dropped: ReadonlySet<string> = new Set(['keep-alive', 'transfer-encoding']);

/**
 * API Gateway reserves these names and sends a function's headers under another one.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
 */
const remapped: ReadonlySet<string> = new Set(['authorization', 'connection', 'content-length', 'date', 'www-authenticate']);

/** The name under which a client receives a header; undefined: the header is dropped. */
function clientHeaderName(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (dropped.has(lower)) return undefined;
  return remapped.has(lower) ? `x-amzn-remapped-${lower}` : lower;
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The prelude of a streamed response; undefined where it is invalid. */
const parseHead = (text: string): ResponseHead | undefined => headShape.safeParse(parse(text)).data;

/** A buffered response; undefined where it is invalid. */
export function parseResult(payload: string): { readonly head: ResponseHead; readonly body: Buffer } | undefined {
  const result = resultShape.safeParse(parse(payload)).data;
  if (result === undefined) return undefined;
  return { head: result, body: Buffer.from(result.body ?? '', result.isBase64Encoded === true ? 'base64' : 'utf8') };
}

/** @param ofGateway the header with which the gateway names the request */
export function writeHead(response: ServerResponse, head: ResponseHead, ofGateway: Readonly<Record<string, string>>): void {
  const headers: Record<string, string | string[]> = { ...ofGateway };
  for (const [name, value] of [...Object.entries(head.headers ?? {}), ...Object.entries(head.multiValueHeaders ?? {})]) {
    const clientName = clientHeaderName(name);
    if (clientName !== undefined) headers[clientName] = value;
  }
  if (head.cookies !== undefined && head.cookies !== null) headers['set-cookie'] = head.cookies;
  headers['content-type'] ??= 'application/json';
  response.writeHead(head.statusCode, headers);
}

export const restRequestId = (requestId: string): Readonly<Record<string, string>> => ({ 'x-amzn-requestid': requestId });

/** API Gateway's limit for the prelude, in bytes. */
const maxPreludeBytes = 16 * 1024;

export interface StreamedResponse {
  readonly onChunk: ChunkReader;
  /** whether status and headers have been sent; before that, a failure gets its own response */
  readonly hasStarted: () => boolean;
}

export function streamTo(response: ServerResponse, requestId: string): StreamedResponse {
  let isStarted = false;
  let isMalformed = false;
  let buffered = Buffer.alloc(0);

  /** Resolves when the client has read enough, or has disconnected. */
  const writeChunk = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.length === 0 || response.destroyed || response.write(bytes)) return;
    await Promise.race([once(response, 'drain'), once(response, 'close')]);
  };

  return {
    hasStarted: () => isStarted,
    async onChunk(bytes, contentType) {
      if (isStarted) return writeChunk(bytes);
      if (isMalformed) return;
      buffered = Buffer.concat([buffered, bytes]);
      const end = buffered.indexOf(preludeEnd);
      if (contentType !== preludeType || (end < 0 && buffered.length > maxPreludeBytes)) {
        isMalformed = true;
        return;
      }
      if (end < 0) return;
      const head = parseHead(buffered.subarray(0, end).toString('utf8'));
      if (head === undefined) {
        isMalformed = true;
        return;
      }
      isStarted = true;
      writeHead(response, head, restRequestId(requestId));
      response.flushHeaders();
      await writeChunk(buffered.subarray(end + preludeEnd.length));
    },
  };
}
