/** One watcher: what is to be posted to it waits in its own line, so that one that takes nothing is waited for by nobody else. */
import { type DurationMs, type Instant, durationMs } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Posts } from '../../ports/posts.ts';
import type { WatchCursor, Membership } from '../../ports/sockets.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type FramePosition, type SocketFrame, joinedMessageOf } from './socket-frames.ts';

/** Posts of one frame; each is bounded by whoever posts. */
export const maxPosts = 3;
const postRetryDelay: DurationMs = durationMs(250);
/** What may wait in one line: a watcher that falls behind by more is let go, and comes back to where it was. */
export const maxQueuedBytes = 8_388_608;
/** A replay puts no more into the line than this. */
const maxReplayQueueBytes = 1_048_576;

export class SocketSubscriber {
  readonly member: Membership;
  readonly #posts: Posts;
  readonly #clock: Clock;
  #queue: SocketFrame[] = [];
  #bytes = 0;
  #posting: Promise<void> | undefined;
  /** news that came while older ones were still being told */
  #deferred: SocketFrame[] | undefined = [];
  /** put into the line */
  #queuedUpTo: Progress;
  /** posted */
  #postedUpTo: Progress;
  #isGreeted: boolean;
  /** why there is nothing more to be posted */
  #end: 'gone' | 'stuck' | undefined;
  #error: unknown;
  #postedAt: Instant;

  constructor(member: Membership, posts: Posts, clock: Clock) {
    this.member = member;
    this.#posts = posts;
    this.#clock = clock;
    this.#queuedUpTo = new Progress(member.cursor);
    this.#postedUpTo = new Progress(member.cursor);
    this.#isGreeted = member.isJoinAcknowledged;
    this.#postedAt = clock.now();
    if (!member.isJoinAcknowledged)
      this.#put({ position: { kind: 'event', eventId: 0 }, text: joinedMessageOf(member.run, member.cursor.after) });
  }

  get end(): 'gone' | 'stuck' | undefined {
    return this.#end;
  }

  /** What no socket is to blame for; undefined: nothing. */
  get error(): unknown {
    return this.#error;
  }

  get postedAt(): Instant {
    return this.#postedAt;
  }

  /** How far it has come, and whether it is to be noted that it was greeted. */
  get cursor(): WatchCursor {
    return this.#postedUpTo.cursor;
  }

  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  /** News, behind what is still being replayed. */
  push(frame: SocketFrame): void {
    if (this.#end !== undefined) return;
    if (this.#deferred === undefined) this.replay(frame);
    else {
      this.#deferred.push(frame);
      this.#bytes += sizeOf(frame);
      this.#checkQueue();
    }
  }

  /** What it has not been told yet. */
  replay(frame: SocketFrame): void {
    if (this.#end === undefined && this.#queuedUpTo.isNew(frame.position)) {
      this.#queuedUpTo.advance(frame.position);
      this.#put(frame);
    }
  }

  /** The replay is over: what came meanwhile follows. */
  release(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = undefined;
    for (const frame of deferred) {
      this.#bytes -= sizeOf(frame);
      this.replay(frame);
    }
  }

  /** A sign of life, which is no part of the run. */
  pushControl(text: string): void {
    if (this.#end === undefined) this.#put({ position: { kind: 'event', eventId: 0 }, text });
  }

  /** Waits until there is room for more of a replay. */
  async waitForRoom(): Promise<void> {
    if (this.#bytes > maxReplayQueueBytes) await this.#posting;
  }

  /** Waits until everything in the line has been posted, or nothing can be. */
  async drained(): Promise<void> {
    while (this.#posting !== undefined) await this.#posting;
  }

  #put(frame: SocketFrame): void {
    this.#queue.push(frame);
    this.#bytes += sizeOf(frame);
    this.#checkQueue();
    this.#posting ??= this.#postAll();
  }

  #checkQueue(): void {
    if (this.#bytes > maxQueuedBytes) this.#stop('stuck');
  }

  #stop(reason: 'gone' | 'stuck'): void {
    this.#end ??= reason;
    this.#queue = [];
    this.#deferred = [];
  }

  async #postAll(): Promise<void> {
    // Whoever put the frame goes on first, and knows of this.
    await Promise.resolve();
    try {
      for (let frame = this.#queue[0]; frame !== undefined; frame = this.#queue[0]) {
        const posted = frame.text === undefined ? 'posted' : await this.#post(frame.text);
        if (posted !== 'posted') this.#stop(posted);
        if (this.#end !== undefined) return;
        this.#queue.shift();
        this.#bytes -= sizeOf(frame);
        this.#postedUpTo.advance(frame.position);
        if (frame.text === undefined) continue;
        this.#isGreeted = true;
        this.#postedAt = this.#clock.now();
      }
    } catch (error) {
      this.#error = error;
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
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        if (tries === maxPosts) return 'stuck';
        await this.#clock.sleep(postRetryDelay);
      }
    }
  }
}

const sizeOf = ({ text }: SocketFrame): number => (text === undefined ? 0 : Buffer.byteLength(text));

/** Up to where a watcher has come: events by their id, deltas by the index of their node. */
class Progress {
  #after: number;
  readonly #next: Map<string, number>;

  constructor({ after, next }: WatchCursor) {
    this.#after = after;
    this.#next = new Map(Object.entries(next));
  }

  get cursor(): WatchCursor {
    return { after: this.#after, next: Object.fromEntries(this.#next) };
  }

  isNew(position: FramePosition): boolean {
    return position.kind === 'event' ? position.eventId > this.#after : position.index >= (this.#next.get(position.node) ?? 0);
  }

  advance(position: FramePosition): void {
    if (position.kind === 'delta') this.#next.set(position.node, position.index + 1);
    else {
      this.#after = Math.max(this.#after, position.eventId);
      if (position.endedNode !== undefined) this.#next.delete(position.endedNode);
    }
  }
}
