/** API keys in the control table, found by their id alone: the key says which scope it belongs to. */
import { z } from 'zod';
import { environment, keyId, projectId } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import type { KeyId } from '../engine/ids.ts';
import { type ApiKey, type Keys, keyScopes } from '../ports/control.ts';
import { type Item, instantAttribute, number, numberAttribute, present, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { type Key, type Table, isFree } from './table.ts';

/** No project id holds a `~`, so this is nobody's partition. */
const keyKey = (id: KeyId): Key => ({ pk: `~key#${id}`, sk: 'key' });

export class DynamoKeys implements Keys {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async key(id: KeyId): Promise<ApiKey | undefined> {
    const item = await this.#table.get(keyKey(id));
    return item && keyIn(item);
  }

  async putKey(key: ApiKey): Promise<'stored' | 'occupied'> {
    const put = await this.#table.put(keyKey(key.keyId), keyAttributes(key), isFree);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }
}

const keyItem = z.object({
  v: itemVersionAttribute,
  keyId: textAttribute.pipe(keyId),
  projectId: textAttribute.pipe(projectId),
  environment: textAttribute.pipe(environment),
  scopes: textAttribute.transform((scopes) => scopes.split(' ')).pipe(z.array(z.enum(keyScopes))),
  secretHash: textAttribute,
  createdAt: instantAttribute,
  expiresAt: instantAttribute.exactOptional(),
  revokedAt: instantAttribute.exactOptional(),
  rateLimitPerMinute: z.union([numberAttribute, textAttribute.pipe(z.literal('none')).transform(() => null)]).exactOptional(),
});

const keyAttributes = (key: ApiKey): Item => ({
  v: itemVersion,
  ...present({
    keyId: text(key.keyId),
    projectId: text(key.projectId),
    environment: text(key.environment),
    scopes: text(key.scopes.join(' ')),
    secretHash: text(key.secretHash),
    createdAt: number(key.createdAt),
    expiresAt: key.expiresAt === undefined ? undefined : number(key.expiresAt),
    revokedAt: key.revokedAt === undefined ? undefined : number(key.revokedAt),
    rateLimitPerMinute: rateLimitAttribute(key.rateLimitPerMinute),
  }),
});

const rateLimitAttribute = (limit: ApiKey['rateLimitPerMinute']) => {
  if (limit === undefined) return undefined;
  return limit === null ? text('none') : number(limit);
};

const keyIn = (item: Item): ApiKey => {
  const { v: _v, ...key } = read('an API key', keyItem, item);
  return key;
};
