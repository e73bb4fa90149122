/** Two runs node by node, and work on several runs at once. */
import { describe, expect, test } from 'vitest';
import { compareNodes } from '../../lib/console/compare/compare-runs.ts';
import { forEachRun } from '../../lib/console/runs/bulk.ts';
import { changesOf } from '../../lib/console/workflows/definition-diff.ts';

type ComparedRun = Parameters<typeof compareNodes>[0];
type Node = ComparedRun['nodes'][number];

const node = (nodeId: string, status: Node['status'], more: Partial<Node> = {}): Node => ({
  nodeId,
  type: 'javascript',
  status,
  attempt: 1,
  ...more,
});
const run = (status: ComparedRun['status'], ...nodes: readonly Node[]): ComparedRun => ({ status, nodes: [...nodes] });
const edge = (source: string, target: string, handle?: string) => ({ source, target, handle });
const edges = [edge('price', 'big'), edge('big', 'approve', 'true'), edge('big', 'charge', 'false')];

describe('two runs of one graph', () => {
  const small = run(
    'completed',
    node('price', 'completed', { output: 5 }),
    node('big', 'completed'),
    node('charge', 'completed'),
  );
  const large = run(
    'failed',
    node('price', 'completed', { output: 500 }),
    node('big', 'completed'),
    node('approve', 'failed'),
    node('charge', 'skipped'),
  );

  test('the paths part at the node after which the runs took different edges', () => {
    const parting = compareNodes(small, large, edges).filter(({ partsHere }) => partsHere);
    expect(parting.map(({ nodeId }) => nodeId)).toEqual(['big']);
  });

  test('the same path parts nowhere, and no node differs', () => {
    expect(compareNodes(small, small, edges).filter(({ isDifferent }) => isDifferent)).toEqual([]);
  });

  test('a node that only one run has stands after its predecessor', () => {
    expect(compareNodes(small, large, edges).map(({ nodeId }) => nodeId)).toEqual(['price', 'big', 'approve', 'charge']);
  });

  test('an open run, which can still take an edge, decides nothing', () => {
    const open = run('running', node('price', 'completed'), node('big', 'completed'), node('charge', 'pending'));
    const same = compareNodes(open, small, edges);
    expect(same.filter(({ partsHere }) => partsHere)).toEqual([]);
  });

  test('without the edges of the graphs, no node is called the one where the paths part', () => {
    expect(compareNodes(small, large, []).filter(({ partsHere }) => partsHere)).toEqual([]);
  });

  test('outputs are compared without the order of keys, and large ones are not compared', () => {
    const one = run(
      'completed',
      node('a', 'completed', { output: { x: 1, y: [2] } }),
      node('b', 'completed', { outputOmitted: { bytes: 900_000 } }),
      node('c', 'completed', { output: 1 }),
      node('d', 'completed'),
    );
    const other = run(
      'completed',
      node('a', 'completed', { output: { y: [2], x: 1 } }),
      node('b', 'completed', { outputOmitted: { bytes: 900_000 } }),
      node('c', 'completed', { output: 2 }),
      node('d', 'completed'),
    );
    expect(compareNodes(one, other, edges).map(({ outputs }) => outputs)).toEqual(['same', 'unknown', 'different', 'none']);
  });

  test('iterations of one node are separate rows', () => {
    const loop = run('completed', node('a', 'completed', { iteration: '0' }), node('a', 'completed', { iteration: '1' }));
    const shorter = run('completed', node('a', 'completed', { iteration: '0' }));
    expect(compareNodes(loop, shorter, edges).map(({ iteration, b }) => [iteration, b === undefined])).toEqual([
      ['0', false],
      ['1', true],
    ]);
  });
});

test('code runs part at the first step that differs', () => {
  const one = run('completed', node('reserve', 'completed'), node('charge', 'completed'));
  const other = run('completed', node('reserve', 'completed'), node('refund', 'completed'), node('charge', 'completed'));
  const parting = compareNodes(one, other, undefined).filter(({ partsHere }) => partsHere);
  expect(parting.map(({ nodeId }) => nodeId).toSorted()).toEqual(['charge', 'refund']);
});

test('inputs differ by JSON pointer', () => {
  expect(changesOf({ order: { id: 7, lines: ['a/b'] }, x: 1 }, { order: { id: 8, lines: ['a/b', 'c'] }, x: 1 }, '')).toEqual([
    { pointer: '/order/id', before: 7, after: 8 },
    { pointer: '/order/lines/1', before: undefined, after: 'c' },
  ]);
});

test('work on runs has four requests at a time, goes on after a failure, and names each failure', async () => {
  let active = 0;
  let most = 0;
  const progress: number[] = [];
  const ids = Array.from({ length: 11 }, (_, index) => `run-${index}`);
  const failures = await forEachRun(
    ids,
    async (runId) => {
      active += 1;
      most = Math.max(most, active);
      await Promise.resolve();
      await Promise.resolve();
      active -= 1;
      if (runId === 'run-2' || runId === 'run-9') throw new Error('refused');
    },
    (done) => progress.push(done),
  );
  expect(most).toBe(4);
  expect(failures.map(({ runId }) => runId)).toEqual(['run-2', 'run-9']);
  expect(progress.at(-1)).toBe(11);
});
