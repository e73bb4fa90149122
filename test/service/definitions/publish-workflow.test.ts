/** Publications that name the version they are based on: none overwrites a version that its author has not seen. */
import { expect, test, vi } from 'vitest';
import { environment, nodeId, projectId, workflowName } from '../../../lib/engine/ids.ts';
import { minutes } from '../../../lib/engine/time.ts';
import { type MemoryPorts, memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { inspectNode } from '../../../lib/nodes/catalogue.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { getDraft, saveDraft } from '../../../lib/service/definitions/drafts.ts';
import { listVersions } from '../../../lib/service/definitions/list-versions.ts';
import { type PublishOptions, createWorkflow, publishVersion } from '../../../lib/service/definitions/publish-workflow.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const name = workflowName('order');
const graph = (deadlineSeconds: number) => ({
  name,
  nodes: [
    { id: nodeId('start'), type: 'start', config: {} },
    { id: nodeId('end'), type: 'end', config: {} },
  ],
  edges: [{ source: nodeId('start'), target: nodeId('end') }],
  options: { deadlineSeconds },
});
const create = (ports: MemoryPorts, options: PublishOptions = {}) =>
  createWorkflow(ports, scope, graph(60), inspectNode, options);
const publish = (ports: MemoryPorts, options: PublishOptions = {}, deadline = 61) =>
  publishVersion(ports, scope, graph(deadline), inspectNode, options);
const latest = async (ports: MemoryPorts) => (await ports.workflows.summary(scope, name))?.latestVersion;

test('a version that is based on the newest one is published with its author and note', async () => {
  const ports = memoryPorts();
  await create(ports, { createdBy: 'ada', note: 'first' });
  expect(await publish(ports, { basedOn: 1, createdBy: 'bob' })).toMatchObject({ kind: 'published', version: 2 });
  expect(await listVersions(ports, scope, name, { limit: 10 })).toEqual({
    versions: [
      { version: 2, createdAt: ports.clock.now(), createdBy: 'bob' },
      { version: 1, createdAt: ports.clock.now(), createdBy: 'ada', note: 'first' },
    ],
  });
});

test.each([null, 1, 3, 99])('a version that is based on %s is refused where version 2 is the newest', async (basedOn) => {
  const ports = memoryPorts();
  await create(ports);
  await publish(ports, { createdBy: 'bob' });
  expect(await publish(ports, { basedOn })).toMatchObject({
    kind: 'version_conflict',
    newest: { version: 2, createdBy: 'bob' },
  });
  expect([await latest(ports), await ports.workflows.versionNumbers(scope, name)]).toEqual([2, [1, 2]]);
});

test('of two publishers of one base, one publishes and the other one learns of it', async () => {
  const ports = memoryPorts();
  await create(ports);
  const results = await Promise.all([
    publish(ports, { basedOn: 1, createdBy: 'ada' }, 71),
    publish(ports, { basedOn: 1, createdBy: 'bob' }, 72),
  ]);
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(['published', 'version_conflict']);
  expect(await ports.workflows.versionNumbers(scope, name)).toEqual([1, 2]);
});

test('of two first publications of one name, one is a conflict', async () => {
  const ports = memoryPorts();
  const results = await Promise.all([create(ports, { basedOn: null }), create(ports, { basedOn: null })]);
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(['published', 'version_conflict']);
  expect(await create(ports)).toEqual({ kind: 'exists' });
});

test('a version whose publisher died is the newest: it conflicts, readers find it, and the next version is based on it', async () => {
  const ports = memoryPorts();
  await create(ports);
  await ports.workflows.putVersion(scope, { ...graph(62), version: 2 }, ports.clock.now(), { createdBy: 'bob' });
  expect(await latest(ports)).toBe(1);
  expect(await publish(ports, { basedOn: 1 })).toMatchObject({
    kind: 'version_conflict',
    newest: { version: 2, createdBy: 'bob' },
  });
  expect(await latest(ports)).toBe(2);
  await ports.workflows.putVersion(scope, { ...graph(63), version: 3 }, ports.clock.now());
  expect(await publish(ports, { basedOn: 3 })).toMatchObject({ kind: 'published', version: 4 });
});

test('publishing unarchives the workflow also with a base', async () => {
  const ports = memoryPorts();
  await create(ports);
  await ports.workflows.archive(scope, name, ports.clock.now());
  expect(await publish(ports, { basedOn: 1 })).toMatchObject({ kind: 'published', version: 2, unarchived: true });
  expect(await ports.workflows.summary(scope, name)).not.toHaveProperty('archivedAt');
});

test('the published draft is deleted, but not a later revision, and its failure does not fail the publication', async () => {
  const ports = memoryPorts();
  const save = (revision: number) =>
    saveDraft(ports, scope, { name, revision, basedOn: null, definition: { revision }, updatedBy: 'ada' });
  await save(0);
  await create(ports, { draftRevision: 1 });
  expect(await getDraft(ports, scope, name)).toBeUndefined();
  await save(0);
  expect(await publish(ports, { basedOn: 1, draftRevision: 1 })).toMatchObject({ kind: 'published' });
  expect(await getDraft(ports, scope, name)).toMatchObject({ revision: 3 });
  ports.drafts.remove = () => Promise.reject(new Unavailable('the table'));
  expect(await publish(ports, { basedOn: 2, draftRevision: 3 })).toMatchObject({ kind: 'published', version: 3 });
});

test('the versions of a workflow that had the name before are not listed', async () => {
  const ports = memoryPorts();
  await create(ports);
  const first = { name, version: 1 };
  await ports.workflows.close(scope, first, ports.clock.now());
  await ports.workflows.free(scope, first);
  expect(await listVersions(ports, scope, name, { limit: 10 })).toBeUndefined();
  expect(await create(ports, { basedOn: null })).toMatchObject({ kind: 'published', version: 2 });
  const listed = await listVersions(ports, scope, name, { limit: 10 });
  expect(listed?.versions.map(({ version }) => version)).toEqual([2]);
  expect(await publish(ports, { basedOn: 1 })).toMatchObject({ kind: 'version_conflict', newest: { version: 2 } });
});

test('a repeated publication, whose first answer was lost, is answered with the version that it published', async () => {
  const ports = memoryPorts();
  const ada = { createdBy: 'ada', note: 'as asked' };
  const created = await create(ports, { basedOn: null, ...ada });
  ports.clock.advance(minutes(1));
  expect(await create(ports, { basedOn: null, ...ada })).toEqual(created);
  const published = await publish(ports, { basedOn: 1, ...ada });
  ports.clock.advance(minutes(1));
  expect(await publish(ports, { basedOn: 1, ...ada })).toEqual(published);
  expect(await latest(ports)).toBe(2);
  expect((await listVersions(ports, scope, name, { limit: 10 }))?.versions.map(({ version }) => version)).toEqual([2, 1]);
});

test.each<[string, PublishOptions, number]>([
  ['another author', { createdBy: 'bob' }, 61],
  ['an unknown author', {}, 61],
  ['another note', { createdBy: 'ada', note: 'why' }, 61],
  ['another definition', { createdBy: 'ada' }, 62],
])('a publication of %s is no repetition, and conflicts with version 2', async (_what, options, deadline) => {
  const ports = memoryPorts();
  await create(ports, { createdBy: 'ada' });
  await publish(ports, { basedOn: 1, createdBy: 'ada' });
  expect(await publish(ports, { basedOn: 1, ...options }, deadline)).toMatchObject({
    kind: 'version_conflict',
    newest: { version: 2 },
  });
});

test('a repeated publication completes the first one, which died before it updated the summary', async () => {
  const ports = memoryPorts();
  await create(ports, { createdBy: 'ada' });
  vi.spyOn(ports.workflows, 'advance').mockRejectedValueOnce(new Unavailable('the table'));
  await expect(publish(ports, { basedOn: 1, createdBy: 'ada' })).rejects.toThrow('the table');
  expect(await publish(ports, { basedOn: 1, createdBy: 'ada' })).toMatchObject({ kind: 'published', version: 2 });
  expect(await latest(ports)).toBe(2);
});
