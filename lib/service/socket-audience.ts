/** All who watch one run over sockets, while somebody speaks for it: each is told what it has not heard, in order. */
import type { ConnectionId, KeyId, RunAddress } from '../engine/ids.ts';
import { publicFacts } from '../engine/log/public-event.ts';
import { type DurationMs, between } from '../engine/time.ts';
import type { Membership, Room } from '../ports/sockets.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type Followed, beginFollowing, publicDelta } from './follow-run.ts';
import { patiently } from './patiently.ts';
import { Ears } from './read-deltas.ts';
import { type SocketFrame, deltaFrame, farewellOf, frameOf, heartbeatOf } from './socket-frames.ts';
import { Listener } from './socket-listener.ts';
import type { SpeakerDeps } from './speak-run.ts';

export class Audience {
  readonly #deps: SpeakerDeps;
  readonly #run: RunAddress;
  readonly #listeners = new Map<ConnectionId, Listener>();
  readonly #replays = new Set<Promise<void>>();
  #fault: unknown;
  readonly #kept = new Map<ConnectionId, string>();

  constructor(deps: SpeakerDeps, run: RunAddress) {
    this.#deps = deps;
    this.#run = run;
  }

  get size(): number {
    return this.#listeners.size;
  }

  get keys(): ReadonlySet<KeyId> {
    return new Set([...this.#listeners.values()].map(({ member }) => member.keyId));
  }

  tell(frame: SocketFrame): void {
    for (const listener of this.#listeners.values()) listener.tell(frame);
  }

  /** The first ones; their deltas come with the news, from the first index on. */
  open(members: readonly Membership[], followed: Followed): void {
    for (const member of members) this.#admit(member, (listener) => this.#replayEvents(listener, followed));
  }

  /** Lets in who has joined since, and lets go of who has left. */
  async refresh({ members }: Pick<Room, 'members'>): Promise<void> {
    const now = this.#deps.clock.now();
    const joined = new Map(members.filter(({ expiresAt }) => expiresAt > now).map((one) => [one.connectionId, one]));
    for (const [id, { member }] of this.#listeners) {
      if (joined.get(id)?.joinId !== member.joinId) this.#forget(id);
    }
    const late = [...joined.values()].filter(({ connectionId }) => !this.#listeners.has(connectionId));
    if (late.length === 0) return;
    const arrivals = late.map((member) => ({ member, start: Promise.withResolvers<Followed | undefined>() }));
    // News come while the log is read for them: they are held for the new ones from now on.
    for (const { member, start } of arrivals) {
      this.#admit(member, async (listener) => {
        const followed = await start.promise;
        if (followed !== undefined) await this.#catchUp(listener, followed);
      });
    }
    const followed = await beginFollowing(this.#deps, this.#run).catch((trouble: unknown) => {
      for (const { start } of arrivals) start.resolve(undefined);
      throw trouble;
    });
    for (const { start } of arrivals) start.resolve(followed);
  }

  /** Takes away those that cannot be posted to any more. Throws what is the fault of none of them. */
  async sweep(): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault;
    for (const [id, { end, fault }] of this.#listeners) {
      if (fault !== undefined) throw fault;
      if (end !== undefined) await this.#dismiss(id, end === 'gone' ? 'is_gone' : 'is_closed');
    }
  }

  /** Those that have come to this event, the run's last, have all of it. */
  async farewell(eventId: number): Promise<void> {
    const done = [...this.#listeners].filter(([, { heard }]) => heard.after >= eventId);
    for (const [, listener] of done) listener.nudge(farewellOf(this.#run));
    await Promise.all(done.map(([, listener]) => listener.drained()));
    for (const [id] of done) await this.#dismiss(id, 'has_all');
  }

  /** Ends the connections that the key opened. */
  async dismissKey(keyId: KeyId): Promise<void> {
    for (const [id, { member }] of this.#listeners) if (member.keyId === keyId) await this.#dismiss(id, 'is_closed');
  }

  async #dismiss(id: ConnectionId, why: 'is_gone' | 'is_closed' | 'has_all'): Promise<void> {
    const { sockets, posts } = this.#deps;
    this.#forget(id);
    await sockets.leave(this.#run, id);
    if (why === 'has_all') return;
    await sockets.close(id);
    if (why === 'is_closed') await posts.close(id);
  }

  /** A sign of life to each that has had nothing for so long: it finds out sockets that are gone. */
  nudge(quiet: DurationMs): void {
    const now = this.#deps.clock.now();
    for (const listener of this.#listeners.values()) {
      if (between(listener.postedAt, now) >= quiet) listener.nudge(heartbeatOf(this.#run, now));
    }
  }

  /** Notes how far each has come, where that has changed. */
  async keep(): Promise<void> {
    for (const [id, listener] of this.#listeners) {
      const heard = JSON.stringify(listener.heard);
      if (!listener.isGreeted || listener.end !== undefined || this.#kept.get(id) === heard) continue;
      await this.#deps.sockets.keepHeard(listener.member, listener.heard);
      this.#kept.set(id, heard);
    }
  }

  /** Waits until everybody has been posted everything, or cannot be. */
  async drained(): Promise<void> {
    await Promise.all(this.#replays);
    await Promise.all([...this.#listeners.values()].map((listener) => listener.drained()));
  }

  #admit(member: Membership, replay: (listener: Listener) => Promise<void>): void {
    const listener = new Listener(member, this.#deps.posts, this.#deps.clock);
    this.#listeners.set(member.connectionId, listener);
    const replaying = replay(listener)
      .then(() => listener.release())
      .catch((trouble: unknown) => {
        // It has missed something: it is let in again at the next look.
        this.#forget(member.connectionId);
        if (!(trouble instanceof Unavailable)) this.#fault ??= trouble;
      })
      .finally(() => this.#replays.delete(replaying));
    this.#replays.add(replaying);
  }

  async #replayEvents(listener: Listener, { told, commits }: Pick<Followed, 'told' | 'commits'>): Promise<void> {
    const { after } = listener.heard;
    for (const fact of commits.flatMap((commit) => publicFacts(told, commit))) {
      if (fact.event.eventId <= after) continue;
      listener.replay(await patiently(this.#deps.clock, () => frameOf(this.#deps, this.#run, fact)));
      await listener.room();
      if (listener.end !== undefined) return;
    }
  }

  async #catchUp(listener: Listener, followed: Followed): Promise<void> {
    await this.#replayEvents(listener, followed);
    const { told, state } = followed;
    for await (const heard of new Ears(this.#deps, this.#run).hear(state)) {
      listener.replay(deltaFrame(publicDelta(told, state.nextEventId - 1, heard), heard));
    }
  }

  #forget(id: ConnectionId): void {
    this.#listeners.delete(id);
    this.#kept.delete(id);
  }
}
