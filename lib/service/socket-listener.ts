/** One watcher: what is to be posted to it waits in its own line, so that one that takes nothing is waited for by nobody else. */
import { type DurationMs, type Instant, durationMs } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Posts } from '../ports/posts.ts';
import type { Heard, Membership } from '../ports/sockets.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type Place, type SocketFrame, greetingOf } from './socket-frames.ts';

/** Posts of one frame; each is bounded by whoever posts. */
export const mostPosts = 3;
const betweenPosts: DurationMs = durationMs(250);
/** What may wait in one line: a watcher that falls behind by more is let go, and comes back to where it was. */
export const mostWaitingBytes = 8_388_608;
/** A replay puts no more into the line than this. */
const replayAheadBytes = 1_048_576;

export class Listener {
  readonly member: Membership;
  readonly #posts: Posts;
  readonly #clock: Clock;
  #line: SocketFrame[] = [];
  #bytes = 0;
  #posting: Promise<void> | undefined;
  /** news that came while older ones were still being told */
  #held: SocketFrame[] | undefined = [];
  /** put into the line */
  #told: Progress;
  /** posted */
  #heard: Progress;
  #isGreeted: boolean;
  /** why there is nothing more to be posted */
  #end: 'gone' | 'stuck' | undefined;
  #fault: unknown;
  #postedAt: Instant;

  constructor(member: Membership, posts: Posts, clock: Clock) {
    this.member = member;
    this.#posts = posts;
    this.#clock = clock;
    this.#told = new Progress(member.heard);
    this.#heard = new Progress(member.heard);
    this.#isGreeted = member.isGreeted;
    this.#postedAt = clock.now();
    if (!member.isGreeted) this.#put({ place: { kind: 'event', eventId: 0 }, text: greetingOf(member.run, member.heard.after) });
  }

  get end(): 'gone' | 'stuck' | undefined {
    return this.#end;
  }

  /** What no socket is to blame for; undefined: nothing. */
  get fault(): unknown {
    return this.#fault;
  }

  get postedAt(): Instant {
    return this.#postedAt;
  }

  /** How far it has come, and whether it is to be noted that it was greeted. */
  get heard(): Heard {
    return this.#heard.heard;
  }

  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  /** News, behind what is still being replayed. */
  tell(frame: SocketFrame): void {
    if (this.#end !== undefined) return;
    if (this.#held === undefined) this.replay(frame);
    else {
      this.#held.push(frame);
      this.#bytes += sizeOf(frame);
      this.#checkLine();
    }
  }

  /** What it has not been told yet. */
  replay(frame: SocketFrame): void {
    if (this.#end === undefined && this.#told.isNew(frame.place)) {
      this.#told.pass(frame.place);
      this.#put(frame);
    }
  }

  /** The replay is over: what came meanwhile follows. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const frame of held) {
      this.#bytes -= sizeOf(frame);
      this.replay(frame);
    }
  }

  /** A sign of life, which is no part of the run. */
  nudge(text: string): void {
    if (this.#end === undefined) this.#put({ place: { kind: 'event', eventId: 0 }, text });
  }

  /** Waits until there is room for more of a replay. */
  async room(): Promise<void> {
    if (this.#bytes > replayAheadBytes) await this.#posting;
  }

  /** Waits until everything in the line has been posted, or nothing can be. */
  async drained(): Promise<void> {
    while (this.#posting !== undefined) await this.#posting;
  }

  #put(frame: SocketFrame): void {
    this.#line.push(frame);
    this.#bytes += sizeOf(frame);
    this.#checkLine();
    this.#posting ??= this.#postAll();
  }

  #checkLine(): void {
    if (this.#bytes > mostWaitingBytes) this.#stop('stuck');
  }

  #stop(why: 'gone' | 'stuck'): void {
    this.#end ??= why;
    this.#line = [];
    this.#held = [];
  }

  async #postAll(): Promise<void> {
    // Whoever put the frame goes on first, and knows of this.
    await Promise.resolve();
    try {
      for (let frame = this.#line[0]; frame !== undefined; frame = this.#line[0]) {
        const posted = frame.text === undefined ? 'posted' : await this.#post(frame.text);
        if (posted !== 'posted') this.#stop(posted);
        if (this.#end !== undefined) return;
        this.#line.shift();
        this.#bytes -= sizeOf(frame);
        this.#heard.pass(frame.place);
        if (frame.text === undefined) continue;
        this.#isGreeted = true;
        this.#postedAt = this.#clock.now();
      }
    } catch (fault) {
      this.#fault = fault;
      this.#stop('stuck');
    } finally {
      // Here and not behind the promise: a frame that comes in between would wait for ever.
      this.#posting = undefined;
    }
  }

  async #post(text: string): Promise<'posted' | 'gone' | 'stuck'> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#posts.post(this.member.connectionId, text);
      } catch (trouble) {
        if (!(trouble instanceof Unavailable)) throw trouble;
        if (tries === mostPosts) return 'stuck';
        await this.#clock.sleep(betweenPosts);
      }
    }
  }
}

const sizeOf = ({ text }: SocketFrame): number => (text === undefined ? 0 : Buffer.byteLength(text));

/** Up to where a watcher has come: events by their id, deltas by the index of their node. */
class Progress {
  #after: number;
  readonly #next: Map<string, number>;

  constructor({ after, next }: Heard) {
    this.#after = after;
    this.#next = new Map(Object.entries(next));
  }

  get heard(): Heard {
    return { after: this.#after, next: Object.fromEntries(this.#next) };
  }

  isNew(place: Place): boolean {
    return place.kind === 'event' ? place.eventId > this.#after : place.index >= (this.#next.get(place.node) ?? 0);
  }

  pass(place: Place): void {
    if (place.kind === 'delta') this.#next.set(place.node, place.index + 1);
    else {
      this.#after = Math.max(this.#after, place.eventId);
      if (place.ends !== undefined) this.#next.delete(place.ends);
    }
  }
}
