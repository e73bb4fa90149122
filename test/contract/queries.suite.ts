/** What every store of published queries must keep. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, queryName } from '../../lib/engine/ids.ts';
import type { AuroraQuery, HttpQuery, PostgresQuery, QueryVersion } from '../../lib/engine/query/definition.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import type { Queries } from '../../lib/ports/queries.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const order = queryName('order');
const later = after(noon, minutes(5));

const common = {
  name: order,
  parameters: [{ name: 'id', type: 'string', required: true, default: 'x' }],
  maxBytes: 1_000,
  timeoutMs: seconds(5),
} as const;
const version = (number: number, facts: Partial<PostgresQuery> = {}): QueryVersion => ({
  ...common,
  kind: 'postgres',
  connection: 'orders-db',
  statement: 'select * from orders where id = :id -- ☎',
  readOnly: true,
  maxRows: 10,
  version: number,
  ...facts,
});
const http: HttpQuery & { readonly version: number } = {
  ...common,
  kind: 'http',
  description: 'asks the shop',
  connection: 'https://shop.example.com',
  request: { method: 'POST', path: '/orders/:id', query: { a: [1] }, headers: { b: '{{ctx.id}}' }, body: { c: null } },
  version: 2,
};

const aurora: AuroraQuery & { readonly version: number } = {
  ...common,
  kind: 'aurora',
  connection: 'orders',
  statement: 'select 1',
  readOnly: false,
  maxRows: 1,
  version: 4,
};

export const queriesSuite = ({ name, open }: Subject<Queries>) =>
  describe(`queries: ${name}`, () => {
    let opened: Opened<Queries>;
    let store: Queries;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
    });
    afterAll(() => opened.close());

    test('a version comes back as it was published', async () => {
      const scope = freshScope();
      for (const each of [version(1), http, version(3, { statement: `select '${'x'.repeat(60_000)}'` }), aurora]) {
        expect(await store.putVersion(scope, each, noon)).toBe('stored');
        expect(await store.version(scope, order, each.version)).toEqual(each);
      }
      expect(await store.version(scope, order, 5)).toBeUndefined();
    });

    test('one of many concurrent publications gets a number, and a published version never changes', async () => {
      const scope = freshScope();
      const rivals = Array.from({ length: 10 }, (_, index) => version(1, { description: `no. ${index}` }));
      const results = await Promise.all(rivals.map((rival) => store.putVersion(scope, rival, noon)));
      const winners = rivals.filter((_, index) => results[index] === 'stored');
      expect(winners).toHaveLength(1);
      expect(await store.putVersion(scope, version(1), noon)).toBe('occupied');
      expect([await store.version(scope, order, 1)]).toEqual(winners);
    });

    test('a summary follows newer versions and never goes back', async () => {
      const scope = freshScope();
      expect(await store.summary(scope, order)).toBeUndefined();
      await store.advance(scope, version(1), noon);
      expect(await store.summary(scope, order)).toEqual({
        name: order,
        kind: 'postgres',
        latestVersion: 1,
        createdAt: noon,
        updatedAt: noon,
      });
      await store.advance(scope, { ...version(3), kind: 'http' }, later);
      await store.advance(scope, version(2), after(later, minutes(1)));
      await store.advance(scope, version(3), after(later, minutes(2)));
      expect(await store.summary(scope, order)).toEqual({
        name: order,
        kind: 'http',
        latestVersion: 3,
        createdAt: noon,
        updatedAt: later,
      });
    });

    test('an archived query keeps its first time of archiving, also when a version is added', async () => {
      const scope = freshScope();
      expect(await store.archive(scope, order, noon)).toBe(false);
      expect(await store.summary(scope, order)).toBeUndefined();
      await store.advance(scope, version(1), noon);
      expect(await store.archive(scope, order, later)).toBe(true);
      expect(await store.archive(scope, order, after(later, minutes(9)))).toBe(true);
      await store.advance(scope, version(2), noon);
      expect(await store.summary(scope, order)).toMatchObject({ archivedAt: later, latestVersion: 2 });
    });

    test('a list goes by name, page by page, without the archived unless they are asked for', async () => {
      const scope = freshScope();
      const names = ['a', 'B', 'c.1', 'c-1', 'c', 'd', 'e'].map((each) => queryName(each));
      for (const each of names) await store.advance(scope, { ...version(1), name: each }, noon);
      await store.advance(freshScope(), { ...version(1), name: queryName('foreign') }, noon);
      for (const each of ['c', 'e']) await store.archive(scope, queryName(each), later);

      const pages = async (archived: boolean) => {
        const all: string[][] = [];
        for (let after = undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const page: Awaited<ReturnType<Queries['list']>> = await store.list(scope, {
            limit: 2,
            archived,
            ...(after && { after }),
          });
          all.push(page.queries.map((summary) => summary.name));
          after = page.next;
        }
        return all;
      };
      expect(await pages(false)).toEqual([['B', 'a'], ['c-1', 'c.1'], ['d']]);
      expect(await pages(true)).toEqual([['B', 'a'], ['c', 'c-1'], ['c.1', 'd'], ['e']]);
      expect(await store.list(freshScope(), { limit: 2, archived: true })).toEqual({ queries: [] });
    });

    test('nothing is seen or archived from another scope', async () => {
      const scope = freshScope();
      await store.putVersion(scope, version(1), noon);
      await store.advance(scope, version(1), noon);
      for (const other of [freshScope(), { ...scope, environment: environment('staging') }]) {
        expect(await store.version(other, order, 1)).toBeUndefined();
        expect(await store.summary(other, order)).toBeUndefined();
        expect(await store.archive(other, order, noon)).toBe(false);
      }
      expect(await store.summary(scope, order)).not.toHaveProperty('archivedAt');
    });
  });
