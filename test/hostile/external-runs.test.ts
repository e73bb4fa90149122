/**
 * A program of the library may write any item into its own namespace, with any attributes: IAM restricts its primary keys. So it can put
 * rows into the index partitions of every project. They must not change, hide or break the lists of others.
 */
import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listPartition, listSort, listingKey } from '../../lib/aws/external-keys.ts';
import { DynamoExternalLogs, listingItem } from '../../lib/aws/external-logs.ts';
import { DynamoExternalRuns } from '../../lib/aws/external-runs.ts';
import { type Item, number, text } from '../../lib/aws/item-schema.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { creationSort, positionOfSort, positionSort, projectPartition, shards, statePartition } from '../../lib/aws/run-keys.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import type { Table } from '../../lib/aws/table.ts';
import { runsTableKeys } from '../../lib/contract/environment.ts';
import { namespaceOf } from '../../lib/engine/external/namespace.ts';
import { externalRunId } from '../../lib/engine/external/run.ts';
import { type RunAddress, type Scope, commitNo } from '../../lib/engine/ids.ts';
import { type Instant, after, instant, iso, seconds } from '../../lib/engine/time.ts';
import type { Listing } from '../../lib/ports/external-runs.ts';
import type { ListPosition } from '../../lib/ports/run-index.ts';
import { listRuns } from '../../lib/service/runs/list-runs.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { creation, freshRun, freshScope, noon } from '../contract/samples.ts';

const { byProject, byState } = runsTableKeys;
const [implementation] = dynamoImplementations;

let emulator: Emulator;
let client: DynamoDBClient;
let runs: Table;
let log: DynamoRunLog;
let index: DynamoRunIndex;
let externalRuns: DynamoExternalRuns;
beforeAll(async () => {
  if (implementation === undefined) throw new Error('there is no emulator of DynamoDB');
  emulator = await implementation.start();
  client = dynamoAt(emulator.endpoint);
  runs = await createRunsTable(client);
  log = new DynamoRunLog(runs);
  index = new DynamoRunIndex({ runs, control: await createControlTable(client) }, log, 'platform', new DynamoExternalLogs(runs));
  externalRuns = new DynamoExternalRuns(runs);
});
afterAll(async () => {
  client.destroy();
  await emulator.close();
});

const later = (count: number): Instant => after(noon, seconds(count));
const listingOf = (facts: Partial<Listing> = {}): Listing => ({
  runId: externalRunId(randomUUID()),
  createdAt: noon,
  workflowName: 'forged',
  version: null,
  status: 'failed',
  deadlineAt: later(600),
  asOf: 3,
  ...facts,
});
const itemOf = (value: Listing): Item => listingItem.encode({ value, asOf: value.asOf }, later(900));

/** Index keys in every shard of the victim, of its list and of its failed runs. */
const rowsIn = (victim: Scope, sort: string): readonly Item[] =>
  shards.map((shard) => ({
    [byProject.partition]: text(projectPartition(victim, shard)),
    [byProject.sort]: text(sort),
    [byState.partition]: text(statePartition(victim, 'failed', shard)),
    [byState.sort]: text(sort),
  }));

/** Three failed runs of the installation and one of the library, and what their lists show. */
async function victim() {
  const scope = freshScope();
  const own: RunAddress[] = [];
  for (const count of [0, 2, 4]) {
    const run = freshRun(scope, later(count));
    await log.create(creation(run, { createdAt: later(count) }));
    await log.project(run, { status: 'failed', asOf: commitNo(2), endedAt: later(9) });
    own.push(run);
  }
  const external = listingOf({ createdAt: later(3), workflowName: 'genuine' });
  await externalRuns.putListing(namespaceOf(scope), external, later(900));
  const ids = [own[2], undefined, own[1], own[0]].map((run) => run?.runId ?? external.runId);
  return { scope, ids };
}

async function idsOf(scope: Scope, status?: 'failed'): Promise<readonly string[]> {
  const ids: string[] = [];
  let next: ListPosition | undefined;
  let pages = 0;
  do {
    const page = await listRuns({ log, index }, scope, status === undefined ? {} : { status }, {
      limit: 2,
      ...(next && { after: next }),
    });
    ids.push(...page.runs.map((run) => ('head' in run ? run.head.address.runId : run.external.runId)));
    next = page.next;
    pages += 1;
  } while (next !== undefined && pages < 50);
  expect(pages).toBeLessThan(50);
  return ids;
}

