/** The records of runs in memory. */
import { MemoryExternalRuns } from './external-runs.ts';
import { MemoryRunIndex } from './run-index.ts';
import { MemoryRunLog } from './run-log.ts';
import type { RunAddress, Scope } from '../engine/ids.ts';
import { type JsonValue, isJsonObject } from '../engine/json.ts';
import { type Instant, instant } from '../engine/time.ts';
import { invariant } from '../engine/invariant.ts';
import type { Blobs } from '../ports/run-records.ts';
import { type PresignedUpload, type UploadedContent, type Uploads, isUploadedKey } from '../ports/uploads.ts';
import { frozenCopy } from './frozen-copy.ts';
import { MemoryRuns, type StoredExpiry, scopeName } from './runs.ts';

/** Large values in memory. An address is a name; `receive` stores an upload, and `download` returns a value. */
export class MemoryBlobs implements Blobs, Uploads {
  readonly #values = new Map<string, JsonValue>();
  readonly #expiries = new Map<string, Instant>();
  /** of signed uploads */
  readonly #keptUntil = new Map<string, Instant>();

  async put(scope: Scope, key: string, value: JsonValue, expiresAt: Instant): Promise<void> {
    this.#values.set(`${scopeName(scope)}#${key}`, frozenCopy(value));
    this.#expiries.set(`${scopeName(scope)}#${key}`, expiresAt);
  }

  async copy(scope: Scope, from: string, to: string, expiresAt: Instant): Promise<boolean> {
    const value = await this.get(scope, from);
    if (value === undefined) return false;
    await this.put(scope, to, value, expiresAt);
    return true;
  }

  async presignUpload(
    scope: Scope,
    key: string,
    { bytes }: UploadedContent,
    { expiresAt, keptUntil }: { readonly expiresAt: Instant; readonly keptUntil: Instant },
  ): Promise<PresignedUpload> {
    const name = `${scopeName(scope)}#${key}`;
    this.#keptUntil.set(name, keptUntil);
    return { method: 'PUT', url: `memory:${name}`, headers: { 'content-length': String(bytes) }, expiresAt };
  }

  async presignDownload(scope: Scope, key: string, _expiresAt: Instant): Promise<string> {
    return `memory:${scopeName(scope)}#${key}`;
  }

  /** Stores an upload without validation. */
  receive(url: string, content: Uint8Array): void {
    const name = url.slice('memory:'.length);
    const keptUntil = this.#keptUntil.get(name);
    invariant(keptUntil !== undefined, () => `no upload to ${name} was signed`);
    this.#values.set(name, { $bytes: Buffer.from(content).toString('base64') });
    this.#expiries.set(name, keptUntil);
  }

  /** What a client gets at a presigned URL: bytes that were uploaded, or the text of other values. */
  download(url: string): Uint8Array | undefined {
    const name = url.slice('memory:'.length);
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    const bytes = isUploadedKey(name) && isJsonObject(value) ? value['$bytes'] : undefined;
    return typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : Buffer.from(JSON.stringify(value));
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
    uploads: blobs,
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
