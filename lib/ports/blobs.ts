/** Values too large for an item. Written once under a name that nothing else has. */
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';

export interface Blobs {
  put(scope: Scope, key: string, value: JsonValue): Promise<void>;
  /** undefined where nothing is stored under the key */
  get(scope: Scope, key: string): Promise<JsonValue | undefined>;
  /** Removes everything whose key begins like this. */
  removeAll(scope: Scope, prefix: string): Promise<void>;
}
