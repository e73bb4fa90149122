/** `awslambda`, as the Lambda runtime gives it to handlers: streamed responses, with a prelude of status and headers. */
import { Writable } from 'node:stream';
import type { FromThread } from './protocol.ts';

/** Marks a handler that writes to a stream; the runtime passes the stream as the second argument. */
const streamingSymbol = Symbol.for('aws.lambda.runtime.handler.streaming');

export const isStreamified = (handler: object): boolean => Reflect.get(handler, streamingSymbol) === 'response';

/** The media type that announces a prelude: JSON with status and headers, eight zero bytes, then the body. */
export const preludeType = 'application/vnd.awslambda.http-integration-response';
export const preludeEnd = Buffer.alloc(8);

export class ResponseStream extends Writable {
  contentType: string | undefined;
  /** the prelude, set by HttpResponseStream: written before the first chunk, or at the end where there is none */
  onBeforeFirstWrite: ((write: (bytes: Buffer) => void) => void) | undefined;

  setContentType(contentType: string): void {
    this.contentType = contentType;
  }
}

export const streaming = {
  streamifyResponse<Handler extends object>(handler: Handler): Handler {
    Reflect.set(handler, streamingSymbol, 'response');
    return handler;
  },
  HttpResponseStream: {
    from(stream: ResponseStream, prelude: unknown): ResponseStream {
      stream.setContentType(preludeType);
      const text = JSON.stringify(prelude);
      stream.onBeforeFirstWrite = (write) => {
        write(Buffer.from(text));
        write(preludeEnd);
      };
      return stream;
    },
  },
};

/** A stream that sends its chunks to the cloud one at a time; `acknowledgeChunk` reports that the reader has accepted the last. */
export function createResponseStream(send: (message: FromThread) => void) {
  let resumeWrite: (() => void) | undefined;
  let hasStarted = false;
  const contentTypeOf = (stream: ResponseStream) => (stream.contentType === undefined ? {} : { contentType: stream.contentType });
  const withPrelude = (stream: ResponseStream, bytes: Buffer): Buffer => {
    if (hasStarted) return bytes;
    hasStarted = true;
    const buffers: Buffer[] = [];
    stream.onBeforeFirstWrite?.((buffer) => buffers.push(buffer));
    return Buffer.concat([...buffers, bytes]);
  };
  const emit = (bytes: Buffer, onWritten: () => void): void => {
    resumeWrite = onWritten;
    send({ kind: 'chunk', bytes: new Uint8Array(bytes), ...contentTypeOf(stream) });
  };
  const stream: ResponseStream = new ResponseStream({
    decodeStrings: true,
    write: (chunk: Buffer, _encoding, onWritten) => emit(withPrelude(stream, chunk), onWritten),
    final: (onWritten) => {
      const rest = withPrelude(stream, Buffer.alloc(0));
      if (rest.length === 0) onWritten();
      else emit(rest, onWritten);
    },
  });
  const finished = new Promise<void>((resolve, reject) => {
    stream.once('finish', () => {
      send({ kind: 'stream_ended', ...contentTypeOf(stream) });
      resolve();
    });
    stream.once('error', reject);
  });
  // A handler that fails before it ends its stream reports its own error.
  finished.catch(() => {});
  return {
    stream,
    finished,
    acknowledgeChunk: (): void => {
      const next = resumeWrite;
      resumeWrite = undefined;
      next?.();
    },
  };
}
