/**
 * The permissions of each function on each record kind, queue and object. `privilege.txt` records them, so that a larger grant shows
 * in a diff (update it with `npx vitest -u`). The tests below must hold for any recorded state.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type FunctionName, functionNames } from '../../lib/contract/environment.ts';
import { partitionOf, recordKinds } from '../../lib/contract/record-kinds.ts';
import { runPartition, dueKey } from '../../lib/aws/run-keys.ts';
import { evaluate } from '../../lib/local/policy/evaluate.ts';
import { environment, projectId, runId } from '../../lib/engine/ids.ts';
import {
  type Cloud,
  type Kind,
  type Matrix,
  asks,
  cloudOf,
  kinds,
  matrixOf,
  mayWith,
  needsOf,
  tableOf,
  widened,
  written,
} from './privilege.ts';
import { withAllFunctions } from './synthesized.ts';

let cloud: Cloud;
let matrix: Matrix;
beforeAll(() => {
  cloud = cloudOf(withAllFunctions);
  matrix = matrixOf(cloud);
});

const may = (letters: string, row: string): readonly FunctionName[] =>
  functionNames.filter((name) => letters.split('').some((letter) => matrix.get(row)?.[name].includes(letter)));
const control = (kind: keyof (typeof recordKinds)['control']): string => `control: ${kind}`;
const runs = (kind: keyof (typeof recordKinds)['runs']): string => `runs: ${kind}`;

test('every grant is recorded in privilege.txt', async () => {
  await expect(written(matrix)).toMatchFileSnapshot('privilege.txt');
});

describe('in any recorded state', () => {
  test('only library and first-key create and change API keys; others record their use', () => {
    expect(may('p', control('key'))).toEqual(['library', 'first-key']);
    expect(may('u', control('key'))).toEqual(['library', 'first-key']);
    expect(may('d', control('key'))).toEqual([]);
    expect(may('pud', control('keys'))).toEqual(['library', 'first-key']);
    expect(may('n', control('key'))).toEqual(['api', 'events', 'deployments', 'test-runs', 'world', 'sockets']);
  });

  test('recording the use of a key changes and returns nothing else of the key', () => {
    const Key = { pk: { S: partitionOf('key', 'one') }, sk: { S: 'key' } };
    const TableName = tableOf(cloud, 'control');
    const change = (UpdateExpression: string, more: object = {}) =>
      needsOf('UpdateItem', { TableName, Key, UpdateExpression, ...more }).every(asks(cloud, 'api'));
    expect(change('SET lastUsedAt = :at')).toBe(true);
    expect(change('SET lastUsedAt = :at, scopes = :all')).toBe(false);
    expect(change('SET #a = :all', { ExpressionAttributeNames: { '#a': 'scopes' } })).toBe(false);
    expect(change('SET lastUsedAt = :at REMOVE revokedAt')).toBe(false);
    expect(change('SET lastUsedAt = :at', { ConditionExpression: 'begins_with(secretHash, :a)' })).toBe(false);
    expect(change('SET lastUsedAt = :at', { ReturnValues: 'ALL_OLD' })).toBe(false);
  });

  test('the code function writes only records of code runs and of DevKit runs, and deletes pins', () => {
    const writes = kinds
      .filter(({ table, kind }) => /[pud]/.test(matrix.get(`${table}: ${kind}`)?.code ?? ''))
      .map(({ kind }) => kind);
    expect(writes).toEqual(['code', 'devkit', 'devkit-name', 'due-code', 'crashes-code', 'pin']);
    expect(matrix.get(control('pin'))?.code).toBe('d');
    expect(may('p', 'payloads')).not.toContain('code');
    expect(may('p', 'artifacts')).toEqual(['deployments']);
  });

  test('the code function reads no heads, graph runs, keys, signals or graph payloads', () => {
    const reads = kinds
      .filter(({ table, kind }) => /[gbq]/.test(matrix.get(`${table}: ${kind}`)?.code ?? ''))
      .map(({ kind }) => kind);
    expect(reads).toEqual(['code', 'devkit', 'devkit-name', 'crashes-code', 'deployments', 'devkit-app']);
    expect(may('gptd', 'payloads')).not.toContain('code');
  });

  test('the code function sends to the code queue and the delay queue, and receives no message itself', () => {
    const sends = [...matrix]
      .filter(([what, row]) => what.includes('Queue') && row.code !== '')
      .map(([what, row]) => [what, row.code]);
    expect(sends).toEqual([
      ['DelayQueue', 's'],
      ['CodeQueue', 's'],
    ]);
  });

  test('no function receives messages itself: event source mappings do, with its role', () => {
    for (const [what, row] of matrix) {
      if (!/Queue|DeadLetters/.test(what)) continue;
      for (const name of functionNames) expect(row[name], `${name} of ${what}`).not.toMatch(/[rd]/);
    }
  });

  test('one batch has records of all kinds that a function reads in batches', () => {
    for (const name of functionNames) {
      for (const table of ['runs', 'control'] as const) {
        const inBatches = kinds.filter(
          (each) => each.table === table && matrix.get(`${table}: ${each.kind}`)?.[name].includes('b'),
        );
        if (inBatches.length === 0) continue;
        const Keys = inBatches.map(({ kind }) => ({ pk: { S: partitionOf(kind, 'acme', 'live', 'one') }, sk: { S: 's' } }));
        const needs = needsOf('BatchGetItem', { RequestItems: { [tableOf(cloud, table)]: { Keys } } });
        expect(needs.every(asks(cloud, name)), `${name} of ${table}`).toBe(true);
      }
    }
  });

  test('only the owning functions delete records', () => {
    const owners: Partial<Record<Kind, readonly FunctionName[]>> = {
      run: ['test-runs', 'sweep'],
      code: ['test-runs', 'sweep'],
      devkit: ['test-runs', 'sweep'],
      'devkit-name': ['code', 'world'],
      due: ['test-runs', 'sweep'],
      streams: ['events'],
      socket: ['sockets', 'broadcaster'],
      watch: ['dead-letter', 'sockets', 'broadcaster'],
      workflow: ['sweep'],
      deployments: ['deployments'],
      pin: ['api', 'deployments', 'worker', 'collect', 'sweep', 'dead-letter', 'code', 'webhooks', 'starts', 'world'],
      deletions: ['api', 'sweep'],
      deletion: ['sweep'],
      schedules: ['library'],
      'schedule-sync': ['library', 'sweep'],
      signal: ['api', 'test-runs', 'worker', 'collect', 'sweep', 'dead-letter', 'webhooks', 'starts'],
      idempotency: ['api', 'test-runs', 'worker', 'webhooks', 'starts', 'world'],
      slots: ['worker'],
      session: ['library'],
      embed: ['library'],
      embeds: ['library'],
    };
    for (const { table, kind } of kinds) expect(may('d', `${table}: ${kind}`), kind).toEqual(owners[kind] ?? []);
  });

  test('only the publishing functions write definitions', () => {
    expect(may('pu', control('workflow'))).toEqual(['api']);
    expect(may('pu', control('workflows'))).toEqual(['api', 'sweep']);
    for (const kind of ['lens', 'lenses', 'query', 'queries'] as const)
      expect(may('pu', control(kind)), kind).toEqual(['library']);
    expect(may('pu', control('deployments'))).toEqual(['deployments']);
    expect(may('pu', control('schedules'))).toEqual(['library', 'worker', 'dead-letter']);
  });

  test('only functions that run no deployed code write heads and graph runs', () => {
    expect(may('pu', runs('run'))).toEqual([
      'api',
      'test-runs',
      'worker',
      'collect',
      'sweep',
      'dead-letter',
      'webhooks',
      'starts',
      'world',
    ]);
  });

  test('the watcher functions write no run records and send no jobs', () => {
    for (const name of ['events', 'sockets', 'broadcaster'] as const) {
      for (const kind of Object.keys(recordKinds.runs)) expect(matrix.get(`runs: ${kind}`)?.[name], name).not.toMatch(/[pud]/);
      for (const what of ['NodeQueue', 'DelayQueue', 'ResultsQueue', 'CodeQueue', 'timers', 'event bus', 'payloads'])
        expect(matrix.get(what)?.[name], `${name} of ${what}`).not.toMatch(/[spd]/);
    }
  });

  test('only the functions that manage schedules delete timers', () => {
    expect(may('d', 'timers')).toEqual(['library', 'sweep']);
  });

  test('one function reads the audit trail, and none changes it', () => {
    expect(may('gbq', control('audit'))).toEqual(['library']);
    expect(may('ud', control('audit'))).toEqual([]);
  });

  test('the webhooks function reads no API keys', () => {
    for (const name of ['webhooks', 'worker', 'collect', 'sweep', 'dead-letter', 'code'] as const) {
      expect(matrix.get(control('key'))?.[name], name).toBe('');
      expect(matrix.get(control('ticket'))?.[name], name).toBe('');
    }
  });

  test('one function starts sessions; the other HTTP functions read them and record their use', () => {
    const http = ['api', 'events', 'deployments', 'library', 'test-runs', 'world'];
    expect(may('gpu', control('session-link'))).toEqual(['library']);
    expect(may('pu', control('session'))).toEqual(['library']);
    expect(may('g', control('session'))).toEqual(http);
    expect(may('nu', control('session'))).toEqual(http);
  });

  test('no function scans, or writes in batches or transactions', () => {
    for (const table of ['runs', 'control'] as const) {
      const TableName = tableOf(cloud, table);
      for (const name of functionNames) {
        for (const needs of [
          needsOf('Scan', { TableName }),
          needsOf('BatchWriteItem', { RequestItems: { [TableName]: {} } }),
          needsOf('TransactWriteItems', { TransactItems: [{ Put: { TableName } }] }),
        ])
          expect(needs.some(asks(cloud, name)), name).toBe(false);
      }
    }
  });
});

describe('names cannot imitate a record kind', () => {
  const words = [...Object.keys(recordKinds.runs), ...Object.keys(recordKinds.control)].filter((word) => /^[a-z-]+$/.test(word));

  test('projects and environments named like record kinds', () => {
    for (const word of words) {
      const named = { projectId: projectId(word), environment: environment(word), runId: runId(`wrun_${'0'.repeat(26)}`) };
      expect(mayWith(cloud, 'code', 'runs', runPartition(named)), word).toBe('');
      expect(mayWith(cloud, 'code', 'runs', dueKey(named, 1).pk), word).toBe('');
      expect(mayWith(cloud, 'code', 'runs', runPartition(named, 'code')), word).toBe('gqpu');
      expect(mayWith(cloud, 'webhooks', 'control', partitionOf('key', word, word)), word).toBe('');
      expect(mayWith(cloud, 'code', 'control', partitionOf('signal', word, word, word)), word).toBe('');
    }
  });
});

describe('a larger grant is detected', () => {
  const all = (...actions: readonly string[]): object => ({ Effect: 'Allow', Action: actions, Resource: '*' });

  test.each([
    ['code', all('dynamodb:PutItem'), 'runs: run'],
    ['code', all('sqs:SendMessage'), 'ResultsQueue'],
    ['code', all('s3:GetObject'), 'payloads'],
    ['deployments', all('dynamodb:UpdateItem'), 'control: key'],
    ['library', all('dynamodb:DeleteItem'), 'control: audit'],
    ['events', all('dynamodb:PutItem', 'dynamodb:UpdateItem'), 'control: workflow'],
  ] as const)('of %s changes what is written down', (name, statement, row) => {
    const wider = matrixOf(widened(cloud, name, statement));
    expect(wider.get(row)?.[name]).not.toBe(matrix.get(row)?.[name]);
    expect(written(wider)).not.toBe(written(matrix));
  });

  test('a missing condition is detected, because it would allow requests without a partition key', () => {
    const Resource = cloud.template.of('AWS::DynamoDB::Table').map(({ arn }) => arn);
    const leading = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['code#*'] } };
    const wider = widened(cloud, 'code', { Effect: 'Allow', Action: 'dynamodb:Scan', Resource, Condition: leading });
    expect(needsOf('Scan', { TableName: tableOf(cloud, 'runs') }).every(asks(wider, 'code'))).toBe(true);
  });
});

test('an event source mapping may receive messages with its function’s role', () => {
  const { template, roles } = cloud;
  const mappings = template.of('AWS::Lambda::EventSourceMapping');
  expect(mappings.length).toBe(9);
  for (const { properties } of mappings) {
    const fn = template.of('AWS::Lambda::Function').find(({ ref }) => ref === properties['FunctionName']);
    const statements = roles.get(String(fn?.properties['Role'])) ?? [];
    const need = { action: 'sqs:ReceiveMessage', resource: String(properties['EventSourceArn']) };
    expect(evaluate(statements, need), need.resource).toBe('allowed');
  }
});

test('the inline policies of each role fit IAM’s limit of 10,240 characters', () => {
  for (const { properties, logicalId } of cloud.template.of('AWS::IAM::Policy'))
    expect(JSON.stringify(properties['PolicyDocument']).length, logicalId).toBeLessThan(10_240);
});
