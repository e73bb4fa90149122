/** The sockets that watch one run while a broadcaster runs. Each receives the frames after its cursor, in order. */
import type { ConnectionId, KeyId, RunAddress } from '../../engine/ids.ts';
import { mapEvents } from '../../engine/log/public-event.ts';
import { type DurationMs, between } from '../../engine/time.ts';
import type { Membership, RunWatchers } from '../../ports/sockets.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type FollowedRun, beginFollowing, publicDelta } from './follow-run.ts';
import { retryUnavailable } from '../run-log/retry-unavailable.ts';
import { DeltaSubscriptions } from './delta-subscriptions.ts';
import { type SocketFrame, deltaFrame, leftMessageOf, heartbeatMessageOf } from './socket-frames.ts';
import { derivedFrame, framesOf } from './derived-frames.ts';
import { StartAnnouncer } from './start-announcer.ts';
import { SocketSubscriber } from './socket-subscriber.ts';
import type { BroadcasterDeps } from './broadcast-run.ts';

export class SocketSubscribers {
  readonly #deps: BroadcasterDeps;
  readonly #run: RunAddress;
  readonly #subscribers = new Map<ConnectionId, SocketSubscriber>();
  readonly #replays = new Set<Promise<void>>();
  #error: unknown;
  readonly #savedCursors = new Map<ConnectionId, string>();
  #progress = Promise.withResolvers<void>();

