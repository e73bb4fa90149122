/** Values too large for an item. Written once under a name that nothing else has. */
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

export interface Blobs {
  /** @param expiresAt it is kept until then, and removed by itself soon after */
  put(scope: Scope, key: string, value: JsonValue, expiresAt: Instant): Promise<void>;
  /** undefined where nothing is stored under the key */
  get(scope: Scope, key: string): Promise<JsonValue | undefined>;
  /** Removes everything whose key begins like this. */
  removeAll(scope: Scope, prefix: string): Promise<void>;
}
