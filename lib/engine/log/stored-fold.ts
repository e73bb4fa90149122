/** A fold as plain data, so that a long log need not be folded from its first commit. A cache: `foldSchema` names its meaning. */
import { defined } from '../defined.ts';
import { type CommitNo, type EventId, type IterationKey, nodeKey } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type Admission, type RunProgress, type RunState, type BudgetUsage, type ContextWrite, emptyState } from './fold.ts';
import type { CodeState } from './code-state.ts';
import type { LoopIteration } from './loop-state.ts';
import { type NodeState, isOpen } from './node-state.ts';

export interface StoredFold {
  readonly asOf: CommitNo;
  readonly nextEventId: EventId;
  readonly progress: RunProgress;
  readonly budgetUsage: BudgetUsage;
  readonly admission?: Admission;
  readonly code?: CodeState;
  readonly nodes: readonly NodeState[];
  readonly contextWrites: readonly { readonly key: string; readonly values: readonly ContextWrite[] }[];
  readonly iterations: readonly (LoopIteration & { readonly iteration: IterationKey })[];
}

export function storeFold(state: RunState): StoredFold {
  invariant(state.asOf !== 0, 'an empty fold is not worth storing');
  return defined({
    asOf: state.asOf,
    nextEventId: state.nextEventId,
    progress: state.progress,
    budgetUsage: state.budgetUsage,
    admission: state.admission,
    code: state.code,
    nodes: [...state.nodes.entries()].map(([, node]) => node),
    contextWrites: [...state.contextWrites.entries()].map(([key, values]) => ({ key, values })),
    iterations: [...state.iterations.entries()].map(([iteration, loopIteration]) => ({ iteration, ...loopIteration })),
  });
}

/** The state that was stored: the same as the log up to `asOf` folds to. */
export function restoreFold(stored: StoredFold): RunState {
  const { asOf, nextEventId, progress, budgetUsage, admission, code } = stored;
  const state: RunState = {
    ...emptyState(),
    asOf,
    nextEventId,
    progress,
    budgetUsage,
    ...(admission === undefined ? {} : { admission }),
    ...(code === undefined ? {} : { code }),
  };
  for (const node of stored.nodes) {
    state.nodes.set(nodeKey(node), node);
    if (isOpen(node)) state.open.set(nodeKey(node), true);
  }
  for (const { iteration, ...loopIteration } of stored.iterations) state.iterations.set(iteration, loopIteration);
  for (const { key, values } of stored.contextWrites) state.contextWrites.set(key, values);
  return state;
}

/** The first snapshot is worth its write here; a log shorter than this is one cheap query. */
const firstSnapshotAt = 64;
/** Each snapshot is taken when the log has grown by half since the last, so that all of them together cost a few logs. */
const snapshotGrowth = 1.5;

/** @param first the commit of the first snapshot, where somebody says another */
export const shouldTakeSnapshot = (asOf: number, lastSnapshotAt: number, first = firstSnapshotAt): boolean =>
  asOf >= Math.max(first, lastSnapshotAt * snapshotGrowth);
