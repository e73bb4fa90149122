/**
 * Sending again what may never have been sent: what a redelivered message, a nudge and the sweep do alike.
 * Only silent nodes are sent again, so that a late duplicate cannot multiply.
 */
import { type NodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import { isTerminal, waitsForPlace } from '../engine/log/fold.ts';
import { type SignalWait, endsBy } from '../engine/log/node-state.ts';
import { silences } from '../engine/log/silence.ts';
import { durationMs } from '../engine/time.ts';
import { type Decider, meeterOf } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { finishRun } from './finish-run.ts';
import { childJob, placeJob, workJob, wakeJob } from './jobs-of.ts';
import { keepWaits } from './keep-waits.ts';
import { later, needsTimer } from './later.ts';
import type { RunFold } from './read-log.ts';

const noDelay = durationMs(0);

export interface Mended {
  /** the nodes that were sent again */
  readonly resent: readonly NodeKey[];
  /** some node was asked for so recently that nobody can say yet */
  readonly isAnyYoung: boolean;
}

/**
 * Of an ended run the last duties; of an open one, every silent node is sent again, every wait for a signal kept, and every call
 * asked after. The fold must be fresh.
 * @param asksCalls false for whoever comes from one call: as many others would ask after as many each
 */
export async function mendRun(decider: Decider, fold: RunFold, { asksCalls = true } = {}): Promise<Mended> {
  const { deps } = decider;
  if (isTerminal(fold.state.progress)) {
    await finishUnlessDone(deps, fold);
    return { resent: [], isAnyYoung: false };
  }
  if (waitsForPlace(fold.state)) await lookForPlace(deps, fold);
  const run = fold.head.address;
  const now = deps.clock.now();
  const resent: NodeKey[] = [];
  const waits: SignalWait[] = [];
  let isAnyYoung = false;
  for (const [key, silence] of silences(fold.state, await deps.log.beats(run), now)) {
    switch (silence.kind) {
      case 'young':
        isAnyYoung = true;
        break;
      case 'carried':
        break;
      case 'asleep':
        await sendAgainWhenDue(deps, fold, key);
        break;
      case 'awaiting':
        await sendAgainWhenDue(deps, fold, key);
        if (silence.wait.for === 'signal') waits.push(silence.wait);
        else if (asksCalls) await deps.jobs.sendLater(childJob(fold.head, silence.wait, silence.wait.childRunId), noDelay);
        break;
      case 'silent': {
        const { node } = silence;
        const resends = silence.resends + 1;
        if (node.status === 'waiting') await deps.jobs.sendLater(wakeJob(fold.head, node.dispatchedIn, node), noDelay);
        else await deps.jobs.send([workJob(fold.head, node.dispatchedIn, node, resends)]);
        // Sent first, noted second: a crash between the two sends once more under the same deduplication id.
        await deps.log.beat(run, { node: key, at: now, resends }, fold.head.expiresAt);
        resent.push(key);
      }
    }
  }
  // Last, because a signal that is there moves the run.
  await keepWaits(meeterOf(decider), fold, waits);
  return { resent, isAnyYoung };
}

/**
 * The alarm of a sleeper may never have been set: a second wake finds nothing to do, and a timer has a name. The delayed job
 * of a retry has neither: one more would be one more execution. If it was never sent, its node is silent soon after it is due.
 */
async function sendAgainWhenDue(deps: Deps, { head, state }: RunFold, key: NodeKey): Promise<void> {
  const node = state.nodes.get(key);
  invariant(node !== undefined, `${key} is open and has no state`);
  if (node.status === 'waiting') {
    const endsAt = endsBy(node);
    if (endsAt !== undefined) await later(deps, endsAt, wakeJob(head, node.dispatchedIn, node));
  } else if (node.status === 'queued' && node.notBefore !== undefined && needsTimer(deps, node.notBefore)) {
    await later(deps, node.notBefore, workJob(head, node.dispatchedIn, node));
  }
}

/** Only the worker gives places: whoever looks at a run that waits for one asks it to. */
async function lookForPlace(deps: Deps, { head, state: { admission } }: RunFold): Promise<void> {
  if (admission === undefined) return;
  const { notBefore = deps.clock.now() } = admission;
  await later(deps, notBefore, { ...placeJob(head, admission), isLook: true });
}

async function finishUnlessDone(deps: Deps, fold: RunFold): Promise<void> {
  const head = await deps.log.head(fold.head.address);
  const isDone = head !== undefined && head.projection.status !== 'pending' && head.projection.status !== 'running';
  if (!isDone) await finishRun(deps, fold);
}
