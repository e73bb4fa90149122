/** Creates missing tables, and missing indexes of existing tables. Never deletes any. */
import { defined } from '../../base/defined.ts';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { CallDynamodb } from '../emulators/forward.ts';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import type { Fauxqs } from '../emulators/fauxqs.ts';

const keySchema = z.array(z.looseObject({ AttributeName: z.string(), KeyType: z.string() }));
const attributes = z.array(z.looseObject({ AttributeName: z.string(), AttributeType: z.string() }));
const indexShape = z.looseObject({ IndexName: z.string(), KeySchema: keySchema, Projection: z.record(z.string(), z.unknown()) });

const tableShape = z.looseObject({
  AttributeDefinitions: attributes,
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z.array(indexShape).default([]),
  LocalSecondaryIndexes: z.array(indexShape).optional(),
  TimeToLiveSpecification: z.looseObject({ AttributeName: z.string().optional(), Enabled: z.boolean() }).optional(),
});

type Table = z.infer<typeof tableShape>;

const describedShape = z.looseObject({
  Table: z.looseObject({
    KeySchema: keySchema,
    GlobalSecondaryIndexes: z.array(z.looseObject({ IndexName: z.string() })).default([]),
  }),
});

const indexDefinition = ({ IndexName, KeySchema, Projection }: z.infer<typeof indexShape>) => ({
  IndexName,
  KeySchema,
  Projection,
});

async function create(callDynamodb: CallDynamodb, TableName: string, table: Table): Promise<void> {
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes, LocalSecondaryIndexes, TimeToLiveSpecification } = table;
  await callOrThrow(
    callDynamodb,
    'CreateTable',
    defined({
      TableName,
      AttributeDefinitions,
      KeySchema,
      BillingMode: 'PAY_PER_REQUEST',
      GlobalSecondaryIndexes: GlobalSecondaryIndexes.length === 0 ? undefined : GlobalSecondaryIndexes.map(indexDefinition),
      LocalSecondaryIndexes: LocalSecondaryIndexes === undefined ? undefined : LocalSecondaryIndexes.map(indexDefinition),
    }),
  );
  await waitUntilActive(callDynamodb, TableName);
  // dynalite does not implement TTL, and no emulator deletes expired items. Readers compare the time themselves, as on AWS.
  if (TimeToLiveSpecification?.Enabled === true) await callDynamodb('UpdateTimeToLive', { TableName, TimeToLiveSpecification });
}

const activeShape = z.looseObject({ Table: z.looseObject({ TableStatus: z.string() }) });
/** A new table refuses writes for a moment, even where the emulator's creation delay is zero. */
const maxPolls = 200;

async function waitUntilActive(callDynamodb: CallDynamodb, TableName: string): Promise<void> {
  for (let poll = 0; poll < maxPolls; poll += 1) {
    const described = activeShape.safeParse((await callDynamodb('DescribeTable', { TableName })).output);
    if (described.success && described.data.Table.TableStatus === 'ACTIVE') return;
    await wait(10);
  }
  throw new Error(`the table ${TableName} does not become active`);
}

async function callOrThrow(callDynamodb: CallDynamodb, operation: string, input: object): Promise<unknown> {
  const { status, output } = await callDynamodb(operation, input);
  if (status !== 200) throw new Error(`${operation}: ${JSON.stringify(output)}`);
  return output;
}

async function ensureTable(callDynamodb: CallDynamodb, TableName: string, table: Table): Promise<void> {
  const described = await callDynamodb('DescribeTable', { TableName });
  if (described.status !== 200) return create(callDynamodb, TableName, table);
  const { Table: existing } = describedShape.parse(described.output);
  if (JSON.stringify(existing.KeySchema) !== JSON.stringify(table.KeySchema)) {
    throw new TemplateError(
      `the table ${TableName} exists with other keys than the template's. On AWS it would be replaced and its data lost. Delete the state folder, or keep the keys`,
    );
  }
  const names = new Set(existing.GlobalSecondaryIndexes.map(({ IndexName }) => IndexName));
  for (const missing of table.GlobalSecondaryIndexes.filter(({ IndexName }) => !names.has(IndexName))) {
    const GlobalSecondaryIndexUpdates = [{ Create: indexDefinition(missing) }];
    await callOrThrow(callDynamodb, 'UpdateTable', {
      TableName,
      AttributeDefinitions: table.AttributeDefinitions,
      GlobalSecondaryIndexUpdates,
    });
  }
}

export async function deployTables(template: Template, callDynamodb: CallDynamodb): Promise<void> {
  await Promise.all(
    template
      .of('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable')
      .map(({ name, properties }) => ensureTable(callDynamodb, name, tableShape.parse(properties))),
  );
}

const attributeNames = (
  'FifoQueue ContentBasedDeduplication DeduplicationScope FifoThroughputLimit ' +
  'DelaySeconds MaximumMessageSize MessageRetentionPeriod ReceiveMessageWaitTimeSeconds VisibilityTimeout RedrivePolicy'
).split(' ');

/** Attributes are text; a policy is JSON text. */
function queueAttributes(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const name of attributeNames) {
    const value = properties[name];
    if (value === undefined) continue;
    attributes[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return attributes;
}

export function deployQueuesAndBuckets(template: Template, fauxqs: Fauxqs): void {
  for (const { name, properties } of template.of('AWS::SQS::Queue')) fauxqs.ensureQueue(name, queueAttributes(properties));
  for (const { name } of template.of('AWS::S3::Bucket')) fauxqs.ensureBucket(name);
}
