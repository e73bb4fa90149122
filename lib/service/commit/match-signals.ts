/**
 * Brings signals and the waits for them together, whoever comes: a sender, a run that begins to wait, the sweep. A signal is
 * first meant for one waiter, by a conditional write, and then given to its run's log, which alone decides. Whoever finds
 * one that is meant for somebody and not given finishes that: its finder may be dead. (docs/decisions/matching-signals.md)
 */
import type { Fact } from '../../engine/graph/facts.ts';
import { type CommitNo, firstCommit, nodeKey, topLevel } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import { openNodeAt } from '../../engine/log/open-node-at.ts';
import type { SignalKey } from '../../engine/signal-key.ts';
import type { StoredSignal, SignalsAtKey, Waiter } from '../../ports/signals.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { AppendResult } from '../run-log/append.ts';
import { commitWithRecheck } from './commit-with-recheck.ts';
import type { Decider } from './decide-run.ts';
import { type RunFold, readCommits, readRunFold, readTail } from '../run-log/read-run-fold.ts';
import { recordAttemptError } from '../run-log/attempt-heartbeats.ts';

/** A decider, and the one way from a fact into the log: that way itself leads here, when a commit begins a wait. */
export interface SignalMatcher extends Decider {
  readonly decide: (decider: Decider, fold: RunFold, fact: ReceivedFact | LostFact) => Promise<AppendResult>;
}

type ReceivedFact = Extract<Fact, { kind: 'signal-received' }>;
type LostFact = Extract<Fact, { kind: 'node-lost' }>;

/** Each round settles something, or is the last. More than these, and the place is busier than one caller's patience. */
const maxRounds = 200;

/**
 * @param callerFold the fold of a run that the caller goes on with: it is moved instead of a second one
 * @returns the place as it is when nothing is left to be brought together
 */
export async function matchSignals(matcher: SignalMatcher, signalKey: SignalKey, callerFold?: RunFold): Promise<SignalsAtKey> {
  for (let round = 1; round <= maxRounds; round += 1) {
    const found = await matcher.deps.signals.read(signalKey);
    if (!(await matchSome({ matcher, signalKey, callerFold }, found))) return found;
  }
  throw new Unavailable('a quiet place of signals');
}

interface MatchContext {
  readonly matcher: SignalMatcher;
  readonly signalKey: SignalKey;
  readonly callerFold: RunFold | undefined;
}

/** @returns whether there was anything to do: then the place has changed */
async function matchSome(context: MatchContext, { waiters, signals }: SignalsAtKey): Promise<boolean> {
  const claimed = signals.filter((signal) => signal.state === 'claimed');
  for (const signal of claimed) await deliverOrRelease(context, signal, signal.by);
  if (claimed.length > 0) return true;
  const [waiter] = waiters;
  if (waiter === undefined) return false;
  const now = context.matcher.deps.clock.now();
  const signal = signals.find(({ state, bufferedUntil }) => state === 'free' && bufferedUntil > now);
  if (signal === undefined) return false;
  await pairSignal(context, signal, waiter);
  return true;
}

/** The signal that came first and the wait that began first. */
async function pairSignal(context: MatchContext, signal: StoredSignal, waiter: Waiter): Promise<void> {
  const { matcher, signalKey } = context;
  const fold = await readWaiterFold(context, waiter);
  // Its item outlived its wait: nobody was there to take it away.
  if (fold === undefined || !isWaiting(fold, waiter)) return matcher.deps.signals.removeWaiter(signalKey, waiter);
  if (await matcher.deps.signals.claim(signalKey, signal.signalId, waiter)) await deliverOrRelease(context, signal, waiter, fold);
}

