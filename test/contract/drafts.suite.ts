/** Contract of `Drafts`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowName } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { Draft, Drafts } from '../../lib/ports/drafts.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const name = workflowName('order');
const draft = (revision: number, facts: Partial<Draft> = {}): Draft => ({
  name,
  revision,
  basedOn: null,
  definition: { nodes: 'not a list', ['__proto__x']: [1, null, { text: '☎' }] },
  updatedAt: noon,
  updatedBy: 'key:0123456789',
  ...facts,
});

export const draftsSuite = ({ name: implementation, open }: Subject<Drafts>) =>
  describe(`drafts: ${implementation}`, () => {
    let opened: Opened<Drafts>;
    let drafts: Drafts;
    beforeAll(async () => {
      opened = await open();
      drafts = opened.port;
    });
    afterAll(() => opened.close());

    test('a draft is read as it was saved, small or large', async () => {
      const scope = freshScope();
      expect(await drafts.read(scope, name)).toEqual({ revision: 0 });
      expect(await drafts.save(scope, draft(1))).toBeUndefined();
      expect(await drafts.read(scope, name)).toEqual({ revision: 1, draft: draft(1) });
      const code = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join('\n');
      const pinned = { price: { output: { total: [1, null] }, handle: 'error' }, tax: { output: null } };
      const large = draft(2, { pinned, basedOn: 7, definition: { code }, updatedAt: after(noon, minutes(1)), updatedBy: 'ada' });
      expect(await drafts.save(scope, large)).toBeUndefined();
      expect(await drafts.read(scope, name)).toEqual({ revision: 2, draft: large });
    });

    test('one of many concurrent authors saves a revision, and the others receive the stored draft', async () => {
      const scope = freshScope();
      for (const revision of [1, 2]) {
        const rivals = Array.from({ length: 10 }, (_, index) => draft(revision, { definition: { index } }));
        const results = await Promise.all(rivals.map((each) => drafts.save(scope, each)));
        const stored = await drafts.read(scope, name);
        expect(results.filter((result) => result === undefined)).toHaveLength(1);
        expect(stored.draft).toEqual(rivals[results.indexOf(undefined)]);
        for (const result of results) if (result !== undefined) expect(result).toEqual(stored);
      }
    });

    test('only the next revision is stored', async () => {
      const scope = freshScope();
      for (const revision of [0, 2]) expect(await drafts.save(scope, draft(revision))).toEqual({ revision: 0 });
      await drafts.save(scope, draft(1));
      const stored = { revision: 1, draft: draft(1) };
      for (const revision of [1, 3]) expect(await drafts.save(scope, draft(revision))).toEqual(stored);
      expect(await drafts.read(scope, name)).toEqual(stored);
    });

    test('a deletion keeps the revision, so a draft after it has another one', async () => {
      const scope = freshScope();
      expect(await drafts.remove(scope, name, 1)).toBe(false);
      await drafts.save(scope, draft(1));
      expect(await drafts.remove(scope, name, 2)).toBe(false);
      expect(await drafts.remove(scope, name, 1)).toBe(true);
      expect(await drafts.remove(scope, name, 1)).toBe(false);
      expect(await drafts.read(scope, name)).toEqual({ revision: 2 });
      expect(await drafts.save(scope, draft(2))).toEqual({ revision: 2 });
      expect(await drafts.save(scope, draft(3))).toBeUndefined();
      expect(await drafts.read(scope, name)).toEqual({ revision: 3, draft: draft(3) });
    });

    test('a draft belongs to its scope and name', async () => {
      const scope = freshScope();
      await drafts.save(scope, draft(1));
      expect(await drafts.read(freshScope(), name)).toEqual({ revision: 0 });
      expect(await drafts.read(scope, workflowName('orders'))).toEqual({ revision: 0 });
      expect(await drafts.remove(freshScope(), name, 1)).toBe(false);
    });
  });