describe('a forged row in the lists of another project', () => {
  const attacker = freshScope();
  const namespaceId = namespaceOf(attacker);
  const genuineKey = (listing: Listing) => listingKey(namespaceId, listing);
  const runId = externalRunId(randomUUID());
  const sort = creationSort(later(3), runId);

  test.each<readonly [string, () => { readonly pk: string; readonly sk: string }, string, Item]>([
    [
      'with a valid listing of the own namespace',
      () => genuineKey(listingOf({ runId, createdAt: later(3) })),
      sort,
      itemOf(listingOf({ runId, createdAt: later(3) })),
    ],
    [
      'with the primary key of a log entry',
      () => ({ pk: `openworkflow#${encodeURIComponent(namespaceId)}#run#${runId}`, sk: 'log#00000001' }),
      sort,
      {},
    ],
    [
      'with a namespace that is not encoded',
      () => ({ pk: `openworkflow#${namespaceId}#list#0`, sk: listSort({ createdAt: later(3), runId }) }),
      sort,
      {},
    ],
    [
      'with a broken escape in its namespace',
      () => ({ pk: 'openworkflow#%E0%A4%A#list#0', sk: listSort({ createdAt: later(3), runId }) }),
      sort,
      {},
    ],
    ['with a sort key that is no time', () => ({ pk: listPartition(namespaceId, 0), sk: 'zzz' }), 'zzz', {}],
    ['that sorts before every run', () => ({ pk: listPartition(namespaceId, 0), sk: 'never' }), '9999-99-99T99:99:99.999Z#x', {}],
    [
      'that sorts between the runs',
      () => ({ pk: listPartition(namespaceId, 0), sk: 'between' }),
      `${iso(later(3)).slice(0, -1)}!`,
      {},
    ],
    ['that sorts after every run', () => ({ pk: listPartition(namespaceId, 0), sk: 'after' }), '!', {}],
    ['with a year after 9999', () => ({ pk: listPartition(namespaceId, 0), sk: 'far' }), '+275760-09-13T00:00:00.000Z#x', {}],
    ['with an empty id', () => ({ pk: listPartition(namespaceId, 0), sk: 'empty' }), `${iso(later(3))}#`, {}],
  ])('%s neither shows nor hides a run', async (_what, keyOf, rowSort, attributes) => {
    const { scope, ids } = await victim();
    const { pk, sk } = keyOf();
    for (const [count, row] of rowsIn(scope, rowSort).entries())
      await runs.put({ pk, sk: count === 0 ? sk : `${sk}-${count}` }, { ...attributes, ...row });
    expect(await idsOf(scope)).toEqual(ids);
    expect(await idsOf(scope, 'failed')).toEqual(ids);
  });
});

describe('a damaged listing in the own namespace', () => {
  test.each<readonly [string, (listing: Listing) => Item]>([
    ['without attributes', () => ({})],
    ['with attributes of other types', () => ({ v: text('1'), e: number(7), ttl: text('soon') })],
    ['that is no JSON', (listing) => ({ ...itemOf(listing), e: text('{') })],
    ['of another run', (listing) => itemOf(listingOf({ createdAt: listing.createdAt }))],
    ['with another time', (listing) => itemOf({ ...listing, createdAt: later(100) })],
    ['of a newer version', (listing) => ({ ...itemOf(listing), v: number(2) })],
  ])('%s is not shown, and the others are', async (_what, attributesOf) => {
    const { scope, ids } = await victim();
    const damaged = listingOf({ createdAt: later(1) });
    const [row] = rowsIn(scope, creationSort(damaged.createdAt, damaged.runId));
    await runs.put(listingKey(namespaceOf(scope), damaged), { ...attributesOf(damaged), ...row });
    expect(await idsOf(scope)).toEqual(ids);
    expect(await idsOf(scope, 'failed')).toEqual(ids);
  });

  test('that sorts at another time than its key is not shown', async () => {
    const { scope, ids } = await victim();
    const moved = listingOf({ createdAt: later(1) });
    const [row] = rowsIn(scope, creationSort(later(100), moved.runId));
    await runs.put(listingKey(namespaceOf(scope), moved), { ...itemOf(moved), ...row });
    expect(await idsOf(scope)).toEqual(ids);
  });
});

test.each([
  'zzz',
  '9999-99-99',
  `${iso(noon)}`,
  `${iso(noon)}!`,
  `${iso(noon)}$`,
  `${iso(noon).slice(0, -1)}~`,
  '2026',
  '1970-01-01T00:00:00.000Z$',
  '!',
  '1969-12-31T00:00:00.000Z$',
])('the cursor after the sort key %s is before it, and after every run that sorts lower', (sort) => {
  const next = positionOfSort(sort);
  expect(next === undefined || positionSort(next) < sort).toBe(true);
  const highest = [-60_000, 0, 1, 60_000]
    .map((offset) => creationSort(instant(noon + offset), 'wrun_1'))
    .filter((each) => each < sort)
    .at(-1);
  if (highest !== undefined) expect(next !== undefined && positionSort(next) > highest).toBe(true);
});
