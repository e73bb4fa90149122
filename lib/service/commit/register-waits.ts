/** Registers a run's signal waits in the signal store and matches them with the signals there; removes waits that have ended. */
import type { RunAddress, SignalKey } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { SignalWait } from '../../engine/log/node-state.ts';
import type { NewSignal, SignalsAtKey } from '../../ports/coordination.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { dispatchAll } from './dispatch-effects.ts';
import type { SignalEffect } from './effects.ts';
import { type FoundWait, prepareDelivery, signalKeyOf, waiterOf } from './match-signals.ts';

/** Called at each check of the run, in case the waits were not registered after the commit that began them. Idempotent. */
export async function registerWaits(decider: Decider, fold: RunFold, waits: readonly SignalWait[]): Promise<void> {
  await dispatchAll(
    decider,
    waits.map((wait) => ({ kind: 'register-wait', fold, wait })),
  );
}

/**
 * @param fold the fold of a run that the caller continues to use: it is advanced in place of a second fold of that run
 * @returns the signals and waiters at the key when there is nothing left to match
 */
export const matchSignals = (decider: Decider, signalKey: SignalKey, fold?: RunFold): Promise<SignalsAtKey> =>
  dispatchMatch(decider, signalKey, [{ kind: 'match-signals', signalKey, fold, round: 1 }]);

/**
 * Stores a signal that the found wait has claimed, and delivers it. Then it matches the signals at the key, as if the signal had been stored
 * first: the wait may have ended meanwhile.
 * @returns undefined if the signal is stored already; then nothing was changed
 */
export async function storeForWait(
  decider: Decider,
  signalKey: SignalKey,
  newSignal: NewSignal,
  { waiter, fold }: FoundWait,
): Promise<SignalsAtKey | undefined> {
  const { retainUntil: _retainUntil, ...fields } = newSignal;
  const signal = { ...fields, state: 'claimed', by: waiter } as const;
  const preparation = prepareDelivery(decider, fold, { signalKey, signal });
  if (!(await decider.deps.signals.storeClaimed(signalKey, newSignal, waiter))) {
    await Promise.allSettled([preparation.mark]);
    return undefined;
  }
  return dispatchMatch(decider, signalKey, [
    { kind: 'deliver-signal', signalKey, signal, waiter, fold: undefined, waiterFold: fold, preparation },
    { kind: 'match-signals', signalKey, fold: undefined, round: 1 },
  ]);
}

async function dispatchMatch(decider: Decider, signalKey: SignalKey, steps: readonly SignalEffect[]): Promise<SignalsAtKey> {
  const found = await dispatchAll(decider, steps);
  invariant(found !== undefined, `matching the signals of ${signalKey.name} ended without a result`);
  return found;
}

/** Called before a wait times out, so that a signal that arrived in time is still delivered. */
export async function matchWaitOnce(decider: Decider, fold: RunFold, wait: SignalWait): Promise<void> {
  const { signals } = await matchSignals(decider, signalKeyOf(fold.head.address, wait), fold);
  // A free signal was matched with no waiter: the worker that began the wait crashed before it registered the wait.
  if (signals.some(({ state }) => state === 'free')) await registerWaits(decider, fold, [wait]);
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
