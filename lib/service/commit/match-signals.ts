/**
 * The steps of matching signals with waits. A sender, a run that begins to wait and the sweep all begin them. A conditional write first
 * claims a signal for one waiter; then the signal is committed to the waiter's run log, which alone decides. Any process that finds a
 * claimed but undelivered signal delivers it, because the process that claimed it may have crashed. (docs/decisions/matching-signals.md)
 *
 * Each step returns the steps and effects that follow from it. `dispatch-effects.ts` loops over them.
 */
import type { Fact } from '../../engine/graph/facts.ts';
import { type SignalKey, type RunAddress, firstCommit, nodeKey, topLevel } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { SignalWait } from '../../engine/log/node-state.ts';
import { openNodeAt } from '../../engine/log/open-nodes.ts';
import { type Instant, after, days } from '../../engine/time.ts';
import type { RegisteredWaiter, SignalsAtKey, StoredSignal, Waiter } from '../../ports/coordination.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type Decider, kindOf } from '../decider.ts';
import { recordAttemptError } from '../run-log/attempt-heartbeats.ts';
import { type RunFold, readCommits, readTail, readWaitingRun } from '../run-log/read-run-fold.ts';
import { appendFacts } from './append-facts.ts';
import { type DeliveryPreparation, type Effect, type SignalEffect, carryingRun, effectsOf } from './effects.ts';
import { markDueSoon } from './mark-due.ts';

/** What follows from an effect. */
export interface Followed {
  readonly effects: readonly Effect[];
  /** the signals and waiters at a key at which nothing is left to match */
  readonly found?: SignalsAtKey;
}

type StepOf<Kind extends SignalEffect['kind']> = Extract<SignalEffect, { kind: Kind }>;
type Delivery = StepOf<'deliver-signal'>;

/** Each round matches or removes something, or is the last. A key that needs more rounds is left to a redelivery. */
const maxRounds = 200;

/** No wait outlives its run's deadline. The table's TTL deletes what remains after this time. */
const retainedAfterDeadline = days(1);

export const signalKeyOf = ({ projectId, environment }: RunAddress, { name, correlation }: SignalWait): SignalKey => ({
  projectId,
  environment,
  name,
  correlation,
});

export const waiterOf = ({ runId }: RunAddress, { nodeId, iteration, attempt, dispatchedAt }: SignalWait): Waiter => ({
  runId,
  nodeId,
  iteration,
  attempt,
  since: dispatchedAt,
});

export async function registerWait({ deps }: Decider, { fold, wait }: StepOf<'register-wait'>): Promise<Followed> {
  const { address, deadlineAt } = fold.head;
  // Matching an earlier wait may have advanced the run.
  const node = fold.state.nodes.get(nodeKey(wait));
  if (node?.status !== 'waiting' || node.attempt !== wait.attempt) return { effects: [] };
  const signalKey = signalKeyOf(address, wait);
  const waiter = { ...waiterOf(address, wait), beganIn: wait.dispatchedIn };
  await deps.signals.addWaiter(signalKey, waiter, after(deadlineAt, retainedAfterDeadline));
  return { effects: [{ kind: 'match-signals', signalKey, fold, round: 1 }] };
}

/** A wait, with the run that has it. */
export interface FoundWait {
  readonly waiter: Waiter;
  readonly fold: RunFold;
}

/**
 * Finds a wait for a signal that is not stored yet: the oldest one, if no other signal at the key can end a wait. Undefined does not mean
 * that no run waits: a key with many signals is not read. After the sender has stored its signal, it matches it.
 */
export async function findWait({ deps }: Pick<Decider, 'deps'>, signalKey: SignalKey): Promise<FoundWait | undefined> {
  const found = await deps.signals.readIfFew(signalKey);
  const oldest = found?.waiters[0];
  const now = deps.clock.now();
  if (found === undefined || oldest === undefined) return undefined;
  if (found.signals.some((signal) => signal.state === 'claimed' || isFree(signal, now))) return undefined;
  const { beganIn: _beganIn, ...waiter } = oldest;
  const fold = await readWaiterFold(deps, { signalKey, fold: undefined }, oldest);
  return fold !== undefined && isWaiting(fold, waiter) ? { waiter, fold } : undefined;
}

/** Whether a waiter can claim the signal. */
const isFree = ({ state, bufferedUntil }: StoredSignal, now: Instant): boolean => state === 'free' && bufferedUntil > now;

/** Delivers the claimed signals, or pairs the oldest free signal with the oldest waiter. Then it begins the next round. */
export async function matchOnce(decider: Decider, step: StepOf<'match-signals'>): Promise<Followed> {
  const { deps } = decider;
  const { signalKey, fold, round } = step;
  if (round > maxRounds) throw new Unavailable(`the signal key ${signalKey.name}, which other writers keep changing,`);
  const found = await deps.signals.read(signalKey);
  const next: Effect = { ...step, round: round + 1 };
  const claimed = found.signals.flatMap((signal): readonly Delivery[] =>
    signal.state === 'claimed'
      ? [{ kind: 'deliver-signal', signalKey, signal, waiter: signal.by, fold, waiterFold: undefined }]
      : [],
  );
  if (claimed.length > 0) return { effects: [...claimed, next] };
  const [oldest] = found.waiters;
  if (oldest === undefined) return { effects: [], found };
  const { beganIn: _beganIn, ...waiter } = oldest;
  const now = deps.clock.now();
  const signal = found.signals.find((each) => isFree(each, now));
  if (signal === undefined) return { effects: [], found };
  const waiterFold = await readWaiterFold(deps, step, oldest);
  // The waiter's item outlived its wait, because its removal was lost.
  if (waiterFold === undefined || !isWaiting(waiterFold, waiter)) await deps.signals.removeWaiter(signalKey, waiter);
  else {
    const preparation = prepareDelivery(decider, waiterFold, { signalKey, signal });
    const isClaimed = await deps.signals.claim(signalKey, signal.signalId, waiter);
    if (isClaimed)
      return { effects: [{ kind: 'deliver-signal', signalKey, signal, waiter, fold, waiterFold, preparation }, next] };
    await Promise.allSettled([preparation.mark, preparation.payload]);
  }
  return { effects: [next] };
}

