/**
 * Brings signals and the waits for them together, whoever comes: a sender, a run that begins to wait, the sweep. A signal is
 * first meant for one waiter, by a conditional write, and then given to its run's log, which alone decides. Whoever finds
 * one that is meant for somebody and not given finishes that: its finder may be dead. (docs/decisions/matching-signals.md)
 */
import type { Fact } from '../engine/graph/facts.ts';
import { type CommitNo, firstCommit, nodeKey, topLevel } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import { wantedNode } from '../engine/log/wanted-node.ts';
import type { SignalPlace } from '../engine/signal.ts';
import type { KeptSignal, Meeting, Waiter } from '../ports/signals.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Appended } from './append.ts';
import { askRun } from './ask-run.ts';
import type { Decider } from './decide-run.ts';
import { type RunFold, commitsOf, readRun, readTail } from './read-log.ts';
import { recordThrow } from './record-deliveries.ts';

/** A decider, and the one way from a fact into the log: that way itself leads here, when a commit begins a wait. */
export interface Meeter extends Decider {
  readonly decide: (decider: Decider, fold: RunFold, fact: Received | Lost) => Promise<Appended>;
}

type Received = Extract<Fact, { kind: 'signal-received' }>;
type Lost = Extract<Fact, { kind: 'node-lost' }>;

/** Each round settles something, or is the last. More than these, and the place is busier than one caller's patience. */
const mostRounds = 200;

/**
 * @param own the fold of a run that the caller goes on with: it is moved instead of a second one
 * @returns the place as it is when nothing is left to be brought together
 */
export async function meetSignals(meeter: Meeter, place: SignalPlace, own?: RunFold): Promise<Meeting> {
  for (let round = 1; round <= mostRounds; round += 1) {
    const found = await meeter.deps.signals.at(place);
    if (!(await settleSome({ meeter, place, own }, found))) return found;
  }
  throw new Unavailable('a quiet place of signals');
}

interface Here {
  readonly meeter: Meeter;
  readonly place: SignalPlace;
  readonly own: RunFold | undefined;
}

/** @returns whether there was anything to do: then the place has changed */
async function settleSome(here: Here, { waiters, signals }: Meeting): Promise<boolean> {
  const claimed = signals.filter((signal) => signal.state === 'claimed');
  for (const signal of claimed) await settle(here, signal, signal.by);
  if (claimed.length > 0) return true;
  const [waiter] = waiters;
  if (waiter === undefined) return false;
  const now = here.meeter.deps.clock.now();
  const signal = signals.find(({ state, keptUntil }) => state === 'free' && keptUntil > now);
  if (signal === undefined) return false;
  await pair(here, signal, waiter);
  return true;
}

/** The signal that came first and the wait that began first. */
async function pair(here: Here, signal: KeptSignal, waiter: Waiter): Promise<void> {
  const { meeter, place } = here;
  const fold = await foldOf(here, waiter);
  // Its item outlived its wait: nobody was there to take it away.
  if (fold === undefined || !isWaiting(fold, waiter)) return meeter.deps.signals.leave(place, waiter);
  if (await meeter.deps.signals.claim(place, signal.signalId, waiter)) await settle(here, signal, waiter, fold);
}

/** Gives the signal to the waiter it is meant for, or takes it back where that one's wait has ended without it. */
async function settle(here: Here, signal: KeptSignal, waiter: Waiter, known?: RunFold): Promise<void> {
  const { meeter, place } = here;
  const { signals } = meeter.deps;
  const fold = known ?? (await foldOf(here, waiter));
  const isToBeGiven = fold !== undefined && isWaiting(fold, waiter);
  const from = isToBeGiven && fold.state.asOf !== 0 ? fold.state.asOf : firstCommit;
  if (isToBeGiven) await give(here, signal, waiter, fold);
  // It stood in the log when the signal was meant for it: a run that is gone has ended since, most likely with it.
  const standing = fold === undefined ? 'has_it' : await standingOf(meeter, fold, { waiter, signal, from });
  invariant(standing !== 'waits', `${waiter.runId} awaits a signal that it was given`);
  await signals.leave(place, waiter);
  await (standing === 'has_it' ? signals.take(place, signal.signalId, waiter) : signals.release(place, signal.signalId, waiter));
}

async function give({ meeter, place }: Here, signal: KeptSignal, waiter: Waiter, fold: RunFold): Promise<void> {
  const { deps, decide } = meeter;
  const { signalId, receivedAt } = signal;
  const received = async (): Promise<Received> => {
    const payload = await deps.signals.payload(place, signalId);
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
  const wait = wantedNode(fold.state, waiter, waiter.attempt);
  const act = async (): Promise<Appended> => askRun(meeter, fold, async () => decide(meeter, fold, await fact));
  try {
    await act();
  } catch (thrown) {
    const failure = wait === undefined ? undefined : await recordThrow(deps, fold, wait, thrown);
    const { nodeId, iteration, attempt } = waiter;
    if (failure !== undefined) await decide(meeter, fold, { kind: 'node-lost', node: { nodeId, iteration }, attempt, failure });
    throw thrown;
  }
}

async function foldOf({ meeter: { deps }, place, own }: Here, { runId }: Waiter): Promise<RunFold | undefined> {
  if (own?.head.address.runId !== runId) return readRun(deps, { ...place, runId });
  await readTail(deps, own);
  return own;
}

function isWaiting({ state }: RunFold, waiter: Waiter): boolean {
  const node = state.nodes.get(nodeKey(waiter));
  return node?.status === 'waiting' && node.for === 'signal' && node.attempt === waiter.attempt;
}

/** What the log says of a wait: that it goes on, that this signal ended it, or that something else did. */
async function standingOf(
  { deps }: Decider,
  fold: RunFold,
  { waiter, signal: { signalId }, from }: { readonly waiter: Waiter; readonly signal: KeptSignal; readonly from: CommitNo },
): Promise<'waits' | 'has_it' | 'over'> {
  if (isWaiting(fold, waiter)) return 'waits';
  const node = fold.state.nodes.get(nodeKey(waiter));
  if (node !== undefined || waiter.iteration === topLevel)
    return node?.status === 'completed' && node.attempt === waiter.attempt && node.signalId === signalId ? 'has_it' : 'over';
  // Of a pass that has ended the fold knows nothing more, and its log everything.
  const commits = await commitsOf(deps, fold, from);
  const isGiven = commits.some(({ events }) =>
    events.some((event) => event.type === 'SIGNAL_RECEIVED' && event.signalId === signalId),
  );
  return isGiven ? 'has_it' : 'over';
}