  constructor(deps: BroadcasterDeps, run: RunAddress) {
    this.#deps = deps;
    this.#run = run;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  get keys(): ReadonlySet<KeyId> {
    return new Set([...this.#subscribers.values()].map(({ member }) => member.keyId));
  }

  broadcast(frame: SocketFrame): void {
    for (const subscriber of this.#subscribers.values()) subscriber.push(frame);
  }

  /**
   * Waits while every member's queue is full, so that the log is read as fast as the fastest member receives it. A member that falls
   * behind the others does not delay them: it is closed when its queue has reached its limit.
   */
  async waitForRoom(signal: AbortSignal): Promise<void> {
    const wake = (): void => this.#noteProgress();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted && this.#areAllFull()) await this.#progress.promise;
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  #areAllFull(): boolean {
    return this.size > 0 && [...this.#subscribers.values()].every(({ isFull }) => isFull);
  }

  #noteProgress(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }

  /** Adds the first members. New polls return their deltas from the first index on. */
  addInitial(members: readonly Membership[], followed: FollowedRun): void {
    for (const member of members) this.#add(member, (subscriber) => this.#replayEvents(subscriber, followed));
  }

  /** Adds members that have joined, and removes members that have left. */
  async refresh({ members }: Pick<RunWatchers, 'members'>): Promise<void> {
    const now = this.#deps.clock.now();
    const joined = new Map(members.filter(({ expiresAt }) => expiresAt > now).map((one) => [one.connectionId, one]));
    for (const [id, { member }] of this.#subscribers) {
      if (joined.get(id)?.joinId !== member.joinId) this.#remove(id);
    }
    const newMembers = [...joined.values()].filter(({ connectionId }) => !this.#subscribers.has(connectionId));
    if (newMembers.length === 0) return;
    const arrivals = newMembers.map((member) => ({ member, start: Promise.withResolvers<FollowedRun | undefined>() }));
    // From now on the new members defer new frames until the log is replayed for them.
    for (const { member, start } of arrivals) {
      this.#add(member, async (subscriber) => {
        const followed = await start.promise;
        if (followed !== undefined) await this.#catchUp(subscriber, followed);
      });
    }
    const followed = await beginFollowing(this.#deps, this.#run).catch((error: unknown) => {
      for (const { start } of arrivals) start.resolve(undefined);
      throw error;
    });
    for (const { start } of arrivals) start.resolve(followed);
  }

  /** Closes the members that cannot be posted to. Throws an error that no socket caused. */
  async removeClosed(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    for (const [id, { end, error }] of this.#subscribers) {
      if (error !== undefined) throw error;
      if (end !== undefined) await this.#close(id, end === 'gone' ? 'connection_gone' : 'closed');
    }
  }

  /** Ends the members that have received the run's last event. */
  async sendFarewell(eventId: number): Promise<void> {
    const finished = [...this.#subscribers].filter(([, { cursor }]) => cursor.after >= eventId);
    for (const [, subscriber] of finished) subscriber.pushControl(leftMessageOf(this.#run));
    await Promise.all(finished.map(([, subscriber]) => subscriber.drained()));
    for (const [id] of finished) await this.#close(id, 'finished');
  }

  /** Closes the connections that the key opened. */
  async closeByKey(keyId: KeyId): Promise<void> {
    for (const [id, { member }] of this.#subscribers) if (member.keyId === keyId) await this.#close(id, 'closed');
  }

  async #close(id: ConnectionId, reason: 'connection_gone' | 'closed' | 'finished'): Promise<void> {
    const { sockets, posts } = this.#deps;
    this.#remove(id);
    await sockets.leave(this.#run, id);
    if (reason === 'finished') return;
    await sockets.close(id);
    if (reason === 'closed') await posts.close(id);
  }

  /** Sends a heartbeat to each member that was idle for this time; the post detects sockets that are gone. */
  sendHeartbeats(idleFor: DurationMs): void {
    const now = this.#deps.clock.now();
    for (const subscriber of this.#subscribers.values()) {
      if (between(subscriber.postedAt, now) >= idleFor) subscriber.pushControl(heartbeatMessageOf(this.#run, now));
    }
  }

  /** Saves the changed cursors. */
  async saveCursors(): Promise<void> {
    for (const [id, subscriber] of this.#subscribers) {
      const cursor = JSON.stringify(subscriber.cursor);
      if (!subscriber.isJoinAcknowledged || subscriber.end !== undefined || this.#savedCursors.get(id) === cursor) continue;
      await this.#deps.sockets.saveCursor(subscriber.member, subscriber.cursor);
      this.#savedCursors.set(id, cursor);
    }
  }

  /** Waits until every member has received its queued frames, or cannot be posted to. */
  async drained(): Promise<void> {
    await Promise.all(this.#replays);
    await Promise.all([...this.#subscribers.values()].map((subscriber) => subscriber.drained()));
  }

  #add(member: Membership, replay: (subscriber: SocketSubscriber) => Promise<void>): void {
    const subscriber = new SocketSubscriber(member, this.#deps, () => this.#noteProgress());
    this.#subscribers.set(member.connectionId, subscriber);
    this.#noteProgress();
    const replaying = replay(subscriber)
      .then(() => subscriber.release())
      .catch((error: unknown) => {
        // The member has missed frames; the next refresh adds it again.
        this.#remove(member.connectionId);
        if (!(error instanceof Unavailable)) this.#error ??= error;
      })
      .finally(() => this.#replays.delete(replaying));
    this.#replays.add(replaying);
  }

  async #replayEvents(
    subscriber: SocketSubscriber,
    { runInfo, state, commits }: Pick<FollowedRun, 'runInfo' | 'state' | 'commits'>,
  ): Promise<void> {
    const { after } = subscriber.cursor;
    for (const fact of commits.flatMap((commit) => mapEvents(runInfo, commit))) {
      if (fact.event.eventId <= after) continue;
      const frames = await retryUnavailable(this.#deps.clock, () => framesOf(this.#deps, this.#run, state, fact));
      for (const frame of frames) subscriber.replay(frame);
      await subscriber.waitForRoom();
      if (subscriber.end !== undefined) return;
    }
  }

  async #catchUp(subscriber: SocketSubscriber, followed: FollowedRun): Promise<void> {
    await this.#replayEvents(subscriber, followed);
    const { runInfo, state } = followed;
    const last = state.nextEventId - 1;
    for (const start of await new StartAnnouncer(this.#deps, this.#run).poll(runInfo, state, last))
      subscriber.replay(derivedFrame(start));
    for await (const received of new DeltaSubscriptions(this.#deps, this.#run).poll(state)) {
      subscriber.replay(deltaFrame(publicDelta(runInfo, last, received), received));
    }
  }

  #remove(id: ConnectionId): void {
    this.#subscribers.delete(id);
    this.#savedCursors.delete(id);
    this.#noteProgress();
  }
}
