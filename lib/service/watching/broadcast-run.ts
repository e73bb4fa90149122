/**
 * The broadcaster of a run: the worker that receives its message follows the run's log and posts every update to the joined sockets.
 * It ends when no member is left, or when the run has ended and all members have every update. Otherwise it sends its message again
 * after a time limit, and another invocation continues.
 */
import type { KeyId, Nonce, RunAddress } from '../../engine/ids.ts';
import { isStart } from '../../engine/log/derived-events.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { type DurationMs, type Instant, after, between, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Posts, Membership, RunWatchers, Sockets, Watch, Watches } from '../../ports/sockets.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type FollowedRun, beginFollowing, followRun } from './follow-run.ts';
import { retryUnavailable } from '../run-log/retry-unavailable.ts';
import { SocketSubscribers } from './socket-subscribers.ts';
import { derivedFrame, framesOf } from './derived-frames.ts';
import { deltaFrame } from './socket-frames.ts';

export interface BroadcasterDeps extends Pick<Deps, 'log' | 'streams' | 'blobs' | 'clock' | 'ids'> {
  readonly sockets: Sockets;
  readonly posts: Posts;
  readonly watches: Watches;
}

/** Limits of one invocation of the broadcaster. */
export interface BroadcastTerms {
  /** whether the key may still watch; checked every ten seconds */
  readonly isAllowed: (keyId: KeyId) => Promise<boolean>;
  /** when the function ends */
  readonly mustEndAt: Instant;
}

/** A crashed broadcaster is replaced when SQS redelivers its message, so a shorter limit replaces it sooner. */
export const maxBroadcastDuration = seconds(90);
/** Time before the function's timeout to post the queued frames, save the cursors and send the message again. */
const shutdownTime = seconds(20);
/** Time to post the queued frames at the end of an invocation; the next invocation posts the rest. */
const drainTime = seconds(5);
/** A join or a leave takes effect within this time. */
const membershipCheckInterval = seconds(1);
/** The authenticator caches keys for 15 s, so the sockets of a revoked key are closed within 30 s. */
const authRecheckInterval = seconds(10);
/** After a crash, members receive again at most the frames of this time. */
const cursorSaveInterval = seconds(10);
/** API Gateway closes a socket after ten idle minutes. A post also detects a socket that is gone. */
export const socketHeartbeatInterval = minutes(1);
/** A continuation message that no worker received within this time counts as lost. */
const maxWaitForNextBroadcast = minutes(15);

export async function broadcastRun(
  deps: BroadcasterDeps,
  { run, broadcastId }: Watch,
  terms: BroadcastTerms,
): Promise<'deferred_to_another' | 'ended' | 'continued'> {
  const { clock, sockets } = deps;
  const { members, next } = await readPresentMembers(deps, run);
  // Every join sends a message, but one broadcaster is enough: the announced one will find the new members.
  if (next !== undefined && next.broadcastId !== broadcastId && next.until > clock.now()) return 'deferred_to_another';
  await broadcastUntilDeadline(deps, run, members, terms);
  // Reads the members again: those that have not received every update are still there.
  if ((await readPresentMembers(deps, run)).members.length === 0) {
    await sockets.setNextBroadcast(run, undefined);
    return 'ended';
  }
  await sendContinuation(deps, run, deps.ids.nonce());
  return 'continued';
}

/** The members whose sockets have not expired. */
async function readPresentMembers(
  { clock, sockets }: Pick<BroadcasterDeps, 'clock' | 'sockets'>,
  run: RunAddress,
): Promise<RunWatchers> {
  const watchers = await sockets.watchersOf(run);
  const now = clock.now();
  return { ...watchers, members: watchers.members.filter(({ expiresAt }) => expiresAt > now) };
}

/** Sends the message before it announces it: other broadcasters would wait for an announced message that was never sent. */
async function sendContinuation(
  { clock, sockets, watches }: BroadcasterDeps,
  run: RunAddress,
  broadcastId: Nonce,
): Promise<void> {
  await watches.send({ run, broadcastId });
  await sockets.setNextBroadcast(run, { broadcastId, until: after(clock.now(), maxWaitForNextBroadcast) });
}

/** Handles a broadcaster's message from the dead-letter queue: removes its announcement, and sends a new message if members are left. */
export async function replaceBroadcaster(
  deps: Pick<BroadcasterDeps, 'clock' | 'ids' | 'sockets' | 'watches'>,
  { run }: Watch,
): Promise<void> {
  await deps.sockets.setNextBroadcast(run, undefined);
  if ((await readPresentMembers(deps, run)).members.length > 0) await deps.watches.send({ run, broadcastId: deps.ids.nonce() });
}

