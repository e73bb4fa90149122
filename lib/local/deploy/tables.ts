/** Creates the tables that are missing, and the indexes that are missing on those that stand. Nothing is ever taken away. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { AskDynamodb } from '../emulators/forward.ts';
import type { Template } from '../template/template.ts';
import { TemplateFault } from '../template/template-fault.ts';

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

const index = ({ IndexName, KeySchema, Projection }: z.infer<typeof indexShape>) => ({ IndexName, KeySchema, Projection });

async function create(ask: AskDynamodb, TableName: string, table: Table): Promise<void> {
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes, LocalSecondaryIndexes, TimeToLiveSpecification } = table;
  await must(ask, 'CreateTable', {
    TableName,
    AttributeDefinitions,
    KeySchema,
    BillingMode: 'PAY_PER_REQUEST',
    ...(GlobalSecondaryIndexes.length === 0 ? {} : { GlobalSecondaryIndexes: GlobalSecondaryIndexes.map(index) }),
    ...(LocalSecondaryIndexes === undefined ? {} : { LocalSecondaryIndexes: LocalSecondaryIndexes.map(index) }),
  });
  await untilActive(ask, TableName);
  // dynalite does not know it, and no emulator sweeps expired items; readers compare the time themselves, as they must on AWS
  if (TimeToLiveSpecification?.Enabled === true) await ask('UpdateTimeToLive', { TableName, TimeToLiveSpecification });
}

const activeShape = z.looseObject({ Table: z.looseObject({ TableStatus: z.string() }) });
/** A table is being created for a moment, and refuses writes meanwhile, even where that moment is set to nothing. */
const mostLooks = 200;

async function untilActive(ask: AskDynamodb, TableName: string): Promise<void> {
  for (let look = 0; look < mostLooks; look += 1) {
    const described = activeShape.safeParse((await ask('DescribeTable', { TableName })).output);
    if (described.success && described.data.Table.TableStatus === 'ACTIVE') return;
    await wait(10);
  }
  throw new Error(`the table ${TableName} does not become active`);
}

async function must(ask: AskDynamodb, operation: string, input: object): Promise<unknown> {
  const { status, output } = await ask(operation, input);
  if (status !== 200) throw new Error(`${operation}: ${JSON.stringify(output)}`);
  return output;
}

async function ensureTable(ask: AskDynamodb, TableName: string, table: Table): Promise<void> {
  const described = await ask('DescribeTable', { TableName });
  if (described.status !== 200) return create(ask, TableName, table);
  const { Table: standing } = describedShape.parse(described.output);
  if (JSON.stringify(standing.KeySchema) !== JSON.stringify(table.KeySchema)) {
    throw new TemplateFault(
      `the table ${TableName} stands with other keys than the template's; on AWS it would be replaced, and its data lost`,
    );
  }
  const names = new Set(standing.GlobalSecondaryIndexes.map(({ IndexName }) => IndexName));
  for (const missing of table.GlobalSecondaryIndexes.filter(({ IndexName }) => !names.has(IndexName))) {
    const GlobalSecondaryIndexUpdates = [{ Create: index(missing) }];
    await must(ask, 'UpdateTable', { TableName, AttributeDefinitions: table.AttributeDefinitions, GlobalSecondaryIndexUpdates });
  }
}

export async function deployTables(template: Template, ask: AskDynamodb): Promise<void> {
  await Promise.all(
    template
      .of('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable')
      .map(({ name, properties }) => ensureTable(ask, name, tableShape.parse(properties))),
  );
}
