/**
 * The classes inside fauxqs. Its package exports only a server that listens on every address of the machine; from its parts
 * the embedded cloud makes one that listens on none. The version is pinned, and what is taken from it is checked here.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { buildApp as build } from 'fauxqs';

type Stores = NonNullable<NonNullable<Parameters<typeof build>[0]>['stores']>;
export type Queue = NonNullable<ReturnType<Stores['sqsStore']['getQueueByName']>>;

interface Persistence {
  readonly db: DatabaseSync;
  updateMessageReady(messageId: string): void;
  load(sqsStore: Stores['sqsStore'], snsStore: Stores['snsStore'], s3Store: Stores['s3Store']): void;
  close(): void;
}

export interface FauxqsClasses {
  readonly buildApp: typeof build;
  readonly SqsStore: new () => Stores['sqsStore'];
  readonly SnsStore: new () => Stores['snsStore'];
  readonly S3Store: new () => Stores['s3Store'];
  readonly SqsQueue: { readonly prototype: Queue };
  readonly PersistenceManager: (new (directory: string) => Persistence) & { readonly prototype: Persistence };
}

const isClass = (value: unknown, ...methods: readonly string[]): boolean => {
  const prototype: unknown = typeof value === 'function' ? value.prototype : undefined;
  return typeof prototype === 'object' && prototype !== null && methods.every((method) => method in prototype);
};

function hasAll(found: Readonly<Record<string, unknown>>): found is Record<string, unknown> & FauxqsClasses {
  return (
    typeof found['buildApp'] === 'function' &&
    isClass(found['SqsStore'], 'createQueue', 'getQueueByName', 'shutdown') &&
    isClass(found['SnsStore']) &&
    isClass(found['S3Store'], 'createBucket', 'hasBucket') &&
    isClass(found['SqsQueue'], 'dequeue', 'enqueue', 'processTimers', 'changeVisibility') &&
    isClass(found['PersistenceManager'], 'updateMessageReady', 'load', 'close')
  );
}

export async function loadFauxqsClasses(): Promise<FauxqsClasses> {
  const entry = import.meta.resolve('fauxqs');
  const modules: readonly Record<string, unknown>[] = await Promise.all(
    ['app.js', 'sqs/sqsStore.js', 'sns/snsStore.js', 's3/s3Store.js', 'persistence.js'].map(
      (file) => import(new URL(file, entry).href),
    ),
  );
  const found: Record<string, unknown> = {};
  for (const module of modules) for (const [name, value] of Object.entries(module)) found[name] = value;
  if (!hasAll(found)) throw new Error('The installed fauxqs is not the one the embedded cloud was made for: run npm ci');
  return found;
}
