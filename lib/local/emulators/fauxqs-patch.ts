/**
 * Corrects differences between fauxqs 2.4.1 and SQS, on its classes when they are loaded:
 * 1. ReceiveMessage returns one message of a group; SQS returns up to ten, in order. Without the correction no batch would
 *    contain two messages of a group.
 * 2. Several messages of a group that become visible at once are redelivered in the wrong order.
 * 3. ChangeMessageVisibility(0) throws with persistence on, after the message has been removed from memory.
 * 4. `DeduplicationScope: messageGroup` deduplicates over the whole queue.
 * 5. A dead letter does not name its source queue.
 * 6. A queue with a waiting receive is checked every 20 ms (`fauxqs-timers.ts`).
 */
import type { DatabaseSync } from 'node:sqlite';
import type { buildApp as build } from 'fauxqs';
import { loadEmulatorModule } from './emulator-modules.ts';
import { replacePollTimer } from './fauxqs-timers.ts';

const patched = new WeakSet<object>();

/** Separates the group from the deduplication id, for queues that deduplicate per group. */
const separator = '\u001F';

export const hasGroupDeduplication = (queue: Pick<Queue, 'attributes'>): boolean =>
  queue.attributes['DeduplicationScope'] === 'messageGroup';

/** The deduplication id for the emulator, which includes the group, so that equal ids of two groups differ. */
export const scopedDeduplicationId = (groupId: string, deduplicationId: string): string =>
  `${groupId}${separator}${deduplicationId}`;

function restoreOrder(queue: Queue): void {
  for (const messages of queue.fifoMessages.values()) {
    const inOrder = messages.every(
      (message, at) => at === 0 || (messages[at - 1]?.sequenceNumber ?? '') <= (message.sequenceNumber ?? ''),
    );
    if (!inOrder) messages.sort((left, right) => ((left.sequenceNumber ?? '') < (right.sequenceNumber ?? '') ? -1 : 1));
  }
}

/** The message attribute in which a dead letter stores the system attribute DeadLetterQueueSourceArn. */
export const sourceArnAttribute = 'AWS.DeadLetterQueueSourceArn';

/** Idempotent: all servers of a process share the classes. */
export function patchFauxqs({ SqsQueue, PersistenceManager }: FauxqsClasses): void {
  if (patched.has(SqsQueue)) return;
  patched.add(SqsQueue);
  // oxlint-disable-next-line typescript/unbound-method -- both are called with the queue they belong to
  const { dequeue, enqueue } = SqsQueue.prototype;

  /** the queue that is currently receiving: a message that another queue gets meanwhile is a dead letter of it */
  let dequeuingQueue: Pick<Queue, 'arn'> | undefined;

  SqsQueue.prototype.dequeue = function (this: Queue, ...args) {
    dequeuingQueue = { arn: this.arn };
    try {
      return inOrder.apply(this, args);
    } finally {
      dequeuingQueue = undefined;
    }
  };

  const inOrder = function (this: Queue, ...[maxCount, visibilityTimeout, dlqResolver]: Parameters<typeof dequeue>) {
    if (!this.isFifo()) return dequeue.call(this, maxCount, visibilityTimeout, dlqResolver);
    this.processTimers();
    restoreOrder(this);
    const received: ReturnType<typeof dequeue> = [];
    const takenPerGroup = new Map<string, number>();
    while (received.length < Math.min(maxCount, 10)) {
      const [next] = dequeue.call(this, 1, visibilityTimeout, dlqResolver);
      const group = next === undefined ? undefined : this.inflightMessages.get(next.ReceiptHandle)?.message.messageGroupId;
      if (next === undefined || group === undefined) break;
      received.push(next);
      takenPerGroup.set(group, (takenPerGroup.get(group) ?? 0) + 1);
      // unlocks the group for the rest of this receive
      this.fifoLockedGroups.delete(group);
    }
    for (const [group, count] of takenPerGroup) this.fifoLockedGroups.set(group, count);
    return received;
  };

  SqsQueue.prototype.enqueue = function (this: Queue, message) {
    const prefix = `${message.messageGroupId ?? ''}${separator}`;
    if (hasGroupDeduplication(this) && message.messageDeduplicationId?.startsWith(prefix) === true) {
      message.messageDeduplicationId = message.messageDeduplicationId.slice(prefix.length);
    }
    if (dequeuingQueue !== undefined && dequeuingQueue.arn !== this.arn)
      message.messageAttributes = {
        ...message.messageAttributes,
        [sourceArnAttribute]: { DataType: 'String', StringValue: dequeuingQueue.arn },
      };
    enqueue.call(this, message);
  };

  PersistenceManager.prototype.updateMessageReady = function (messageId) {
    this.db
      .prepare('UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL WHERE message_id = ?')
      .run(messageId);
  };

  replacePollTimer(SqsQueue);
}

