/** The iterations of the loops of a run, from its timeline: failures first. */
import type { ShownAttempt } from './waterfall-rows.ts';

export interface Iteration {
  /** `lines[3]` */
  readonly key: string;
  readonly loop: string;
  readonly index: number;
  readonly status: string;
  /** the node that a click opens: what failed, or else what is open, or else the last one; undefined: none has begun */
  readonly nodeId: string | undefined;
}

const order: readonly string[] = ['failed', 'running', 'cancelled', 'completed'];
const failures: readonly string[] = ['failed', 'timed_out', 'blocked', 'invalidated'];

/** @param hasEnded an iteration without an end was cancelled by the end of the run */
export function iterationsOf(rows: readonly ShownAttempt[], hasEnded: boolean): readonly Iteration[] {
  const nodes = new Map<string, ShownAttempt>();
  for (const row of rows)
    if (row.iteration !== undefined && !isIteration(row) && precedes(row, nodes.get(row.iteration)))
      nodes.set(row.iteration, row);
  return rows
    .filter(isIteration)
    .map(({ nodeId: loop, iteration: key = '', status }): Iteration => ({
      key,
      loop,
      index: indexIn(key),
      status: hasEnded && status === 'running' ? 'cancelled' : status,
      nodeId: nodes.get(key)?.nodeId,
    }))
    .toSorted((one, other) => rankOf(one) - rankOf(other) || one.key.length - other.key.length || one.index - other.index);
}

/** The nodes of one iteration, each with its latest attempt, in their order. */
export function nodesIn(rows: readonly ShownAttempt[], iteration: string): readonly ShownAttempt[] {
  const latest = new Map<string, ShownAttempt>();
  for (const row of rows) if (row.iteration === iteration && !isIteration(row)) latest.set(row.nodeId, row);
  return [...latest.values()];
}

const isIteration = ({ nodeId, iteration, attempt }: ShownAttempt): boolean =>
  attempt === 0 && iteration !== undefined && iteration.startsWith(`${nodeId}[`, iteration.lastIndexOf('/') + 1);

const indexIn = (key: string): number => Number(/\[(\d+)\]$/.exec(key)?.[1] ?? 0);

const rankOf = ({ status }: Iteration): number => (order.includes(status) ? order.indexOf(status) : order.length);

const precedes = (row: ShownAttempt, known: ShownAttempt | undefined): boolean =>
  known === undefined || (!failures.includes(known.status) && (failures.includes(row.status) || row.status !== 'skipped'));
