/** SQS and S3 by fauxqs, inside this process and without a port: requests are handed in, and SQLite keeps what they wrote. */
import { mkdirSync } from 'node:fs';
import { z } from 'zod';
import { jsonBody, targetOperation, type WireRequest } from '../aws/wire.ts';
import { arns, lastPart, place, queueUrl } from '../place.ts';
import { loadFauxqsClasses } from './fauxqs-classes.ts';
import { hasGroupDeduplication, patchFauxqs, scopedDeduplicationId } from './fauxqs-patch.ts';
import type { Forward } from './forward.ts';

export interface Fauxqs {
  readonly forward: Forward;
  /** Creates the queue, or gives an existing one the attributes; its messages stay. */
  ensureQueue(name: string, attributes: Readonly<Record<string, string>>): void;
  ensureBucket(name: string): void;
  /** Makes every message that is in somebody's hands visible again: whoever held one died with the last start. */
  releaseReceived(): void;
  /** Ends all long polls, empty-handed. */
  wakePolls(): void;
  /** Messages of a queue by state, for tests and for the person who looks. */
  depth(name: string): { readonly ready: number; readonly delayed: number; readonly received: number };
  stop(): Promise<void>;
}

const entryShape = z.looseObject({
  MessageGroupId: z.string().optional(),
  MessageDeduplicationId: z.string().optional(),
});
const sendShape = entryShape.extend({ QueueUrl: z.string(), Entries: z.array(entryShape).optional() });

export async function startFauxqs(directory: string): Promise<Fauxqs> {
  const classes = await loadFauxqsClasses();
  patchFauxqs(classes);
  mkdirSync(directory, { recursive: true });
  const stores = { sqsStore: new classes.SqsStore(), snsStore: new classes.SnsStore(), s3Store: new classes.S3Store() };
  const { sqsStore, snsStore, s3Store } = stores;
  const persistence = new classes.PersistenceManager(directory);
  // what was written survives a kill of this process; only a machine that loses its power may lose the last moments
  persistence.db.exec('PRAGMA synchronous = NORMAL');
  // loading before the stores know where to persist: a queue created under persistence is first wiped there
  persistence.load(sqsStore, snsStore, s3Store);
  Object.assign(sqsStore, { persistence, region: place.region });
  Object.assign(s3Store, { persistence });
  for (const queue of sqsStore.allQueues()) Object.assign(queue, { persistence });
  const app = classes.buildApp({ logger: false, defaultRegion: place.region, stores });
  await app.ready();

  /** Deduplication per group, for queues that ask for it: equal ids of two groups are made to differ. */
  function scoped(request: WireRequest): WireRequest {
    if (!targetOperation(request).startsWith('SendMessage')) return request;
    const input = sendShape.safeParse(jsonBody(request));
    const queue = input.success ? sqsStore.getQueueByName(lastPart(input.data.QueueUrl)) : undefined;
    if (!input.success || queue === undefined || !hasGroupDeduplication(queue)) return request;
    const scope = <Entry extends z.infer<typeof entryShape>>(entry: Entry): Entry =>
      entry.MessageGroupId === undefined || entry.MessageDeduplicationId === undefined
        ? entry
        : { ...entry, MessageDeduplicationId: scopedDeduplicationId(entry.MessageGroupId, entry.MessageDeduplicationId) };
    const { Entries, ...single } = input.data;
    const body = Entries === undefined ? scope(single) : { ...single, Entries: Entries.map(scope) };
    return { ...request, body: Buffer.from(JSON.stringify(body)) };
  }

  return {
    async forward(given) {
      const request = scoped(given);
      const { 'content-length': _, 'transfer-encoding': __, ...headers } = request.headers;
      const method = request.method;
      if (method !== 'GET' && method !== 'HEAD' && method !== 'PUT' && method !== 'POST' && method !== 'DELETE') {
        return { status: 405, headers: {}, body: Buffer.alloc(0) };
      }
      const answered = await app.inject({
        method,
        url: request.url,
        headers: { ...headers, host: '127.0.0.1' },
        ...(request.body.length > 0 || method === 'PUT' || method === 'POST' ? { payload: request.body } : {}),
      });
      const kept: Record<string, string> = {};
      for (const [name, value] of Object.entries(answered.headers)) {
        if (name !== 'connection' && name !== 'transfer-encoding' && name !== 'content-length') kept[name] = String(value);
      }
      // a HEAD tells the size of what it does not send
      if (method === 'HEAD' && answered.headers['content-length'] !== undefined) {
        kept['content-length'] = String(answered.headers['content-length']);
      }
      return { status: answered.statusCode, headers: kept, body: answered.rawPayload };
    },
    ensureQueue(name, attributes) {
      const existing = sqsStore.getQueueByName(name);
      if (existing === undefined)
        sqsStore.createQueue(name, queueUrl('http://127.0.0.1', name), arns.queue(name), { ...attributes });
      else existing.setAttributes({ ...attributes });
    },
    ensureBucket(name) {
      if (!s3Store.hasBucket(name)) s3Store.createBucket(name);
    },
    releaseReceived() {
      for (const queue of sqsStore.allQueues()) {
        for (const handle of queue.inflightMessages.keys()) queue.changeVisibility(handle, 0);
      }
    },
    wakePolls: () => sqsStore.shutdown(),
    depth(name) {
      const messages = sqsStore.inspectQueue(name)?.messages ?? { ready: [], delayed: [], inflight: [] };
      return { ready: messages.ready.length, delayed: messages.delayed.length, received: messages.inflight.length };
    },
    async stop() {
      await app.close();
      persistence.close();
    },
  };
}
