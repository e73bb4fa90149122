/**
 * Dispatches effects, one after the other. A matched signal is a new fact: its commit's effects are dispatched by the same loop. Any
 * effect may be lost here, because the process may die after the commit. A redelivery or the sweep then repeats it.
 */
import { unreachable } from '../../engine/invariant.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { durationMs } from '../../engine/time.ts';
import type { SignalsAtKey } from '../../ports/coordination.ts';
import { type Decider, kindOf } from '../decider.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { type Effect, carryingRun, effectsOf } from './effects.ts';
import { finalizeRun } from './finalize-run.ts';
import { markDue, nextCheckOf } from './mark-due.ts';
import { type Followed, deliverSignal, matchOnce, registerWait, settleSignal } from './match-signals.ts';
import { scheduleRetention } from './schedule-retention.ts';
import { notifyStart } from './notify-status.ts';
import { sendJobAt } from './schedule-message.ts';

/**
 * @param fold the run after the commit
 * @param carriesRun this process has put the commit, and messages may carry the run
 */
export async function dispatchEffects(decider: Decider, fold: RunFold, commit: Commit, carriesRun = false): Promise<void> {
  const effects = effectsOf(kindOf(decider, fold.head), fold, commit);
  await dispatchAll(decider, carriesRun ? carryingRun(fold, effects) : effects);
}

/**
 * Dispatches the effects in order. What follows from an effect is dispatched before the next one.
 * @returns what the last match found at its key; undefined if no signals were matched
 */
export async function dispatchAll(decider: Decider, effects: readonly Effect[]): Promise<SignalsAtKey | undefined> {
  const pending = effects.toReversed();
  let found: SignalsAtKey | undefined;
  for (let effect = pending.pop(); effect !== undefined; effect = pending.pop()) {
    const followed = await dispatch(decider, effect);
    if (followed === undefined) continue;
    pending.push(...followed.effects.toReversed());
    found = followed.found ?? found;
  }
  return found;
}

const noDelay = durationMs(0);

async function dispatch(decider: Decider, effect: Effect): Promise<Followed | void> {
  const { deps } = decider;
  switch (effect.kind) {
    case 'send-jobs':
      return deps.jobs.send(effect.jobs);
    case 'send-at':
      return sendJobAt(deps, effect.at, effect.job);
    case 'send-message':
      return deps.jobs.sendDelayed(effect.job, noDelay);
    case 'call':
      if (decider.childCalls?.takeCall(effect.fold, effect.job) === true) return;
      return deps.jobs.sendDelayed(effect.job, noDelay);
    case 'finalize':
      return finalizeRun(deps, effect.fold, decider.childCalls);
    case 'mark-due': {
      if (decider.childCalls !== undefined) return decider.childCalls.work.marksDue(effect.fold);
      const { head, state } = effect.fold;
      return markDue(deps, head, nextCheckOf(state, head.deadlineAt, deps.clock.now()));
    }
    case 'extend-retention':
      return scheduleRetention(deps, effect.fold.head);
    case 'notify-start':
      return notifyStart(deps, effect.fold);
    case 'register-wait':
      return registerWait(decider, effect);
    case 'match-signals':
      return matchOnce(decider, effect);
    case 'deliver-signal':
      return deliverSignal(decider, effect);
    case 'settle-signal':
      return settleSignal(decider, effect);
    case 'fail':
      throw effect.error;
    default:
      return unreachable(effect);
  }
}
