/** Passes a streamed response on as it comes: first the prelude with status and headers, then the body's pieces. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { preludeEnd, preludeType } from '../lambda/response-stream.ts';
import type { ChunkReader } from '../lambda/thread.ts';
import { parseHead, writeHead } from './proxy-result.ts';

/** API Gateway's limit for the prelude, in bytes. */
const preludeLimitBytes = 16 * 1024;

export interface StreamedResponse {
  readonly onChunk: ChunkReader;
  /** whether status and headers have been sent; before that a failure can still be told in a response of its own */
  readonly isBegun: () => boolean;
}

export function streamTo(response: ServerResponse, requestId: string): StreamedResponse {
  let begun = false;
  let malformed = false;
  let early = Buffer.alloc(0);

  /** Resolves when the client has taken enough of it, or has gone. */
  const pass = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.length === 0 || response.destroyed || response.write(bytes)) return;
    await Promise.race([once(response, 'drain'), once(response, 'close')]);
  };

  return {
    isBegun: () => begun,
    async onChunk(bytes, contentType) {
      if (begun) return pass(bytes);
      if (malformed) return;
      early = Buffer.concat([early, bytes]);
      const end = early.indexOf(preludeEnd);
      if (contentType !== preludeType || (end < 0 && early.length > preludeLimitBytes)) {
        malformed = true;
        return;
      }
      if (end < 0) return;
      const head = parseHead(early.subarray(0, end).toString('utf8'));
      if (head === undefined) {
        malformed = true;
        return;
      }
      begun = true;
      writeHead(response, head, requestId);
      response.flushHeaders();
      await pass(early.subarray(end + preludeEnd.length));
    },
  };
}
