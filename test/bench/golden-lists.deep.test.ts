/** Requests and read units of a page of 50 runs, counted on the embedded cloud and compared with `bench/golden/list-runs.json`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import { batchUnits, queryUnits } from '../../bench/capacity.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { Table } from '../../lib/aws/table.ts';
import { commitNo, environment, firstCommit, projectId } from '../../lib/engine/ids.ts';
import type { HeadProjection } from '../../lib/engine/log/head.ts';
import { after, days, durationMs, instant } from '../../lib/engine/time.ts';
import { findNewestCommits } from '../../lib/service/run-log/find-newest-commits.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { listenFor } from '../contract/emulators/dynoxide-server.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { codeCreation, commit, creation, eventOfEachType, freshRun } from '../contract/samples.ts';
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
  readonly isCode?: true;
  /** undefined: the head has no projection yet */
  readonly projection?: HeadProjection;
  /** the last commit of each log; the runs of the page take these in turn */
  readonly commits: readonly number[];
  /** the last commit ends the run, and its head does not show that yet */
  readonly hasJustEnded?: true;
  readonly shown: string;
  readonly filters: readonly string[];
  /** requests that a page may cost; default: `maxRequests` */
  readonly mayCost?: number;
}

const maxRequests = 12;
const ended = instant(Date.now());
const terminal = (status: 'completed' | 'failed' | 'cancelled'): HeadProjection => ({
  status,
  asOf: commitNo(3),
  endedAt: ended,
});
const groups: readonly Group[] = [
  {
    workflow: 'done',
    projection: terminal('completed'),
    commits: [3],
    shown: 'completed',
    filters: ['', 'status=completed', 'workflowName=done', 'createdAfter=2020-01-01T00:00:00Z'],
  },
  {
    workflow: 'failed',
    projection: terminal('failed'),
    commits: [3],
    shown: 'failed',
    filters: ['status=failed', 'status=failed&workflowName=failed'],
  },
  {
    workflow: 'cancelled',
    projection: terminal('cancelled'),
    commits: [3],
    shown: 'cancelled',
    filters: ['status=cancelled'],
  },
  {
    workflow: 'waits',
    projection: { status: 'running', asOf: commitNo(4), attention: 'waiting' },
    commits: [4],
    shown: 'running',
    filters: ['attention=waiting'],
  },
  {
    workflow: 'retries',
    projection: { status: 'running', asOf: commitNo(4), attention: 'retrying' },
    commits: [6],
    shown: 'running',
    filters: ['attention=retrying'],
  },
  { workflow: 'new', commits: [1], shown: 'pending', filters: ['status=pending'] },
  { workflow: 'begun', commits: [4], shown: 'running', filters: ['', 'status=running', 'workflowName=begun'] },
  { workflow: '5-ahead', commits: [6], shown: 'running', filters: ['status=running'] },
  { workflow: '11-ahead', commits: [12], shown: 'running', filters: ['status=running'] },
  { workflow: 'just-ended', commits: [12], hasJustEnded: true, shown: 'completed', filters: ['status=completed'] },
  { workflow: '40-ahead', commits: [41], shown: 'running', filters: ['status=running'], mayCost: 16 },
  { workflow: '3000-ahead', commits: [3_001], shown: 'running', filters: ['status=running'], mayCost: 22 },
  { workflow: 'mixed', commits: [1, 2, 6, 12, 41, 3_001], shown: 'running', filters: ['workflowName=mixed'], mayCost: 22 },
  { workflow: 'new-code', isCode: true, commits: [1], shown: 'pending', filters: ['workflowName=new-code'] },
  { workflow: '11-ahead-code', isCode: true, commits: [12], shown: 'running', filters: ['workflowName=11-ahead-code'] },
];

let bench: BenchCloud;
const warnings: string[] = [];
/** requests to the Runs table by operation, with the read units of their batches; and the statuses in the response */
const counted = new Map<string, { readonly counts: Record<string, number>; readonly shown: readonly string[] }>();
/** The rows of a page in the eight partitions of the index are at most two pages of 4 KB each. */
const maxUnitsOfQuery = 1;
/** of a single query of an index; the number of rows of a shard is random */
let mostQueryUnits = 0;
const nameOf = ({ workflow }: Group, filter: string): string => `${workflow}: GET /v1/runs?${filter}`;

const lengthOf = ({ commits }: Group, index: number): number => commits[index % commits.length] ?? 1;

