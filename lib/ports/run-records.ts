/** The ports of a run's records: its log, the index of runs, and payloads that are too large for an item. */
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { ExternalLogs } from './external-runs.ts';
import type { RunIndex } from './run-index.ts';
import type { RunLog } from './run-log.ts';
import type { Uploads } from './uploads.ts';

/** Values that are too large for an item (claim check). Each is written once, under a unique key. */
export interface Blobs {
  /** @param expiresAt the store keeps the value until then and deletes it soon after */
  put(scope: Scope, key: string, value: JsonValue, expiresAt: Instant): Promise<void>;
  /** undefined if nothing is stored under the key; bytes that a client uploaded are `{ "$bytes": "<base64>" }` */
  get(scope: Scope, key: string): Promise<JsonValue | undefined>;
  /** Copies a value, or an upload. @returns false if nothing is stored under the first key */
  copy(scope: Scope, from: string, to: string, expiresAt: Instant): Promise<boolean>;
  /**
   * Moves the expiry of at most `limit` values whose keys begin with the prefix, in the order of their keys.
   * @param page `after`: the result of the call before
   * @returns where the next call continues; undefined: there are no more values
   */
  extendAll(
    scope: Scope,
    prefix: string,
    expiresAt: Instant,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<string | undefined>;
  /** Deletes all values whose keys begin with the prefix. */
  removeAll(scope: Scope, prefix: string): Promise<void>;
}

export interface RunRecordPorts {
  readonly log: RunLog;
  readonly index: RunIndex;
  readonly blobs: Blobs;
  readonly uploads: Uploads;
  readonly externalLogs: ExternalLogs;
}
