/** Registers a run's signal waits in the signal store, and then matches them with signals that are already there. */
import { type RunAddress, type SignalKey, nodeKey } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { SignalWait } from '../../engine/log/node-state.ts';
import { after, days } from '../../engine/time.ts';
import type { Waiter } from '../../ports/coordination.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type SignalMatcher, matchSignals } from './match-signals.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

const signalKeyOf = ({ projectId, environment }: RunAddress, { name, correlation }: SignalWait): SignalKey => ({
  projectId,
  environment,
  name,
  correlation,
});

const waiterOf = ({ runId }: RunAddress, { nodeId, iteration, attempt, dispatchedAt }: SignalWait): Waiter => ({
  runId,
  nodeId,
  iteration,
  attempt,
  since: dispatchedAt,
});

/** No wait outlives its run's deadline. The table's TTL deletes what remains after this time. */
const retainedAfterDeadline = days(1);

/** Called after the commit that began the waits, and again at each check of the run. Idempotent. */
export async function registerWaits(matcher: SignalMatcher, fold: RunFold, waits: readonly SignalWait[]): Promise<void> {
  const { address, deadlineAt } = fold.head;
  for (const wait of waits) {
    // Matching an earlier wait may have advanced the run.
    const node = fold.state.nodes.get(nodeKey(wait));
    if (node?.status !== 'waiting' || node.attempt !== wait.attempt) continue;
    await matcher.deps.signals.addWaiter(
      signalKeyOf(address, wait),
      waiterOf(address, wait),
      after(deadlineAt, retainedAfterDeadline),
    );
    await matchSignals(matcher, signalKeyOf(address, wait), fold);
  }
}

/** Called before a wait times out, so that a signal that arrived in time is still delivered. */
export async function matchWaitOnce(matcher: SignalMatcher, fold: RunFold, wait: SignalWait): Promise<void> {
  const { signals } = await matchSignals(matcher, signalKeyOf(fold.head.address, wait), fold);
  // A free signal was matched with no waiter: the worker that began the wait crashed before it registered the wait.
  if (signals.some(({ state }) => state === 'free')) await registerWaits(matcher, fold, [wait]);
}

/** Removes every wait that the commits began, whether it has ended or not. Unlike `removeWaits`, it throws if the store is unavailable. */
export async function removeAllWaits(
  { signals }: Pick<Deps, 'signals'>,
  run: RunAddress,
  commits: readonly Commit[],
): Promise<void> {
  for (const { events, at } of commits) {
    for (const event of events) {
      if (event.type !== 'SIGNAL_AWAITED') continue;
      const { nodeId, iteration, attempt, name, correlation } = event;
      const { projectId, environment, runId } = run;
      await signals.removeWaiter({ projectId, environment, name, correlation }, { runId, nodeId, iteration, attempt, since: at });
    }
  }
}

/** Removes ended waits. If the store is unavailable a wait remains; a later match reads the log and removes it. */
export async function removeWaits(
  { signals }: Pick<Deps, 'signals'>,
  run: RunAddress,
  waits: readonly SignalWait[],
): Promise<void> {
  try {
    for (const wait of waits) await signals.removeWaiter(signalKeyOf(run, wait), waiterOf(run, wait));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}
