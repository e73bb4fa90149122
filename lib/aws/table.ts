/** One DynamoDB table with `pk` and `sk`: the few operations the product uses, always read strongly, written one by one on conditions. */
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
} from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { controlTableKeys } from '../contract/environment.ts';
import { read } from '../codec/unreadable.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type Item, text, textAttribute } from './attributes.ts';
import { reach } from './reach.ts';

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** An expression and what its `#names` and `:values` stand for. */
export interface Expression {
  readonly expression: string;
  readonly names?: Record<string, string>;
  readonly values?: Item;
}

const keyShape = z.object({ pk: textAttribute, sk: textAttribute });

export type Put = { readonly kind: 'stored' } | { readonly kind: 'refused'; readonly standing: Item };

export const keyOf = ({ pk, sk }: Key): Item => ({
  [controlTableKeys.partition]: text(pk),
  [controlTableKeys.sort]: text(sk),
});

const keyIn = (item: Item): Key => read('the key of an item', keyShape, item);
const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

export const isThere: Expression = { expression: 'attribute_exists(#pk)', names: { '#pk': controlTableKeys.partition } };

export const isFree: Expression = { expression: 'attribute_not_exists(#pk)', names: { '#pk': controlTableKeys.partition } };

/** DynamoDB refuses a request for more. */
const mostKeysInBatch = 100;

/** How often an item that is in the way may vanish again before it is called trouble. */
const vanishings = 5;

export class Table {
  readonly name: string;
  readonly #client: DynamoDBClient;

  constructor(client: DynamoDBClient, name: string) {
    this.#client = client;
    this.name = name;
  }

  async get(key: Key): Promise<Item | undefined> {
    const answer = await this.#ask(() =>
      this.#client.send(new GetItemCommand({ TableName: this.name, Key: keyOf(key), ConsistentRead: true })),
    );
    return answer.Item;
  }

  /** The items of these keys, each once, in the order of the keys; undefined where there is none. */
  async getAll(keys: readonly Key[]): Promise<readonly (Item | undefined)[]> {
    // DynamoDB refuses a request that names a key twice.
    const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
    const batches = Array.from({ length: Math.ceil(distinct.length / mostKeysInBatch) }, (_, index) =>
      distinct.slice(index * mostKeysInBatch, (index + 1) * mostKeysInBatch),
    );
    const items = (await Promise.all(batches.map((batch) => this.#getBatch(batch)))).flat();
    const byKey = new Map(items.map((item) => [nameOf(keyIn(item)), item]));
    return keys.map((key) => byKey.get(nameOf(key)));
  }

  /** Writes the item; where the condition refuses, what stands there instead. */
  async put(key: Key, attributes: Item, condition?: Expression): Promise<Put> {
    const command = new PutItemCommand({
      TableName: this.name,
      Item: { ...keyOf(key), ...attributes },
      ...(condition && { ...conditional(condition), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    });
    for (let round = 0; round < vanishings; round += 1) {
      const refusal = await this.#unlessRefused(() => this.#client.send(command));
      if (!('refused' in refusal)) return { kind: 'stored' };
      // Not every implementation hands the old item out with its refusal.
      const standing = refusal.refused.Item ?? (await this.get(key));
      if (standing !== undefined) return { kind: 'refused', standing };
    }
    throw new Unavailable(`table ${this.name}`);
  }

  /** Changes the item; undefined where the condition refuses, else the changed attributes as they are now. */
  async update(key: Key, change: Expression, condition?: Expression): Promise<Item | undefined> {
    const command = new UpdateItemCommand({
      TableName: this.name,
      Key: keyOf(key),
      UpdateExpression: change.expression,
      ...(condition && { ConditionExpression: condition.expression }),
      ...merged(change, condition),
      ReturnValues: 'UPDATED_NEW',
    });
    const answer = await this.#unlessRefused(() => this.#client.send(command));
    return 'refused' in answer ? undefined : (answer.Attributes ?? {});
  }

  /** Deletes the item, unless the condition refuses. */
  async delete(key: Key, condition: Expression): Promise<void> {
    const command = new DeleteItemCommand({ TableName: this.name, Key: keyOf(key), ...conditional(condition) });
    await this.#unlessRefused(() => this.#client.send(command));
  }

  /** All items the query finds, page by page. */
  async *query(query: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item> {
    let start: Item | undefined;
    do {
      const page: QueryCommandInput = { ...query, TableName: this.name, ...(start && { ExclusiveStartKey: start }) };
      const answer = await this.#ask(() => this.#client.send(new QueryCommand(page)));
      yield* answer.Items ?? [];
      start = answer.LastEvaluatedKey;
    } while (start !== undefined);
  }

  /** DynamoDB may answer a part of a batch, where it is throttled or the answer would be too large; the rest is asked for again. */
  async #getBatch(keys: readonly Key[]): Promise<readonly Item[]> {
    const items: Item[] = [];
    let left: readonly Item[] = keys.map(keyOf);
    let backoff = await this.#backoff();
    for (;;) {
      const request = { RequestItems: { [this.name]: { Keys: [...left], ConsistentRead: true } } };
      const answer = await this.#ask(() => this.#client.send(new BatchGetItemCommand(request)));
      const found = answer.Responses?.[this.name] ?? [];
      items.push(...found);
      const unprocessed = answer.UnprocessedKeys?.[this.name]?.Keys ?? [];
      // What came back is a success, as every answer is to the client: only batches in a row that bring nothing are given up.
      if (unprocessed.length < left.length) {
        backoff.succeed();
        backoff = await this.#backoff();
      }
      if (unprocessed.length === 0) return items;
      left = unprocessed;
      await backoff.wait();
    }
  }

  /** The waits of the client's own retries, which know nothing of keys that were left over. Throws when it has no retry left. */
  async #backoff(): Promise<{ readonly wait: () => Promise<void>; readonly succeed: () => void }> {
    const strategy = await this.#client.config.retryStrategy();
    if (!('acquireInitialRetryToken' in strategy)) throw new TypeError('the client has no strategy for retries');
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

  #ask<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return reach(`table ${this.name}`, ask);
  }

  async #unlessRefused<Answer>(ask: () => Promise<Answer>): Promise<Answer | { refused: ConditionalCheckFailedException }> {
    try {
      return await this.#ask(ask);
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return { refused: error };
      throw error;
    }
  }
}

const conditional = (condition: Expression) => ({ ConditionExpression: condition.expression, ...merged(condition) });

/** The names and values of several expressions; DynamoDB refuses empty ones. */
const merged = (...expressions: readonly (Expression | undefined)[]) => {
  const names = Object.fromEntries(expressions.flatMap((one) => Object.entries(one?.names ?? {})));
  const values = Object.fromEntries(expressions.flatMap((one) => Object.entries(one?.values ?? {})));
  return {
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
};

/** The first `limit` items of a query, without reading on. */
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
