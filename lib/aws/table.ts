/** One DynamoDB table with `pk` and `sk`: the few operations the product uses, always read strongly, written on conditions. */
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { controlTableKeys } from '../contract/environment.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type Item, text } from './attributes.ts';
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

export type Put = { readonly kind: 'stored' } | { readonly kind: 'refused'; readonly standing: Item };

export const keyOf = ({ pk, sk }: Key): Item => ({
  [controlTableKeys.partition]: text(pk),
  [controlTableKeys.sort]: text(sk),
});

export const isThere: Expression = { expression: 'attribute_exists(#pk)', names: { '#pk': controlTableKeys.partition } };

export const isFree: Expression = { expression: 'attribute_not_exists(#pk)', names: { '#pk': controlTableKeys.partition } };

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
