/** One subscribed socket. It has its own queue of frames, so that a slow socket does not delay the others. */
import type { RetryLimits } from '../../base/retry.ts';
import type { Instant } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Posts, WatchCursor, Membership } from '../../ports/sockets.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { retryUnavailable } from '../run-log/retry-unavailable.ts';
import { type FramePosition, type SocketFrame, joinedMessageOf } from './socket-frames.ts';

/** Attempts to post one frame; the poster bounds the time of each attempt. */
export const maxPosts = 3;
const postLimits: RetryLimits = { attempts: maxPosts, backoff: { baseMs: 250, factor: 1 } };
/** Maximum size of one queue. A socket that falls further behind is closed; the client can reconnect at its cursor. */
export const maxQueuedBytes = 8_388_608;
/** Size of a queue above which its writers wait: a replay of the socket's own, and the broadcaster if no other socket is faster. */
const fullQueueBytes = 1_048_576;

export class SocketSubscriber {
  readonly member: Membership;
  readonly #posts: Posts;
  readonly #clock: Clock;
  readonly #onProgress: () => void;
  #queue: SocketFrame[] = [];
  #bytes = 0;
  #posting: Promise<void> | undefined;
  /** new frames that arrived during the replay; undefined after the replay */
  #deferred: SocketFrame[] | undefined = [];
  /** progress of the queued frames */
  #queuedUpTo: Progress;
  /** progress of the posted frames */
  #postedUpTo: Progress;
  #isJoinAcknowledged: boolean;
  /** why no further frame is posted */
  #end: 'gone' | 'stuck' | undefined;
  #error: unknown;
  #postedAt: Instant;

  /** @param onProgress called whenever the queue has become shorter, or takes no further frame */
  constructor(member: Membership, { posts, clock }: { posts: Posts; clock: Clock }, onProgress: () => void) {
    this.member = member;
    this.#posts = posts;
    this.#clock = clock;
    this.#onProgress = onProgress;
    this.#queuedUpTo = new Progress(member.cursor);
    this.#postedUpTo = new Progress(member.cursor);
    this.#isJoinAcknowledged = member.isJoinAcknowledged;
    this.#postedAt = clock.now();
    if (!member.isJoinAcknowledged)
      this.#put({ position: { kind: 'event', eventId: 0 }, text: joinedMessageOf(member.run, member.cursor.after) });
  }

  get end(): 'gone' | 'stuck' | undefined {
    return this.#end;
  }

  /** An error that the socket did not cause; undefined if none. */
  get error(): unknown {
    return this.#error;
  }

  get postedAt(): Instant {
    return this.#postedAt;
  }

  /** The cursor after the last posted frame. */
  get cursor(): WatchCursor {
    return this.#postedUpTo.cursor;
  }

  get isJoinAcknowledged(): boolean {
    return this.#isJoinAcknowledged;
  }

  /** The queue is long, and the socket may still receive it. */
  get isFull(): boolean {
    return this.#end === undefined && this.#bytes > fullQueueBytes;
  }

  /** Queues a new frame, after the frames of a replay. */
  push(frame: SocketFrame): void {
    if (this.#end !== undefined) return;
    if (this.#deferred === undefined) this.replay(frame);
    else {
      this.#deferred.push(frame);
      this.#bytes += sizeOf(frame);
      this.#checkQueue();
    }
  }

  /** Queues a frame unless it was queued before. */
  replay(frame: SocketFrame): void {
    if (this.#end === undefined && this.#queuedUpTo.isNew(frame.position)) {
      this.#queuedUpTo.advance(frame.position);
      this.#put(frame);
    }
  }

  /** Ends the replay and queues the frames that arrived meanwhile. */
  release(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = undefined;
    for (const frame of deferred) {
      this.#bytes -= sizeOf(frame);
      this.replay(frame);
    }
  }

  /** Queues a control message, such as a heartbeat, that is not part of the run. */
  pushControl(text: string): void {
    if (this.#end === undefined) this.#put({ position: { kind: 'event', eventId: 0 }, text });
  }

  /** Waits until the queue has room for further replayed frames. */
  async waitForRoom(): Promise<void> {
    if (this.isFull) await this.#posting;
  }

  /** Waits until every queued frame is posted, or posting has stopped. */
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
    this.#onProgress();
  }

  async #postAll(): Promise<void> {
    // Lets the caller continue first, so that `#posting` is set before the first post.
    await Promise.resolve();
    try {
      for (let frame = this.#queue[0]; frame !== undefined; frame = this.#queue[0]) {
        const posted = frame.text === undefined ? 'posted' : await this.#post(frame.text);
        if (posted !== 'posted') this.#stop(posted);
        if (this.#end !== undefined) return;
        this.#queue.shift();
        this.#bytes -= sizeOf(frame);
        this.#onProgress();
        this.#postedUpTo.advance(frame.position);
        if (frame.text === undefined) continue;
        this.#isJoinAcknowledged = true;
        this.#postedAt = this.#clock.now();
      }
    } catch (error) {
      this.#error = error;
      this.#stop('stuck');
    } finally {
      // Cleared here and not after the promise, because a frame queued in between would never be posted.
      this.#posting = undefined;
    }
  }

  async #post(text: string): Promise<'posted' | 'gone' | 'stuck'> {
    try {
      return await retryUnavailable(this.#clock, () => this.#posts.post(this.member.connectionId, text), postLimits);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return 'stuck';
    }
  }
}

const sizeOf = ({ text }: SocketFrame): number => (text === undefined ? 0 : Buffer.byteLength(text));

/** How far a watcher has come: events by id, deltas by index per node. */
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
    if (position.kind === 'event') return position.eventId > this.#after;
    if (position.kind === 'derived') return position.beforeEvent > this.#after;
    return position.index >= (this.#next.get(position.node) ?? 0);
  }

  advance(position: FramePosition): void {
    if (position.kind === 'delta') this.#next.set(position.node, position.index + 1);
    else if (position.kind === 'event') {
      this.#after = Math.max(this.#after, position.eventId);
      if (position.endedNode !== undefined) this.#next.delete(position.endedNode);
    }
  }
}
