/** DynamoDB: finds the tables and indexes of a request, and forwards it to the emulator. */
import * as z from 'zod';
import { runsTableKeys } from '../../contract/environment.ts';
import { arns, lastPart } from '../aws-environment.ts';
import type { RequestContext, RequiredPermission } from '../policy/evaluate.ts';
import {
  jsonBody,
  jsonErrorResponse,
  targetOperation,
  unknownOperation,
  type Service,
  type WireRequest,
  type WireResponse,
} from './wire.ts';

const item = z.record(z.string(), z.looseObject({ S: z.string().optional() }));

const inputShape = z.looseObject({
  TableName: z.string().optional(),
  IndexName: z.string().optional(),
  Key: item.optional(),
  Item: item.optional(),
  KeyConditionExpression: z.string().optional(),
  UpdateExpression: z.string().optional(),
  ConditionExpression: z.string().optional(),
  ProjectionExpression: z.string().optional(),
  FilterExpression: z.string().optional(),
  ReturnValues: z.string().optional(),
  ExpressionAttributeNames: z.record(z.string(), z.string()).optional(),
  ExpressionAttributeValues: item.optional(),
  RequestItems: z.record(z.string(), z.looseObject({ Keys: z.array(item).optional() })).optional(),
  TransactItems: z.array(z.record(z.string(), z.looseObject({ TableName: z.string() }))).optional(),
});

/** The verbs inside a transaction and the permissions they need. */
const transactVerbs: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  Get: 'GetItem',
  ConditionCheck: 'ConditionCheckItem',
};

const operations = new Set(
  (
    'GetItem PutItem UpdateItem DeleteItem Query Scan DescribeTable ListTables ' +
    'BatchGetItem BatchWriteItem TransactGetItems TransactWriteItems'
  ).split(' '),
);

const tableArn = (name: string): string => arns.table(lastPart(name));

/** The partition key of every table of the product. */
const { partition } = runsTableKeys;

/**
 * The partition keys that a request names, for conditions on them. Empty where they are not known: a scan, a batch of writes,
 * a transaction, an index. A condition on them then does not match.
 */
function leadingKeys(input: z.infer<typeof inputShape>): RequestContext {
  const { Key, Item, IndexName, KeyConditionExpression = '' } = input;
  const [, name = '', value = ''] = /(?:^|\s|\()(#?\w+) = (:\w+)/.exec(KeyConditionExpression) ?? [];
  const isPartition = IndexName === undefined && (input.ExpressionAttributeNames?.[name] ?? name) === partition;
  const queried = isPartition ? input.ExpressionAttributeValues?.[value] : undefined;
  const { S: key } = Key?.[partition] ?? Item?.[partition] ?? queried ?? {};
  return contextOf(key === undefined ? [] : [key]);
}

const tokenPattern = /#?[A-Za-z_][\w-]*|:[A-Za-z_]\w*/g;
const keywordPattern =
  /^(SET|REMOVE|ADD|DELETE|AND|OR|NOT|IN|BETWEEN|attribute_exists|attribute_not_exists|attribute_type|begins_with|contains|size|if_not_exists|list_append)$/i;

/** The top-level attributes that a request names. Empty where it names none: the request then concerns all of them. */
function attributes(input: z.infer<typeof inputShape>): RequestContext {
  const { UpdateExpression, ConditionExpression, ProjectionExpression, KeyConditionExpression, FilterExpression } = input;
  if (UpdateExpression === undefined && ProjectionExpression === undefined) return {};
  const expressions = [UpdateExpression, ConditionExpression, ProjectionExpression, KeyConditionExpression, FilterExpression];
  const named = expressions
    .flatMap((expression) => expression?.match(tokenPattern) ?? [])
    .filter((word) => !word.startsWith(':') && !keywordPattern.test(word))
    .map((word) => input.ExpressionAttributeNames?.[word] ?? word);
  return { 'dynamodb:attributes': [...new Set([...Object.keys(input.Key ?? {}), ...named])] };
}

const contextOf = (partitions: readonly string[]): RequestContext =>
  partitions.length === 0 ? {} : { 'dynamodb:leadingkeys': [...new Set(partitions)] };

function requiredPermissionsOf(operation: string, input: z.infer<typeof inputShape>): readonly RequiredPermission[] {
  const action = `dynamodb:${operation}`;
  if (input.RequestItems !== undefined) {
    return Object.entries(input.RequestItems).map(([table, { Keys = [] }]) => ({
      action,
      resource: tableArn(table),
      context: contextOf(Keys.flatMap((key) => key[partition]?.S ?? [])),
    }));
  }
  if (input.TransactItems !== undefined) {
    return input.TransactItems.flatMap((item) =>
      Object.entries(item).map(([verb, { TableName }]) => ({
        action: `dynamodb:${transactVerbs[verb] ?? verb}`,
        resource: tableArn(TableName),
      })),
    );
  }
  const table = lastPart(input.TableName ?? '');
  const resource = input.IndexName === undefined ? arns.table(table) : arns.index(table, input.IndexName);
  const { ReturnValues } = input;
  const returned = ReturnValues === undefined ? {} : { 'dynamodb:returnvalues': [ReturnValues] };
  return [{ action, resource, context: { ...leadingKeys(input), ...attributes(input), ...returned } }];
}

/** `forward` sends the request to the emulator unchanged. */
export function dynamodb(forward: (request: WireRequest) => Promise<WireResponse>): Service {
  return {
    name: 'dynamodb',
    parse(request) {
      const name = targetOperation(request);
      if (!operations.has(name)) return unknownOperation(name);
      const input = inputShape.safeParse(jsonBody(request));
      if (!input.success) return { code: 'SerializationException', message: 'The body is not valid', status: 400 };
      return { name, input: input.data, requiredPermissions: requiredPermissionsOf(name, input.data) };
    },
    handle: (request) => forward(request),
    toErrorResponse: (error) =>
      jsonErrorResponse(
        error.code === 'AccessDeniedException' ? 'com.amazon.coral.service#' : 'com.amazonaws.dynamodb.v20120810#',
        error,
      ),
  };
}
