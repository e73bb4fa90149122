/** Contract of `VersionStore`, for workflows, lenses and queries. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { Advance, Numbered, VersionStore } from '../../lib/ports/versions.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

/** A kind of definition, with samples. */
export interface Kind<Version extends Numbered, Facts extends object> {
  readonly plural: string;
  readonly named: (name: string) => Version['name'];
  /** versions of one name, numbered from 1: a small one, a large one, a complete one, and one of every other form */
  readonly samples: readonly [Version, Version, Version, ...Version[]];
  /** a version like the first one, with another number */
  readonly rival: (index: number) => Version;
  /** the facts of a version in its summary, and other facts */
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
    const [baseFacts, otherFacts] = facts;
    const to = (version: number, ofVersion = baseFacts, ofName = name): Advance<Version, Facts> => ({
      ...ofVersion,
      name: ofName,
      version,
    });

    test('a version is read as it was published', async () => {
      const scope = freshScope();
      for (const each of samples) {
        expect(await store.putVersion(scope, each, noon)).toBe('stored');
        expect(await store.version(scope, name, each.version)).toEqual(each);
      }
      expect(samples.map(({ version }) => version)).toEqual(samples.map((_sample, at) => at + 1));
      expect(JSON.stringify(second).length).toBeGreaterThan(30_000);
      expect(await store.version(scope, name, samples.length + 1)).toBeUndefined();
    });

    test('versions are listed newest first, with their authors and notes and without their content', async () => {
      const scope = freshScope();
      const numbers = [1, 2, 3, 10, 11];
      for (const version of numbers) {
        const authorship = version === 2 ? {} : { createdBy: 'ada', note: `note ☎ ${version}` };
        expect(await store.putVersion(scope, { ...first, version }, after(noon, minutes(version)), authorship)).toBe('stored');
      }
      const record = (version: number) => ({ version, createdAt: after(noon, minutes(version)) });
      const by = (version: number) => ({ ...record(version), createdBy: 'ada', note: `note ☎ ${version}` });
      expect(await store.versions(scope, name, { limit: 5 })).toEqual({ versions: [by(11), by(10), by(3), record(2), by(1)] });
      expect(await store.versions(scope, name, { limit: 2 })).toEqual({ versions: [by(11), by(10)], next: 10 });
      expect(await store.versions(scope, name, { limit: 2, before: 10 })).toEqual({ versions: [by(3), record(2)], next: 2 });
      expect(await store.versions(scope, name, { limit: 2, before: 2 })).toEqual({ versions: [by(1)] });
      expect(await store.versions(freshScope(), name, { limit: 2 })).toEqual({ versions: [] });
      expect(await store.version(scope, name, 3)).toEqual({ ...first, version: 3 });
    });

    test('one of many concurrent publications wins a number, and a published version never changes', async () => {
      const scope = freshScope();
      const rivals = Array.from({ length: 10 }, (_, index) => rival(index));
      const results = await Promise.all(rivals.map((each) => store.putVersion(scope, each, noon)));
      const winners = rivals.filter((_, index) => results[index] === 'stored');
      expect(winners).toHaveLength(1);
      expect(await store.putVersion(scope, rival(10), noon)).toBe('occupied');
      expect([await store.version(scope, name, 1)]).toEqual(winners);
    });

    test('a summary accepts newer versions only', async () => {
      const scope = freshScope();
      expect(await store.summary(scope, name)).toBeUndefined();
      expect(await store.advance(scope, to(1), noon)).toBe(true);
      expect(await store.summary(scope, name)).toEqual({
        ...baseFacts,
        name,
        latestVersion: 1,
        createdAt: noon,
        updatedAt: noon,
      });
      await store.advance(scope, to(3, otherFacts), later);
      expect(await store.advance(scope, to(2), after(later, minutes(1)))).toBe(false);
      await store.advance(scope, to(3), after(later, minutes(2)));
      expect(await store.summary(scope, name)).toEqual({
        ...otherFacts,
        name,
        latestVersion: 3,
        createdAt: noon,
        updatedAt: later,
      });
    });

    test('a summary stores only the facts of a version', async () => {
      const scope = freshScope();
      await store.advance(scope, { ...full, ...baseFacts }, noon);
      expect(await store.summary(scope, name)).toEqual({
        ...baseFacts,
        name,
        latestVersion: 3,
        createdAt: noon,
        updatedAt: noon,
      });
    });

    test('an archived name keeps the first time, until a publication restores it', async () => {
      const scope = freshScope();
      expect(await store.archive(scope, name, noon)).toBe(false);
      expect(await store.summary(scope, name)).toBeUndefined();
      await store.advance(scope, to(1), noon);
      expect(await store.archive(scope, name, later)).toBe(true);
      expect(await store.archive(scope, name, after(later, minutes(9)))).toBe(true);
      await store.advance(scope, to(2), noon);
      expect(await store.summary(scope, name)).toMatchObject({ archivedAt: later, latestVersion: 2 });
      // A version below the latest changes nothing.
      await store.advance(scope, to(1), noon, { shouldUnarchive: true });
      expect(await store.summary(scope, name)).toMatchObject({ archivedAt: later, latestVersion: 2 });
      await store.advance(scope, to(3), noon, { shouldUnarchive: true });
      expect(await store.summary(scope, name)).toEqual({
        ...baseFacts,
        name,
        latestVersion: 3,
        createdAt: noon,
        updatedAt: noon,
      });
      expect(await store.archive(scope, name, after(later, minutes(9)))).toBe(true);
      expect(await store.summary(scope, name)).toMatchObject({ archivedAt: after(later, minutes(9)), latestVersion: 3 });
    });

    test('a list is ordered by name, page by page, with archived names only on request', async () => {
      const scope = freshScope();
      for (const each of ['a', 'B', 'c.1', 'c-1', 'c', 'd', 'e']) await store.advance(scope, to(1, baseFacts, named(each)), noon);
      await store.advance(freshScope(), to(1, baseFacts, named('foreign')), noon);
      for (const each of ['c', 'e']) await store.archive(scope, named(each), later);

      const pages = async (archived: boolean, prefix?: string) => {
        const all: string[][] = [];
        for (let after = undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const page: Awaited<ReturnType<typeof store.list>> = await store.list(scope, {
            limit: 2,
            archived,
            ...(after !== undefined && { after }),
            ...(prefix !== undefined && { prefix }),
          });
          all.push(page.summaries.map((summary) => summary.name));
          after = page.next;
        }
        return all;
      };
      expect(await pages(false)).toEqual([['B', 'a'], ['c-1', 'c.1'], ['d']]);
      expect(await pages(true)).toEqual([['B', 'a'], ['c', 'c-1'], ['c.1', 'd'], ['e']]);
      expect(await store.list(freshScope(), { limit: 2, archived: true })).toEqual({ summaries: [] });
      expect(await pages(true, 'c')).toEqual([['c', 'c-1'], ['c.1']]);
      expect(await pages(false, 'c')).toEqual([['c-1', 'c.1']]);
      expect(await pages(true, 'c-1')).toEqual([['c-1']]);
      expect(await pages(true, 'b')).toEqual([[]]);
      expect(await pages(true, 'foreign')).toEqual([[]]);
      const before = { limit: 2, archived: true, prefix: 'c', after: named('a') };
      expect((await store.list(scope, before)).summaries.map((summary) => summary.name)).toEqual(['c', 'c-1']);
    });

    test('another scope can neither read nor archive a name', async () => {
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
