/**
 * What is known of the deliveries of an attempt that did not end it, and when they end it as lost. A first delivery records nothing.
 * A later one records that it begins, so that a worker that dies in it is noticed by the next. A death counts against the
 * attempt only where nothing else explains it: a storm of crashes must fail no healthy run, and an attempt that kills its worker
 * must end. (docs/decisions/worker-crashes.md)
 */
import { defined } from '../defined.ts';
import type { RunId, NodeKey } from '../ids.ts';
import { type DurationMs, type Instant, between, durationMs, hours, instant, minutes, seconds } from '../time.ts';
import type { Failure } from './events.ts';

/** The worker that last began the attempt beyond its first delivery. */
export interface BegunDelivery {
  readonly at: Instant;
  /** its last heartbeat; `at` where it sent none */
  readonly lastHeartbeatAt: Instant;
  /** steps that had ended when it began; 0 where none belong to the attempt */
  readonly endedSteps: number;
  /** how often the job had been sent again; heartbeats keep it, so that the next send has another group and deduplication id */
  readonly resends: number;
}

/** A delivery that ended without a result. */
export interface LostDelivery {
  /** absent: the delivery did not record that it began, so its worker may never have reached the attempt */
  readonly begunAt?: Instant;
  /** the last that is known of its worker */
  readonly lastHeartbeatAt: Instant;
  readonly noticedAt: Instant;
  /** parts of the run ended while this worker was at work, such as steps of its workflow task */
  readonly hasProgressed?: true;
  /** what the worker threw, where it lived to record it */
  readonly reason?: string;
}

export interface Deliveries {
  readonly begun?: BegunDelivery;
  /** oldest first, the last `mostKept` of them */
  readonly lost: readonly LostDelivery[];
  /** the worker that last began it lives, and is no longer at it: the next delivery says nothing of a loss */
  readonly isReleased?: true;
}

/** A worker's death in an attempt of some run of the installation. */
export interface WorkerCrash {
  readonly runId: RunId;
  readonly node: NodeKey;
  readonly begunAt: Instant;
  readonly lastHeartbeatAt: Instant;
  readonly noticedAt: Instant;
}

export const noDeliveries: Deliveries = { lost: [] };

/** Deaths that can be attributed to an attempt, and end it. */
export const maxCrashes = 5;
/** Fewer end it once they have gone on for `crashWindow`. */
const maxCrashesInWindow = 3;
export const crashWindow: DurationMs = hours(1);
/** How many are kept: older ones have no say any more. */
const maxStoredDeliveries = 16;
/** UTF-16 units of a reason that are kept. */
const maxReasonLength = 500;

const minRedeliveryPause: DurationMs = seconds(100);
const maxRedeliveryPause: DurationMs = minutes(10);

export const beginDelivery = ({ lost }: Deliveries, now: Instant, endedSteps: number, resends: number): Deliveries => ({
  begun: { at: now, lastHeartbeatAt: now, endedSteps, resends },
  lost,
});

/** The worker that began the attempt gives it up alive: a store was unavailable, its result is with the collector, or its first slice is spent. */
export const releaseDelivery = ({ lost }: Deliveries): Deliveries => ({ lost, isReleased: true });

/** A heartbeat of the worker that began last. */
export const recordHeartbeat = (deliveries: Deliveries, now: Instant): Deliveries =>
  deliveries.begun === undefined ? deliveries : { ...deliveries, begun: { ...deliveries.begun, lastHeartbeatAt: now } };

/**
 * The delivery at work is over without a result.
 * @param endedSteps steps that have ended by now
 * @param reason what its worker threw; absent: it is gone
 */
export function loseDelivery({ begun, lost }: Deliveries, now: Instant, endedSteps: number, reason?: string): Deliveries {
  const delivery: LostDelivery = defined({
    ...(begun === undefined ? { lastHeartbeatAt: now } : { begunAt: begun.at, lastHeartbeatAt: begun.lastHeartbeatAt }),
    noticedAt: now,
    hasProgressed: begun !== undefined && endedSteps > begun.endedSteps ? true : undefined,
    reason: reason === undefined ? undefined : reason.slice(0, maxReasonLength).toWellFormed(),
  });
  // A worker that lived this long shows that whatever lost the deliveries before it, of which nothing is known, is over.
  const outlivedWindow = begun !== undefined && between(begun.at, begun.lastHeartbeatAt) >= crashWindow;
  const before = outlivedWindow ? lost.filter((each) => !isUnexplained(each)) : lost;
  return { lost: [...before, delivery].slice(-maxStoredDeliveries) };
}

