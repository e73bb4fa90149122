/** `signals send`, `runs signal`, `runs tags`, `runs view`, `runs stop`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import * as signals from '../../lib/api/schemas/run-control.ts';
import * as tests from '../../lib/api/schemas/run-control.ts';
import { tagList } from '../../lib/api/schemas/run-control.ts';
import { instantGraph, openGraph, started } from '../functions/http.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, dataIn, errorIn, createFolder } from './test-cli.ts';

let environment: CliEnvironment;
let admin: TestCli;
let key: string;
let cwd: string;
beforeEach(async () => {
  environment = createCliEnvironment();
  cwd = createFolder();
  admin = await environment.cliWithScopes(['admin'], { cwd });
  key = await environment.api.key(['admin']);
});
const write = (name: string, value: unknown): string => {
  writeFileSync(join(cwd, name), JSON.stringify(value));
  return name;
};
const waiting = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'paid', type: 'signal', config: { name: 'paid', outputVariable: 'paid' } },
    {
      id: 'end',
      type: 'end',
      config: { outputParameters: [{ name: 'amount', sourceVariable: '{{ctx.paid.payload.amount}}' }] },
    },
  ],
  edges: [
    { source: 'start', target: 'paid' },
    { source: 'paid', target: 'end' },
  ],
};
const outputOf = async (run: string) => JSON.parse((await environment.runToEnd(admin.type('runs', 'result', run))).out);

describe('a signal', () => {
  test('to a run reaches the waiting node', async () => {
    const run = await started(environment.api, key, { graph: waiting });
    await environment.runToEnd(Promise.resolve());
    const { exitCode, out } = await admin.type('runs', 'signal', run, 'paid', '--payload', '{"amount":3}', '--signal-id', 's1');
    expect([exitCode, out]).toEqual([0, `s1 is delivered to ${run}.\n`]);
    expect(await outputOf(run)).toEqual({ amount: 3 });
  });
  test('by correlation is stored until a node waits for it; the same id is sent once', async () => {
    const payload = ['--payload-file', write('payload.json', { amount: 4 })];
    const line = [
      'signals',
      'send',
      'paid',
      '--correlation',
      'order 7',
      '--signal-id',
      's2',
      '--expires-in-seconds',
      '60',
      ...payload,
    ];
    expect((await admin.type(...line)).out).toBe('s2 is stored: no run waits for it yet.\n');
    expect(dataIn(await admin.type('--json', ...line), signals.sentResponse)).toEqual({
      signalId: 's2',
      delivered: false,
      workflowRunIds: [],
    });
    const [start, paid, end] = waiting.nodes;
    const correlated = { ...paid, config: { ...paid?.config, correlation: 'order 7' } };
    const run = await started(environment.api, key, { graph: { ...waiting, nodes: [start, correlated, end] } });
    expect(await outputOf(run)).toEqual({ amount: 4 });
  });
  test.each([
    [['signals', 'send', 'paid'], "required option '--correlation <word>' not specified"],
    [['runs', 'signal', 'nothing', 'paid'], '<runId> must be a run id'],
    [['signals', 'send', 'paid', '--correlation', 'x', '--payload', '{'], '--payload must be JSON'],
    [
      ['signals', 'send', 'paid', '--correlation', 'x', '--payload', '1', '--payload-file', 'x'],
      '--payload and --payload-file exclude each other.',
    ],
  ])('%j sends nothing and exits with 3', async (line, message) => {
    const { exitCode, err } = await admin.type(...line);
    expect([exitCode, err]).toEqual([3, expect.stringContaining(message)]);
    expect(admin.sent).toEqual([]);
  });
});

describe('tags', () => {
  const failing = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'work', type: 'javascript', config: { code: 'throw new Error("out of tea")' } },
    ],
    edges: [{ source: 'start', target: 'work' }],
  };
  const shape = z.strictObject({ items: z.array(tagList.shape.data.unwrap().element), hasMore: z.boolean() });
  test('of a failed run are listed over pages, from any event', async () => {
    const run = await started(environment.api, key, { graph: failing });
    await environment.runToEnd(admin.type('runs', 'result', run));
    const all = dataIn(await admin.type('--json', 'runs', 'tags', run), shape);
    expect(all.items.length).toBeGreaterThan(1);
    const [first] = all.items;
    expect((await admin.type('runs', 'tags', run)).out).toMatch(
      new RegExp(`^${first?.eventId} .* ${first?.severity} +${first?.tag}`, 'm'),
    );
    const one = dataIn(await admin.type('--json', 'runs', 'tags', run, '--limit', '1'), shape);
    // A page does not split the tags of one event.
    expect(one).toEqual({ items: all.items.filter(({ eventId }) => eventId === first?.eventId), hasMore: true });
    const laterTags = dataIn(
      await admin.type('--json', 'runs', 'tags', run, '--after', String(all.items.at(-1)?.eventId)),
      shape,
    );
    expect(laterTags).toEqual({ items: [], hasMore: false });
  });
  test('an empty list', async () => {
    const run = await started(environment.api, key, { graph: openGraph });
    expect((await admin.type('runs', 'tags', run, '--after', '999')).out).toBe('No tags.\n');
  });
});

describe('view', () => {
  test('resolves templates in the run, and prints only the view', async () => {
    const run = await started(environment.api, key, { graph: instantGraph(), input: { n: 1 } });
    const { exitCode, out, err } = await admin.type('runs', 'view', run, '--config', '{"total":"{{ctx.input.n}}"}');
    expect([exitCode, JSON.parse(out), err]).toEqual([
      0,
      { total: 1 },
      expect.stringMatching(/ is completed, as of event \d+\n$/),
    ]);
    const file = write('widget.json', '{{ctx.input.n}} of them');
    expect(dataIn(await admin.type('--json', 'runs', 'view', run, '--config-file', file), tests.viewResponse).view).toBe(
      '1 of them',
    );
  });
  test('an invalid template exits with 1 and its pointer; a missing or second configuration exits with 3', async () => {
    const run = await started(environment.api, key, { graph: instantGraph() });
    const refused = await admin.type('--json', 'runs', 'view', run, '--config', '{"a":"{{ctx."}');
    expect([refused.exitCode, errorIn(refused)]).toMatchObject([1, { errors: [{ pointer: '/config/a' }] }]);
    for (const line of [[], ['--config', '1', '--config-file', write('x.json', 1)]])
      expect((await admin.type('runs', 'view', run, ...line)).exitCode).toBe(3);
  });
});

describe('stop', () => {
  test('deletes a kept test run, and refuses other runs', async () => {
    const kept = await admin.type('workflows', 'test', write('draft.json', instantGraph()), '--keep');
    const [run = ''] = /wrun_\w+/.exec(kept.err) ?? [];
    expect((await admin.type('runs', 'stop', run)).out).toBe(`${run} and all of its data are deleted.\n`);
    const deleted = await admin.type('--json', 'runs', 'get', run);
    expect([deleted.exitCode, errorIn(deleted).code]).toEqual([1, 'not_found']);
    const other = await admin.type('--json', 'runs', 'stop', await started(environment.api, key));
    expect([other.exitCode, errorIn(other).code]).toEqual([1, 'not_a_test_run']);
  });
});
