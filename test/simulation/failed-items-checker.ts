/** Checks that the fold names the failed items of each loop, as the events of its iterations say. */
import { type NodeKey, type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunState } from '../../lib/engine/log/fold.ts';
import { maxFailedItems } from '../../lib/engine/log/node-state.ts';
import { runInvariant } from './violation.ts';

export class FailedItemsChecker {
  /** by run and loop: the indexes of its failed items, in the order of their ends */
  readonly #failed = new Map<string, Map<NodeKey, number[]>>();

  /** @param state of the run with this commit */
  committed({ runId }: RunAddress, { events }: Commit, state: RunState | undefined): void {
    const loops = this.#failed.get(runId) ?? new Map<NodeKey, number[]>();
    this.#failed.set(runId, loops);
    for (const event of events) {
      if (event.type === 'LOOP_STARTED') loops.set(nodeKey(event), []);
      if (event.type === 'ITERATION_ENDED' && event.status === 'failed') loops.get(nodeKey(event))?.push(event.index);
    }
    for (const [key, failed] of loops) {
      const named = failedItemsOf(state, key);
      if (named === undefined) continue;
      const expected = JSON.stringify([failed.length, failed.slice(0, maxFailedItems)]);
      runInvariant(
        4,
        JSON.stringify(named) === expected,
        () => `${key} of ${runId} names ${JSON.stringify(named)}, not ${expected}`,
      );
    }
  }
}

/** @returns undefined where the fold has no counts of the loop, for example in an iteration that has ended */
function failedItemsOf(state: RunState | undefined, key: NodeKey): readonly [number, readonly number[]] | undefined {
  const node = state?.nodes.get(key);
  if (node === undefined) return undefined;
  if (node.status === 'waiting') return node.for === 'iterations' ? [node.loop.failed, node.loop.failedItems ?? []] : undefined;
  return 'iterations' in node && node.iterations !== undefined
    ? [node.iterations.failed, node.iterations.failedItems ?? []]
    : undefined;
}
