/** What the sweep reads of runs that have ended, counted on the embedded cloud and compared with `bench/golden/sweep-ended-runs.json`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import { batchUnits } from '../../bench/capacity.ts';
import { chain } from '../../bench/workflows.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { Table } from '../../lib/aws/table.ts';
import { environment, projectId, runId } from '../../lib/engine/ids.ts';
import { minuteOf } from '../../lib/engine/log/heartbeat-timeout.ts';
import { instant } from '../../lib/engine/time.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { listenFor } from '../contract/emulators/dynoxide-server.ts';
import { preparedFolder } from '../e2e/local-start.ts';

const golden: unknown = JSON.parse(readFileSync(new URL('../../bench/golden/sweep-ended-runs.json', import.meta.url), 'utf8'));
const runCount = 50;
const scope = { projectId: projectId('default'), environment: environment('local') };
const directory = preparedFolder(mkdtempSync(join(tmpdir(), 'stepwell-sweep-')));
const requestShape = z.looseObject({
  TableName: z.string().optional(),
  RequestItems: z.record(z.string(), z.unknown()).default({}),
});

let bench: BenchCloud;
const warnings: string[] = [];
/** requests to the Runs table by operation, without those for due entries, and the read units of the batches */
const counts: Record<string, number> = { readUnits: 0 };

beforeAll(async () => {
  bench = await startBenchCloud(directory, (line) => void warnings.push(line));
  const { template, emulators, recorder } = bench.cloud;
  const tableNamed = (part: string) =>
    template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes(part))?.name ?? '';
  const runsTable = tableNamed('RunsTable');
  const workflow = chain(10);
  await bench.publish(workflow);
  const runs = [];
  for (let index = 0; index < runCount; index += 1) runs.push(await bench.start(workflow, `ended ${index}`));
  for (const run of runs) await bench.waitUntilIdle(run);
  const port = await listenFor(emulators.dynamodb.forward);
  const tables = {
    runs: new Table(dynamoAt(port.endpoint), runsTable),
    control: new Table(dynamoAt(port.endpoint), tableNamed('ControlTable')),
  };
  const index = new DynamoRunIndex(tables, new DynamoRunLog(tables.runs));
  // The entries are written within seconds, and before the sweep of their minute.
  const minute = minuteOf(instant(Date.now() + 10_000));
  for (const run of runs) await index.markDue({ run: { ...scope, runId: runId(run) }, minute });
  recorder.listen(({ caller, service, operation, input, response }) => {
    if (service !== 'dynamodb' || !/sweep/i.test(caller)) return;
    const { TableName, RequestItems } = requestShape.parse(input);
    if (TableName !== runsTable && !(runsTable in RequestItems)) return;
    // The due entries, in the same number of requests for each minute.
    if (/"due(-code)?#/.test(JSON.stringify(input))) return;
    counts[operation] = (counts[operation] ?? 0) + 1;
    // Another operation is one too many.
    if (operation !== 'BatchGetItem') return;
    const units = batchUnits(input, JSON.parse(response.toString('utf8'))).reduce((sum, [, each]) => sum + each, 0);
    counts['readUnits'] = (counts['readUnits'] ?? 0) + units;
  });
  // The embedded cloud runs the sweep each minute, for the minute before.
  for (let last = 0; last < minute; last = (await index.sweptMinute()) ?? 0) await wait(1_000);
  await port.close();
}, 240_000);
afterAll(async () => {
  await bench.stop();
  rmSync(directory, { recursive: true, force: true });
});

test('nothing was denied and nothing failed meanwhile', () => {
  expect(warnings).toEqual([]);
});

test(`the sweep reads the heads of ${runCount} runs that have ended in one request, a unit each, and nothing else of them`, () => {
  expect(counts).toEqual(golden);
});