/** Gives the signal to the waiter it is meant for, or takes it back where that one's wait has ended without it. */
async function deliverOrRelease(context: MatchContext, signal: StoredSignal, waiter: Waiter, knownFold?: RunFold): Promise<void> {
  const { matcher, signalKey } = context;
  const { signals } = matcher.deps;
  const fold = knownFold ?? (await readWaiterFold(context, waiter));
  const isDeliverable = fold !== undefined && isWaiting(fold, waiter);
  const from = isDeliverable && fold.state.asOf !== 0 ? fold.state.asOf : firstCommit;
  if (isDeliverable) await deliver(context, signal, waiter, fold);
  // It stood in the log when the signal was meant for it: a run that is gone has ended since, most likely with it.
  const waitOutcome = fold === undefined ? 'received_it' : await readWaitOutcome(matcher, fold, { waiter, signal, from });
  invariant(waitOutcome !== 'waiting', `${waiter.runId} awaits a signal that it was given`);
  await signals.removeWaiter(signalKey, waiter);
  await (waitOutcome === 'received_it'
    ? signals.markTaken(signalKey, signal.signalId, waiter)
    : signals.release(signalKey, signal.signalId, waiter));
}

async function deliver({ matcher, signalKey }: MatchContext, signal: StoredSignal, waiter: Waiter, fold: RunFold): Promise<void> {
  const { deps, decide } = matcher;
  const { signalId, receivedAt } = signal;
  const received = async (): Promise<ReceivedFact> => {
    const payload = await deps.signals.payload(signalKey, signalId);
    invariant(payload !== undefined, `signal ${signalId} is meant for a waiter, and is gone`);
    return {
      kind: 'signal-received',
      node: { nodeId: waiter.nodeId, iteration: waiter.iteration },
      attempt: waiter.attempt,
      signal: { signalId, payload, receivedAt },
    };
  };
  // Read while what goes before the commit is written; whoever asks for it is told what went wrong.
  const fact = received();
  fact.catch(() => undefined);
  const wait = openNodeAt(fold.state, waiter, waiter.attempt);
  const act = async (): Promise<AppendResult> => commitWithRecheck(matcher, fold, async () => decide(matcher, fold, await fact));
  try {
    await act();
  } catch (thrown) {
    const failure = wait === undefined ? undefined : await recordAttemptError(deps, fold, wait, thrown);
    const { nodeId, iteration, attempt } = waiter;
    if (failure !== undefined) await decide(matcher, fold, { kind: 'node-lost', node: { nodeId, iteration }, attempt, failure });
    throw thrown;
  }
}

async function readWaiterFold(
  { matcher: { deps }, signalKey, callerFold }: MatchContext,
  { runId }: Waiter,
): Promise<RunFold | undefined> {
  if (callerFold?.head.address.runId !== runId) return readRunFold(deps, { ...signalKey, runId });
  await readTail(deps, callerFold);
  return callerFold;
}

function isWaiting({ state }: RunFold, waiter: Waiter): boolean {
  const node = state.nodes.get(nodeKey(waiter));
  return node?.status === 'waiting' && node.for === 'signal' && node.attempt === waiter.attempt;
}

/** What the log says of a wait: that it goes on, that this signal ended it, or that something else did. */
async function readWaitOutcome(
  { deps }: Decider,
  fold: RunFold,
  { waiter, signal: { signalId }, from }: { readonly waiter: Waiter; readonly signal: StoredSignal; readonly from: CommitNo },
): Promise<'waiting' | 'received_it' | 'ended'> {
  if (isWaiting(fold, waiter)) return 'waiting';
  const node = fold.state.nodes.get(nodeKey(waiter));
  if (node !== undefined || waiter.iteration === topLevel)
    return node?.status === 'completed' && node.attempt === waiter.attempt && node.signalId === signalId
      ? 'received_it'
      : 'ended';
  // Of a pass that has ended the fold knows nothing more, and its log everything.
  const commits = await readCommits(deps, fold, from);
  const isReceived = commits.some(({ events }) =>
    events.some((event) => event.type === 'SIGNAL_RECEIVED' && event.signalId === signalId),
  );
  return isReceived ? 'received_it' : 'ended';
}
