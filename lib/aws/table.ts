/** A DynamoDB table with the keys `pk` and `sk`: strongly consistent reads, and single conditional writes. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  type UpdateItemCommandOutput,
} from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { controlTableKeys } from '../contract/environment.ts';
import { defined } from '../base/defined.ts';
import { read } from '../codec/unreadable.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type Item, text, textAttribute } from './item-schema.ts';
import { callService } from './call-service.ts';

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** An expression with its `#names` and `:values`. */
export interface Expression {
  readonly expression: string;
  readonly names?: Record<string, string>;
  readonly values?: Item;
}

const keyShape = z.object({ pk: textAttribute, sk: textAttribute });

export type Put = { readonly kind: 'stored' } | { readonly kind: 'refused'; readonly existing: Item };

export const keyOf = ({ pk, sk }: Key): Item => ({
  [controlTableKeys.partition]: text(pk),
  [controlTableKeys.sort]: text(sk),
});

const keyIn = (item: Item): Key => read('the key of an item', keyShape, item);
const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

/** `#pk` in expressions; both tables have the same keys. */
export const partitionName = { '#pk': controlTableKeys.partition };

export const ifExists: Expression = { expression: 'attribute_exists(#pk)', names: partitionName };

export const ifNotExists: Expression = { expression: 'attribute_not_exists(#pk)', names: partitionName };

/** DynamoDB's maximum number of keys in a batch. */
export const maxKeysPerBatch = 100;

/** Attempts of a put whose conflicting item disappears before it is read. */
const maxPutAttempts = 5;

export class Table {
  readonly name: string;
  readonly #client: DynamoDBClient;

  constructor(client: DynamoDBClient, name: string) {
    this.#client = client;
    this.name = name;
  }

