/** A fake Bedrock server: HTTP/2 without TLS, with streams in AWS's event stream encoding. */
import { type Http2Server, type ServerHttp2Stream, createServer } from 'node:http2';
import { crc32 } from 'node:zlib';

/** A message of the encoding: two lengths and their checksum, headers, payload, and the checksum of the message. */
function message(headers: Readonly<Record<string, string>>, payload: object): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const [key, text] = [Buffer.from(name), Buffer.from(value)];
      const length = Buffer.alloc(2);
      length.writeUInt16BE(text.length);
      // 7: a string
      return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([7]), length, text]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  const content = Buffer.concat([prelude, checksum(prelude), head, body]);
  return Buffer.concat([content, checksum(content)]);
}

const checksum = (bytes: Buffer): Buffer => {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
};

export const event = (type: string, payload: object): Buffer =>
  message({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }, payload);
export const exception = (type: string, text: string): Buffer =>
  message({ ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' }, { message: text });

export interface BedrockRequest {
  readonly path: string;
  readonly authorization: string;
  readonly body: string;
}

export class Bedrock {
  readonly requests: BedrockRequest[] = [];
  #reply: (stream: ServerHttp2Stream) => void = (stream) => stream.end();
  readonly #server: Http2Server = createServer();
  readonly #sessions = new Set<{ destroy(): void }>();

  constructor() {
    this.#server.on('session', (session) => void this.#sessions.add(session));
    this.#server.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('error', () => {});
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        this.requests.push({ path: String(headers[':path']), authorization: String(headers['authorization']), body });
        this.#reply(stream);
      });
    });
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  answers(reply: (stream: ServerHttp2Stream) => void): void {
    this.requests.length = 0;
    this.#reply = reply;
  }

  streams(...messages: readonly Buffer[]): void {
    this.answers((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/vnd.amazon.eventstream' });
      stream.end(Buffer.concat(messages));
    });
  }

  refuses(status: number, type: string, text: string): void {
    this.answers((stream) => {
      stream.respond({ ':status': status, 'content-type': 'application/json', 'x-amzn-errortype': type });
      stream.end(JSON.stringify({ message: text }));
    });
  }

  get endpoint(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }
}
