/** `workflows …`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import * as runs from '../../lib/api/schemas/runs.ts';
import * as versions from '../../lib/api/schemas/versions.ts';
import * as workflows from '../../lib/api/schemas/workflows.ts';
import { instantGraph, openGraph } from '../functions/http.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, dataIn, errorIn, createFolder } from './test-cli.ts';

let environment: CliEnvironment;
let admin: TestCli;
let cwd: string;
beforeEach(async () => {
  cwd = createFolder();
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin'], { cwd });
});
const write = (name: string, value: unknown): string => {
  writeFileSync(join(cwd, name), JSON.stringify(value));
  return name;
};
const listShape = z.strictObject({ items: z.array(workflows.workflowList.shape.data.unwrap().element), hasMore: z.boolean() });

test('publish creates version 1 and then version 2; get prints a publishable definition', async () => {
  const file = write('flow.json', { name: 'flow', ...instantGraph() });
  expect((await admin.type('workflows', 'publish', file)).out).toBe('flow@1\n');
  expect(dataIn(await admin.type('--json', 'workflows', 'publish', file), versions.publishedResponse).version).toBe(2);
  const { out, err } = await admin.type('workflows', 'get', 'flow');
  expect(err).toMatch(/^flow@2, created /);
  expect((await admin.type('workflows', 'publish', write('again.json', JSON.parse(out)))).out).toBe('flow@3\n');
  const old = dataIn(await admin.type('--json', 'workflows', 'get', 'flow', '--version-number', '1'), workflows.workflowResponse);
  expect(old.version).toBe(1);
});

test('versions lists authors and notes, and publish refuses another base', async () => {
  const file = write('flow.json', { name: 'flow', ...instantGraph() });
  expect((await admin.type('workflows', 'publish', file, '--note', 'a first one')).out).toBe('flow@1\n');
  expect((await admin.type('workflows', 'publish', file, '--based-on', '1', '--note', 'two\nlines')).out).toBe('flow@2\n');
  const refused = await admin.type('--json', 'workflows', 'publish', file, '--based-on', '1');
  expect([refused.exitCode, errorIn(refused)]).toMatchObject([1, { code: 'version_conflict' }]);
  const { out } = await admin.type('workflows', 'versions', 'flow');
  expect(out).toMatch(/^version +created +by +note\n2 .* key:\w+ +two lines\n1 .* key:\w+ +a first one\n$/);
  expect((await admin.type('workflows', 'versions', 'flow', '--limit', '1')).out).not.toContain('a first one');
});

test('publish prints each finding with its pointer and exits with 1', async () => {
  const file = write('bad.json', { name: 'bad', nodes: [{ id: 'a', type: 'unbuilt' }] });
  const { exitCode, err } = await admin.type('workflows', 'publish', file);
  expect(exitCode).toBe(1);
  expect(err).toContain('/nodes/0/type: unknown node type unbuilt');
  expect(errorIn(await admin.type('--json', 'workflows', 'publish', file))).toMatchObject({
    code: 'definition_invalid',
    errors: [{ pointer: '/nodes/0/type', code: 'node_type_unknown' }],
  });
});

test.each([
  ['a list', [], 'must hold a JSON object'],
  ['no name', instantGraph(), '"name" is missing'],
  ['another kind of name', { name: '../x', ...instantGraph() }, '"name" must be the name of a workflow'],
])('publish of %s sends nothing and exits with 3', async (_what, value, message) => {
  const { exitCode, err } = await admin.type('workflows', 'publish', write('flow.json', value));
  expect(exitCode).toBe(3);
  expect(err).toContain(message);
  expect(admin.sent).toEqual([]);
});

test('validate exits with 0 if valid, 2 for warnings only, 1 for errors', async () => {
  const warned = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'gone', type: 'end' },
    ],
    edges: [],
  };
  const validated = async (value: unknown) => {
    const answer = await admin.type('--json', 'workflows', 'validate', write('x.json', value));
    return { exitCode: answer.exitCode, ...dataIn(answer, workflows.validatedResponse) };
  };
  expect(await validated(instantGraph())).toMatchObject({ exitCode: 0, valid: true, findings: [] });
  const bad = await validated(warned);
  expect(bad.valid ? 2 : 1).toBe(bad.exitCode);
  expect(bad.findings.length).toBeGreaterThan(0);
  const { out } = await admin.type('workflows', 'validate', write('x.json', { nodes: [{ id: 'a', type: 'unbuilt' }] }));
  expect(out).toMatch(/^error {2}\/nodes\/0\/type {2}.* \(node_type_unknown\)\n(.*\n)*✗ x\.json has errors\n$/);
});

test('archive hides a name from the list, and publish restores it', async () => {
  expect((await admin.type('workflows', 'list')).out).toBe('No workflow matches.\n');
  await admin.type('workflows', 'publish', write('flow.json', { name: 'flow', ...instantGraph() }));
  expect((await admin.type('workflows', 'list')).out).toMatch(/^flow +1 /m);
  expect((await admin.type('workflows', 'archive', 'flow')).out).toMatch(/^flow is archived since /);
  const names = async (...more: readonly string[]) =>
    dataIn(await admin.type('--json', 'workflows', 'list', ...more), listShape).items.map(({ name }) => name);
  expect([await names(), await names('--archived')]).toEqual([[], ['flow']]);
  const { out, err } = await admin.type('workflows', 'publish', write('flow.json', { name: 'flow', ...instantGraph() }));
  expect(out).toBe('flow@2\n');
  expect(err).toContain('The workflow flow was archived; publishing this version unarchived it.\n');
  expect(await names()).toEqual(['flow']);
});

const testedShape = z.strictObject({
  run: runs.runResponse,
  events: z.array(z.looseObject({ type: z.string() })),
  kept: z.boolean(),
});
const isDeleted = async (runId: string) => errorIn(await admin.type('--json', 'runs', 'get', runId)).code === 'not_found';

test('test runs an unpublished graph, prints its events, and deletes its data', async () => {
  const file = write('draft.json', instantGraph());
  const { exitCode, out } = await admin.type('workflows', 'test', file, '--input', '{"x":1}');
  expect(exitCode).toBe(0);
  expect(out).toMatch(/run\.completed[^]*✓ completed {2}wrun_\w+\n[^]*"given"/);
  const { run, events, kept } = dataIn(await admin.type('--json', 'workflows', 'test', file), testedShape);
  expect([run.status, events.at(-1)?.type, kept]).toEqual(['completed', 'run.completed', false]);
  expect(await isDeleted(run.runId)).toBe(true);
  expect((await admin.type('runs', 'list')).out).toContain('No run matches.');
});

test('test --keep keeps the run', async () => {
  const answer = await admin.type('workflows', 'test', write('draft.json', instantGraph()), '--keep');
  expect(answer.err).toMatch(/The test run is kept for one day\. Delete it earlier: stepwell runs stop wrun_/);
  const [runId = ''] = /wrun_\w+/.exec(answer.err) ?? [];
  expect((await admin.type('runs', 'get', runId)).out).toContain('unsaved (test)');
});

test('test with a node pinned does not run it', async () => {
  const file = write('draft.json', {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'work', type: 'javascript', config: { code: 'throw new Error("it was run")', outputVariable: 'work' } },
      { id: 'end', type: 'end', config: { outputParameters: [{ name: 'due', sourceVariable: '{{ctx.work.due}}' }] } },
    ],
    edges: [
      { source: 'start', target: 'work' },
      { source: 'work', target: 'end' },
    ],
  });
  const pinned = await environment.runToEnd(admin.type('workflows', 'test', file, '--pin', 'work={"due":3}'));
  expect([pinned.exitCode, pinned.out]).toEqual([0, expect.stringContaining('"due": 3')]);
  const other = write('pinned.json', { work: { output: { due: 4 } } });
  expect((await environment.runToEnd(admin.type('workflows', 'test', file, '--pinned-file', other))).out).toContain('"due": 4');
  const sent = admin.sent.length;
  const twice = await admin.type('workflows', 'test', file, '--pin', 'work=1', '--pinned-file', other);
  expect([twice.exitCode, twice.err]).toEqual([3, expect.stringContaining('work is pinned twice.')]);
  for (const wrong of ['work', 'work={', '=1', 'a b=1'])
    expect((await admin.type('workflows', 'test', file, '--pin', wrong)).exitCode).toBe(3);
  expect(admin.sent).toHaveLength(sent);
});

test('test reports a failed run and an invalid graph', async () => {
  const file = write('draft.json', instantGraph('error'));
  const { exitCode, out } = await admin.type('workflows', 'test', file);
  expect(exitCode).toBe(1);
  expect(await isDeleted(/wrun_\w+/.exec(out)?.[0] ?? '')).toBe(true);
  const refused = await admin.type('--json', 'workflows', 'test', file, '--pin', 'missing=1');
  expect(errorIn(refused)).toMatchObject({ errors: [{ pointer: '/pinned/missing', code: 'pinned_node_unknown' }] });
  const wrong = await admin.type('workflows', 'test', file, '--pinned-file', write('list.json', []));
  expect([wrong.exitCode, wrong.err]).toEqual([3, expect.stringContaining('must hold a JSON object')]);
});

test('an interrupted test deletes its run and exits with 130', async () => {
  const work = admin.type('workflows', 'test', write('draft.json', openGraph));
  // The run exists, and no worker executes it.
  for (let tick = 0; tick < 50; tick += 1) await new Promise((resolve) => setImmediate(resolve));
  admin.interrupt();
  expect((await work).exitCode).toBe(130);
  expect(admin.sent.filter(({ path }) => path.endsWith('/stop'))).toHaveLength(1);
  expect((await admin.type('runs', 'list')).out).not.toContain('wrun_');
});