  async get(key: Key): Promise<Item | undefined> {
    const response = await this.#call(() =>
      this.#client.send(new GetItemCommand({ TableName: this.name, Key: keyOf(key), ConsistentRead: true })),
    );
    return response.Item;
  }

  /** The items in the order of the keys; undefined for a missing item. */
  async getAll(keys: readonly Key[]): Promise<readonly (Item | undefined)[]> {
    // DynamoDB refuses a request that names a key twice.
    const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
    const batches = Array.from({ length: Math.ceil(distinct.length / maxKeysPerBatch) }, (_, index) =>
      distinct.slice(index * maxKeysPerBatch, (index + 1) * maxKeysPerBatch),
    );
    const items = (await Promise.all(batches.map((batch) => this.#getBatch(batch)))).flat();
    const byKey = new Map(items.map((item) => [nameOf(keyIn(item)), item]));
    return keys.map((key) => byKey.get(nameOf(key)));
  }

  /** Writes the item. If the condition fails, returns the existing item. */
  async put(key: Key, attributes: Item, condition?: Expression): Promise<Put> {
    const command = new PutItemCommand({
      TableName: this.name,
      Item: { ...keyOf(key), ...attributes },
      ...(condition && { ...conditional(condition), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    });
    for (let round = 0; round < maxPutAttempts; round += 1) {
      const refusal = await this.#catchConditionFailure(() => this.#client.send(command));
      if (!('refused' in refusal)) return { kind: 'stored' };
      // Not every implementation returns the existing item with the error.
      const existing = refusal.refused.Item ?? (await this.get(key));
      if (existing !== undefined) return { kind: 'refused', existing };
    }
    throw new Unavailable(`table ${this.name}`);
  }

  /** Writes the item if the condition holds; otherwise nothing happens. @returns whether it was written */
  async replace(key: Key, attributes: Item, condition: Expression): Promise<boolean> {
    const Item = { ...keyOf(key), ...attributes };
    const command = new PutItemCommand({ TableName: this.name, Item, ...conditional(condition) });
    return !('refused' in (await this.#catchConditionFailure(() => this.#client.send(command))));
  }

  /** Updates the item. Returns the new values of the updated attributes; undefined if the condition fails. */
  async update(key: Key, change: Expression, condition?: Expression): Promise<Item | undefined> {
    const response = await this.#update(key, change, condition);
    return 'refused' in response ? undefined : (response.Attributes ?? {});
  }

  /** Updates the item. If the condition fails, returns the existing item; undefined if there is none. */
  async updateOrExisting(key: Key, change: Expression, condition: Expression): Promise<Put | undefined> {
    const response = await this.#update(key, change, condition, { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
    if (!('refused' in response)) return { kind: 'stored' };
    // Not every implementation returns the existing item with the error.
    const existing = response.refused.Item ?? (await this.get(key));
    return existing && { kind: 'refused', existing };
  }

  #update(
    key: Key,
    change: Expression,
    condition: Expression | undefined,
    more: Pick<UpdateItemCommandInput, 'ReturnValuesOnConditionCheckFailure'> = {},
  ): Promise<UpdateItemCommandOutput | { refused: ConditionalCheckFailedException }> {
    const command = new UpdateItemCommand({
      TableName: this.name,
      Key: keyOf(key),
      UpdateExpression: change.expression,
      ...(condition && { ConditionExpression: condition.expression }),
      ...merged(change, condition),
      ReturnValues: 'UPDATED_NEW',
      ...more,
    });
    return this.#catchConditionFailure(() => this.#client.send(command));
  }

  /** Deletes the item if the condition holds. */
  async delete(key: Key, condition: Expression): Promise<void> {
    const command = new DeleteItemCommand({ TableName: this.name, Key: keyOf(key), ...conditional(condition) });
    await this.#catchConditionFailure(() => this.#client.send(command));
  }

  /** All items of the query, read page by page. */
  async *query(query: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item> {
    let start: Item | undefined;
    do {
      const page: QueryCommandInput = defined({ ...query, TableName: this.name, ExclusiveStartKey: start });
      const response = await this.#call(() => this.#client.send(new QueryCommand(page)));
      yield* response.Items ?? [];
      start = response.LastEvaluatedKey;
    } while (start !== undefined);
  }

  /** DynamoDB may process only a part of a batch (throttling, size limit). The rest is requested again. */
  async #getBatch(keys: readonly Key[]): Promise<readonly Item[]> {
    const items: Item[] = [];
    let remaining: readonly Item[] = keys.map(keyOf);
    let backoff = await this.#backoff();
    for (;;) {
      const request = { RequestItems: { [this.name]: { Keys: [...remaining], ConsistentRead: true } } };
      const response = await this.#call(() => this.#client.send(new BatchGetItemCommand(request)));
      const found = response.Responses?.[this.name] ?? [];
      items.push(...found);
      const unprocessed = response.UnprocessedKeys?.[this.name]?.Keys ?? [];
      // Progress resets the backoff. Only consecutive responses without any item exhaust the retries.
      if (unprocessed.length < remaining.length) {
        backoff.succeed();
        backoff = await this.#backoff();
      }
      if (unprocessed.length === 0) return items;
      remaining = unprocessed;
      await backoff.wait();
    }
  }

  /** The backoff of the client's retry strategy, applied to unprocessed keys. @throws Unavailable after the last retry */
  async #backoff(): Promise<{ readonly wait: () => Promise<void>; readonly succeed: () => void }> {
    const strategy = await this.#client.config.retryStrategy();
    if (!('acquireInitialRetryToken' in strategy)) throw new TypeError('the DynamoDB client has no standard retry strategy');
    let token = await strategy.acquireInitialRetryToken(this.name);
    return {
      wait: async () => {
        try {
          token = await strategy.refreshRetryTokenForRetry(token, { errorType: 'THROTTLING' });
        } catch (cause) {
          throw new Unavailable(`table ${this.name}`, { cause });
        }
        await delay(token.getRetryDelay());
      },
      succeed: () => strategy.recordSuccess(token),
    };
  }

  #call<Result>(call: () => Promise<Result>): Promise<Result> {
    return callService(`table ${this.name}`, call);
  }

  async #catchConditionFailure<Result>(
    call: () => Promise<Result>,
  ): Promise<Result | { refused: ConditionalCheckFailedException }> {
    try {
      return await this.#call(call);
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return { refused: error };
      throw error;
    }
  }
}

const conditional = (condition: Expression) => ({ ConditionExpression: condition.expression, ...merged(condition) });

/** The names and values of several expressions. DynamoDB refuses empty maps. */
const merged = (...expressions: readonly (Expression | undefined)[]) => {
  const names = Object.fromEntries(expressions.flatMap((one) => Object.entries(one?.names ?? {})));
  const values = Object.fromEntries(expressions.flatMap((one) => Object.entries(one?.values ?? {})));
  return {
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
};

/** The first `limit` items of a query, without reading further pages. */
export const firstOf = async (items: AsyncGenerator<Item>, limit: number): Promise<readonly Item[]> => {
  const taken: Item[] = [];
  if (limit === 0) return taken;
  for await (const item of items) {
    taken.push(item);
    if (taken.length === limit) break;
  }
  return taken;
};

export const allOf = async (items: AsyncGenerator<Item>): Promise<readonly Item[]> => {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
};
