/** SQS and S3 by fauxqs, inside this process and without a port. SQLite stores their data. */
import { mkdirSync } from 'node:fs';
import { arns, awsEnvironment, queueUrl } from '../aws-environment.ts';
import { maxUploadBytes } from '../limits.ts';
import { loadFauxqsClasses, patchFauxqs } from './fauxqs-patch.ts';
import { checkQueue } from './fauxqs-timers.ts';
import { openQueues } from './fauxqs-queues.ts';
import type { Forward } from './forward.ts';
import { defined } from '../../base/defined.ts';
import type { buildApp as build } from 'fauxqs';

export interface Fauxqs {
  readonly queues: Forward;
  readonly bucket: Forward;
  /** Creates the queue, or updates the attributes of an existing one; its messages stay. */
  ensureQueue(name: string, attributes: Readonly<Record<string, string>>): void;
  ensureBucket(name: string): void;
  /** Makes every in-flight message visible again: its receiver ended with the last start. */
  releaseInFlight(): void;
  /** The clock was advanced: messages may be visible earlier than planned. */
  onClockAdvance(): void;
  /** Ends all long polls without messages. */
  endLongPolls(): void;
  /** The number of messages of a queue by state, for tests and for diagnostics. */
  depth(name: string): { readonly ready: number; readonly delayed: number; readonly inFlight: number };
  /** When the delayed messages of a queue become visible, in milliseconds since the epoch. */
  delayedUntil(name: string): readonly number[];
  stop(): Promise<void>;
}

export async function startFauxqs(directory: string): Promise<Fauxqs> {
  const classes = await loadFauxqsClasses();
  patchFauxqs(classes);
  mkdirSync(directory, { recursive: true });
  const stores = { sqsStore: new classes.SqsStore(), snsStore: new classes.SnsStore(), s3Store: new classes.S3Store() };
  const { sqsStore, snsStore, s3Store } = stores;
  const persistence = new classes.PersistenceManager(directory);
  // Writes survive a kill of this process. Only a power failure may lose the last moments.
  persistence.db.exec('PRAGMA synchronous = NORMAL');
  // Load before the stores get their persistence: creating a queue with persistence deletes its stored messages first.
  persistence.load(sqsStore, snsStore, s3Store);
  Object.assign(sqsStore, { persistence, region: awsEnvironment.region });
  Object.assign(s3Store, { persistence });
  for (const queue of sqsStore.allQueues()) Object.assign(queue, { persistence });
  const bucket = openBucket({ logger: false, defaultRegion: awsEnvironment.region, stores });

  return {
    queues: await openQueues(sqsStore),
    bucket: bucket.forward,
    ensureQueue(name, attributes) {
      const existing = sqsStore.getQueueByName(name);
      if (existing !== undefined) existing.setAttributes({ ...attributes });
      else sqsStore.createQueue(name, queueUrl('http://127.0.0.1', name), arns.queue(name), { ...attributes });
    },
    ensureBucket(name) {
      if (!s3Store.hasBucket(name)) s3Store.createBucket(name);
    },
    releaseInFlight() {
      for (const queue of sqsStore.allQueues()) {
        for (const handle of queue.inflightMessages.keys()) queue.changeVisibility(handle, 0);
      }
    },
    onClockAdvance() {
      for (const queue of sqsStore.allQueues()) checkQueue(queue);
    },
    endLongPolls: () => sqsStore.shutdown(),
    depth(name) {
      const messages = sqsStore.inspectQueue(name)?.messages ?? { ready: [], delayed: [], inflight: [] };
      return { ready: messages.ready.length, delayed: messages.delayed.length, inFlight: messages.inflight.length };
    },
    delayedUntil: (name) => sqsStore.inspectQueue(name)?.messages.delayed.map(({ delayUntil }) => delayUntil ?? 0) ?? [],
    async stop() {
      sqsStore.shutdown();
      await bucket.stop();
      persistence.close();
    },
  };
}

type BuildOptions = NonNullable<Parameters<typeof build>[0]>;

const methods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] as const;
/** Headers of the connection, which are not copied to the response. */
const connectionHeaders = new Set(['connection', 'transfer-encoding', 'content-length']);

const bodyType = 'application/octet-stream';

interface Bucket {
  readonly forward: Forward;
  stop(): Promise<void>;
}

function openBucket(options: BuildOptions): Bucket {
  let opening: Promise<ReturnType<typeof build>> | undefined;
  const open = async (): Promise<ReturnType<typeof build>> => {
    const { buildApp } = await import('fauxqs');
    const app = buildApp(options);
    // The emulator's own limit is 11 MiB, for parts of uploads. S3 takes 5 GB in one put; the gateway limits what comes here.
    app.addContentTypeParser(bodyType, { parseAs: 'buffer', bodyLimit: maxUploadBytes }, (_request, body, done) =>
      done(null, body),
    );
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
          headers: { ...headers, host: '127.0.0.1', 'content-type': bodyType },
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