async function broadcastUntilDeadline(
  deps: BroadcasterDeps,
  run: RunAddress,
  members: readonly Membership[],
  terms: BroadcastTerms,
): Promise<void> {
  const { clock, sockets } = deps;
  if (members.length === 0) return;
  const followed = await beginFollowing(deps, run);
  if (followed === undefined) {
    for (const { connectionId } of members) await sockets.leave(run, connectionId);
    return;
  }
  const endsAt = instant(Math.min(clock.now() + maxBroadcastDuration, terms.mustEndAt - shutdownTime));
  const subscribers = new SocketSubscribers(deps, run);
  subscribers.addInitial(members, followed);
  await broadcast(deps, followed, subscribers, { ...terms, mustEndAt: endsAt });
  const hasEnded = isTerminal(followed.state.progress);
  // For an ended run this is the last invocation: it waits until every member has all updates or is stuck.
  const remaining = hasEnded ? between(clock.now(), endsAt) : drainTime;
  await waitAtMost(clock, durationMs(Math.max(remaining, drainTime)), subscribers.drained());
  await subscribers.removeClosed();
  await subscribers.saveCursors();
  if (hasEnded) {
    await waitAtMost(clock, drainTime, subscribers.sendFarewell(followed.state.nextEventId - 1));
  }
}

/** Broadcasts until the run has ended, no member is left, or the time is over. */
async function broadcast(
  deps: BroadcasterDeps,
  followed: FollowedRun,
  subscribers: SocketSubscribers,
  terms: BroadcastTerms,
): Promise<void> {
  const stop = new AbortController();
  const stopAll = (): void => stop.abort();
  const results = await Promise.allSettled([
    broadcastUpdates(deps, followed, subscribers, stop.signal).finally(stopAll),
    monitorMembers(deps, followed.run, subscribers, terms, stop.signal).finally(stopAll),
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function broadcastUpdates(
  deps: BroadcasterDeps,
  followed: FollowedRun,
  subscribers: SocketSubscribers,
  signal: AbortSignal,
): Promise<void> {
  const { log, streams, clock } = deps;
  // The abort signal ends a wait between two polls.
  const pausing: Clock = { now: () => clock.now(), sleep: (wait) => clock.sleep(wait, signal) };
  const last = followed.state.nextEventId - 1;
  for await (const update of followRun({ log, streams, clock: pausing }, followed, last)) {
    // Retries, because a failed message is redelivered only minutes later.
    if (update.kind === 'event') {
      const frames = await retryUnavailable(clock, () => framesOf(deps, followed.run, followed.state, update));
      frames.forEach((frame) => subscribers.broadcast(frame));
    }
    // The other derived events come with the frames of their event.
    if (update.kind === 'derived' && isStart(update.event)) subscribers.broadcast(derivedFrame(update.event));
    if (update.kind === 'delta') subscribers.broadcast(deltaFrame(update.delta, update.received));
    await subscribers.waitForRoom(signal);
    if (signal.aborted) return;
  }
}

/** Refreshes the members every second, and checks their keys every ten seconds. */
async function monitorMembers(
  { clock, sockets }: BroadcasterDeps,
  run: RunAddress,
  subscribers: SocketSubscribers,
  { isAllowed, mustEndAt }: BroadcastTerms,
  signal: AbortSignal,
): Promise<void> {
  let checkedAt = clock.now();
  let savedAt = clock.now();
  for (;;) {
    await clock.sleep(membershipCheckInterval, signal);
    const now = clock.now();
    if (signal.aborted || now >= mustEndAt) return;
    await ignoreUnavailable(async () => {
      await subscribers.removeClosed();
      await subscribers.refresh(await sockets.watchersOf(run));
    });
    if (subscribers.size === 0) return;
    subscribers.sendHeartbeats(socketHeartbeatInterval);
    if (between(checkedAt, now) >= authRecheckInterval) {
      checkedAt = now;
      for (const key of subscribers.keys) {
        if (!(await isAllowed(key))) await ignoreUnavailable(() => subscribers.closeByKey(key));
      }
    }
    if (between(savedAt, now) < cursorSaveInterval) continue;
    savedAt = now;
    await ignoreUnavailable(() => subscribers.saveCursors());
  }
}

/** The next check does what an unavailable store prevented. */
async function ignoreUnavailable(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** Waits for the work, but at most this long; the work continues. */
async function waitAtMost(clock: Clock, wait: DurationMs, work: Promise<void>): Promise<void> {
  const timeout = new AbortController();
  await Promise.race([work, clock.sleep(wait, timeout.signal)]).finally(() => timeout.abort());
}
