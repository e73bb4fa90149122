/** S3 by fauxqs's own routes. Requests are injected, so there is no port. The routes are loaded at the first request. */
import { defined } from '../../base/defined.ts';
import type { buildApp as build } from 'fauxqs';
import type { Forward } from './forward.ts';

type BuildOptions = NonNullable<Parameters<typeof build>[0]>;

const methods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] as const;
/** Headers of the connection, which are not copied to the response. */
const connectionHeaders = new Set(['connection', 'transfer-encoding', 'content-length']);

export interface Bucket {
  readonly forward: Forward;
  stop(): Promise<void>;
}

export function openBucket(options: BuildOptions): Bucket {
  let opening: Promise<ReturnType<typeof build>> | undefined;
  const open = async (): Promise<ReturnType<typeof build>> => {
    const { buildApp } = await import('fauxqs');
    const app = buildApp(options);
    await app.ready();
    return app;
  };
  return {
    async forward(request) {
      const method = methods.find((known) => known === request.method);
      if (method === undefined) return { status: 405, headers: {}, body: Buffer.alloc(0) };
      opening ??= open();
      const app = await opening;
      const { 'content-length': _, 'transfer-encoding': __, ...headers } = request.headers;
      const response = await app.inject(
        defined({
          method,
          url: request.url,
          // The emulator's server parses some content types as SQS and SNS messages and refuses unknown ones. For S3 a body is bytes.
          headers: { ...headers, host: '127.0.0.1', 'content-type': 'application/octet-stream' },
          payload: request.body.length > 0 || method === 'PUT' || method === 'POST' ? request.body : undefined,
        }),
      );
      const responseHeaders: Record<string, string> = {};
      for (const [name, value] of Object.entries(response.headers)) {
        // The content-length of a HEAD response is the object's size.
        if (!connectionHeaders.has(name) || (method === 'HEAD' && name === 'content-length'))
          responseHeaders[name] = String(value);
      }
      return { status: response.statusCode, headers: responseHeaders, body: response.rawPayload };
    },
    async stop() {
      await (await opening)?.close();
    },
  };
}
