/** What every store of published workflows must keep. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { environment, nodeId, workflowName } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { WorkflowStore } from '../../lib/ports/workflow-store.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const order = workflowName('order');
const later = after(noon, minutes(5));

const version = (number: number, facts: Partial<WorkflowVersion> = {}): WorkflowVersion => ({
  name: order,
  version: number,
  nodes: [
    { id: nodeId('start'), type: 'start', config: {} },
    {
      id: nodeId('call'),
      type: 'http',
      label: 'Anrufen ☎',
      config: { url: 'https://example.com/{{ctx.id}}', retry: { attempts: 3 } },
      position: { x: -1.5, y: 200 },
    },
  ],
  edges: [
    { source: nodeId('start'), target: nodeId('call') },
    {
      id: 'e2',
      source: nodeId('start'),
      target: nodeId('call'),
      sourceHandle: 'error',
      sourceOutputKey: 'a.b',
      targetParamLabel: 'input',
      mergeStrategy: 'concat',
      condition: { type: 'equals', value: { a: [1] } },
    },
  ],
  options: { args: [{ name: 'id', type: 'string', required: true, default: 'x' }], deadlineSeconds: 60 },
  ...facts,
});

export const workflowStoreSuite = ({ name, open }: Subject<WorkflowStore>) =>
  describe(`workflow store: ${name}`, () => {
    let opened: Opened<WorkflowStore>;
    let store: WorkflowStore;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
    });
    afterAll(() => opened.close());

    test('a version comes back as it was published', async () => {
      const scope = freshScope();
      const small = version(1, { nodes: [], edges: [], options: {} });
      const large = version(2, {
        nodes: Array.from({ length: 500 }, (_, index) => ({
          id: nodeId(`n${index}`),
          type: 'javascript',
          config: { code: `${index}` },
        })),
      });
      for (const each of [small, large, version(3)]) {
        expect(await store.putVersion(scope, each, noon)).toBe('stored');
        expect(await store.version(scope, order, each.version)).toEqual(each);
      }
      expect(await store.version(scope, order, 4)).toBeUndefined();
    });

    test('one of many concurrent publications gets a number, and a published version never changes', async () => {
      const scope = freshScope();
      const rivals = Array.from({ length: 10 }, (_, index) => version(1, { options: { deadlineSeconds: index + 1 } }));
      const results = await Promise.all(rivals.map((rival) => store.putVersion(scope, rival, noon)));
      const winners = rivals.filter((_, index) => results[index] === 'stored');
      expect(winners).toHaveLength(1);
      expect(await store.putVersion(scope, version(1), noon)).toBe('occupied');
      expect([await store.version(scope, order, 1)]).toEqual(winners);
    });

    test('a summary follows newer versions and never goes back', async () => {
      const scope = freshScope();
      expect(await store.summary(scope, order)).toBeUndefined();
      await store.advance(scope, order, 1, noon);
      expect(await store.summary(scope, order)).toEqual({ name: order, latestVersion: 1, createdAt: noon, updatedAt: noon });
      await store.advance(scope, order, 3, later);
      await store.advance(scope, order, 2, after(later, minutes(1)));
      await store.advance(scope, order, 3, after(later, minutes(2)));
      expect(await store.summary(scope, order)).toEqual({ name: order, latestVersion: 3, createdAt: noon, updatedAt: later });
    });

    test('an archived workflow keeps its first time of archiving, also when a version is added', async () => {
      const scope = freshScope();
      expect(await store.archive(scope, order, noon)).toBe(false);
      expect(await store.summary(scope, order)).toBeUndefined();
      await store.advance(scope, order, 1, noon);
      expect(await store.archive(scope, order, later)).toBe(true);
      expect(await store.archive(scope, order, after(later, minutes(9)))).toBe(true);
      await store.advance(scope, order, 2, noon);
      expect(await store.summary(scope, order)).toMatchObject({ archivedAt: later, latestVersion: 2 });
    });

    test('a list goes by name, page by page, without the archived unless they are asked for', async () => {
      const scope = freshScope();
      const names = ['a', 'B', 'c.1', 'c-1', 'c', 'd', 'e'].map((each) => workflowName(each));
      for (const each of names) await store.advance(scope, each, 1, noon);
      await store.advance(freshScope(), workflowName('foreign'), 1, noon);
      for (const each of ['c', 'e']) await store.archive(scope, workflowName(each), later);

      const pages = async (archived: boolean) => {
        const all: string[][] = [];
        for (let after = undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const page: Awaited<ReturnType<WorkflowStore['list']>> = await store.list(scope, {
            limit: 2,
            archived,
            ...(after && { after }),
          });
          all.push(page.workflows.map((summary) => summary.name));
          after = page.next;
        }
        return all;
      };
      expect(await pages(false)).toEqual([['B', 'a'], ['c-1', 'c.1'], ['d']]);
      expect(await pages(true)).toEqual([['B', 'a'], ['c', 'c-1'], ['c.1', 'd'], ['e']]);
      expect(await store.list(freshScope(), { limit: 2, archived: true })).toEqual({ workflows: [] });
    });

    test('nothing is seen or archived from another scope', async () => {
      const scope = freshScope();
      await store.putVersion(scope, version(1), noon);
      await store.advance(scope, order, 1, noon);
      for (const other of [freshScope(), { ...scope, environment: environment('staging') }]) {
        expect(await store.version(other, order, 1)).toBeUndefined();
        expect(await store.summary(other, order)).toBeUndefined();
        expect(await store.archive(other, order, noon)).toBe(false);
      }
      expect(await store.summary(scope, order)).not.toHaveProperty('archivedAt');
    });
  });
