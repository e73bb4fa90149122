/**
 * Wakes sleeping nodes of a run before their time, or ends the backoff of its retries. Their timers and delayed messages still arrive,
 * but change nothing.
 */
import type { NodeId, RunAddress } from '../../engine/ids.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { type WakeRequest, wakeableNodes } from '../../engine/log/open-nodes.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { commitWithDueEntry, endStatusOf } from '../commit/commit-with-due-entry.ts';
import { type Decider, kindOf } from '../decider.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';

export type { WakeRequest };

export type WakeResult =
  /** the nodes that this request woke, each once */
  | { readonly kind: 'woken'; readonly nodeIds: readonly NodeId[] }
  | { readonly kind: 'not_found' }
  /** the run had already ended, or ended concurrently */
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

/** Named nodes that do not wait in the requested way are skipped. */
export async function wakeRun(decider: Decider, run: RunAddress, request: WakeRequest = {}): Promise<WakeResult> {
  const fold = await readRunFold(decider.deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const statusBefore = endStatusOf(fold);
  if (statusBefore !== undefined) return { kind: 'run_terminal', status: statusBefore };
  return kindOf(decider, fold.head).wake(decider, fold, request);
}

/** For graph runs and code runs, whose nodes sleep and wait for retries. */
export async function wakeNodes(decider: Decider, fold: RunFold, request: WakeRequest): Promise<WakeResult> {
  if (wakeableNodes(fold.state, request, decider.deps.clock.now()).length === 0) return { kind: 'woken', nodeIds: [] };
  const first = await wakeAllButLastBatch(decider, fold, request);
  const last = await wake(decider, fold, request);
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
  request: WakeRequest = {},
  maxBatch: number = kindOf(decider, fold.head).maxWakesPerCommit,
): Promise<readonly NodeId[]> {
  const woken: NodeId[] = [];
  for (;;) {
    const wakeable = endStatusOf(fold) === undefined ? wakeableNodes(fold.state, request, decider.deps.clock.now()) : [];
    if (wakeable.length <= maxBatch) return woken;
    const nodeIds = wakeable.slice(0, maxBatch).map(({ nodeId }) => nodeId);
    const next = await wake(decider, fold, { ...request, nodeIds });
    if (next.length === 0) return woken;
    woken.push(...next);
  }
}

async function wake(decider: Decider, fold: RunFold, request: WakeRequest): Promise<readonly NodeId[]> {
  const fact = { kind: 'wake-requested' as const, ...request };
  const appended = await commitWithDueEntry(decider, fold, () => notifyRun(decider, fold, [fact]));
  const events = appended.kind === 'committed' ? appended.commit.events : [];
  return events.flatMap((event) => (event.type === 'NODE_WOKEN' ? [event.nodeId] : []));
}
