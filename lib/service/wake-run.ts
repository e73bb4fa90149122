/** Wakes sleeping nodes of a run before their time. Their timers still come, and change nothing then. */
import { sleepersOf } from '../engine/graph/sleepers.ts';
import type { NodeId, RunAddress } from '../engine/ids.ts';
import type { TerminalStatus } from '../engine/log/head.ts';
import { askRun, endOf } from './ask-run.ts';
import type { Decider } from './decide-run.ts';
import { readRun } from './read-log.ts';

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
  if (sleepersOf(fold.state, nodeIds).length === 0) return { kind: 'woken', nodeIds: [] };
  const appended = await askRun(decider, fold, { kind: 'wake-requested', ...(nodeIds === undefined ? {} : { nodeIds }) });
  if (appended.kind === 'committed') {
    const woken = appended.commit.events.flatMap((event) => (event.type === 'NODE_WOKEN' ? [event.nodeId] : []));
    return { kind: 'woken', nodeIds: [...new Set(woken)] };
  }
  // Others were quicker: the run has ended since, or its sleepers woke by themselves.
  const since = endOf(fold);
  return since === undefined ? { kind: 'woken', nodeIds: [] } : { kind: 'run_terminal', status: since };
}
