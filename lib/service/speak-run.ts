/**
 * Speaking for a run: whoever takes its message follows the log as a reader of a stream does, and posts to all who have joined.
 * It ends when nobody is there, or when the run has ended and all have heard it; else, after its turn, the message is sent on.
 */
import type { KeyId, Nonce, RunAddress } from '../engine/ids.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { type DurationMs, type Instant, after, between, durationMs, instant, minutes, seconds } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Posts } from '../ports/posts.ts';
import type { Membership, Room, Sockets } from '../ports/sockets.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Watch, Watches } from '../ports/watches.ts';
import type { Deps } from './deps.ts';
import { type Followed, beginFollowing, followRun } from './follow-run.ts';
import { patiently } from './patiently.ts';
import { Audience } from './socket-audience.ts';
import { deltaFrame, frameOf } from './socket-frames.ts';

export interface SpeakerDeps extends Pick<Deps, 'log' | 'streams' | 'blobs' | 'clock' | 'ids'> {
  readonly sockets: Sockets;
  readonly posts: Posts;
  readonly watches: Watches;
}

/** What a speaker goes by while it speaks. */
export interface Terms {
  /** whether the key still may watch; asked every ten seconds */
  readonly isAllowed: (keyId: KeyId) => Promise<boolean>;
  /** when the function ends */
  readonly mustEndAt: Instant;
}

/** A speaker that dies is replaced when its message comes back: the shorter the turns, the sooner. */
export const longestTurn = seconds(90);
/** Before the function's own end: what waits in the lines is posted, cursors are kept, the message is sent on. */
const timeToEnd = seconds(20);
/** For what is in the lines at the end of a turn; what is left then goes on in the next one. */
const timeToDrain = seconds(5);
/** Who has joined or left is seen within this time. */
const betweenLooks = seconds(1);
/** With what the authenticator keeps for 15 s, a revoked key's sockets are closed within half a minute. */
const recheckEvery = seconds(10);
/** A crash repeats at most what was posted since. */
const keepEvery = seconds(10);
/** A gateway closes a socket on which nothing has passed for ten minutes; and one that is gone is found out by this. */
export const socketHeartbeatEvery = minutes(1);
/** A message that was sent on and not taken by then counts as lost. */
const longestWaitForTurn = minutes(15);

export async function speakRun(
  deps: SpeakerDeps,
  { run, turn }: Watch,
  terms: Terms,
): Promise<'left_to_another' | 'over' | 'sent_on'> {
  const { clock, sockets } = deps;
  const { members, next } = await present(deps, run);
  // Every join sends a message, and one speaker is enough: the one that was announced comes, and finds who has joined.
  if (next !== undefined && next.turn !== turn && next.until > clock.now()) return 'left_to_another';
  await takeTurn(deps, run, members, terms);
  // Read anew: who could not be told all of it is still there.
  if ((await present(deps, run)).members.length === 0) {
    await sockets.announce(run, undefined);
    return 'over';
  }
  await sendOn(deps, run, deps.ids.nonce());
  return 'sent_on';
}

/** Without those whose sockets are closed by now. */
async function present({ clock, sockets }: Pick<SpeakerDeps, 'clock' | 'sockets'>, run: RunAddress): Promise<Room> {
  const room = await sockets.room(run);
  const now = clock.now();
  return { ...room, members: room.members.filter(({ expiresAt }) => expiresAt > now) };
}

/** Sent first: an announcement of a message that was never sent would keep everybody waiting. */
async function sendOn({ clock, sockets, watches }: SpeakerDeps, run: RunAddress, turn: Nonce): Promise<void> {
  await watches.send({ run, turn });
  await sockets.announce(run, { turn, until: after(clock.now(), longestWaitForTurn) });
}

/** Its message reached the dead-letter queue: who joins next is not to wait for it, and for those who watch another one is sent. */
export async function replaceTurn(
  deps: Pick<SpeakerDeps, 'clock' | 'ids' | 'sockets' | 'watches'>,
  { run }: Watch,
): Promise<void> {
  await deps.sockets.announce(run, undefined);
  if ((await present(deps, run)).members.length > 0) await deps.watches.send({ run, turn: deps.ids.nonce() });
}

