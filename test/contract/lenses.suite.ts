/** What every store of lenses must keep. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, lensName } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { LensVersion, Lenses } from '../../lib/ports/lenses.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const tone = lensName('tone');
const later = after(noon, minutes(5));

const version = (number: number, facts: Partial<LensVersion> = {}): LensVersion => ({
  name: tone,
  version: number,
  kind: 'text',
  template: 'Say [[what]] in a [[tone!]] tone',
  description: 'Grüße ☎',
  input: {
    fields: {
      what: {
        type: 'string',
        required: true,
        description: 'd',
        minLength: 1,
        maxLength: 9,
        pattern: '^.',
        enum: ['a'],
      },
      many: { type: 'array', itemType: 'number', min: 1.5, max: 2 },
    },
    requireAnyOf: [['what', 'many']],
    strict: true,
  },
  output: { fields: { score: { type: 'integer' } }, artifactKind: 'json' },
  model: 'default',
  params: { temperature: 0.5, stop: ['x'] },
  ...facts,
});

export const lensesSuite = ({ name, open }: Subject<Lenses>) =>
  describe(`lenses: ${name}`, () => {
    let opened: Opened<Lenses>;
    let store: Lenses;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
    });
    afterAll(() => opened.close());

    test('a version comes back as it was published', async () => {
      const scope = freshScope();
      const small: LensVersion = { name: tone, version: 1, kind: 'image', template: '' };
      const large = version(2, { template: 'Über [[it]] ☎ '.repeat(10_000), output: { jsonSchema: { $defs: { a: true } } } });
      for (const each of [small, large, version(3)]) {
        expect(await store.putVersion(scope, each, noon)).toBe('stored');
        expect(await store.version(scope, tone, each.version)).toEqual(each);
      }
      expect(await store.version(scope, tone, 4)).toBeUndefined();
    });

    test('one of many concurrent publications gets a number, and a published version never changes', async () => {
      const scope = freshScope();
      const rivals = Array.from({ length: 10 }, (_, index) => version(1, { template: `[[n${index}]]` }));
      const results = await Promise.all(rivals.map((rival) => store.putVersion(scope, rival, noon)));
      const winners = rivals.filter((_, index) => results[index] === 'stored');
      expect(winners).toHaveLength(1);
      expect(await store.putVersion(scope, version(1), noon)).toBe('occupied');
      expect([await store.version(scope, tone, 1)]).toEqual(winners);
    });

    test('a summary follows newer versions and never goes back', async () => {
      const scope = freshScope();
      expect(await store.summary(scope, tone)).toBeUndefined();
      await store.advance(scope, tone, 1, noon);
      expect(await store.summary(scope, tone)).toEqual({ name: tone, latestVersion: 1, createdAt: noon, updatedAt: noon });
      await store.advance(scope, tone, 3, later);
      await store.advance(scope, tone, 2, after(later, minutes(1)));
      await store.advance(scope, tone, 3, after(later, minutes(2)));
      expect(await store.summary(scope, tone)).toEqual({ name: tone, latestVersion: 3, createdAt: noon, updatedAt: later });
    });

    test('an archived lens keeps its first time of archiving, also when a version is added', async () => {
      const scope = freshScope();
      expect(await store.archive(scope, tone, noon)).toBe(false);
      expect(await store.summary(scope, tone)).toBeUndefined();
      await store.advance(scope, tone, 1, noon);
      expect(await store.archive(scope, tone, later)).toBe(true);
      expect(await store.archive(scope, tone, after(later, minutes(9)))).toBe(true);
      await store.advance(scope, tone, 2, noon);
      expect(await store.summary(scope, tone)).toMatchObject({ archivedAt: later, latestVersion: 2 });
    });

    test('a list goes by name, page by page, without the archived unless they are asked for', async () => {
      const scope = freshScope();
      const names = ['a', 'B', 'c.1', 'c-1', 'c', 'd', 'e'].map((each) => lensName(each));
      for (const each of names) await store.advance(scope, each, 1, noon);
      await store.advance(freshScope(), lensName('foreign'), 1, noon);
      for (const each of ['c', 'e']) await store.archive(scope, lensName(each), later);

      const pages = async (archived: boolean) => {
        const all: string[][] = [];
        for (let after = undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const page: Awaited<ReturnType<Lenses['list']>> = await store.list(scope, {
            limit: 2,
            archived,
            ...(after && { after }),
          });
          all.push(page.lenses.map((summary) => summary.name));
          after = page.next;
        }
        return all;
      };
      expect(await pages(false)).toEqual([['B', 'a'], ['c-1', 'c.1'], ['d']]);
      expect(await pages(true)).toEqual([['B', 'a'], ['c', 'c-1'], ['c.1', 'd'], ['e']]);
      expect(await store.list(freshScope(), { limit: 2, archived: true })).toEqual({ lenses: [] });
    });

    test('nothing is seen or archived from another scope', async () => {
      const scope = freshScope();
      await store.putVersion(scope, version(1), noon);
      await store.advance(scope, tone, 1, noon);
      for (const other of [freshScope(), { ...scope, environment: environment('staging') }]) {
        expect(await store.version(other, tone, 1)).toBeUndefined();
        expect(await store.summary(other, tone)).toBeUndefined();
        expect(await store.archive(other, tone, noon)).toBe(false);
      }
      expect(await store.summary(scope, tone)).not.toHaveProperty('archivedAt');
    });
  });
