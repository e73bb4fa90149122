/** `workflows …`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import * as versions from '../../lib/api/schemas/versions.ts';
import * as workflows from '../../lib/api/schemas/workflows.ts';
import { instantGraph } from '../functions/http.ts';
import { type Typist, cliHere, dataIn, errorIn, freshFolder } from './cli-here.ts';

let admin: Typist;
let cwd: string;
beforeEach(async () => {
  cwd = freshFolder();
  admin = await cliHere().typistOf(['admin'], { cwd });
});
const write = (name: string, value: unknown): string => {
  writeFileSync(join(cwd, name), JSON.stringify(value));
  return name;
};
const listShape = z.strictObject({ items: z.array(workflows.workflowList.shape.data.unwrap().element), hasMore: z.boolean() });

test('publish makes version 1, then the next; get prints what can be published again', async () => {
  const file = write('flow.json', { name: 'flow', ...instantGraph() });
  expect((await admin.type('workflows', 'publish', file)).out).toBe('flow@1\n');
  expect(dataIn(await admin.type('--json', 'workflows', 'publish', file), versions.publishedAnswer).version).toBe(2);
  const { out, err } = await admin.type('workflows', 'get', 'flow');
  expect(err).toMatch(/^flow@2, created /);
  expect((await admin.type('workflows', 'publish', write('again.json', JSON.parse(out)))).out).toBe('flow@3\n');
  const old = dataIn(await admin.type('--json', 'workflows', 'get', 'flow', '--version-number', '1'), workflows.workflowAnswer);
  expect(old.version).toBe(1);
});

test('publish tells each fault with its place, and 1', async () => {
  const file = write('bad.json', { name: 'bad', nodes: [{ id: 'a', type: 'unbuilt' }] });
  const { exitCode, err } = await admin.type('workflows', 'publish', file);
  expect(exitCode).toBe(1);
  expect(err).toContain('/nodes/0/type: there is no node type unbuilt');
  expect(errorIn(await admin.type('--json', 'workflows', 'publish', file))).toMatchObject({
    code: 'definition_invalid',
    errors: [{ place: '/nodes/0/type', code: 'node_type_unknown' }],
  });
});

test.each([
  ['a list', [], 'must hold a JSON object'],
  ['no name', instantGraph(), '"name" is missing'],
  ['another kind of name', { name: '../x', ...instantGraph() }, '"name" must be the name of a workflow'],
])('publish of %s sends nothing, and 3', async (_what, value, message) => {
  const { exitCode, err } = await admin.type('workflows', 'publish', write('flow.json', value));
  expect(exitCode).toBe(3);
  expect(err).toContain(message);
  expect(admin.sent).toEqual([]);
});

test('validate: 0 for a valid one, 2 for warnings only, 1 for errors', async () => {
  const warned = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'gone', type: 'end' },
    ],
    edges: [],
  };
  const judged = async (value: unknown) => {
    const answer = await admin.type('--json', 'workflows', 'validate', write('x.json', value));
    return { exitCode: answer.exitCode, ...dataIn(answer, workflows.validatedAnswer) };
  };
  expect(await judged(instantGraph())).toMatchObject({ exitCode: 0, valid: true, findings: [] });
  const bad = await judged(warned);
  expect(bad.valid ? 2 : 1).toBe(bad.exitCode);
  expect(bad.findings.length).toBeGreaterThan(0);
  const { out } = await admin.type('workflows', 'validate', write('x.json', { nodes: [{ id: 'a', type: 'unbuilt' }] }));
  expect(out).toMatch(/^error {2}\/nodes\/0\/type {2}.* \(node_type_unknown\)\n(.*\n)*✗ x\.json has errors\n$/);
});

test('list shows what there is, archive takes it away', async () => {
  expect((await admin.type('workflows', 'list')).out).toBe('There is no such workflow.\n');
  await admin.type('workflows', 'publish', write('flow.json', { name: 'flow', ...instantGraph() }));
  expect((await admin.type('workflows', 'list')).out).toMatch(/^flow +1 /m);
  expect((await admin.type('workflows', 'archive', 'flow')).out).toMatch(/^flow is archived since /);
  const names = async (...more: readonly string[]) =>
    dataIn(await admin.type('--json', 'workflows', 'list', ...more), listShape).items.map(({ name }) => name);
  expect([await names(), await names('--archived')]).toEqual([[], ['flow']]);
});

test('test runs an unpublished graph, shows what happens, and keeps it or deletes it', async () => {
  const file = write('draft.json', instantGraph());
  const kept = await admin.type('workflows', 'test', file, '--input', '{"x":1}');
  expect([kept.exitCode, kept.err]).toEqual([0, expect.stringMatching(/kept for a day: stepwell runs get wrun_/)]);
  expect(kept.out).toMatch(/run\.completed[^]*"given"/);
  const [runId = ''] = /wrun_\w+/.exec(kept.err) ?? [];
  expect((await admin.type('runs', 'get', runId)).out).toContain('unsaved (test)');
  expect((await admin.type('workflows', 'test', file, '--stop')).exitCode).toBe(0);
  const runs = await admin.type('runs', 'list');
  expect(runs.out).toContain('There is no such run.');
});

test('test with pinned outputs, and of a run that ends in error, and of a graph with faults', async () => {
  const file = write('draft.json', instantGraph('error'));
  expect((await admin.type('workflows', 'test', file)).exitCode).toBe(1);
  const pinned = write('pinned.json', { nobody: { output: 1 } });
  const refused = await admin.type('--json', 'workflows', 'test', file, '--pinned-file', pinned);
  expect(errorIn(refused)).toMatchObject({ errors: [{ place: '/pinned/nobody', code: 'pinned_node_unknown' }] });
  const wrong = await admin.type('workflows', 'test', file, '--pinned-file', write('list.json', []));
  expect([wrong.exitCode, wrong.err]).toEqual([3, expect.stringContaining('must hold a JSON object')]);
});
