/**
 * Sending again what may never have been sent: what a redelivered message, a nudge and the sweep do alike.
 * Only silent nodes are sent again, so that a late duplicate cannot multiply.
 */
import { signalWaitsOf } from '../engine/graph/sleepers.ts';
import { type NodeKey, nodeKey } from '../engine/ids.ts';
import { isTerminal, waitsForPlace } from '../engine/log/fold.ts';
import { type OpenNode, endsBy } from '../engine/log/node-state.ts';
import { isLookToCome, silences } from '../engine/log/silence.ts';
import { durationMs } from '../engine/time.ts';
import { passDeadline } from './deadline.ts';
import { type Decider, meeterOf } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { finishRun } from './finish-run.ts';
import { childJob, placeJob, workJob, wakeJob } from './jobs-of.ts';
import { keepWaits } from './keep-waits.ts';
import { later, needsTimer } from './later.ts';
import type { RunFold } from './read-log.ts';

const noDelay = durationMs(0);
/** Requests of one invocation: a run may wait for hundreds, and one after the other they take seconds. */
const mostAskedTogether = 25;

export interface Mended {
  /** the nodes that were sent again */
  readonly resent: readonly NodeKey[];
  /** some node was asked for so recently that nobody can say yet, and no other look was left that will */
  readonly wantsLook: boolean;
}

/**
 * Of an ended run the last duties; of an open one, every silent node is sent again, every wait for a signal kept, and every
 * call and every alarm asked after that was not just now. The fold must be fresh.
 */
export async function mendRun(decider: Decider, fold: RunFold): Promise<Mended> {
  const { deps } = decider;
  // First of all: what a run waits for may be much, and some of it out of reach.
  await passDeadline(decider, fold);
  if (isTerminal(fold.state.progress)) {
    await finishUnlessDone(deps, fold);
    return { resent: [], wantsLook: false };
  }
  if (waitsForPlace(fold.state)) await lookForPlace(deps, fold);
  const run = fold.head.address;
  const now = deps.clock.now();
  const resent: NodeKey[] = [];
  const unasked: OpenNode[] = [];
  let isAnyYoung = false;
  const signs = await deps.log.beats(run);
  for (const [key, silence] of silences(fold.state, signs, now)) {
    switch (silence.kind) {
      case 'young':
        isAnyYoung = true;
        break;
      case 'carried':
        break;
      case 'asleep':
        if (!silence.isAskedAfter) unasked.push(silence.node);
        break;
      case 'awaiting':
        if (!silence.isAskedAfter) unasked.push(silence.wait);
        break;
      case 'silent': {
        const { node } = silence;
        const resends = silence.resends + 1;
        if (node.status === 'waiting') await deps.jobs.sendLater(wakeJob(fold.head, node.dispatchedIn, node, resends), noDelay);
        else await deps.jobs.send([workJob(fold.head, node.dispatchedIn, node, resends)]);
        // Sent first, noted second: a crash between the two sends once more under the same deduplication id.
        await deps.log.beat(run, { ...silence.sign, node: key, at: now, resends }, fold.head.expiresAt);
        resent.push(key);
      }
    }
  }
  for (let first = 0; first < unasked.length; first += mostAskedTogether)
    await Promise.all(unasked.slice(first, first + mostAskedTogether).map((node) => askAfter(deps, fold, node)));
  // Last, because a signal that is there moves the run. Over or not: what was there in time need not lie until a wake comes that
  // does not die as the last one did.
  await keepWaits(meeterOf(decider), fold, signalWaitsOf(fold.state));
  return { resent, wantsLook: isAnyYoung && !isLookToCome(signs, now) };
}

/**
 * The alarm of a sleeper may never have been set: a second wake finds nothing to do, and a timer has a name. The delayed job
 * of a retry has neither: one more would be one more execution. If it was never sent, its node is silent soon after it is due.
 */
async function askAfter(deps: Deps, { head }: RunFold, node: OpenNode): Promise<void> {
  const { dispatchedIn } = node;
  if (node.status === 'queued' && node.notBefore !== undefined && needsTimer(deps, node.notBefore))
    await later(deps, node.notBefore, workJob(head, dispatchedIn, node));
  if (node.status !== 'waiting') return;
  const endsAt = endsBy(node);
  const isCall = node.for === 'child';
  if (endsAt !== undefined) await later(deps, endsAt, wakeJob(head, dispatchedIn, node));
  if (isCall) await deps.jobs.sendLater(childJob(head, node, node.childRunId), noDelay);
  // Where nobody can answer, each of these comes back as one more look. Noted one by one: a look at hundreds may die on its way
  // through them, and the next one goes on from there.
  if (isCall || endsAt !== undefined)
    await deps.log.beat(head.address, { node: nodeKey(node), at: deps.clock.now(), resends: 0 }, head.expiresAt);
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