/**
 * The internal classes of fauxqs. Its package exports only a server that listens on every address of the machine; with these
 * classes the embedded cloud needs no listener. The version is pinned, and the imports are checked here.
 */
type Stores = NonNullable<NonNullable<Parameters<typeof build>[0]>['stores']>;
export type QueueStore = Stores['sqsStore'];
export type Queue = NonNullable<ReturnType<QueueStore['getQueueByName']>>;

interface Persistence {
  readonly db: DatabaseSync;
  updateMessageReady(messageId: string): void;
  load(sqsStore: QueueStore, snsStore: Stores['snsStore'], s3Store: Stores['s3Store']): void;
  close(): void;
}

export interface FauxqsClasses {
  readonly SqsStore: new () => QueueStore;
  readonly SnsStore: new () => Stores['snsStore'];
  readonly S3Store: new () => Stores['s3Store'];
  readonly SqsQueue: { readonly prototype: Queue };
  readonly PersistenceManager: (new (directory: string) => Persistence) & { readonly prototype: Persistence };
}

/** The handler of one SQS operation; its errors have a code and a status. */
export type QueueAction = (input: unknown, store: QueueStore, request: { readonly headers: object }) => unknown;

type Loaded = Readonly<Record<string, unknown>>;

const isClass = (value: unknown, ...methods: readonly string[]): boolean => {
  const prototype: unknown = typeof value === 'function' ? value.prototype : undefined;
  return typeof prototype === 'object' && prototype !== null && methods.every((method) => method in prototype);
};

const hasClasses = (found: Loaded): found is Loaded & FauxqsClasses =>
  isClass(found['SqsStore'], 'createQueue', 'getQueueByName', 'shutdown') &&
  isClass(found['SnsStore']) &&
  isClass(found['S3Store'], 'createBucket', 'hasBucket') &&
  isClass(
    found['SqsQueue'],
    'dequeue',
    'enqueue',
    'processTimers',
    'changeVisibility',
    'startPollTimerIfNeeded',
    'stopPollTimerIfEmpty',
  ) &&
  isClass(found['PersistenceManager'], 'updateMessageReady', 'load', 'close');

const isAction = (value: unknown): value is QueueAction => typeof value === 'function';

const unsupportedVersion = (): Error =>
  new Error('The installed fauxqs has another version than the embedded cloud expects: run npm ci');

export async function loadFauxqsClasses(): Promise<FauxqsClasses> {
  const modules = await Promise.all(
    ['sqs/sqsStore.js', 'sns/snsStore.js', 's3/s3Store.js', 'persistence.js'].map(loadEmulatorModule),
  );
  const found: Record<string, unknown> = {};
  for (const module of modules) for (const [name, value] of Object.entries(module)) found[name] = value;
  if (!hasClasses(found)) throw unsupportedVersion();
  return found;
}

/** The actions by operation name, such as `SendMessage`. */
export async function loadQueueActions(operations: readonly string[]): Promise<ReadonlyMap<string, QueueAction>> {
  const actions = await Promise.all(
    operations.map(async (operation) => {
      const name = operation.charAt(0).toLowerCase() + operation.slice(1);
      const action = (await loadEmulatorModule(`sqs/actions/${name}.js`))[name];
      if (!isAction(action)) throw unsupportedVersion();
      return [operation, action] as const;
    }),
  );
  return new Map(actions);
}