/** Begins what the commit needs and what does not depend on the claim. If another process has the claim, it changes nothing. */
export function prepareDelivery(
  decider: Decider,
  fold: RunFold,
  { signalKey, signal }: Pick<Delivery, 'signalKey' | 'signal'>,
): DeliveryPreparation {
  const mark = markDueSoon(decider.deps, fold.head);
  const payload =
    signal.payload === undefined ? decider.deps.signals.payload(signalKey, signal.signalId) : Promise.resolve(signal.payload);
  // Settled beside the claim, where no one awaits them yet.
  for (const begun of [mark, payload]) begun.catch(() => undefined);
  return { mark, payload };
}

/** Commits the signal to the log of the waiter that it is claimed for, if that still waits. */
export async function deliverSignal(decider: Decider, step: Delivery): Promise<Followed> {
  const { signalKey, signal, waiter } = step;
  const fold = step.waiterFold ?? (await readWaiterFold(decider.deps, step, waiter));
  const isDeliverable = fold !== undefined && isWaiting(fold, waiter);
  const from = isDeliverable && fold.state.asOf !== 0 ? fold.state.asOf : firstCommit;
  const settle: Effect = { kind: 'settle-signal', signalKey, signal, waiter, waiterFold: fold, from };
  return { effects: isDeliverable ? [...(await commitSignal(decider, step, fold)), settle] : [settle] };
}

/** @returns the effects of the commit */
async function commitSignal(decider: Decider, step: Delivery, fold: RunFold): Promise<readonly Effect[]> {
  const { waiter } = step;
  const { attempt } = waiter;
  const node = { nodeId: waiter.nodeId, iteration: waiter.iteration };
  const { mark, payload } = step.preparation ?? prepareDelivery(decider, fold, step);
  const wait = openNodeAt(fold.state, waiter, attempt);
  try {
    await mark;
    const signal = receivedSignal(step, await payload);
    return await appendOne(decider, fold, { kind: 'signal-received', node, attempt, signal });
  } catch (error) {
    const failure = wait === undefined ? undefined : await recordAttemptError(decider, fold, wait, error);
    if (failure === undefined) throw error;
    const effects = await appendOne(decider, fold, { kind: 'node-lost', node, attempt, failure });
    return [...effects, { kind: 'fail', error }];
  }
}

function receivedSignal({ signal: { signalId, receivedAt }, waiter }: Delivery, payload: JsonValue | undefined) {
  invariant(payload !== undefined, `signal ${signalId} is claimed for ${waiter.runId}, but its payload is missing`);
  return { signalId, payload, receivedAt };
}

/** @returns the effects of the commit */
async function appendOne(decider: Decider, fold: RunFold, fact: Fact): Promise<readonly Effect[]> {
  const kind = kindOf(decider, fold.head);
  const { appended } = await appendFacts(decider, fold, [fact], await kind.decide(decider, fold));
  return appended.kind === 'committed' ? carryingRun(fold, effectsOf(kind, fold, appended.commit)) : [];
}

/** Marks the signal as taken, or releases it if the wait has ended without it. */
export async function settleSignal({ deps }: Decider, step: StepOf<'settle-signal'>): Promise<Followed> {
  const { signalKey, signal, waiter, waiterFold } = step;
  // The wait was in the log when the signal was claimed. A run that is deleted since has ended, most likely after it received the signal.
  const waitOutcome = waiterFold === undefined ? 'received_it' : await readWaitOutcome(deps, waiterFold, step);
  invariant(waitOutcome !== 'waiting', `${waiter.runId} still waits for signal ${signal.signalId}, which was delivered to it`);
  await deps.signals.removeWaiter(signalKey, waiter);
  await (waitOutcome === 'received_it'
    ? deps.signals.markTaken(signalKey, signal.signalId, waiter)
    : deps.signals.release(signalKey, signal.signalId, waiter));
  return { effects: [] };
}

async function readWaiterFold(
  deps: Decider['deps'],
  { signalKey, fold }: { readonly signalKey: SignalKey; readonly fold: RunFold | undefined },
  { runId, beganIn }: RegisteredWaiter,
): Promise<RunFold | undefined> {
  if (fold?.head.address.runId !== runId) return readWaitingRun(deps, { ...signalKey, runId }, beganIn);
  await readTail(deps, fold);
  return fold;
}

function isWaiting({ state }: RunFold, waiter: Waiter): boolean {
  const node = state.nodes.get(nodeKey(waiter));
  return node?.status === 'waiting' && node.for === 'signal' && node.attempt === waiter.attempt;
}

/** How a wait stands in the log: it still waits, this signal ended it, or something else did. */
async function readWaitOutcome(
  deps: Decider['deps'],
  fold: RunFold,
  { waiter, signal: { signalId }, from }: StepOf<'settle-signal'>,
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
