/** The requests of a page of 50 runs, counted on the embedded cloud and compared with `bench/golden/list-runs.json`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { Table } from '../../lib/aws/table.ts';
import { commitNo, environment, projectId } from '../../lib/engine/ids.ts';
import type { HeadProjection } from '../../lib/engine/log/head.ts';
import { after, days, durationMs, instant } from '../../lib/engine/time.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { listenFor } from '../contract/emulators/dynoxide-server.ts';
import { commit, creation, freshRun } from '../contract/samples.ts';
import { preparedFolder } from '../e2e/local-start.ts';

const golden = z
  .record(z.string(), z.record(z.string(), z.number()))
  .parse(JSON.parse(readFileSync(new URL('../../bench/golden/list-runs.json', import.meta.url), 'utf8')));

const page = 50;
const scope = { projectId: projectId('default'), environment: environment('local') };
const directory = preparedFolder(mkdtempSync(join(tmpdir(), 'stepwell-lists-')));
const listShape = z.looseObject({ data: z.array(z.looseObject({ status: z.string() })) });
const requestShape = z.looseObject({
  TableName: z.string().optional(),
  RequestItems: z.record(z.string(), z.unknown()).default({}),
});

interface Group {
  readonly workflow: string;
  /** undefined: the head has no status yet */
  readonly projection?: HeadProjection;
  /** the last commit of the log */
  readonly commits: number;
  readonly shown: string;
  readonly filters: readonly string[];
}

const ended = instant(Date.now());
const groups: readonly Group[] = [
  {
    workflow: 'done',
    projection: { status: 'completed', asOf: commitNo(3), endedAt: ended },
    commits: 3,
    shown: 'completed',
    filters: ['', 'status=completed', 'workflowName=done', 'createdAfter=2020-01-01T00:00:00Z'],
  },
  {
    workflow: 'failed',
    projection: { status: 'failed', asOf: commitNo(3), endedAt: ended },
    commits: 3,
    shown: 'failed',
    filters: ['status=failed', 'status=failed&workflowName=failed'],
  },
  {
    workflow: 'cancelled',
    projection: { status: 'cancelled', asOf: commitNo(3), endedAt: ended },
    commits: 3,
    shown: 'cancelled',
    filters: ['status=cancelled'],
  },
  {
    workflow: 'waits',
    projection: { status: 'running', asOf: commitNo(4), attention: 'waiting' },
    commits: 4,
    shown: 'running',
    filters: ['attention=waiting'],
  },
  {
    workflow: 'retries',
    projection: { status: 'running', asOf: commitNo(4), attention: 'retrying' },
    commits: 6,
    shown: 'running',
    filters: ['attention=retrying'],
  },
  { workflow: 'new', commits: 1, shown: 'pending', filters: ['status=pending'] },
  { workflow: 'begun', commits: 4, shown: 'running', filters: ['', 'status=running', 'workflowName=begun'] },
];

/** Their logs are more than four commits ahead of their heads. Each log is read, so that a list never shows an ended run as running. */
const ahead: Group = { workflow: 'ahead', commits: 6, shown: 'running', filters: ['status=running'] };

let bench: BenchCloud;
const warnings: string[] = [];
/** requests to the table of runs, by operation, and the number of shown runs */
const counted = new Map<string, { readonly requests: Record<string, number>; readonly shown: readonly string[] }>();
const nameOf = ({ workflow }: Group, filter: string): string => `${workflow}: GET /v1/runs?${filter}`;

beforeAll(async () => {
  bench = await startBenchCloud(directory, (line) => void warnings.push(line));
  const { template, emulators, recorder } = bench.cloud;
  const runsTable = template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes('RunsTable'))?.name ?? '';
  const port = await listenFor(emulators.dynamodb.forward);
  const log = new DynamoRunLog(new Table(dynamoAt(port.endpoint), runsTable));
  let created = 0;
  for (const group of [...groups, ahead]) {
    for (let count = 0; count <= page; count += 1) {
      const createdAt = after(ended, durationMs((created += 1)));
      const run = freshRun(scope, createdAt);
      const [deadlineAt, expiresAt] = [after(createdAt, days(7)), after(createdAt, days(38))];
      await log.create(creation(run, { workflow: { name: group.workflow, version: 1 }, createdAt, deadlineAt, expiresAt }));
      for (let number = 2; number <= group.commits; number += 1) await log.put(run, commit(number), expiresAt);
      if (group.projection !== undefined) await log.project(run, group.projection);
    }
    for (const filter of group.filters) {
      const requests: Record<string, number> = {};
      const silence = recorder.listen(({ service, operation, input }) => {
        if (service !== 'dynamodb') return;
        const { TableName, RequestItems } = requestShape.parse(input);
        if (TableName === runsTable || runsTable in RequestItems) requests[operation] = (requests[operation] ?? 0) + 1;
      });
      const { data } = listShape.parse(await bench.get(`/v1/runs?limit=${page}${filter === '' ? '' : `&${filter}`}`));
      silence();
      counted.set(nameOf(group, filter), { requests, shown: data.map(({ status }) => status) });
    }
  }
  await port.close();
}, 120_000);
afterAll(async () => {
  await bench.stop();
  rmSync(directory, { recursive: true, force: true });
});

test('nothing was denied and nothing failed meanwhile', () => {
  expect(warnings).toEqual([]);
});

test('the golden file has exactly the groups that are counted here', () => {
  expect(Object.fromEntries([...counted].map(([name, { requests }]) => [name, requests]))).toEqual(golden);
});

test.each(groups.flatMap((group) => group.filters.map((filter) => [nameOf(group, filter), group.shown] as const)))(
  '%s: a full page of 50 costs at most 12 requests',
  (name, status) => {
    const { requests, shown } = counted.get(name) ?? { requests: {}, shown: [] };
    expect(shown).toEqual(Array.from({ length: page }, () => status));
    expect(Object.values(requests).reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(12);
  },
);

test('a page of runs whose logs are far ahead of their heads costs one more request for each of them', () => {
  const { requests, shown } = counted.get(nameOf(ahead, 'status=running')) ?? { requests: {}, shown: [] };
  expect(shown).toEqual(Array.from({ length: page }, () => 'running'));
  expect(requests['Query']).toBe(8 + page);
});
