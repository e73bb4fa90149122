/** What serves the World of the Workflow DevKit, and how it reads a run. */
import { type RunAddress, type Scope, runId, runIdPattern } from '../../../engine/ids.ts';
import type { DevKitState } from '../../../engine/devkit/state.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { Decider } from '../../decider.ts';
import type { RefuseAppAddress } from './register-app.ts';
import type { RunKeySource } from './run-keys.ts';
import type { FoldOf } from '../../run-kind.ts';
import type { FoldCache } from '../../run-log/fold-cache.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';
import { type WorldResult, noRun } from './world-error.ts';

export interface World extends Decider {
  readonly foldCache: FoldCache;
  /** absent: the values of runs are not encrypted, or another function has the keys */
  readonly runKeys?: RunKeySource | undefined;
  /** absent: this process registers every address */
  readonly refuseAppAddress?: RefuseAppAddress;
}

export type DevKitFold = FoldOf<'devkit'>;

/** `none` omits the payloads, and does not read them. */
export type ResolveData = 'all' | 'none';

export const isDevKit = (fold: RunFold | undefined): fold is DevKitFold => fold?.head.kind === 'devkit';

export function devKitOf({ state, head }: DevKitFold): DevKitState {
  invariant(state.devkit !== undefined, () => `the fold of ${head.address.runId} has no state of the DevKit`);
  return state.devkit;
}

/**
 * Reads a run, and lends its fold to `use`.
 * @param isFresh false: the cached fold may be older than the log
 */
export async function withRun<Result>(
  world: World,
  run: RunAddress,
  isFresh: boolean,
  use: (fold: DevKitFold, isFresh: boolean) => Promise<Result>,
): Promise<Result | undefined> {
  const { fold, isFresh: isRead } = await world.foldCache.borrow(world.deps, run, isFresh);
  if (fold === undefined || !isDevKit(fold)) return undefined;
  const result = await use(fold, isRead);
  world.foldCache.put(fold);
  return result;
}

/** Reads the run to the end of its log. */
export async function onRun<Result>(
  world: World,
  scope: Scope,
  id: string,
  use: (fold: DevKitFold) => Promise<WorldResult<Result>>,
): Promise<WorldResult<Result>> {
  if (!runIdPattern.test(id)) return noRun;
  const run: RunAddress = { ...scope, runId: runId(id) };
  return (await withRun(world, run, true, use)) ?? noRun;
}
