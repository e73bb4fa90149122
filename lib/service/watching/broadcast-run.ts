/**
 * Speaking for a run: whoever takes its message follows the log as a reader of a stream does, and posts to all who have joined.
 * It ends when nobody is there, or when the run has ended and all have heard it; else, after its turn, the message is sent on.
 */
import type { KeyId, Nonce, RunAddress } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { type DurationMs, type Instant, after, between, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Posts } from '../../ports/posts.ts';
import type { Membership, RunWatchers, Sockets } from '../../ports/sockets.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Watch, Watches } from '../../ports/watches.ts';
import type { Deps } from '../deps.ts';
import { type FollowedRun, beginFollowing, followRun } from './follow-run.ts';
import { retryUnavailable } from '../run-log/retry-unavailable.ts';
import { SocketSubscribers } from './socket-subscribers.ts';
import { deltaFrame, frameOf } from './socket-frames.ts';

export interface BroadcasterDeps extends Pick<Deps, 'log' | 'streams' | 'blobs' | 'clock' | 'ids'> {
  readonly sockets: Sockets;
  readonly posts: Posts;
  readonly watches: Watches;
}

/** What a speaker goes by while it speaks. */
export interface BroadcastTerms {
  /** whether the key still may watch; asked every ten seconds */
  readonly isAllowed: (keyId: KeyId) => Promise<boolean>;
  /** when the function ends */
  readonly mustEndAt: Instant;
}

/** A speaker that dies is replaced when its message comes back: the shorter the turns, the sooner. */
export const maxBroadcastDuration = seconds(90);
/** Before the function's own end: what waits in the lines is posted, cursors are kept, the message is sent on. */
const shutdownTime = seconds(20);
/** For what is in the lines at the end of a turn; what is left then goes on in the next one. */
const drainTime = seconds(5);
/** Who has joined or left is seen within this time. */
const membershipCheckInterval = seconds(1);
/** With what the authenticator keeps for 15 s, a revoked key's sockets are closed within half a minute. */
const authRecheckInterval = seconds(10);
/** A crash repeats at most what was posted since. */
const cursorSaveInterval = seconds(10);
/** A gateway closes a socket on which nothing has passed for ten minutes; and one that is gone is found out by this. */
export const socketHeartbeatInterval = minutes(1);
/** A message that was sent on and not taken by then counts as lost. */
const maxWaitForNextBroadcast = minutes(15);

export async function broadcastRun(
  deps: BroadcasterDeps,
  { run, broadcastId }: Watch,
  terms: BroadcastTerms,
): Promise<'deferred_to_another' | 'ended' | 'continued'> {
  const { clock, sockets } = deps;
  const { members, next } = await readPresentMembers(deps, run);
  // Every join sends a message, and one speaker is enough: the one that was announced comes, and finds who has joined.
  if (next !== undefined && next.broadcastId !== broadcastId && next.until > clock.now()) return 'deferred_to_another';
  await broadcastUntilDeadline(deps, run, members, terms);
  // Read anew: who could not be told all of it is still there.
  if ((await readPresentMembers(deps, run)).members.length === 0) {
    await sockets.setNextBroadcast(run, undefined);
    return 'ended';
  }
  await sendContinuation(deps, run, deps.ids.nonce());
  return 'continued';
}

/** Without those whose sockets are closed by now. */
async function readPresentMembers(
  { clock, sockets }: Pick<BroadcasterDeps, 'clock' | 'sockets'>,
  run: RunAddress,
): Promise<RunWatchers> {
  const room = await sockets.watchersOf(run);
  const now = clock.now();
  return { ...room, members: room.members.filter(({ expiresAt }) => expiresAt > now) };
}

/** Sent first: an announcement of a message that was never sent would keep everybody waiting. */
async function sendContinuation(
  { clock, sockets, watches }: BroadcasterDeps,
  run: RunAddress,
  broadcastId: Nonce,
): Promise<void> {
  await watches.send({ run, broadcastId });
  await sockets.setNextBroadcast(run, { broadcastId, until: after(clock.now(), maxWaitForNextBroadcast) });
}

/** Its message reached the dead-letter queue: who joins next is not to wait for it, and for those who watch another one is sent. */
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
  // A run that has ended makes no more turns: this one lasts until everybody has it all, or has been found to take nothing.
  const remaining = hasEnded ? between(clock.now(), endsAt) : drainTime;
  await waitAtMost(clock, durationMs(Math.max(remaining, drainTime)), subscribers.drained());
  await subscribers.removeClosed();
  await subscribers.saveCursors();
  if (hasEnded) {
    await waitAtMost(clock, drainTime, subscribers.sendFarewell(followed.state.nextEventId - 1));
  }
}

/** Until the run has ended, nobody is left, or the time is over. */
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
  // A pause ends with the turn.
  const pausing: Clock = { now: () => clock.now(), sleep: (wait) => clock.sleep(wait, signal) };
  const last = followed.state.nextEventId - 1;
  for await (const update of followRun({ log, streams, clock: pausing }, followed, last)) {
    // A message that is given up comes back minutes later.
    if (update.kind === 'event') subscribers.broadcast(await retryUnavailable(clock, () => frameOf(deps, followed.run, update)));
    if (update.kind === 'delta') subscribers.broadcast(deltaFrame(update.delta, update.received));
    if (signal.aborted) return;
  }
}

/** Looks every second who is there, and now and then whether they still may be. */
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

/** What a look cannot do is done by the next one. */
async function ignoreUnavailable(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** Waits for it, but no longer than this; it goes on by itself. */
async function waitAtMost(clock: Clock, wait: DurationMs, work: Promise<void>): Promise<void> {
  const timeout = new AbortController();
  await Promise.race([work, clock.sleep(wait, timeout.signal)]).finally(() => timeout.abort());
}
