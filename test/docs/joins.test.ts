/** The table of joins in docs/NODES.md is what the engine decides. */
import { expect, test } from 'vitest';
import { type JoinMode, joinModes } from '../../lib/engine/graph/plan.ts';
import { type JoinRow, joinRows } from '../../scripts/documents/joins.ts';
import { type NodeTraits, completesAtOnce, failed, finished, graph } from '../engine/graph-builder.ts';
import { started } from '../engine/graph-run-fixture.ts';
import { found } from '../nodes/given.ts';
import { read, rowsIn } from './documents.ts';

function decisionOf({ edges, end, ...row }: JoinRow, joinMode: JoinMode): string {
  const onParentFailure = row.onParentFailure ?? 'skip';
  if (found('start', { joinMode, onParentFailure }).length > 0) return 'refused';
  const nodes: Readonly<Record<string, NodeTraits>> = {
    start: completesAtOnce,
    check: { pure: finished(null, 'yes') },
    join: { joinMode, onParentFailure },
  };
  const known = new Set(edges.flatMap((path) => path.split(' -> ').map((stop) => stop.split('/')[0])));
  const used = Object.fromEntries(Object.entries(nodes).filter(([id]) => known.has(id)));
  const play = started(graph({ nodes: used, edges }));
  play.ends('a');
  if (end !== undefined) play.ends('b', end === 'fails' ? failed() : finished());
  for (const id of ['c', 'handler']) if (play.statusOf(id) === 'queued') play.ends(id);
  const join = play.node('join');
  if (join === undefined) return 'waits';
  switch (join.status) {
    case 'queued':
      return 'runs';
    case 'skipped':
      return `skipped, \`${join.reason}\``;
    case 'failed':
      return `fails, \`${join.failure.code}\``;
    default:
      throw new Error(`the join is ${join.status}`);
  }
}

test('each row has the decisions of the engine', () => {
  const table = rowsIn(read('docs/NODES.md')).filter(({ section }) => section === 'Joins');
  expect(table.map(({ cells }) => cells)).toEqual(
    joinRows.map((row) => [
      row.state,
      `![${row.picture}](pictures/${row.picture}.svg)`,
      ...joinModes.map((mode) => decisionOf(row, mode)),
    ]),
  );
});
