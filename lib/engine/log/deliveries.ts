/**
 * Deliveries of an attempt that ended without a result, and when they fail the attempt as lost. A first delivery records nothing.
 * A later delivery records that it begins, so that the next one notices if its worker crashes. A crash counts against the attempt
 * only where nothing else explains it: a crash storm must not fail a healthy run, and an attempt that crashes its worker must end.
 * (docs/decisions/worker-crashes.md)
 */
import { defined } from '../../base/defined.ts';
import { backoffMs } from '../../base/retry.ts';
import type { RunId, NodeKey } from '../ids.ts';
import { type DurationMs, type Instant, between, durationMs, hours, instant, minutes, seconds } from '../time.ts';
import type { Failure } from './events.ts';

/** The latest delivery, after the first, that began the attempt. */
export interface BegunDelivery {
  readonly at: Instant;
  /** its last heartbeat; `at` if it sent none */
  readonly lastHeartbeatAt: Instant;
  /** steps of the attempt that had ended when the delivery began; 0 for an attempt without steps */
  readonly endedSteps: number;
  /** resends of the job so far; heartbeats repeat the number, so that the next resend gets a new group and deduplication id */
  readonly resends: number;
}

/** A delivery that ended without a result. */
export interface LostDelivery {
  /** absent: the delivery recorded no begin, so its worker may never have reached the attempt */
  readonly begunAt?: Instant;
  /** last evidence of its worker */
  readonly lastHeartbeatAt: Instant;
  readonly noticedAt: Instant;
  /** other parts of the run ended while this worker ran, such as steps of its workflow task */
  readonly hasProgressed?: true;
  /** the error that the worker threw, if it recorded one */
  readonly reason?: string;
}

export interface Deliveries {
  readonly begun?: BegunDelivery;
  /** oldest first, the last `maxStoredDeliveries` */
  readonly lost: readonly LostDelivery[];
  /** the worker of the last delivery gave the attempt up without crashing; the next delivery records no loss */
  readonly isReleased?: true;
}

/** A worker crash during an attempt of any run of the installation. */
export interface WorkerCrash {
  readonly runId: RunId;
  readonly node: NodeKey;
  readonly begunAt: Instant;
  readonly lastHeartbeatAt: Instant;
  readonly noticedAt: Instant;
}

export const noDeliveries: Deliveries = { lost: [] };

/** Crashes attributed to an attempt that fail it. */
export const maxCrashes = 5;
/** This many suffice once the first is older than `crashWindow`. */
const maxCrashesInWindow = 3;
export const crashWindow: DurationMs = hours(1);
/** Deliveries stored per attempt; older ones no longer count. */
const maxStoredDeliveries = 16;
/** UTF-16 units stored of a reason. */
const maxReasonLength = 500;

const minRedeliveryPause: DurationMs = seconds(100);
export const maxRedeliveryPause: DurationMs = minutes(10);

export const beginDelivery = ({ lost }: Deliveries, now: Instant, endedSteps: number, resends: number): Deliveries => ({
  begun: { at: now, lastHeartbeatAt: now, endedSteps, resends },
  lost,
});

/** The worker gives the attempt up without crashing: a store is unavailable, the collector has its result, or the script exceeded its time slice. */
export const releaseDelivery = ({ lost }: Deliveries): Deliveries => ({ lost, isReleased: true });

/** Records a heartbeat of the latest delivery. */
export const recordHeartbeat = (deliveries: Deliveries, now: Instant): Deliveries =>
  deliveries.begun === undefined ? deliveries : { ...deliveries, begun: { ...deliveries.begun, lastHeartbeatAt: now } };

/**
 * Records that the latest delivery ended without a result.
 * @param endedSteps steps that have ended by now
 * @param reason the error that its worker threw; absent: the worker disappeared
 */
export function loseDelivery({ begun, lost }: Deliveries, now: Instant, endedSteps: number, reason?: string): Deliveries {
  const delivery: LostDelivery = defined({
    ...(begun === undefined ? { lastHeartbeatAt: now } : { begunAt: begun.at, lastHeartbeatAt: begun.lastHeartbeatAt }),
    noticedAt: now,
    hasProgressed: begun !== undefined && endedSteps > begun.endedSteps ? true : undefined,
    reason: reason === undefined ? undefined : reason.slice(0, maxReasonLength).toWellFormed(),
  });
  // A worker that lived this long shows that the cause of earlier unexplained losses has passed.
  const outlivedWindow = begun !== undefined && between(begun.at, begun.lastHeartbeatAt) >= crashWindow;
  const before = outlivedWindow ? lost.filter((each) => !isUnexplained(each)) : lost;
  return { lost: [...before, delivery].slice(-maxStoredDeliveries) };
}

/**
 * The pause before the queue or the sweep delivers the attempt again, counted from the worker's last heartbeat. It doubles with each
 * loss from the second on, up to ten minutes. Jitter adds up to the same again, so that two attempts that crash each other's worker
 * do not keep starting together. Undefined if the latest heartbeat is not from a worker but from a resend.
 */
export function redeliveryPauseAfter(deliveries: Deliveries, lastHeartbeatAt: Instant): DurationMs | undefined {
  const { begun, lost } = deliveries;
  if ((begun?.lastHeartbeatAt ?? lost.at(-1)?.noticedAt) !== lastHeartbeatAt) return undefined;
  if (lost.length < 2) return minRedeliveryPause;
  const pause = backoffMs({ baseMs: minRedeliveryPause, maxMs: maxRedeliveryPause }, lost.length);
  return durationMs(Math.round(pause * (1 + hashedJitter(lastHeartbeatAt + lost.length))));
}

/** From 0 up to 1, the same for the same number: the engine has no random source. Knuth's multiplicative hash. */
const hashedJitter = (seed: number): number => ((seed * 2_654_435_761) % 2 ** 32) / 2 ** 32;

/** Whether `failureIfLost` needs the crashes of other attempts. */
export const needsOtherCrashes = ({ lost }: Deliveries): boolean => lost.length >= maxCrashesInWindow;

/**
 * The failure of an attempt that lost too many deliveries; undefined if it may begin again.
 * @param otherCrashes worker crashes in attempts of other runs since the first of these deliveries
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
 * An error that the worker threw is always attributed. A crash is attributed unless the run progressed meanwhile, or another run's
 * attempt overlapped with it and had started later: then the other attempt is the likelier cause.
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

/** Start of the period whose crashes `failureIfLost` considers. */
export const firstHeartbeatAt = ({ lost }: Deliveries): Instant | undefined =>
  lost.length === 0 ? undefined : instant(Math.min(...lost.map(({ lastHeartbeatAt }) => lastHeartbeatAt)));
