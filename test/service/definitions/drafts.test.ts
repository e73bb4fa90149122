/** Two authors save and delete the draft of one workflow; no change is lost without a conflict. */
import { expect, test } from 'vitest';
import { environment, projectId, workflowName } from '../../../lib/engine/ids.ts';
import { type MemoryPorts, memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { type DraftChange, deleteDraft, getDraft, saveDraft } from '../../../lib/service/definitions/drafts.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const name = workflowName('order');
const change = (revision: number, text: string, updatedBy = 'ada'): DraftChange => ({
  name,
  revision,
  basedOn: null,
  definition: { text },
  updatedBy,
});
const save = (ports: MemoryPorts, revision: number, text: string, updatedBy?: string) =>
  saveDraft(ports, scope, change(revision, text, updatedBy));

test('each save replaces the revision that it names', async () => {
  const ports = memoryPorts();
  expect(await getDraft(ports, scope, name)).toBeUndefined();
  expect(await save(ports, 0, 'one')).toMatchObject({ kind: 'saved', draft: { revision: 1, updatedAt: ports.clock.now() } });
  expect(await save(ports, 1, 'two')).toMatchObject({ kind: 'saved', draft: { revision: 2 } });
  expect(await getDraft(ports, scope, name)).toMatchObject({ revision: 2, definition: { text: 'two' } });
});

test.each([0, 1, 3])('a save over revision %i of a draft with revision 2 is a conflict and changes nothing', async (revision) => {
  const ports = memoryPorts();
  await save(ports, 0, 'one');
  await save(ports, 1, 'two');
  const current = await getDraft(ports, scope, name);
  expect(await save(ports, revision, 'other', 'bob')).toEqual({ kind: 'draft_conflict', current });
  expect(await getDraft(ports, scope, name)).toEqual(current);
});

test('of two concurrent saves one is stored', async () => {
  const ports = memoryPorts();
  const results = await Promise.all([save(ports, 0, 'mine', 'ada'), save(ports, 0, 'yours', 'bob')]);
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(['draft_conflict', 'saved']);
  expect(await getDraft(ports, scope, name)).toMatchObject({ revision: 1 });
});

test('a save whose response was lost succeeds when it is repeated, also if the store repeats the write', async () => {
  const ports = memoryPorts();
  await save(ports, 0, 'one');
  expect(await save(ports, 0, 'one')).toMatchObject({ kind: 'saved', draft: { revision: 1 } });
  const stored = ports.drafts.save.bind(ports.drafts);
  ports.drafts.save = async (...given) => {
    await stored(...given);
    return stored(...given);
  };
  expect(await save(ports, 1, 'two')).toMatchObject({ kind: 'saved', draft: { revision: 2 } });
  // Another author with the same text has not saved it.
  expect(await save(ports, 1, 'two', 'bob')).toMatchObject({ kind: 'draft_conflict' });
});

test('pinned outputs are part of what a save replaces, and count for its size', async () => {
  const ports = memoryPorts();
  const pinned = { price: { output: { total: 7 }, handle: 'error' } };
  expect(await saveDraft(ports, scope, { ...change(0, 'one'), pinned })).toMatchObject({ kind: 'saved', draft: { pinned } });
  expect(await saveDraft(ports, scope, { ...change(0, 'one'), pinned })).toMatchObject({ kind: 'saved', draft: { revision: 1 } });
  // The same definition with other pins, or with none, is another change.
  expect(await save(ports, 0, 'one')).toMatchObject({ kind: 'draft_conflict', current: { revision: 1, pinned } });
  expect(await save(ports, 1, 'one')).toMatchObject({ kind: 'saved', draft: { revision: 2 } });
  expect((await getDraft(ports, scope, name))?.pinned).toBeUndefined();
  const noise = Array.from({ length: 60_000 }, (_, index) => Math.sin(index)).join(' ');
  const large = await saveDraft(ports, scope, { ...change(2, 'one'), pinned: { price: { output: noise } } });
  expect(large).toMatchObject({ kind: 'definition_invalid', findings: [{ code: 'definition_too_large' }] });
});

test('a page that still shows a deleted draft cannot overwrite the next one', async () => {
  const ports = memoryPorts();
  await save(ports, 0, 'one');
  expect(await deleteDraft(ports, scope, name)).toEqual({ kind: 'deleted' });
  expect(await save(ports, 1, 'late')).toEqual({ kind: 'draft_conflict', current: undefined });
  expect(await save(ports, 0, 'next', 'bob')).toMatchObject({ kind: 'saved', draft: { revision: 3 } });
  expect(await save(ports, 1, 'late')).toMatchObject({ kind: 'draft_conflict', current: { revision: 3 } });
});

test('a draft that changed meanwhile is not deleted', async () => {
  const ports = memoryPorts();
  expect(await deleteDraft(ports, scope, name)).toEqual({ kind: 'draft_not_found' });
  await save(ports, 0, 'one');
  expect(await deleteDraft(ports, scope, name, 2)).toMatchObject({ kind: 'draft_conflict', current: { revision: 1 } });
  const remove = ports.drafts.remove.bind(ports.drafts);
  ports.drafts.remove = async (...given) => {
    await save(ports, 1, 'two');
    return remove(...given);
  };
  expect(await deleteDraft(ports, scope, name)).toMatchObject({ kind: 'draft_conflict', current: { revision: 2 } });
  expect(await getDraft(ports, scope, name)).toMatchObject({ definition: { text: 'two' } });
});

test('a draft that does not fit into one item is refused before anything is written', async () => {
  const ports = memoryPorts();
  const noise = Array.from({ length: 60_000 }, (_, index) => Math.sin(index + 1));
  const result = await saveDraft(ports, scope, { ...change(0, ''), definition: { noise } });
  expect(result).toMatchObject({ kind: 'definition_invalid', findings: [{ code: 'definition_too_large' }] });
  expect(await ports.drafts.read(scope, name)).toEqual({ revision: 0 });
});