async function takeTurn(deps: SpeakerDeps, run: RunAddress, members: readonly Membership[], terms: Terms): Promise<void> {
  const { clock, sockets } = deps;
  if (members.length === 0) return;
  const followed = await beginFollowing(deps, run);
  if (followed === undefined) {
    for (const { connectionId } of members) await sockets.leave(run, connectionId);
    return;
  }
  const endsAt = instant(Math.min(clock.now() + longestTurn, terms.mustEndAt - timeToEnd));
  const audience = new Audience(deps, run);
  audience.open(members, followed);
  await speak(deps, followed, audience, { ...terms, mustEndAt: endsAt });
  const hasEnded = isTerminal(followed.state.progress);
  // A run that has ended makes no more turns: this one lasts until everybody has it all, or has been found to take nothing.
  const left = hasEnded ? between(clock.now(), endsAt) : timeToDrain;
  await within(clock, durationMs(Math.max(left, timeToDrain)), audience.drained());
  await audience.sweep();
  await audience.keep();
  if (hasEnded) {
    await within(clock, timeToDrain, audience.farewell(followed.state.nextEventId - 1));
  }
}

/** Until the run has ended, nobody is left, or the time is over. */
async function speak(deps: SpeakerDeps, followed: Followed, audience: Audience, terms: Terms): Promise<void> {
  const stop = new AbortController();
  const done = (): void => stop.abort();
  const results = await Promise.allSettled([
    tellNews(deps, followed, audience, stop.signal).finally(done),
    mind(deps, followed.run, audience, terms, stop.signal).finally(done),
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function tellNews(deps: SpeakerDeps, followed: Followed, audience: Audience, signal: AbortSignal): Promise<void> {
  const { log, streams, clock } = deps;
  // A pause ends with the turn.
  const pausing: Clock = { now: () => clock.now(), sleep: (wait) => clock.sleep(wait, signal) };
  const last = followed.state.nextEventId - 1;
  for await (const news of followRun({ log, streams, clock: pausing }, followed, last)) {
    // A message that is given up comes back minutes later.
    if (news.kind === 'event') audience.tell(await patiently(clock, () => frameOf(deps, followed.run, news)));
    if (news.kind === 'delta') audience.tell(deltaFrame(news.delta, news.heard));
    if (signal.aborted) return;
  }
}

/** Looks every second who is there, and now and then whether they still may be. */
async function mind(
  { clock, sockets }: SpeakerDeps,
  run: RunAddress,
  audience: Audience,
  { isAllowed, mustEndAt }: Terms,
  signal: AbortSignal,
): Promise<void> {
  let checkedAt = clock.now();
  let keptAt = clock.now();
  for (;;) {
    await clock.sleep(betweenLooks, signal);
    const now = clock.now();
    if (signal.aborted || now >= mustEndAt) return;
    await unlessUnavailable(async () => {
      await audience.sweep();
      await audience.refresh(await sockets.room(run));
    });
    if (audience.size === 0) return;
    audience.nudge(socketHeartbeatEvery);
    if (between(checkedAt, now) >= recheckEvery) {
      checkedAt = now;
      for (const key of audience.keys) {
        if (!(await isAllowed(key))) await unlessUnavailable(() => audience.dismissKey(key));
      }
    }
    if (between(keptAt, now) < keepEvery) continue;
    keptAt = now;
    await unlessUnavailable(() => audience.keep());
  }
}

/** What a look cannot do is done by the next one. */
async function unlessUnavailable(look: () => Promise<void>): Promise<void> {
  try {
    await look();
  } catch (trouble) {
    if (!(trouble instanceof Unavailable)) throw trouble;
  }
}

/** Waits for it, but no longer than this; it goes on by itself. */
async function within(clock: Clock, wait: DurationMs, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, clock.sleep(wait, over.signal)]).finally(() => over.abort());
}
