/** `runs …` for one run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import * as runs from '../../lib/api/schemas/runs.ts';
import { hours } from '../../lib/engine/time.ts';
import { instantGraph, openGraph, started } from '../functions/http.ts';
import {
  type CliEnvironment,
  type TestCli,
  createCliEnvironment,
  dataIn,
  errorIn,
  expectExit,
  createFolder,
} from './test-cli.ts';

const listShape = z.strictObject({ items: z.array(runs.runList.shape.data.unwrap().element), hasMore: z.boolean() });
const eventShape = z.strictObject({ items: z.array(runs.eventList.shape.data.unwrap().element), hasMore: z.boolean() });
const watchedLine = z.union([
  z.strictObject({ event: runs.eventList.shape.data.unwrap().element }),
  z.strictObject({ ok: z.literal(true), data: z.strictObject({ run: runs.runResponse }) }),
]);

let environment: CliEnvironment;
let admin: TestCli;
let key: string;
beforeEach(async () => {
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin']);
  key = await environment.api.key(['admin']);
});
const publish = (name: string, graph: object) => environment.api.call('POST', '/v1/workflows', { key, body: { name, ...graph } });

describe('start', () => {
  test('prints only the run id, and reads input from an option or a file', async () => {
    await publish('flow', instantGraph());
    const { exitCode, out } = await admin.type('runs', 'start', 'flow', '--input', '{"n":1}');
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^wrun_[0-9A-Z]{26}\n$/);
    const cwd = createFolder();
    writeFileSync(join(cwd, 'input.json'), '{"n":2}');
    const known = await environment.cliWithScopes(['admin'], { cwd });
    const { runId } = dataIn(
      await known.type('--json', 'runs', 'start', 'flow', '--input-file', 'input.json'),
      runs.startedResponse,
    );
    expect(dataIn(await admin.type('runs', 'get', runId, '--json'), runs.runResponse).input).toEqual({ n: 2 });
  });
  test('the same key or content key starts the same run; without one each start is new', async () => {
    await publish('flow', instantGraph());
    const idOf = async (...more: readonly string[]) => (await admin.type('runs', 'start', 'flow', ...more)).out;
    expect(await idOf('--idempotency-key', 'k')).toBe(await idOf('--idempotency-key', 'k'));
    expect(await idOf('--content-key', '--input', '{"a":1,"b":2}')).toBe(await idOf('--content-key', '--input', '{"b":2,"a":1}'));
    expect(await idOf()).not.toBe(await idOf());
  });
  test('sends the start time and the deadline', async () => {
    await publish('flow', openGraph);
    const schedule = ['--available-at', '2026-01-02T00:00:00Z', '--deadline-at', '2026-01-03T01:00:00+01:00'];
    const { out } = await admin.type('runs', 'start', 'flow', ...schedule);
    expect(dataIn(await admin.type('runs', 'get', out.trim(), '--json'), runs.runResponse)).toMatchObject({
      availableAt: '2026-01-02T00:00:00.000Z',
      deadlineAt: '2026-01-03T00:00:00.000Z',
    });
  });
  test('of a version starts that one, and an unknown version exits with 1', async () => {
    await publish('flow', instantGraph());
    await environment.api.call('POST', '/v1/workflows/flow/versions', { key, body: instantGraph() });
    const { out } = await admin.type('runs', 'start', 'flow', '--workflow-version', '1');
    expect(dataIn(await admin.type('runs', 'get', out.trim(), '--json'), runs.runResponse).workflowVersion).toBe(1);
    const unknown = await admin.type('--json', 'runs', 'start', 'flow', '--workflow-version', '3');
    expect([unknown.exitCode, errorIn(unknown).message]).toEqual([1, expect.stringContaining('flow has no version 3.')]);
  });
  test('with --wait prints the output of a run that ends in time, and exits with 1 if it failed', async () => {
    await publish('flow', instantGraph());
    await publish('fails', instantGraph('error'));
    const ended = await admin.type('runs', 'start', 'flow', '--input', '{"n":1}', '--wait', '5');
    expect([ended.exitCode, JSON.parse(ended.out)]).toEqual([0, { given: { n: 1 } }]);
    expect(dataIn(await admin.type('--json', 'runs', 'start', 'flow', '--wait'), runs.endedStartResponse).status).toBe(
      'completed',
    );
    const failed = await admin.type('runs', 'start', 'fails', '--wait', '5');
    expect([failed.exitCode, failed.out]).toEqual([1, '']);
    expect(failed.err).toContain('failed');
  });
  test('with --wait outside 1 to 25 exits with 3', async () => {
    expect((await admin.type('runs', 'start', 'flow', '--wait', '26')).exitCode).toBe(3);
  });
  test('of an unknown workflow exits with 1', async () => {
    const answer = await admin.type('--json', 'runs', 'start', 'nowhere');
    expect([answer.exitCode, errorIn(answer)['status']]).toEqual([1, 409]);
  });
});

describe('list', () => {
  test('reads pages up to the limit, and prints whether more exist', async () => {
    await publish('flow', instantGraph());
    for (let n = 0; n < 105; n += 1) await admin.type('runs', 'start', 'flow');
    const list = async (...more: readonly string[]) => dataIn(await admin.type('--json', 'runs', 'list', ...more), listShape);
    expect([(await list()).items.length, (await list()).hasMore]).toEqual([25, true]);
    expect(await list('--limit', '104')).toMatchObject({ hasMore: true, items: { length: 104 } });
    expect(await list('--all')).toMatchObject({ hasMore: false, items: { length: 105 } });
    expect((await admin.type('runs', 'list', '--limit', '1')).out).toContain('More rows exist: use --limit <n> or --all.');
  });
  test('with the signals for which runs wait', async () => {
    const wait = { id: 'wait', type: 'signal', config: { name: 'paid', correlation: 'order-7' } };
    const nodes = [{ id: 'start', type: 'start' }, wait, { ...wait, id: 'again' }];
    const edges = ['wait', 'again'].map((target) => ({ source: 'start', target }));
    await started(environment.api, key, { name: 'order', graph: { nodes, edges } });
    expect((await admin.type('runs', 'list', '--waits')).out).toContain('waits for paid/order-7 and 1 more');
    expect((await admin.type('runs', 'list')).out).not.toContain('paid');
  });
  test('by filters', async () => {
    await started(environment.api, key, { name: 'one', graph: instantGraph() });
    await started(environment.api, key, { name: 'two', graph: openGraph });
    const workflowNames = async (...filters: readonly string[]) =>
      dataIn(await admin.type('--json', 'runs', 'list', ...filters), listShape).items.map(({ workflowName }) => workflowName);
    expect(await workflowNames('--status', 'completed')).toEqual(['one']);
    expect(await workflowNames('--workflow', 'two')).toEqual(['two']);
    expect(await workflowNames('--created-after', '2027-01-01T00:00:00Z')).toEqual([]);
    expect(await workflowNames('--created-before', '2027-01-01T00:00:00Z')).toEqual(['two', 'one']);
    expect((await admin.type('runs', 'list', '--status', 'failed')).out).toBe('No run matches.\n');
  });
  test('shows the reason of a failure', async () => {
    await started(environment.api, key, { graph: instantGraph('error') });
    expect((await admin.type('runs', 'list')).out).toMatch(/✗ failed .*ended_in_error: end node end ends the run as an error/);
  });
});

describe('get and events', () => {
  test('print the run and each node', async () => {
    const run = await started(environment.api, key, { graph: instantGraph(), input: { n: 1 } });
    const { out } = await admin.type('runs', 'get', run);
    expect(out).toContain(`${run}  ✓ completed`);
    expect(out).toMatch(/^input +\{"n":1\}$/m);
    expect(out).toMatch(/^end +end +✓ completed +1 /m);
    expect((await admin.type('runs', 'get', run, '--no-data')).out).not.toContain('{"n":1}');
  });
  test('an unknown run exits with 1', async () => {
    const answer = await admin.type('--json', 'runs', 'get', 'wrun_01M7XSDTEE14XW69VBQD8BT3DC');
    expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'not_found']);
  });
  test('events are in order, from any event', async () => {
    const run = await started(environment.api, key);
    const all = dataIn(await admin.type('--json', 'runs', 'events', run), eventShape);
    expect(all.items.at(-1)?.type).toBe('run.completed');
    const some = dataIn(await admin.type('--json', 'runs', 'events', run, '--after', '1', '--limit', '2'), eventShape);
    expect([some.items.map(({ eventId }) => eventId), some.hasMore]).toEqual([[2, 3], true]);
    expect((await admin.type('runs', 'events', run, '--limit', '2')).out).toMatch(
      /1 +\S+ +input\.set\n.*\nMore events exist: use --after 2\./,
    );
  });
});

describe('watch and result', () => {
  const failing = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'work', type: 'javascript', config: { code: 'throw new Error("out of tea")' } },
    ],
    edges: [{ source: 'start', target: 'work' }],
  };

  test('watch prints each event and the end, and exits with 0', async () => {
    const run = await started(environment.api, key, { graph: openGraph });
    const { exitCode, out } = await environment.runToEnd(admin.type('runs', 'watch', run));
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^ +1 {2}\S+ {2}input\.set$/m);
    expect(out).toMatch(/node\.completed {2}work$/m);
    expect(out.trimEnd().split('\n').at(-1)).toBe(`✓ completed  ${run}`);
  });
  test('a failed run prints the reason and exits with 1', async () => {
    const run = await started(environment.api, key, { graph: failing });
    const { exitCode, out } = await environment.runToEnd(admin.type('runs', 'watch', run));
    expect(exitCode).toBe(1);
    expect(out).toMatch(/✗ failed {2}wrun_\w+ {2}\w+: .*out of tea/);
    const waited = await environment.runToEnd(admin.type('runs', 'result', run));
    expect([waited.exitCode, waited.out]).toEqual([1, '']);
    expect(waited.err).toContain('out of tea');
    const data = dataIn(await admin.type('--json', 'runs', 'result', run), runs.runResponse);
    expect(data.status).toBe('failed');
  });
  test('--json prints each event on a line, and then the run on a line', async () => {
    const run = await started(environment.api, key, { graph: openGraph });
    const { out } = await environment.runToEnd(admin.type('runs', 'watch', run, '--json'));
    const lines = out.trimEnd().split('\n');
    const parsed = lines.map((line) => watchedLine.parse(JSON.parse(line)));
    const events = parsed.flatMap((line) => ('event' in line ? [line.event.type] : []));
    expect(events).toHaveLength(lines.length - 1);
    expect(events.at(-1)).toBe('run.completed');
    expect(parsed.at(-1)).toMatchObject({ ok: true, data: { run: { runId: run, status: 'completed' } } });
  });
  test('result prints only the output', async () => {
    const run = await started(environment.api, key, { graph: instantGraph(), input: { n: 1 } });
    const { exitCode, out, err } = await admin.type('runs', 'result', run);
    expect([exitCode, JSON.parse(out), err]).toEqual([0, { given: { n: 1 } }, '']);
  });
  test('without payloads:read, neither the output nor a history is printed', async () => {
    const run = await started(environment.api, key, { graph: instantGraph(), input: { n: 1 } });
    const { type } = await environment.cliWithScopes(['runs:read']);
    for (const command of ['result', 'export-test']) {
      const { exitCode, out, err } = await type('runs', command, run);
      expect([exitCode, out]).toEqual([1, '']);
      expect(err).toContain('The key lacks payloads:read');
    }
  });
  test('a run that exceeds --timeout exits with 1 and continues', async () => {
    await publish('flow', openGraph);
    const later = new Date(environment.api.world.clock.now() + hours(1)).toISOString();
    const { out } = await admin.type('runs', 'start', 'flow', '--available-at', later);
    const answer = await environment.runToEnd(admin.type('--json', 'runs', 'result', out.trim(), '--timeout', '60'));
    expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'not_ended']);
    expect(dataIn(await admin.type('runs', 'get', out.trim(), '--json'), runs.runResponse).status).toBe('pending');
  });
});

describe('cancel, wake, resume and rerun', () => {
  test('cancel can be repeated, and an ended run is refused', async () => {
    const run = await started(environment.api, key, { graph: openGraph });
    const cancelled = await admin.type('--json', 'runs', 'cancel', run, '--reason', 'not needed');
    expect(dataIn(cancelled, runs.cancelledResponse).status).toBe('cancelled');
    expectExit(await admin.type('runs', 'cancel', run), 0);
    expect(dataIn(await admin.type('runs', 'get', run, '--json'), runs.runResponse).cancelReason).toBe('not needed');
    const ended = await started(environment.api, key, { name: 'done' });
    const refused = await admin.type('--json', 'runs', 'cancel', ended);
    expect([refused.exitCode, errorIn(refused).code]).toEqual([1, 'run_terminal']);
  });
  const sleepGraph = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'night', type: 'delay', config: { delayMinutes: 480 } },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { source: 'start', target: 'night' },
      { source: 'night', target: 'end' },
    ],
  };
  test('wake prints the nodes that it woke', async () => {
    const run = await started(environment.api, key, { graph: sleepGraph });
    expect((await admin.type('runs', 'wake', run, '--node', 'start')).out).toBe('No node was sleeping.\n');
    expect((await admin.type('runs', 'wake', run, '--node', 'start', 'night')).out).toBe('Woken: night.\n');
    expect(dataIn(await environment.runToEnd(admin.type('--json', 'runs', 'result', run)), runs.runResponse).status).toBe(
      'completed',
    );
  });
  test('resume stores the reason and the payload', async () => {
    const run = await started(environment.api, key, { graph: sleepGraph });
    const resumed = await admin.type('--json', 'runs', 'resume', run, '--reason', 'paid', '--payload', '{"amount":3}');
    expect(dataIn(resumed, runs.resumedResponse)).toEqual({ accepted: true });
    const { items } = dataIn(await admin.type('--json', 'runs', 'events', run), eventShape);
    expect(items.find(({ type }) => type === 'run.resumed')?.payload).toMatchObject({ reason: 'paid' });
  });
  test('rerun starts a new run, optionally with another input; the same key starts one run', async () => {
    const run = await started(environment.api, key, { graph: instantGraph(), input: { n: 1 } });
    const line = ['runs', 'rerun', run, '--input', '{"n":2}', '--idempotency-key', 'again'];
    const { out } = await admin.type(...line);
    expect((await admin.type(...line)).out).toBe(out);
    const made = dataIn(await admin.type('runs', 'get', out.trim(), '--json'), runs.runResponse);
    expect([made.rerunOf, made.input]).toEqual([run, { n: 2 }]);
  });
  test('rerun --from continues from a node and keeps earlier results', async () => {
    const run = await started(environment.api, key, { graph: sleepGraph });
    await environment.runToEnd(admin.type('runs', 'wake', run));
    const { out } = await admin.type('runs', 'rerun', run, '--from', 'night');
    const made = dataIn(await admin.type('runs', 'get', out.trim(), '--json'), runs.runResponse);
    expect(made.nodes.map(({ nodeId, status }) => [nodeId, status])).toMatchObject([
      ['start', 'completed'],
      ['night', 'waiting'],
      ['end', 'pending'],
    ]);
    const unknown = await admin.type('--json', 'runs', 'rerun', run, '--from', 'nowhere');
    expect([unknown.exitCode, errorIn(unknown).code]).toEqual([1, 'not_found']);
    const repaired = await admin.type('runs', 'rerun', run, '--from', 'night', '--replace', 'start={"n":2}');
    expect(repaired).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^wrun_/) });
    const replaced = await admin.type('--json', 'runs', 'rerun', run, '--from', 'night', '--result', 'start={"n":2}', 'night=1');
    expect([errorIn(replaced).code, replaced.out]).toEqual(['invalid_request', expect.stringContaining('/results')]);
  });
});

describe('a run is named', () => {
  const idOf = async (name: string) => (await admin.type('runs', 'start', name)).out.trim();
  const shownBy = async (...words: readonly string[]) => {
    const { exitCode, out, err } = await admin.type('--json', 'runs', 'get', ...words);
    return exitCode === 0 ? z.object({ data: z.object({ runId: z.string() }) }).parse(JSON.parse(out)).data.runId : out + err;
  };

  test('by the unique beginning of its id, with or without the prefix, in any case', async () => {
    await publish('flow', instantGraph());
    const first = await idOf('flow');
    environment.api.world.clock.advance(hours(1));
    const second = await idOf('flow');
    let common = 0;
    while (first[common] === second[common]) common += 1;
    for (const id of [first, second]) {
      const beginning = id.slice(0, common + 1);
      expect(await shownBy(beginning)).toBe(id);
      expect(await shownBy(beginning.slice('wrun_'.length))).toBe(id);
      expect(await shownBy(beginning.toLowerCase())).toBe(id);
    }
    const ambiguous = await admin.type('runs', 'get', first.slice(0, common));
    expect(ambiguous.exitCode).toBe(3);
    expect(ambiguous.err).toContain(`Several runs begin with ${first.slice(0, common)}`);
    for (const id of [first, second]) expect(ambiguous.err).toContain(id);
    expect((await admin.type('runs', 'get', 'wrun_00000')).err).toContain('No run begins with wrun_00000');
  });

  test('as the latest one, in commands that read; commands that change a run refuse it', async () => {
    expect((await admin.type('runs', 'get', 'latest')).err).toContain('There is no run yet.');
    await publish('flow', openGraph);
    await idOf('flow');
    environment.api.world.clock.advance(hours(1));
    const newest = await idOf('flow');
    expect(await shownBy('latest')).toBe(newest);
    expect((await admin.type('explain', 'latest')).out).toContain(newest);
    const refused = await admin.type('runs', 'cancel', 'latest');
    expect([refused.exitCode, refused.err]).toEqual([3, expect.stringContaining('<runId> must be a run id')]);
    expect((await admin.type('runs', 'cancel', newest.slice(0, 20))).out).toBe(`${newest} is cancelled.\n`);
  });
});

test('node shows what a node saw and did, and refuses an unknown one', async () => {
  await publish('flow', instantGraph());
  const runId = (await admin.type('runs', 'start', 'flow', '--input', '{"n":1}')).out.trim();
  const detail = dataIn(await admin.type('--json', 'runs', 'node', runId, 'end'), runs.runNodeResponse);
  expect(detail).toMatchObject({ node: { nodeId: 'end', status: 'completed' }, context: { input: { n: 1 } } });
  const { out } = await admin.type('runs', 'node', runId, 'end');
  expect(out).toContain('ctx       {');
  expect(out).toContain('"given": {');
  expect(errorIn(await admin.type('--json', 'runs', 'node', runId, 'none')).code).toBe('not_found');
});

test('get shows what a run cost, if asked', async () => {
  await publish('flow', instantGraph());
  const runId = (await admin.type('runs', 'start', 'flow')).out.trim();
  expect((await admin.type('runs', 'get', runId)).out).not.toContain('cost');
  const { out } = await admin.type('runs', 'get', runId, '--estimate');
  expect(out).toMatch(/cost +about \$0\.0000\d\d: \d+ writeUnits, /);
  expect(out).toMatch(/log +1 commits, \d+ bytes/);
});
