/**
 * API keys in the control table, keyed by id; the item has the key's scope. A pointer in the scope's partition is written
 * before the key, so that every valid key is listed.
 */
import * as z from 'zod';
import { environment, keyId, projectId } from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { KeyId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import {
  type ApiKey,
  type KeyPage,
  type KeyPosition,
  type KeySettings,
  type Keys,
  keyScopes,
  type KeyScope,
} from '../ports/control.ts';
import {
  number,
  numberAttribute,
  present,
  text,
  textAttribute,
  anyString,
  anyInstant,
  stringOf,
  optional,
  itemSchema,
  partSchema,
  type Attribute,
} from './item-schema.ts';
import { creationSort, scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, firstOf, ifNotExists, partitionName } from './table.ts';

const apiKeyKey = (id: KeyId): Key => ({ pk: partitionOf('key', id), sk: 'key' });

const pointerPartition = (scope: Scope): string => partitionOf('keys', scopeKey(scope));
const pointerSort = ({ createdAt, keyId: id }: KeyPosition): string => creationSort(createdAt, id);

export class DynamoKeys implements Keys {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async key(id: KeyId): Promise<ApiKey | undefined> {
    const item = await this.#table.get(apiKeyKey(id));
    return item && keyItem.decode(item);
  }

  async putKey(key: ApiKey): Promise<'stored' | 'occupied'> {
    const pointer = { pk: pointerPartition(key), sk: pointerSort(key) };
    await this.#table.put(pointer, pointerItem.encode(key));
    const put = await this.#table.put(apiKeyKey(key.keyId), keyItem.encode(key), ifNotExists);
    return put.kind === 'stored' || isSameKey(keyItem.decode(put.existing), key) ? 'stored' : 'occupied';
  }

  async listKeys(scope: Scope, { limit, after }: { readonly limit: number; readonly after?: KeyPosition }): Promise<KeyPage> {
    const items = this.#table.query({
      ConsistentRead: true,
      ScanIndexForward: false,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk < :after',
      ExpressionAttributeValues: present({
        ':pk': text(pointerPartition(scope)),
        ':after': after && text(pointerSort(after)),
      }),
    });
    const found = (await firstOf(items, limit + 1)).map((item) => pointerItem.decode(item));
    const pointers = found.slice(0, limit);
    const pointed = await Promise.all(pointers.map(async (pointer) => ({ pointer, key: await this.key(pointer.keyId) })));
    // Skip pointers whose key was not written or belongs to another request.
    const keys = pointed.flatMap(({ pointer, key }) =>
      key !== undefined && scopeKey(key) === scopeKey(scope) && key.createdAt === pointer.createdAt ? [key] : [],
    );
    const last = pointers.at(-1);
    if (found.length <= limit || last === undefined) return { keys };
    return { keys, next: { createdAt: last.createdAt, keyId: last.keyId } };
  }

  async revokeKey(scope: Scope, id: KeyId, at: Instant): Promise<Instant | undefined> {
    const changed = await this.#table.update(
      apiKeyKey(id),
      { expression: 'SET revokedAt = if_not_exists(revokedAt, :at)', values: { ':at': number(at) } },
      belongsTo(scope),
    );
    return changed && revokedItem.decode(changed).revokedAt;
  }

  async replaceKey(
    scope: Scope,
    id: KeyId,
    { replacedBy, expiresAt }: { readonly replacedBy: KeyId; readonly expiresAt: Instant },
  ): Promise<boolean> {
    const { expression, ...ownership } = belongsTo(scope);
    const changed = await this.#table.update(
      apiKeyKey(id),
      {
        expression: 'SET replacedBy = :by, expiresAt = :end',
        values: { ':by': text(replacedBy), ':end': number(expiresAt) },
      },
      {
        ...ownership,
        expression: `${expression} AND attribute_not_exists(revokedAt) AND (attribute_not_exists(replacedBy) OR replacedBy = :by)`,
      },
    );
    return changed !== undefined;
  }

  async updateKey(scope: Scope, id: KeyId, settings: KeySettings): Promise<boolean> {
    const { expression, ...ownership } = belongsTo(scope);
    const assigned = keySettings.encode(settings);
    const absent = Object.keys(settingAttributes).filter((name) => assigned[name] === undefined);
    const set = Object.keys(assigned).map((name) => `${name} = :${name}`);
    const changed = await this.#table.update(
      apiKeyKey(id),
      {
        expression: `SET ${set.join(', ')}${absent.length === 0 ? '' : ` REMOVE ${absent.join(', ')}`}`,
        values: Object.fromEntries(Object.entries(assigned).map(([name, value]) => [`:${name}`, value])),
      },
      { ...ownership, expression: `${expression} AND attribute_not_exists(revokedAt) AND attribute_not_exists(replacedBy)` },
    );
    return changed !== undefined;
  }

  async recordKeyUse(id: KeyId, at: Instant): Promise<void> {
    await this.#table.update(
      apiKeyKey(id),
      { expression: 'SET lastUsedAt = :at', values: { ':at': number(at) } },
      {
        expression: 'attribute_exists(#pk) AND (attribute_not_exists(lastUsedAt) OR lastUsedAt < :at)',
        names: partitionName,
      },
    );
  }
}

/** The condition fails also if the item does not exist. */
const belongsTo = (scope: Scope): Expression => ({
  expression: '#project = :project AND #environment = :environment',
  names: { '#project': 'projectId', '#environment': 'environment' },
  values: { ':project': text(scope.projectId), ':environment': text(scope.environment) },
});

/** Secrets are unique, so a stored key with the same secret was put by the same request. */
const isSameKey = (one: ApiKey, other: ApiKey): boolean =>
  one.secretHash === other.secretHash && scopeKey(one) === scopeKey(other);

const pointerItem = itemSchema('a pointer to a key', { keyId: stringOf(keyId), createdAt: anyInstant });
const revokedItem = partSchema('a revoked key', { revokedAt: anyInstant });

/** `none` stands for null, a key without a limit. */
const rateLimit: Attribute<number | null> = {
  encode: (limit) => (limit === null ? text('none') : number(limit)),
  parse: z.union([numberAttribute, textAttribute.pipe(z.literal('none')).transform(() => null)]),
};
/** Separated by spaces. */
const scopeList: Attribute<readonly KeyScope[]> = {
  encode: (scopes) => text(scopes.join(' ')),
  parse: textAttribute.transform((scopes) => scopes.split(' ')).pipe(z.array(z.enum(keyScopes))),
};
const settingAttributes = {
  scopes: scopeList,
  expiresAt: optional(anyInstant),
  rateLimitPerMinute: optional(rateLimit),
};
const keySettings = partSchema('the settings of an API key', settingAttributes);
const keyItem = itemSchema('an API key', {
  keyId: stringOf(keyId),
  projectId: stringOf(projectId),
  environment: stringOf(environment),
  secretHash: anyString,
  createdAt: anyInstant,
  ...settingAttributes,
  revokedAt: optional(anyInstant),
  replacedBy: optional(stringOf(keyId)),
  lastUsedAt: optional(anyInstant),
});