/**
 * How long the queue and the sweep wait before they deliver the attempt again, from the last sign of its worker: twice as long
 * with each loss from the second, up to ten minutes, and up to twice that by chance, so that two attempts that died together do not
 * begin together for ever. Undefined where the last that is known is a message on its way.
 */
export function redeliveryPauseAfter(deliveries: Deliveries, lastHeartbeatAt: Instant): DurationMs | undefined {
  const { begun, lost } = deliveries;
  if ((begun?.lastHeartbeatAt ?? lost.at(-1)?.noticedAt) !== lastHeartbeatAt) return undefined;
  if (lost.length < 2) return minRedeliveryPause;
  const pause = Math.min(maxRedeliveryPause, minRedeliveryPause * 2 ** (lost.length - 1));
  return durationMs(Math.round(pause * (1 + hashedJitter(lastHeartbeatAt + lost.length))));
}

/** From 0 up to 1, the same for the same number: the engine draws nothing. By Knuth's multiplicative hash. */
const hashedJitter = (seed: number): number => ((seed * 2_654_435_761) % 2 ** 32) / 2 ** 32;

/** Whether a verdict needs the deaths of other attempts. */
export const needsOtherCrashes = ({ lost }: Deliveries): boolean => lost.length >= maxCrashesInWindow;

/**
 * The failure of an attempt whose deliveries were lost too often; undefined where it may begin once more.
 * @param otherCrashes deaths of workers in attempts of other runs since the first of these
 */
export function failureIfLost(deliveries: Deliveries, otherCrashes: readonly WorkerCrash[], now: Instant): Failure | undefined {
  const { lost } = deliveries;
  const crashes = lost.filter((delivery) => isAttributed(delivery, otherCrashes));
  const counted = lost.filter((delivery) => crashes.includes(delivery) || isUnexplained(delivery));
  const [first] = counted;
  const exceedsWindow = first !== undefined && between(first.noticedAt, now) >= crashWindow;
  const isLost =
    crashes.length >= maxCrashes || (exceedsWindow && (crashes.length >= maxCrashesInWindow || counted.length >= maxCrashes));
  return isLost ? failureOfDeliveries(counted) : undefined;
}

const isUnexplained = ({ begunAt, reason }: LostDelivery): boolean => begunAt === undefined && reason === undefined;

/**
 * A worker that threw says so itself. Another death counts unless the run got on meanwhile, or the worker of another run's
 * attempt may have died with this one and had been at work for a shorter time: that one is the likelier cause.
 */
function isAttributed(delivery: LostDelivery, otherCrashes: readonly WorkerCrash[]): boolean {
  if (delivery.reason !== undefined) return true;
  const { begunAt, lastHeartbeatAt, noticedAt, hasProgressed } = delivery;
  if (begunAt === undefined || hasProgressed === true) return false;
  const lifetime = between(begunAt, lastHeartbeatAt);
  return !otherCrashes.some(
    (other) =>
      other.lastHeartbeatAt <= noticedAt &&
      other.noticedAt >= lastHeartbeatAt &&
      between(other.begunAt, other.lastHeartbeatAt) < lifetime,
  );
}

function failureOfDeliveries(counted: readonly LostDelivery[]): Failure {
  const reason = counted.findLast((delivery) => delivery.reason !== undefined)?.reason;
  const reasonText = reason === undefined ? 'no worker recorded a reason' : `the last reason recorded: ${reason}`;
  return {
    cause: 'lost',
    code: 'recovery_error',
    message: `${counted.length} deliveries of this attempt ended without a result, because its worker died or threw; ${reasonText}`,
    details: defined({ lostDeliveries: counted.length, lastReason: reason }),
  };
}

/** When the first of the deaths that a verdict looks at may have happened. */
export const firstHeartbeatAt = ({ lost }: Deliveries): Instant | undefined =>
  lost.length === 0 ? undefined : instant(Math.min(...lost.map(({ lastHeartbeatAt }) => lastHeartbeatAt)));
