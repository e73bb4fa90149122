/**
 * The internal classes of fauxqs. Its package exports only a server that listens on every address of the machine; with these
 * classes the embedded cloud needs no listener. The version is pinned, and the imports are checked here.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { buildApp as build } from 'fauxqs';

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
  isClass(found['SqsQueue'], 'dequeue', 'enqueue', 'processTimers', 'changeVisibility') &&
  isClass(found['PersistenceManager'], 'updateMessageReady', 'load', 'close');

const isAction = (value: unknown): value is QueueAction => typeof value === 'function';

const unsupportedVersion = (): Error =>
  new Error('The installed fauxqs has another version than the embedded cloud expects: run npm ci');

const load = (file: string): Promise<Loaded> => import(new URL(file, import.meta.resolve('fauxqs')).href);

export async function loadFauxqsClasses(): Promise<FauxqsClasses> {
  const modules = await Promise.all(['sqs/sqsStore.js', 'sns/snsStore.js', 's3/s3Store.js', 'persistence.js'].map(load));
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
      const action = (await load(`sqs/actions/${name}.js`))[name];
      if (!isAction(action)) throw unsupportedVersion();
      return [operation, action] as const;
    }),
  );
  return new Map(actions);
}
