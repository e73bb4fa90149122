/** A run's side of the meeting: its waits are entered where signals are sent to, and then it looks whether one is there. */
import { type RunAddress, nodeKey } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { SignalWait } from '../../engine/log/node-state.ts';
import type { SignalKey } from '../../engine/signal-key.ts';
import { after, days } from '../../engine/time.ts';
import type { Waiter } from '../../ports/signals.ts';
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

/** No wait outlives the deadline of its run; what lies there longer is swept away by the table. */
const retainedAfterDeadline = days(1);

/** After the commit that began the waits, and again by whoever looks at the run: twice is once. */
export async function registerWaits(matcher: SignalMatcher, fold: RunFold, waits: readonly SignalWait[]): Promise<void> {
  const { address, deadlineAt } = fold.head;
  for (const wait of waits) {
    // A meeting before this one may have moved the run.
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

/** Before a wait counts as over: a signal that was there in time is given. */
export async function matchWaitOnce(matcher: SignalMatcher, fold: RunFold, wait: SignalWait): Promise<void> {
  const { signals } = await matchSignals(matcher, signalKeyOf(fold.head.address, wait), fold);
  // What is free has met no waiter: whoever began the wait died before it was entered, and nobody has looked since.
  if (signals.some(({ state }) => state === 'free')) await registerWaits(matcher, fold, [wait]);
}

/** Every wait that the commits began, whether it has ended or not. Unlike an ended wait that stays behind, a trouble is told. */
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

/** Waits that have ended are taken away. One that stays behind is found out by the log, and costs its finder a look. */
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
