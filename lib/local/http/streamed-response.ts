/** Sends a streamed response as it arrives: the prelude with status and headers, then the chunks of the body. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { preludeEnd, preludeType } from '../lambda/response-stream.ts';
import type { ChunkReader } from '../lambda/thread.ts';
import { parseHead, writeHead } from './proxy-result.ts';

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
      writeHead(response, head, requestId);
      response.flushHeaders();
      await writeChunk(buffered.subarray(end + preludeEnd.length));
    },
  };
}
