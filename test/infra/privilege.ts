/** Evaluates the functions' permissions in the synthesized template with the policy evaluator of the embedded cloud. */
import { readTemplate, type Template } from '../../lib/local/template/template.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import { dynamodb } from '../../lib/local/aws/dynamodb.ts';
import { isServiceError } from '../../lib/local/aws/wire.ts';
import { arns } from '../../lib/local/aws-environment.ts';
import { type RequiredPermission, evaluate, parsePolicy } from '../../lib/local/policy/evaluate.ts';
import { type Roles, readRoles } from '../../lib/local/policy/roles.ts';
import { recordKinds, type ControlKind, type RunsKind, type TableName, partitionOf } from '../../lib/contract/record-kinds.ts';
import { type FunctionName, functionNames } from '../../lib/contract/environment.ts';
import { storedSettingNames } from '../../lib/contract/stored-settings.ts';
import { stacksWith } from './synthesized.ts';

export interface Cloud {
  readonly template: Template;
  readonly roles: Roles;
}

export function cloudOf(settings: Readonly<Record<string, unknown>> = {}): Cloud {
  const { directory } = stacksWith(settings).app.synth();
  const template = readTemplate(loadAssembly(directory), 'http://127.0.0.1:9');
  return { template, roles: readRoles(template) };
}

const pascal = (name: string): string => name.replaceAll(/(^|-)(\w)/g, (_, _dash, letter: string) => letter.toUpperCase());

function roleOf({ template }: Cloud, name: FunctionName): { readonly arn: string; readonly functionArn: string } {
  const found = template
    .of('AWS::Lambda::Function')
    .find(({ logicalId }) => logicalId.startsWith(`StepwellFunctions${pascal(name)}Function`));
  if (found?.arn === undefined) throw new Error(`there is no function ${name}`);
  return { arn: String(found.properties['Role']), functionArn: found.arn };
}

/** Permissions of the function's code: its requests have a source function. */
export function asks(cloud: Cloud, name: FunctionName): (need: RequiredPermission) => boolean {
  const role = roleOf(cloud, name);
  const statements = cloud.roles.get(role.arn);
  if (statements === undefined) throw new Error(`the function ${name} has no role`);
  const own = { 'lambda:sourcefunctionarn': [role.functionArn] };
  return (need) => evaluate(statements, { ...need, context: { ...need.context, ...own } }) === 'allowed';
}

export const tableOf = ({ template }: Cloud, table: TableName): string => {
  const id = table === 'runs' ? 'RunsTable' : 'ControlTable';
  const found = template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes(id));
  if (found === undefined) throw new Error(`there is no table ${id}`);
  return found.name;
};

const service = dynamodb(() => Promise.reject(new Error('nothing is sent')));

/** The permissions that a DynamoDB request needs, as the embedded cloud evaluates it. */
export function needsOf(operation: string, input: object): readonly RequiredPermission[] {
  const headers = { 'x-amz-target': `DynamoDB_20120810.${operation}` };
  const body = Buffer.from(JSON.stringify(input));
  const read = service.parse({ method: 'POST', path: '/', query: new URLSearchParams(), url: '/', headers, body });
  if (isServiceError(read)) throw new Error(read.message);
  return read.requiredPermissions;
}

