/** The records of runs in memory. */
import { MemoryExternalRuns } from './external-runs.ts';
import { MemoryRunIndex } from './run-index.ts';
import { MemoryRunLog } from './run-log.ts';
import type { RunAddress, Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, instant } from '../engine/time.ts';
import type { Blobs } from '../ports/run-records.ts';
import { frozenCopy } from './frozen-copy.ts';
import { MemoryRuns, type StoredExpiry, scopeName } from './runs.ts';

/** Large values in memory. */
export class MemoryBlobs implements Blobs {
  readonly #values = new Map<string, JsonValue>();
  readonly #expiries = new Map<string, Instant>();

  async put(scope: Scope, key: string, value: JsonValue, expiresAt: Instant): Promise<void> {
    this.#values.set(`${scopeName(scope)}#${key}`, frozenCopy(value));
    this.#expiries.set(`${scopeName(scope)}#${key}`, expiresAt);
  }

  async extendAll(
    scope: Scope,
    prefix: string,
    expiresAt: Instant,
    { after = '', limit }: Parameters<Blobs['extendAll']>[3],
  ): Promise<string | undefined> {
    const names = [...this.#values.keys()].filter((name) => name.startsWith(`${scopeName(scope)}#${prefix}`) && name > after);
    const page = names.toSorted().slice(0, limit);
    for (const name of page) this.#expiries.set(name, instant(Math.max(this.#expiries.get(name) ?? expiresAt, expiresAt)));
    return names.length > limit ? page.at(-1) : undefined;
  }

  /** Deletes what has expired, as the lifecycle rules of the bucket do. */
  deleteExpired(now: Instant): void {
    for (const [name, expiresAt] of this.#expiries) {
      if (expiresAt > now) continue;
      this.#expiries.delete(name);
      this.#values.delete(name);
    }
  }

  expiriesOf(scope: Scope, prefix: string): readonly StoredExpiry[] {
    const start = `${scopeName(scope)}#${prefix}`;
    return [...this.#expiries].flatMap(([name, expiresAt]) => (name.startsWith(start) ? [{ name, expiresAt }] : []));
  }

  async get(scope: Scope, key: string): Promise<JsonValue | undefined> {
    return this.#values.get(`${scopeName(scope)}#${key}`);
  }

  async removeAll(scope: Scope, prefix: string): Promise<void> {
    for (const name of this.#values.keys()) if (name.startsWith(`${scopeName(scope)}#${prefix}`)) this.#values.delete(name);
  }
}

export const memoryRunRecords = () => {
  const runs = new MemoryRuns();
  const blobs = new MemoryBlobs();
  const externalLogs = new MemoryExternalRuns();
  return {
    log: new MemoryRunLog(runs),
    index: new MemoryRunIndex(runs, externalLogs),
    blobs,
    externalLogs,
    expiriesOf: (run: RunAddress, prefixes: readonly string[]): readonly StoredExpiry[] => [
      ...runs.expiriesOf(run),
      ...prefixes.flatMap((prefix) => blobs.expiriesOf(run, prefix)),
    ],
    deleteExpiredRecords: (now: Instant): void => {
      runs.deleteExpired(now);
      blobs.deleteExpired(now);
    },
  };
};
