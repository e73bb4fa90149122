/** Embeds in the control table: one item under the digest of the token, and one in the list of the project. */
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { EmbedId, Scope } from '../engine/ids.ts';
import type { Embed, EmbedTarget, Embeds } from '../ports/embeds.ts';
import { anyInstant, anyString, itemSchema, jsonOf, stringOf, text } from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Key, type Table, ifExists } from './table.ts';

const embedKey = (digest: string): Key => ({ pk: partitionOf('embed', digest), sk: 'embed' });
const listPartition = (scope: Scope): string => partitionOf('embeds', scopeKey(scope));
const listKey = (scope: Scope, id: EmbedId): Key => ({ pk: listPartition(scope), sk: id });

export class DynamoEmbeds implements Embeds {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async put(embed: Embed): Promise<void> {
    const item = embedItem.encode(embed, embed.expiresAt);
    await this.#table.put(listKey(embed, embed.id), item);
    await this.#table.put(embedKey(embed.digest), item);
  }

  async embed(digest: string): Promise<Embed | undefined> {
    const item = await this.#table.get(embedKey(digest));
    return item && embedItem.decode(item);
  }

  async list(scope: Scope): Promise<readonly Embed[]> {
    const found: Embed[] = [];
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': text(listPartition(scope)) },
    });
    for await (const item of items) found.push(embedItem.decode(item));
    return found.toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  async delete(scope: Scope, id: EmbedId): Promise<Embed | undefined> {
    const item = await this.#table.get(listKey(scope, id));
    if (item === undefined) return undefined;
    const embed = embedItem.decode(item);
    // The usable item first: a crash in between leaves a listed embed that does not work.
    await this.#table.delete(embedKey(embed.digest), ifExists);
    await this.#table.delete(listKey(scope, id), ifExists);
    return embed;
  }
}

const target: z.ZodType<EmbedTarget> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('run'), runId: schema.runId }),
  z.strictObject({ kind: z.literal('workflow'), workflowName: schema.workflowName }),
]);

const embedItem = itemSchema('an embed', {
  id: stringOf(schema.embedId),
  digest: anyString,
  projectId: stringOf(schema.projectId),
  environment: stringOf(schema.environment),
  target: jsonOf(target),
  origins: jsonOf<readonly string[]>(z.array(z.string())),
  createdAt: anyInstant,
  expiresAt: anyInstant,
  keyId: stringOf(schema.keyId),
});