/** One request for each letter: `n` updates a key's last use, `u` any attribute. */
const requests: Readonly<Record<string, (TableName: string, pk: string) => readonly RequiredPermission[]>> = {
  g: (TableName, pk) => needsOf('GetItem', { TableName, Key: { pk: { S: pk }, sk: { S: 's' } } }),
  b: (TableName, pk) => needsOf('BatchGetItem', { RequestItems: { [TableName]: { Keys: [{ pk: { S: pk }, sk: { S: 's' } }] } } }),
  q: (TableName, pk) =>
    needsOf('Query', { TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': { S: pk } } }),
  p: (TableName, pk) => needsOf('PutItem', { TableName, Item: { pk: { S: pk }, sk: { S: 's' } } }),
  u: (TableName, pk) => changed(TableName, pk, 'anything'),
  n: (TableName, pk) => changed(TableName, pk, 'lastUsedAt'),
  d: (TableName, pk) => needsOf('DeleteItem', { TableName, Key: { pk: { S: pk }, sk: { S: 's' } } }),
};
const changed = (TableName: string, pk: string, attribute: string): readonly RequiredPermission[] =>
  needsOf('UpdateItem', {
    TableName,
    Key: { pk: { S: pk }, sk: { S: 's' } },
    UpdateExpression: `SET ${attribute} = :value`,
    ConditionExpression: 'attribute_exists(#pk)',
    ExpressionAttributeNames: { '#pk': 'pk' },
    ReturnValues: 'UPDATED_NEW',
  });

const tablesOfRecords: readonly TableName[] = ['runs', 'control'];

export type Kind = RunsKind | ControlKind;
export const kinds: readonly { readonly table: TableName; readonly kind: Kind }[] = tablesOfRecords.flatMap((table) =>
  Object.keys(recordKinds[table]).flatMap((kind) => (isKind(kind) ? [{ table, kind }] : [])),
);
function isKind(kind: string): kind is Kind {
  return tablesOfRecords.some((table) => kind in recordKinds[table]);
}

/** The allowed letters of a function for a partition. */
export function mayWith(cloud: Cloud, name: FunctionName, table: TableName, pk: string): string {
  const may = asks(cloud, name);
  const letters = Object.keys(requests).filter((letter) => requests[letter]?.(tableOf(cloud, table), pk).every(may));
  // `u` implies `n`.
  return letters.filter((letter) => letter !== 'n' || !letters.includes('u')).join('');
}

/** Large settings are granted by name. */
const partitionsOf = (kind: Kind): readonly { readonly what: string; readonly pk: string }[] =>
  kind === 'setting'
    ? storedSettingNames.map((name) => ({ what: `${kind} ${name}`, pk: partitionOf('setting', name) }))
    : [{ what: kind, pk: partitionOf(kind, 'acme', 'live', 'one') }];

/** Queues, objects and other resources, with their actions by letter. */
function resources({
  template,
}: Cloud): readonly { readonly what: string; readonly needs: Readonly<Record<string, RequiredPermission>> }[] {
  const arnOf = (type: string, id: string): string =>
    template.of(type).find(({ logicalId }) => logicalId.includes(id))?.arn ?? '';
  const bucket = template.of('AWS::S3::Bucket').find(({ logicalId }) => logicalId.includes('Bucket'))?.arn ?? '';
  const queues = template
    .of('AWS::SQS::Queue')
    .map(({ logicalId, arn = '' }) => ({ what: logicalId.replace(/^StepwellQueues|[0-9A-F]{8}$/g, ''), arn }));
  const objects = { payloads: 'payloads/acme/live/run/digest', 'payloads of code': 'payloads/acme/live/~code/run/digest' };
  const group = template.of('AWS::Scheduler::ScheduleGroup')[0]?.name ?? '';
  return [
    ...queues.map(({ what, arn: resource }) => ({
      what,
      needs: {
        s: { action: 'sqs:SendMessage', resource },
        r: { action: 'sqs:ReceiveMessage', resource },
        d: { action: 'sqs:DeleteMessage', resource },
      },
    })),
    ...Object.entries({ ...objects, artifacts: 'artifacts/acme/live/one/digest' }).map(([what, key]) => ({
      what,
      needs: Object.fromEntries(
        Object.entries({ g: 'GetObject', p: 'PutObject', t: 'PutObjectTagging', d: 'DeleteObject' }).map(([letter, action]) => [
          letter,
          { action: `s3:${action}`, resource: `${bucket}/${key}` },
        ]),
      ),
    })),
    { what: 'names of objects', needs: { q: { action: 's3:ListBucket', resource: bucket } } },
    {
      what: 'index byProject',
      needs: {
        q: { action: 'dynamodb:Query', resource: arns.index(tableOf({ template, roles: new Map() }, 'runs'), 'byProject') },
      },
    },
    {
      what: 'index byState',
      needs: {
        q: { action: 'dynamodb:Query', resource: arns.index(tableOf({ template, roles: new Map() }, 'runs'), 'byState') },
      },
    },
    {
      what: 'timers',
      needs: {
        p: { action: 'scheduler:CreateSchedule', resource: arns.schedule(group, 'one') },
        d: { action: 'scheduler:DeleteSchedule', resource: arns.schedule(group, 'one') },
      },
    },
    { what: 'event bus', needs: { p: { action: 'events:PutEvents', resource: arnOf('AWS::Events::EventBus', 'Bus') } } },
  ];
}

export type Matrix = ReadonlyMap<string, Readonly<Record<FunctionName, string>>>;

/** A row for each resource, with the allowed letters of each function. */
export function matrixOf(cloud: Cloud): Matrix {
  const row = (lettersOf: (name: FunctionName) => string) =>
    Object.fromEntries(functionNames.map((name) => [name, lettersOf(name)])) as Readonly<Record<FunctionName, string>>;
  return new Map([
    ...kinds.flatMap(({ table, kind }) =>
      partitionsOf(kind).map(({ what, pk }) => [`${table}: ${what}`, row((name) => mayWith(cloud, name, table, pk))] as const),
    ),
    ...resources(cloud).map(({ what, needs }) => {
      const lettersOf = (name: FunctionName): string => {
        const may = asks(cloud, name);
        return Object.keys(needs)
          .filter((letter) => may(needs[letter] ?? { action: '', resource: '' }))
          .join('');
      };
      return [what, row(lettersOf)] as const;
    }),
  ]);
}

/** The matrix as text, with one column for each function. */
export function written(matrix: Matrix): string {
  const head = ['', ...functionNames];
  const rows = [...matrix].map(([what, row]) => [what, ...functionNames.map((name) => row[name] || '·')]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((cells) => (cells[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[head, ...rows].map(line).join('\n')}\n`;
}

/** The same cloud with one additional grant. */
export function widened({ template, roles }: Cloud, name: FunctionName, statement: object): Cloud {
  const role = roleOf({ template, roles }, name).arn;
  const more = parsePolicy({ Statement: statement }, 'a planted grant');
  return { template, roles: new Map([...roles].map(([arn, own]) => [arn, arn === role ? [...own, ...more] : own])) };
}
