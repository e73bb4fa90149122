/**
 * Matches signals with waits. A sender, a run that begins to wait and the sweep all call it. A conditional write first claims a signal
 * for one waiter; then the signal is committed to the waiter's run log, which alone decides. Any process that finds a claimed but
 * undelivered signal delivers it, because the process that claimed it may have crashed. (docs/decisions/matching-signals.md)
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
import type { Decider } from '../kinds/graph/decide-run.ts';
import { type RunFold, readCommits, readRunFold, readTail } from '../run-log/read-run-fold.ts';
import { recordAttemptError } from '../run-log/attempt-heartbeats.ts';

/** A decider with the function that commits a fact. It is passed in, because that function itself calls this module for new waits. */
export interface SignalMatcher extends Decider {
  readonly decide: (decider: Decider, fold: RunFold, fact: ReceivedFact | LostFact) => Promise<AppendResult>;
}

type ReceivedFact = Extract<Fact, { kind: 'signal-received' }>;
type LostFact = Extract<Fact, { kind: 'node-lost' }>;

/** Each round matches or removes something, or is the last. A key that needs more rounds is left to a redelivery. */
const maxRounds = 200;

/**
 * @param callerFold the fold of a run that the caller continues to use: it is advanced in place of a second fold of that run
 * @returns the signals and waiters at the key when there is nothing left to match
 */
export async function matchSignals(matcher: SignalMatcher, signalKey: SignalKey, callerFold?: RunFold): Promise<SignalsAtKey> {
  for (let round = 1; round <= maxRounds; round += 1) {
    const found = await matcher.deps.signals.read(signalKey);
    if (!(await matchSome({ matcher, signalKey, callerFold }, found))) return found;
  }
  throw new Unavailable(`the signal key ${signalKey.name}, which other writers keep changing,`);
}

interface MatchContext {
  readonly matcher: SignalMatcher;
  readonly signalKey: SignalKey;
  readonly callerFold: RunFold | undefined;
}

/** @returns whether it changed the signals or waiters at the key */
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

/** Pairs the oldest signal with the oldest waiter. */
async function pairSignal(context: MatchContext, signal: StoredSignal, waiter: Waiter): Promise<void> {
  const { matcher, signalKey } = context;
  const fold = await readWaiterFold(context, waiter);
  // The waiter's item outlived its wait, because its removal was lost.
  if (fold === undefined || !isWaiting(fold, waiter)) return matcher.deps.signals.removeWaiter(signalKey, waiter);
  if (await matcher.deps.signals.claim(signalKey, signal.signalId, waiter)) await deliverOrRelease(context, signal, waiter, fold);
}

/** Delivers the signal to the waiter that it is claimed for, or releases it if that wait has ended without it. */
async function deliverOrRelease(context: MatchContext, signal: StoredSignal, waiter: Waiter, knownFold?: RunFold): Promise<void> {
  const { matcher, signalKey } = context;
  const { signals } = matcher.deps;
  const fold = knownFold ?? (await readWaiterFold(context, waiter));
  const isDeliverable = fold !== undefined && isWaiting(fold, waiter);
  const from = isDeliverable && fold.state.asOf !== 0 ? fold.state.asOf : firstCommit;
  if (isDeliverable) await deliver(context, signal, waiter, fold);
  // The wait was in the log when the signal was claimed. A run that is deleted since has ended, most likely after it received the signal.
  const waitOutcome = fold === undefined ? 'received_it' : await readWaitOutcome(matcher, fold, { waiter, signal, from });
  invariant(waitOutcome !== 'waiting', `${waiter.runId} still waits for signal ${signal.signalId}, which was delivered to it`);
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
    invariant(payload !== undefined, `signal ${signalId} is claimed for ${waiter.runId}, but its payload is missing`);
    return {
      kind: 'signal-received',
      node: { nodeId: waiter.nodeId, iteration: waiter.iteration },
      attempt: waiter.attempt,
      signal: { signalId, payload, receivedAt },
    };
  };
  // The payload is read while the recheck is written. An error is thrown where the fact is awaited.
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

/** How a wait stands in the log: it still waits, this signal ended it, or something else did. */
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
  // The fold drops the nodes of an ended iteration, so the log is searched.
  const commits = await readCommits(deps, fold, from);
  const isReceived = commits.some(({ events }) =>
    events.some((event) => event.type === 'SIGNAL_RECEIVED' && event.signalId === signalId),
  );
  return isReceived ? 'received_it' : 'ended';
}
