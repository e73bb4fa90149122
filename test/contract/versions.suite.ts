/** What every store of published versions must keep, whichever kind of thing is published. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { Advance, Numbered, VersionStore } from '../../lib/ports/versions.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

/** One kind of thing that is published, with examples of it. */
export interface Kind<Version extends Numbered, Facts extends object> {
  readonly plural: string;
  readonly named: (name: string) => Version['name'];
  /** under one name, numbered from 1 up: a small one, a large one, one with all that it can hold, and of every other form one */
  readonly samples: readonly [Version, Version, Version, ...Version[]];
  /** as the first, and told from it and from each other by the number */
  readonly rival: (index: number) => Version;
  /** what its summary tells besides, of a version, and what it tells when it is the other way */
  readonly facts: readonly [Facts, Facts];
}

const later = after(noon, minutes(5));

export const versionsSuite = <Version extends Numbered, Facts extends object>(
  { plural, named, samples, rival, facts }: Kind<Version, Facts>,
  { name: implementation, open }: Subject<VersionStore<Version, Facts>>,
) =>
  describe(`${plural}: ${implementation}`, () => {
    let opened: Opened<VersionStore<Version, Facts>>;
    let store: VersionStore<Version, Facts>;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
    });
    afterAll(() => opened.close());

    const [first, second, full] = samples;
    const name: Version['name'] = first.name;
    const [plainly, otherwise] = facts;
    const to = (version: number, told = plainly, whose = name): Advance<Version, Facts> => ({ ...told, name: whose, version });

    test('a version comes back as it was published', async () => {
      const scope = freshScope();
      for (const each of samples) {
        expect(await store.putVersion(scope, each, noon)).toBe('stored');
        expect(await store.version(scope, name, each.version)).toEqual(each);
      }
      expect(samples.map(({ version }) => version)).toEqual(samples.map((_sample, at) => at + 1));
      expect(JSON.stringify(second).length).toBeGreaterThan(30_000);
      expect(await store.version(scope, name, samples.length + 1)).toBeUndefined();
    });

    test('one of many concurrent publications gets a number, and a published version never changes', async () => {
      const scope = freshScope();
      const rivals = Array.from({ length: 10 }, (_, index) => rival(index));
      const results = await Promise.all(rivals.map((each) => store.putVersion(scope, each, noon)));
      const winners = rivals.filter((_, index) => results[index] === 'stored');
      expect(winners).toHaveLength(1);
      expect(await store.putVersion(scope, rival(10), noon)).toBe('occupied');
      expect([await store.version(scope, name, 1)]).toEqual(winners);
    });

    test('a summary follows newer versions and never goes back', async () => {
      const scope = freshScope();
      expect(await store.summary(scope, name)).toBeUndefined();
      expect(await store.advance(scope, to(1), noon)).toBe(true);
      expect(await store.summary(scope, name)).toEqual({ ...plainly, name, latestVersion: 1, createdAt: noon, updatedAt: noon });
      await store.advance(scope, to(3, otherwise), later);
      expect(await store.advance(scope, to(2), after(later, minutes(1)))).toBe(false);
      await store.advance(scope, to(3), after(later, minutes(2)));
      expect(await store.summary(scope, name)).toEqual({
        ...otherwise,
        name,
        latestVersion: 3,
        createdAt: noon,
        updatedAt: later,
      });
    });

    test('a summary that is moved by a whole version keeps no more of it than its facts', async () => {
      const scope = freshScope();
      await store.advance(scope, { ...full, ...plainly }, noon);
      expect(await store.summary(scope, name)).toEqual({ ...plainly, name, latestVersion: 3, createdAt: noon, updatedAt: noon });
    });

    test('what is archived keeps its first time of archiving, until a version is published that unarchives it', async () => {
      const scope = freshScope();
      expect(await store.archive(scope, name, noon)).toBe(false);
      expect(await store.summary(scope, name)).toBeUndefined();
      await store.advance(scope, to(1), noon);
      expect(await store.archive(scope, name, later)).toBe(true);
      expect(await store.archive(scope, name, after(later, minutes(9)))).toBe(true);
      await store.advance(scope, to(2), noon);
      expect(await store.summary(scope, name)).toMatchObject({ archivedAt: later, latestVersion: 2 });
      // An older version than the latest changes nothing.
      await store.advance(scope, to(1), noon, { shouldUnarchive: true });
      expect(await store.summary(scope, name)).toMatchObject({ archivedAt: later, latestVersion: 2 });
      await store.advance(scope, to(3), noon, { shouldUnarchive: true });
      expect(await store.summary(scope, name)).toEqual({ ...plainly, name, latestVersion: 3, createdAt: noon, updatedAt: noon });
      expect(await store.archive(scope, name, after(later, minutes(9)))).toBe(true);
      expect(await store.summary(scope, name)).toMatchObject({ archivedAt: after(later, minutes(9)), latestVersion: 3 });
    });

    test('a list goes by name, page by page, without the archived unless they are asked for', async () => {
      const scope = freshScope();
      for (const each of ['a', 'B', 'c.1', 'c-1', 'c', 'd', 'e']) await store.advance(scope, to(1, plainly, named(each)), noon);
      await store.advance(freshScope(), to(1, plainly, named('foreign')), noon);
      for (const each of ['c', 'e']) await store.archive(scope, named(each), later);

      const pages = async (archived: boolean) => {
        const all: string[][] = [];
        for (let after = undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const page: Awaited<ReturnType<typeof store.list>> = await store.list(scope, {
            limit: 2,
            archived,
            ...(after !== undefined && { after }),
          });
          all.push(page.summaries.map((summary) => summary.name));
          after = page.next;
        }
        return all;
      };
      expect(await pages(false)).toEqual([['B', 'a'], ['c-1', 'c.1'], ['d']]);
      expect(await pages(true)).toEqual([['B', 'a'], ['c', 'c-1'], ['c.1', 'd'], ['e']]);
      expect(await store.list(freshScope(), { limit: 2, archived: true })).toEqual({ summaries: [] });
    });

    test('nothing is seen or archived from another scope', async () => {
      const scope = freshScope();
      await store.putVersion(scope, first, noon);
      await store.advance(scope, to(1), noon);
      for (const other of [freshScope(), { ...scope, environment: environment('staging') }]) {
        expect(await store.version(other, name, 1)).toBeUndefined();
        expect(await store.summary(other, name)).toBeUndefined();
        expect(await store.archive(other, name, noon)).toBe(false);
      }
      expect(await store.summary(scope, name)).not.toHaveProperty('archivedAt');
    });
  });
