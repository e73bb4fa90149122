/** Wakes sleeping nodes of a run before their time. Their timers still fire, but change nothing. */
import { defined } from '../../base/defined.ts';
import { sleepersOf } from '../../engine/graph/sleepers.ts';
import type { NodeId, RunAddress } from '../../engine/ids.ts';
import type { BundleHead, TerminalStatus } from '../../engine/log/head.ts';
import { commitWithRecheck, endStatusOf } from '../commit/commit-with-recheck.ts';
import { decideBundleRun } from '../commit/decide-bundle-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';
import { notifyWaiting } from '../commit/notify-run.ts';
import { hasMessage, newWorkflowMessage } from '../commit/new-workflow-message.ts';

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
  const { head } = fold;
  if (head.kind === 'bundle') return wakeBundleRun(decider, fold, head);
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

/** Maximum number of nodes that one commit wakes; a code run may have thousands of concurrent sleeps. */
export const maxWakesPerCommit = 1_000;

/**
 * Wakes sleeping nodes in batches until at most one batch is left, which the caller wakes. After a crash in between, a repeated request
 * wakes the others.
 */
export async function wakeAllButLastBatch(
  decider: Decider,
  fold: RunFold,
  nodeIds?: readonly NodeId[],
  maxBatch: number = maxWakesPerCommit,
): Promise<readonly NodeId[]> {
  const woken: NodeId[] = [];
  for (;;) {
    const sleepers = fold.head.kind === 'code' && endStatusOf(fold) === undefined ? sleepersOf(fold.state, nodeIds) : [];
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
  const appended = await commitWithRecheck(decider, fold, () => notifyWaiting(decider, fold, [fact]));
  const events = appended.kind === 'committed' ? appended.commit.events : [];
  return events.flatMap((event) => (event.type === 'NODE_WOKEN' ? [event.nodeId] : []));
}

/** Only the code of a bundle run knows what it waits for, so its workflow receives a message and checks. */
async function wakeBundleRun(decider: Decider, fold: RunFold, head: BundleHead): Promise<WakeResult> {
  const newMessage = await newWorkflowMessage(decider.deps, head);
  await commitWithRecheck(decider, fold, () => decideBundleRun(decider, fold, [{ kind: 'message-sent', newMessage }]));
  const statusAfter = endStatusOf(fold);
  return statusAfter === undefined || hasMessage(fold, newMessage)
    ? { kind: 'woken', nodeIds: [newMessage.id] }
    : { kind: 'run_terminal', status: statusAfter };
}