/** The commits above the first that a list of this group's page reads, for each run. No list reads the others, so they are not written. */
async function commitsRead(group: Group): Promise<readonly (readonly number[])[]> {
  const runs = Array.from({ length: page }, () => freshRun(scope));
  const found = runs.map(() => new Set<number>());
  const log = overrideMethods(memoryPorts({ seed: 1 }).log, {
    commits: async (keys) =>
      keys.map(({ run, number }) => {
        const index = runs.indexOf(run);
        if (number > lengthOf(group, index)) return undefined;
        found[index]?.add(number);
        return commit(number);
      }),
  });
  const known = runs.map((run) => ({ run, number: firstCommit }));
  await findNewestCommits({ log }, known, ({ number }) => group.hasJustEnded === true && number === group.commits[0]);
  return found.map((numbers) => [...numbers]);
}

beforeAll(async () => {
  bench = await startBenchCloud(directory, (line) => void warnings.push(line));
  const { template, emulators, recorder } = bench.cloud;
  const runsTable = template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes('RunsTable'))?.name ?? '';
  const port = await listenFor(emulators.dynamodb.forward);
  const log = new DynamoRunLog(new Table(dynamoAt(port.endpoint), runsTable));
  let created = 0;
  const write = async (group: Group, index: number, numbers: readonly number[]): Promise<void> => {
    const { workflow, isCode, projection, hasJustEnded } = group;
    const createdAt = after(ended, durationMs((created += 1)));
    const run = freshRun(scope, createdAt);
    const terms = { createdAt, deadlineAt: after(createdAt, days(7)), expiresAt: after(createdAt, days(38)) };
    if (isCode) await log.create(codeCreation(run, { workflow: { name: workflow }, ...terms }));
    else await log.create(creation(run, { workflow: { name: workflow, version: 1 }, ...terms }));
    for (const number of numbers) {
      const isLast = hasJustEnded === true && number === lengthOf(group, index);
      await log.put(run, commit(number, isLast ? { events: [eventOfEachType.RUN_COMPLETED] } : {}), terms.expiresAt);
    }
    if (projection !== undefined) await log.project(run, projection);
  };
  for (const group of groups) {
    const all = Array.from({ length: lengthOf(group, 0) - 1 }, (_, index) => index + 2);
    const read = group.projection === undefined ? await commitsRead(group) : [];
    // One more than the page, and older, so that there is a next page.
    await write(group, 0, all.slice(0, 3));
    for (let index = 0; index < page; index += 1) await write(group, index, read[index] ?? all);
    for (const filter of group.filters) {
      const requests: Record<string, number> = {};
      let readUnits = 0;
      const silence = recorder.listen(({ service, operation, input, response }) => {
        if (service !== 'dynamodb') return;
        const { TableName, RequestItems } = requestShape.parse(input);
        if (TableName !== runsTable && !(runsTable in RequestItems)) return;
        requests[operation] = (requests[operation] ?? 0) + 1;
        const output: unknown = JSON.parse(response.toString('utf8'));
        if (operation === 'Query') mostQueryUnits = Math.max(mostQueryUnits, queryUnits(input, output));
        else readUnits += batchUnits(input, output).reduce((sum, [, units]) => sum + units, 0);
      });
      const { data } = listShape.parse(await bench.get(`/v1/runs?limit=${page}${filter === '' ? '' : `&${filter}`}`));
      silence();
      counted.set(nameOf(group, filter), { counts: { ...requests, readUnits }, shown: data.map(({ status }) => status) });
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

test('a query of an index reads the rows of one shard, and costs at most one unit', () => {
  expect(mostQueryUnits).toBeGreaterThan(0);
  expect(mostQueryUnits).toBeLessThanOrEqual(maxUnitsOfQuery);
});

test('the golden file has what is counted here, and nothing else', () => {
  expect(Object.fromEntries([...counted].map(([name, { counts }]) => [name, counts]))).toEqual(golden);
});

test.each(
  groups.flatMap((group) => group.filters.map((filter) => [nameOf(group, filter), group.mayCost ?? maxRequests, group] as const)),
)('%s: a full page of 50 costs at most %i requests', (name, mayCost, group) => {
  const result = counted.get(name);
  // Newest first. A run of one commit is pending.
  const statuses = Array.from({ length: page }, (_, index) =>
    group.shown === 'running' && lengthOf(group, page - 1 - index) === 1 ? 'pending' : group.shown,
  );
  expect(result?.shown).toEqual(statuses);
  expect((result?.counts['Query'] ?? 0) + (result?.counts['BatchGetItem'] ?? 0)).toBeLessThanOrEqual(mayCost);
  expect(Object.keys(result?.counts ?? {}).toSorted()).toEqual(['BatchGetItem', 'Query', 'readUnits']);
});
