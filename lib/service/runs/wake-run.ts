/** Wakes sleeping nodes of a run before their time. Their timers still fire, but change nothing. */
import { defined } from '../../base/defined.ts';
import type { NodeId, RunAddress } from '../../engine/ids.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { sleepersOf } from '../../engine/log/open-nodes.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { commitWithRecheck, endStatusOf } from '../commit/commit-with-recheck.ts';
import { type Decider, kindOf } from '../decider.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';

export type WakeResult =
  /** the nodes that this request woke, each once */
  | { readonly kind: 'woken'; readonly nodeIds: readonly NodeId[] }
  | { readonly kind: 'not_found' }
  /** the run had already ended, or ended concurrently */
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

/** @param nodeIds absent: every sleeping node. Nodes that do not sleep are skipped. */
export async function wakeRun(decider: Decider, run: RunAddress, nodeIds?: readonly NodeId[]): Promise<WakeResult> {
  const fold = await readRunFold(decider.deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const statusBefore = endStatusOf(fold);
  if (statusBefore !== undefined) return { kind: 'run_terminal', status: statusBefore };
  return kindOf(decider, fold.head).wake(decider, fold, nodeIds);
}

/** For graph runs and code runs, whose sleeping nodes wake. */
export async function wakeSleepers(decider: Decider, fold: RunFold, nodeIds?: readonly NodeId[]): Promise<WakeResult> {
  if (sleepersOf(fold.state, nodeIds).length === 0) return { kind: 'woken', nodeIds: [] };
  const first = await wakeAllButLastBatch(decider, fold, nodeIds);
  const last = await wake(decider, fold, nodeIds);
  const woken = [...first, ...last];
  // Without woken nodes, the sleepers woke concurrently or the run has ended, for example at its deadline.
  const statusAfter = endStatusOf(fold);
  return woken.length > 0 || statusAfter === undefined
    ? { kind: 'woken', nodeIds: [...new Set(woken)] }
    : { kind: 'run_terminal', status: statusAfter };
}

/**
 * Wakes sleeping nodes in batches until at most one batch is left, which the caller wakes. After a crash in between, a repeated request
 * wakes the others.
 */
export async function wakeAllButLastBatch(
  decider: Decider,
  fold: RunFold,
  nodeIds?: readonly NodeId[],
  maxBatch: number = kindOf(decider, fold.head).maxWakesPerCommit,
): Promise<readonly NodeId[]> {
  const woken: NodeId[] = [];
  for (;;) {
    const sleepers = endStatusOf(fold) === undefined ? sleepersOf(fold.state, nodeIds) : [];
    if (sleepers.length <= maxBatch) return woken;
    const next = await wake(
      decider,
      fold,
      sleepers.slice(0, maxBatch).map(({ nodeId }) => nodeId),
    );
    if (next.length === 0) return woken;
    woken.push(...next);
  }
}

async function wake(decider: Decider, fold: RunFold, nodeIds: readonly NodeId[] | undefined): Promise<readonly NodeId[]> {
  const fact = defined({ kind: 'wake-requested' as const, nodeIds });
  const appended = await commitWithRecheck(decider, fold, () => notifyRun(decider, fold, [fact]));
  const events = appended.kind === 'committed' ? appended.commit.events : [];
  return events.flatMap((event) => (event.type === 'NODE_WOKEN' ? [event.nodeId] : []));
}
