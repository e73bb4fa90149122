/** DynamoDB's operations by dynoxide's tools. Names and values are the same; this module adds what the tools omit. */
import * as z from 'zod';
import {
  jsonBody,
  jsonErrorResponse,
  targetOperation,
  unknownOperation,
  type ServiceError,
  type WireResponse,
} from '../aws/wire.ts';
import type { DynoxidePipe, ToolResult } from './dynoxide-pipe.ts';
import type { Forward } from './forward.ts';

/** Parameters that dynoxide's tools do not accept and that have no effect: every read is consistent, and nothing is billed. */
const ignoredParameters: ReadonlySet<string> = new Set([
  'ConsistentRead',
  'ReturnConsumedCapacity',
  'ReturnItemCollectionMetrics',
  'ReturnValuesOnConditionCheckFailure',
]);

const snakeCase = (name: string): string => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

const inputShape = z.record(z.string(), z.unknown());
const writeShape = z.looseObject({
  TableName: z.string(),
  Key: z.record(z.string(), z.unknown()).optional(),
  Item: z.record(z.string(), z.unknown()).optional(),
  ReturnValuesOnConditionCheckFailure: z.string().optional(),
});
const readShape = z.looseObject({ TableName: z.string(), IndexName: z.string(), ConsistentRead: z.literal(true) });
const errorShape = z.looseObject({ error_type: z.string(), message: z.string() });
const describedShape = z.looseObject({
  Table: z.looseObject({
    KeySchema: z.array(z.looseObject({ AttributeName: z.string() })),
    LocalSecondaryIndexes: z.array(z.looseObject({ IndexName: z.string() })).default([]),
  }),
});

const serializationError: ServiceError = { code: 'SerializationException', message: 'The body is not valid', status: 400 };
const invalid = (message: string): ServiceError => ({ code: 'ValidationException', message, status: 400 });
const errorResponse = (error: ServiceError): WireResponse => jsonErrorResponse('com.amazonaws.dynamodb.v20120810#', error);
const okResponse = (text: string): WireResponse => ({
  status: 200,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: Buffer.from(text),
});

/** dynoxide drops a line that it cannot parse, without a response: JSON of more than 128 levels, or a lone surrogate. */
const maxNestingLevels = 100;

function isEncodable(value: unknown, levels = maxNestingLevels): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.entries(value).every(([key, part]) => key.isWellFormed() && isEncodable(part, levels - 1));
}

const writes: ReadonlySet<string> = new Set(['PutItem', 'UpdateItem', 'DeleteItem']);

/** The descriptions of tables, which are read once. */
function createDescriptions(pipe: DynoxidePipe) {
  const schemas = new Map<string, Promise<z.infer<typeof describedShape>['Table'] | undefined>>();
  const describe = (table: string) => {
    const known = schemas.get(table);
    if (known !== undefined) return known;
    const description = pipe
      .call('describe_table', { table_name: table, raw: true })
      .then(({ hasError, text }) => (hasError ? undefined : describedShape.parse(JSON.parse(text)).Table));
    schemas.set(table, description);
    // A missing table may be created later, and so may an index: do not cache them.
    void description.then(
      (found) => found ?? schemas.delete(table),
      () => schemas.delete(table),
    );
    return description;
  };
  return { describe, forgetAll: () => schemas.clear() };
}

export function dynoxideOperations(pipe: DynoxidePipe): Forward {
  const { describe, forgetAll } = createDescriptions(pipe);
  /** The last write of each item. Writes of one item run in sequence, so a failed condition returns the item that it was checked on. */
  const pendingWrites = new Map<string, Promise<unknown>>();

  const call = async (operation: string, input: Readonly<Record<string, unknown>>): Promise<ToolResult | ServiceError> => {
    const tool = snakeCase(operation);
    const parameters = pipe.tools.get(tool);
    if (parameters === undefined) return unknownOperation(operation);
    const toolArguments: Record<string, unknown> = operation === 'DescribeTable' ? { raw: true } : {};
    for (const [name, value] of Object.entries(input)) {
      const parameter = snakeCase(name);
      if (parameters.has(parameter)) toolArguments[parameter] = value;
      else if (!ignoredParameters.has(name)) return invalid(`The embedded cloud does not implement the parameter ${name}`);
    }
    if (operation === 'UpdateTable' || operation === 'DeleteTable') forgetAll();
    return pipe.call(tool, toolArguments);
  };

  /** Adds the existing item to a failed condition, where the request asks for it (`ALL_OLD`). */
  async function write(operation: string, input: Readonly<Record<string, unknown>>): Promise<WireResponse> {
    const { TableName, Key, Item, ReturnValuesOnConditionCheckFailure: wanted } = writeShape.parse(input);
    const attributes = (await describe(TableName))?.KeySchema.map(({ AttributeName }) => AttributeName) ?? [];
    const key = Object.fromEntries(attributes.map((name) => [name, (Key ?? Item ?? {})[name]]));
    const writeKey = JSON.stringify([TableName, key]);
    const previousWrite = pendingWrites.get(writeKey) ?? Promise.resolve();
    const currentWrite = previousWrite.then(async () => {
      const outcome = responseOf(await call(operation, input));
      if (wanted !== 'ALL_OLD' || outcome.status === 200 || !outcome.body.includes('ConditionalCheckFailed')) return outcome;
      const existing = await call('GetItem', { TableName, Key: key });
      const text = 'text' in existing && !existing.hasError ? existing.text : '{}';
      return { ...outcome, body: Buffer.from(JSON.stringify({ ...parsed(outcome.body.toString('utf8')), ...parsed(text) })) };
    });
    const settled = currentWrite
      .catch(() => undefined)
      .finally(() => pendingWrites.get(writeKey) === settled && pendingWrites.delete(writeKey));
    pendingWrites.set(writeKey, settled);
    return currentWrite;
  }

  return async (request) => {
    const operation = targetOperation(request);
    const input = inputShape.safeParse(jsonBody(request));
    if (!input.success) return errorResponse(serializationError);
    if (!isEncodable(input.data)) return errorResponse(serializationError);
    const read = readShape.safeParse(input.data);
    if (read.success) {
      const { TableName, IndexName } = read.data;
      const isLocal = (await describe(TableName))?.LocalSecondaryIndexes.some((index) => index.IndexName === IndexName);
      if (isLocal !== true) return errorResponse(invalid('Consistent reads are not supported on global secondary indexes'));
    }
    if (writes.has(operation) && writeShape.safeParse(input.data).success) return write(operation, input.data);
    return responseOf(await call(operation, input.data));
  };
}

const parsed = (text: string): object => inputShape.parse(JSON.parse(text));

function responseOf(outcome: ToolResult | ServiceError): WireResponse {
  if ('code' in outcome) return errorResponse(outcome);
  if (!outcome.hasError) return okResponse(outcome.text);
  const error = errorShape.safeParse(jsonOf(outcome.text));
  // dynoxide refuses parameters of a wrong type before the operation, with plain text.
  if (!error.success) return errorResponse(serializationError);
  const { error_type: code, message } = error.data;
  const failedResponse = errorResponse({ code, message, status: code.startsWith('InternalServer') ? 500 : 400 });
  const reasons = code === 'TransactionCanceledException' ? /\[([^\]]*)\]/.exec(message)?.[1] : undefined;
  if (reasons === undefined) return failedResponse;
  const CancellationReasons = reasons.split(',').map((reason) => ({ Code: reason.trim() }));
  return {
    ...failedResponse,
    body: Buffer.from(JSON.stringify({ ...parsed(failedResponse.body.toString('utf8')), CancellationReasons })),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
