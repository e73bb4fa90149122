/** Contract of `DeletableNames`: a closed name accepts no versions, and no version number is reused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import type { Workflows } from '../../lib/ports/versions.ts';
import { workflows } from './published.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const later = after(noon, minutes(5));
const [sample] = workflows.samples;
const { name } = sample;
const last = (version: number) => ({ name, version });
const numbered = (version: number): WorkflowVersion => ({ ...sample, version });

export const deletableNamesSuite = ({ name: implementation, open }: Subject<Workflows>) =>
  describe(`deletable names: ${implementation}`, () => {
    let opened: Opened<Workflows>;
    let store: Workflows;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
    });
    afterAll(() => opened.close());

    const published = async (scope: Scope, ...versions: readonly number[]): Promise<void> => {
      for (const version of versions) {
        await store.putVersion(scope, numbered(version), noon);
        await store.advance(scope, numbered(version), noon);
      }
    };
    const listed = async (scope: Scope, archived = true) =>
      (await store.list(scope, { limit: 10, archived })).summaries.map((summary) => summary.name);

    test('a closed name is still listed, keeps its closing time and accepts no version', async () => {
      const scope = freshScope();
      expect(await store.close(scope, last(2), noon)).toBe(false);
      expect(await store.summary(scope, name)).toBeUndefined();
      await published(scope, 1, 2);
      await store.archive(scope, name, noon);
      expect(await store.close(scope, last(1), noon)).toBe(false);
      expect(await store.close(scope, last(2), noon)).toBe(true);
      expect(await store.close(scope, last(2), later)).toBe(true);
      for (const shouldUnarchive of [false, true]) await store.advance(scope, numbered(3), later, { shouldUnarchive });
      expect(await store.reopen(scope, numbered(3), later)).toBe(false);
      expect(await store.skipTo(scope, name, 9)).toBe(false);
      expect(await store.freedAfter(scope, name)).toBeUndefined();
      expect(await store.summary(scope, name)).toEqual({
        name,
        latestVersion: 2,
        createdAt: noon,
        updatedAt: noon,
        archivedAt: noon,
        deletingSince: noon,
      });
      expect(await listed(scope)).toEqual([name]);
    });

    test('only a closed name is freed; a freed name is not listed and cannot be advanced, archived or closed', async () => {
      const scope = freshScope();
      await store.free(scope, last(2));
      expect(await store.freedAfter(scope, name)).toBeUndefined();
      await published(scope, 1, 2);
      await store.free(scope, last(2));
      expect(await store.summary(scope, name)).toMatchObject({ latestVersion: 2 });
      await store.close(scope, last(2), noon);
      await store.free(scope, last(2));
      await store.free(scope, last(2));
      expect(await store.freedAfter(scope, name)).toBe(2);
      await store.advance(scope, numbered(5), later);
      expect([await store.archive(scope, name, later), await store.close(scope, last(2), later)]).toEqual([false, false]);
      expect(await store.summary(scope, name)).toBeUndefined();
      expect([await listed(scope), await listed(scope, false)]).toEqual([[], []]);
      expect(await store.freedAfter(freshScope(), name)).toBeUndefined();
    });

    test('a freed name reopens once, with a number above all its earlier ones', async () => {
      const scope = freshScope();
      expect(await store.reopen(scope, numbered(1), noon)).toBe(false);
      await published(scope, 1, 2);
      await store.archive(scope, name, noon);
      await store.close(scope, last(2), noon);
      await store.free(scope, last(2));
      expect(await store.reopen(scope, numbered(2), later)).toBe(false);
      expect(await store.skipTo(scope, name, 2)).toBe(false);
      expect(await store.skipTo(scope, name, 3)).toBe(true);
      expect(await store.freedAfter(scope, name)).toBe(3);
      expect(await store.reopen(scope, numbered(3), later)).toBe(false);
      const opened = { name, latestVersion: 4, firstVersion: 4, createdAt: later, updatedAt: later };
      const results = await Promise.all([4, 4].map((version) => store.reopen(scope, numbered(version), later)));
      expect(results.filter(Boolean)).toHaveLength(1);
      expect(await store.summary(scope, name)).toEqual(opened);
      expect(await store.freedAfter(scope, name)).toBeUndefined();
      await store.advance(scope, numbered(5), after(later, minutes(1)));
      expect(await store.summary(scope, name)).toEqual({ ...opened, latestVersion: 5, updatedAt: after(later, minutes(1)) });
      expect(await store.close(scope, last(4), later)).toBe(false);
      expect(await store.close(scope, last(5), later)).toBe(true);
      await store.free(scope, last(4));
      expect(await store.summary(scope, name)).toMatchObject({ latestVersion: 5, deletingSince: later });
    });

    test('versions are removed one by one, with or without a summary', async () => {
      const scope = freshScope();
      expect(await store.versionNumbers(scope, name)).toEqual([]);
      await published(scope, 1, 2);
      for (const version of [3, 11]) await store.putVersion(scope, numbered(version), noon);
      expect(await store.versionNumbers(scope, name)).toEqual([1, 2, 3, 11]);
      for (const version of [2, 11, 11]) await store.removeVersion(scope, name, version);
      expect(await store.versionNumbers(scope, name)).toEqual([1, 3]);
      expect(await store.version(scope, name, 2)).toBeUndefined();
      expect(await store.versionNumbers(freshScope(), name)).toEqual([]);
    });
  });
