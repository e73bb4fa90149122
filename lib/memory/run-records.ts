/** The records of runs in memory. */
import { MemoryRunIndex } from './run-index.ts';
import { MemoryRunLog } from './run-log.ts';
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Blobs } from '../ports/run-records.ts';
import { frozenCopy } from './frozen-copy.ts';
import { MemoryRuns, scopeName } from './runs.ts';

/** Large values in memory. */
export class MemoryBlobs implements Blobs {
  readonly #values = new Map<string, JsonValue>();

  async put(scope: Scope, key: string, value: JsonValue): Promise<void> {
    this.#values.set(`${scopeName(scope)}#${key}`, frozenCopy(value));
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
  return { log: new MemoryRunLog(runs), index: new MemoryRunIndex(runs), blobs: new MemoryBlobs() };
};
