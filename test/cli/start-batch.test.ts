/** `stepwell runs start-batch`: what a file may contain, what a repetition starts, and what is reported. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { fetchOf } from '../client/in-process.ts';
import { openGraph } from '../functions/http.ts';
import {
  type CliEnvironment,
  type CliResult,
  type TestCli,
  createCliEnvironment,
  createFolder,
  dataIn,
  errorIn,
} from './test-cli.ts';

const shape = z.strictObject({
  bulkId: z.string(),
  counts: z.strictObject({ started: z.int(), repeated: z.int(), failed: z.int(), notTried: z.int() }),
  items: z.array(
    z.strictObject({
      entry: z.int(),
      outcome: z.enum(['started', 'repeated', 'failed', 'not_tried']),
      runId: z.string().exactOptional(),
      code: z.string().exactOptional(),
      message: z.string().exactOptional(),
    }),
  ),
});
const nothing = { started: 0, repeated: 0, failed: 0, notTried: 0 };
const reportIn = (result: CliResult): z.output<typeof shape> => dataIn(result, shape);

let environment: CliEnvironment;
let admin: TestCli;
beforeEach(async () => {
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin']);
  const key = await environment.api.key(['admin']);
  await environment.api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
});

function fileOf(text: string): string {
  const path = join(createFolder(), 'starts.jsonl');
  writeFileSync(path, text);
  return path;
}
const linesOf = (count: number): string => Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join('');
const runs = async (): Promise<number> =>
  z.object({ items: z.array(z.unknown()) }).parse(dataIn(await admin.type('--json', 'runs', 'list', '--all'), z.unknown())).items
    .length;

describe('a file', () => {
  test.each([
    ['of JSON lines', '{"workflowName":"flow","input":{"n":1}}\n\n{"workflowName":"flow","idempotencyKey":"k"}\n', [1, 3]],
    ['with a JSON array', '[{"workflowName":"flow"},\n{"workflowName":"flow"}]', [1, 2]],
  ])('%s starts a run for each entry, which keeps its number', async (_name, text, entries) => {
    const result = reportIn(await admin.type('--json', 'runs', 'start-batch', fileOf(text)));
    expect(result.counts).toEqual({ ...nothing, started: 2 });
    expect(result.items.map(({ entry }) => entry)).toEqual(entries);
    expect(await runs()).toBe(2);
  });

  test('of inputs starts runs of one workflow, a hundred in each request', async () => {
    const file = fileOf(linesOf(230));
    const { exitCode, out, err } = await admin.type('runs', 'start-batch', file, '--workflow', 'flow');
    expect([exitCode, out]).toEqual([0, expect.stringContaining('230 runs started, 0 started before, 0 failed, 0 not tried.')]);
    expect(err).toContain('100 of 230\n200 of 230\n230 of 230');
    expect(admin.sent.map(({ path }) => path)).toEqual(Array.from({ length: 3 }, () => '/v1/runs/batch'));
    expect(await runs()).toBe(230);
  });

  test('can be stdin, and a repetition with the same input and id starts nothing twice', async () => {
    const piped = await environment.cliWithScopes(['admin'], { readInput: () => Promise.resolve(linesOf(2)) });
    const start = ['--json', 'runs', 'start-batch', '-', '--workflow', 'flow'];
    const first = reportIn(await piped.type(...start));
    expect(first.counts).toEqual({ ...nothing, started: 2 });
    expect(reportIn(await piped.type(...start, '--bulk-id', first.bulkId)).counts).toEqual({ ...nothing, repeated: 2 });
    const empty = await admin.type('--json', 'runs', 'start-batch', '-');
    expect([empty.exitCode, errorIn(empty).message]).toEqual([3, expect.stringContaining('stdin has no entry')]);
    expect(await runs()).toBe(2);
  });

  test.each([
    ['is absent', undefined, 'cannot be read'],
    ['is empty', '\n', 'has no entry'],
    ['has a line that is no JSON', '{"workflowName":"flow"}\n{"workflowName"', 'Line 2 of'],
    ['has an entry that is no start', '{"workflowName":"flow"}\n{"n":1}', 'Entry 2 of'],
  ])('that %s starts nothing', async (_name, text, message) => {
    const result = await admin.type('--json', 'runs', 'start-batch', text === undefined ? '/nowhere.jsonl' : fileOf(text));
    expect([result.exitCode, errorIn(result).message]).toEqual([3, expect.stringContaining(message)]);
    expect(await runs()).toBe(0);
  });
});

test('a repeated command with the id of the batch starts nothing twice', async () => {
  const file = fileOf(linesOf(3));
  const first = reportIn(await admin.type('--json', 'runs', 'start-batch', file, '--workflow', 'flow'));
  const again = reportIn(
    await admin.type('--json', 'runs', 'start-batch', file, '--workflow', 'flow', '--bulk-id', first.bulkId),
  );
  expect(again.counts).toEqual({ ...nothing, repeated: 3 });
  expect(again.items.map(({ runId }) => runId)).toEqual(first.items.map(({ runId }) => runId));
  expect(await runs()).toBe(3);
});

test('an invalid start among others fails alone, with the reason', async () => {
  const file = fileOf(
    [
      ...Array.from({ length: 20 }, () => '{"workflowName":"flow"}'),
      '{"workflowName":"flow","deadlineAt":"soon"}',
      '{"workflowName":"absent"}',
    ].join('\n'),
  );
  const result = await admin.type('--json', 'runs', 'start-batch', file);
  const { counts, items } = reportIn(result);
  expect([result.exitCode, counts]).toEqual([1, { ...nothing, started: 20, failed: 2 }]);
  expect(items.slice(20)).toMatchObject([
    { entry: 21, outcome: 'failed', code: 'invalid_request' },
    { entry: 22, outcome: 'failed', code: 'no_active_deployment' },
  ]);
  expect(await runs()).toBe(20);
});

test('a key without the scope is refused once, and a service that does not respond leaves the rest', async () => {
  const reader = await environment.cliWithScopes(['runs:read']);
  const refused = await reader.type('--json', 'runs', 'start-batch', fileOf(linesOf(5)), '--workflow', 'flow');
  expect([refused.exitCode, reader.sent.length]).toEqual([1, 1]);
  const unreachable = await environment.cliWithScopes(['admin'], {
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    sleep: () => Promise.resolve(),
  });
  const left = await unreachable.type('--json', 'runs', 'start-batch', fileOf(linesOf(5)), '--workflow', 'flow');
  expect([left.exitCode, reportIn(left).counts]).toEqual([4, { ...nothing, notTried: 5 }]);
});

test('Ctrl-C leaves the rest, and says how to continue', async () => {
  const fetchHere = fetchOf(environment.api);
  let requests = 0;
  const interrupted: TestCli = await environment.cliWithScopes(['admin'], {
    fetch: (target, init = {}) => {
      requests += 1;
      if (requests === 2) interrupted.interrupt();
      return fetchHere(target, init);
    },
  });
  const file = fileOf(linesOf(250));
  const result = await interrupted.type('--json', 'runs', 'start-batch', file, '--workflow', 'flow');
  const { bulkId, counts } = reportIn(result);
  expect(result.exitCode).toBe(130);
  expect(counts).toEqual({ ...nothing, started: 100, notTried: 150 });
  const rest = reportIn(await admin.type('--json', 'runs', 'start-batch', file, '--workflow', 'flow', '--bulk-id', bulkId));
  expect([rest.counts.failed, rest.counts.notTried, await runs()]).toEqual([0, 0, 250]);
});

test('starts that are too large for one request are sent in several', async () => {
  const large = JSON.stringify({ text: 'x'.repeat(200_000) });
  const result = reportIn(
    await admin.type('--json', 'runs', 'start-batch', fileOf(`${large}\n`.repeat(40)), '--workflow', 'flow'),
  );
  expect(result.counts).toEqual({ ...nothing, started: 40 });
  expect(admin.sent.filter(({ path }) => path === '/v1/runs/batch').length).toBeGreaterThan(1);
});
