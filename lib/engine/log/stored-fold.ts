/** A fold as plain data, so that readers of a long log need not fold it from the first commit. A cache; `foldSchema` is its version. */
import { defined } from '../../base/defined.ts';
import { type CommitNo, type EventId, type IterationKey, nodeKey } from '../ids.ts';
import { type StoredDevKit, restoreDevKit, storeDevKit } from '../devkit/state.ts';
import { invariant } from '../invariant.ts';
import {
  type Admission,
  type RunProgress,
  type RunState,
  type BudgetUsage,
  type CodeState,
  type ContextWrite,
  emptyState,
} from './fold.ts';
import type { Instant } from '../time.ts';
import { type LoopIteration, type NodeState, isOpen } from './node-state.ts';
import type { DeadlineExtension } from './run-state.ts';

export interface StoredFold {
  readonly asOf: CommitNo;
  readonly nextEventId: EventId;
  readonly progress: RunProgress;
  readonly budgetUsage: BudgetUsage;
  readonly deadlineExtension?: DeadlineExtension;
  readonly lastWaitEndsAt?: Instant;
  readonly admission?: Admission;
  readonly code?: CodeState;
  readonly devkit?: StoredDevKit;
  readonly nodes: readonly NodeState[];
  readonly contextWrites: readonly { readonly key: string; readonly values: readonly ContextWrite[] }[];
  readonly iterations: readonly (LoopIteration & { readonly iteration: IterationKey })[];
}

export function storeFold(state: RunState): StoredFold {
  invariant(state.asOf !== 0, 'an empty fold cannot be stored');
  return defined({
    asOf: state.asOf,
    nextEventId: state.nextEventId,
    progress: state.progress,
    budgetUsage: state.budgetUsage,
    deadlineExtension: state.deadlineExtension,
    lastWaitEndsAt: state.lastWaitEndsAt,
    admission: state.admission,
    code: state.code,
    devkit: state.devkit === undefined ? undefined : storeDevKit(state.devkit),
    nodes: [...state.nodes.entries()].map(([, node]) => node),
    contextWrites: [...state.contextWrites.entries()].map(([key, values]) => ({ key, values })),
    iterations: [...state.iterations.entries()].map(([iteration, loopIteration]) => ({ iteration, ...loopIteration })),
  });
}

/** The stored state, equal to the fold of the log up to `asOf`. */
export function restoreFold(stored: StoredFold): RunState {
  const { asOf, nextEventId, progress, budgetUsage, deadlineExtension, lastWaitEndsAt, admission, code, devkit } = stored;
  const state: RunState = {
    ...emptyState(),
    asOf,
    nextEventId,
    progress,
    ...defined({ deadlineExtension, lastWaitEndsAt }),
    budgetUsage,
    ...(admission === undefined ? {} : { admission }),
    ...(code === undefined ? {} : { code }),
    ...(devkit === undefined ? {} : { devkit: restoreDevKit(devkit) }),
  };
  for (const node of stored.nodes) {
    state.nodes.set(nodeKey(node), node);
    if (isOpen(node)) state.open.set(nodeKey(node), true);
  }
  for (const { iteration, ...loopIteration } of stored.iterations) state.iterations.set(iteration, loopIteration);
  for (const { key, values } of stored.contextWrites) state.contextWrites.set(key, values);
  return state;
}

/** The first snapshot pays for its write here; a shorter log is one cheap query. */
export const firstSnapshotAt = 64;
/** The next snapshot is due when the log has grown by half, so that all snapshots together cost a small multiple of the log. */
const snapshotGrowth = 1.5;

/** @param first commit of the first snapshot, where the caller chooses another */
export const shouldTakeSnapshot = (asOf: number, lastSnapshotAt: number, first = firstSnapshotAt): boolean =>
  asOf >= Math.max(first, lastSnapshotAt * snapshotGrowth);
