/**
 * When fauxqs checks a queue whose messages become visible later. While a receive waits, fauxqs 2.4.1 checks its queue every 20 ms, and
 * a cloud without work always has a waiting receive for each event source. This module sets one timer instead, for the next message
 * that becomes visible.
 */
import type { Queue } from './fauxqs-patch.ts';

interface WakeUp {
  readonly timer: NodeJS.Timeout;
  /** milliseconds since the epoch */
  readonly at: number;
}

/** the next check of each queue that has a waiting receive */
const wakeUps = new WeakMap<Queue, WakeUp>();

type LaterMessages = Pick<Queue, 'inflightMessages' | 'delayedMessages' | 'fifoDelayed'>;

/** When the next message becomes visible by itself; infinite: no message will. */
function nextVisibleAt({ inflightMessages, delayedMessages, fifoDelayed }: LaterMessages): number {
  let next = Infinity;
  for (const { visibilityDeadline } of inflightMessages.values()) next = Math.min(next, visibilityDeadline);
  for (const { delayUntil = Infinity } of delayedMessages) next = Math.min(next, delayUntil);
  for (const group of fifoDelayed.values()) for (const { delayUntil = Infinity } of group) next = Math.min(next, delayUntil);
  return next;
}

/** Checks the queue at the given time at the latest, if a receive waits. */
function wakeUpBy(queue: Queue, at: number): void {
  const planned = wakeUps.get(queue);
  if (queue.pollWaiters.length === 0 || at === Infinity || (planned !== undefined && planned.at <= at)) return;
  clearTimeout(planned?.timer);
  const check = (): void => {
    wakeUps.delete(queue);
    queue.processTimers();
    wakeUpBy(queue, nextVisibleAt(queue));
  };
  // A receive that waits keeps the process alive by a timer of its own.
  wakeUps.set(queue, { timer: setTimeout(check, Math.max(1, at - Date.now())).unref(), at });
}

function forget(queue: Queue): void {
  clearTimeout(wakeUps.get(queue)?.timer);
  wakeUps.delete(queue);
}

/** The clock was advanced, or the messages changed: checks the queue now. */
export function checkQueue(queue: Queue): void {
  forget(queue);
  queue.processTimers();
  wakeUpBy(queue, nextVisibleAt(queue));
}

/** Replaces the methods that start and stop the check every 20 ms, and sets the timer where a message becomes invisible. */
export function replacePollTimer({ prototype }: { readonly prototype: Queue }): void {
  // oxlint-disable-next-line typescript/unbound-method -- each is called with the queue it belongs to
  const { enqueue, dequeue, changeVisibility } = prototype;
  // Private in the declarations of fauxqs, so they are set by name. `loadFauxqsClasses` checks that they exist.
  Reflect.set(prototype, 'startPollTimerIfNeeded', function (this: Queue) {
    wakeUpBy(this, nextVisibleAt(this));
  });
  Reflect.set(prototype, 'stopPollTimerIfEmpty', function (this: Queue) {
    if (this.pollWaiters.length === 0) forget(this);
  });
  prototype.enqueue = function (this: Queue, message) {
    enqueue.call(this, message);
    wakeUpBy(this, message.delayUntil ?? Infinity);
  };
  prototype.dequeue = function (this: Queue, ...args) {
    const received = dequeue.apply(this, args);
    if (received.length > 0) wakeUpBy(this, nextVisibleAt(this));
    return received;
  };
  prototype.changeVisibility = function (this: Queue, receiptHandle, timeoutSeconds) {
    changeVisibility.call(this, receiptHandle, timeoutSeconds);
    wakeUpBy(this, nextVisibleAt(this));
  };
}
