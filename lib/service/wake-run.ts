/** Wakes sleeping nodes of a run before their time. Their timers still come, and change nothing then. */
import { sleepersOf } from '../engine/graph/sleepers.ts';
import type { NodeId, RunAddress } from '../engine/ids.ts';
import type { FetchHead, TerminalStatus } from '../engine/log/head.ts';
import { askRun, endOf } from './ask-run.ts';
import { decideFetchRun } from './decide-fetch-run.ts';
import type { Decider } from './decide-run.ts';
import { type RunFold, readRun } from './read-log.ts';
import { tellWaiting } from './tell-run.ts';
import { hasMessage, workflowMessage } from './workflow-message.ts';

export type WakeAnswer =
  /** the nodes that this call woke, each once */
  | { readonly kind: 'woken'; readonly nodeIds: readonly NodeId[] }
  | { readonly kind: 'not_found' }
  /** the run had ended, before or while this was asked */
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

/** @param nodeIds only these; absent: every node that sleeps. One that does not sleep is passed over. */
export async function wakeRun(decider: Decider, run: RunAddress, nodeIds?: readonly NodeId[]): Promise<WakeAnswer> {
  const fold = await readRun(decider.deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const before = endOf(fold);
  if (before !== undefined) return { kind: 'run_terminal', status: before };
  const { head } = fold;
  if (head.kind === 'fetch') return wakeCode(decider, fold, head);
  if (sleepersOf(fold.state, nodeIds).length === 0) return { kind: 'woken', nodeIds: [] };
  const first = await wakeAllBut(decider, fold, nodeIds);
  const last = await wake(decider, fold, nodeIds);
  const woken = [...first, ...last];
  // Others were quicker: its sleepers woke by themselves, or the run has ended since, as it does at its deadline.
  const since = endOf(fold);
  return woken.length > 0 || since === undefined
    ? { kind: 'woken', nodeIds: [...new Set(woken)] }
    : { kind: 'run_terminal', status: since };
}

/** Of a run of code, which may have thousands of sleeps beside each other: so many are woken in one commit. */
const mostTogether = 1_000;

/**
 * Wakes all sleepers but those that one commit has room for. Whoever dies in between has woken some of those that are to be
 * woken, and the request that comes again wakes the others.
 */
export async function wakeAllBut(
  decider: Decider,
  fold: RunFold,
  nodeIds?: readonly NodeId[],
  most: number = mostTogether,
): Promise<readonly NodeId[]> {
  const woken: NodeId[] = [];
  for (;;) {
    const sleepers = fold.head.kind === 'code' && endOf(fold) === undefined ? sleepersOf(fold.state, nodeIds) : [];
    if (sleepers.length <= most) return woken;
    const next = await wake(
      decider,
      fold,
      sleepers.slice(0, most).map(({ nodeId }) => nodeId),
    );
    if (next.length === 0) return woken;
    woken.push(...next);
  }
}

async function wake(decider: Decider, fold: RunFold, nodeIds: readonly NodeId[] | undefined): Promise<readonly NodeId[]> {
  const fact = { kind: 'wake-requested' as const, ...(nodeIds === undefined ? {} : { nodeIds }) };
  const appended = await askRun(decider, fold, () => tellWaiting(decider, fold, [fact]));
  const events = appended.kind === 'committed' ? appended.commit.events : [];
  return events.flatMap((event) => (event.type === 'NODE_WOKEN' ? [event.nodeId] : []));
}

/** What a fetch run waits for, its code alone knows: its workflow is given a message, and looks. */
async function wakeCode(decider: Decider, fold: RunFold, head: FetchHead): Promise<WakeAnswer> {
  const sent = await workflowMessage(decider.deps, head);
  await askRun(decider, fold, () => decideFetchRun(decider, fold, [{ kind: 'message-sent', sent }]));
  const since = endOf(fold);
  return since === undefined || hasMessage(fold, sent)
    ? { kind: 'woken', nodeIds: [sent.id] }
    : { kind: 'run_terminal', status: since };
}
