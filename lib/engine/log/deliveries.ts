/**
 * What is known of the deliveries of an attempt that did not end it, and when they end it as lost. A first delivery records nothing.
 * A later one records that it begins, so that a worker that dies in it is noticed by the next. A death counts against the
 * attempt only where nothing else explains it: a storm of crashes must fail no healthy run, and an attempt that kills its worker
 * must end. (docs/decisions/worker-crashes.md)
 */
import type { RunId, NodeKey } from '../ids.ts';
import { type DurationMs, type Instant, between, durationMs, hours, instant, minutes, seconds } from '../time.ts';
import type { Failure } from './events.ts';

/** The worker that last began the attempt beyond its first delivery. */
export interface Begun {
  readonly at: Instant;
  /** its last heartbeat; `at` where it sent none */
  readonly lastSignAt: Instant;
  /** steps that had ended when it began; 0 where none belong to the attempt */
  readonly ended: number;
  /** how often the job had been sent again; heartbeats keep it, so that the next send has another group and deduplication id */
  readonly resends: number;
}

/** A delivery that ended without a result. */
export interface LostDelivery {
  /** absent: the delivery did not record that it began, so its worker may never have reached the attempt */
  readonly begunAt?: Instant;
  /** the last that is known of its worker */
  readonly lastSignAt: Instant;
  readonly noticedAt: Instant;
  /** parts of the run ended while this worker was at work, such as steps of its workflow task */
  readonly hasProgressed?: true;
  /** what the worker threw, where it lived to record it */
  readonly reason?: string;
}

export interface Deliveries {
  readonly begun?: Begun;
  /** oldest first, the last `mostKept` of them */
  readonly lost: readonly LostDelivery[];
  /** the worker that last began it lives, and is no longer at it: the next delivery says nothing of a loss */
  readonly isReleased?: true;
}

/** A worker's death in an attempt of some run of the installation. */
export interface WorkerDeath {
  readonly runId: RunId;
  readonly node: NodeKey;
  readonly begunAt: Instant;
  readonly lastSignAt: Instant;
  readonly noticedAt: Instant;
}

export const noDeliveries: Deliveries = { lost: [] };

/** Deaths that can be attributed to an attempt, and end it. */
export const mostDeaths = 5;
/** Fewer end it once they have gone on for `longestDying`. */
const mostDeathsInTime = 3;
export const longestDying: DurationMs = hours(1);
/** How many are kept: older ones have no say any more. */
const mostKept = 16;
/** UTF-16 units of a reason that are kept. */
const longestReason = 500;

const firstPause: DurationMs = seconds(100);
const longestPause: DurationMs = minutes(10);

export const begins = ({ lost }: Deliveries, now: Instant, ended: number, resends: number): Deliveries => ({
  begun: { at: now, lastSignAt: now, ended, resends },
  lost,
});

/** The worker that began the attempt gives it up alive: a store was unavailable, its result is with the collector, or its first slice is spent. */
export const releases = ({ lost }: Deliveries): Deliveries => ({ lost, isReleased: true });

/** A heartbeat of the worker that began last. */
export const beats = (deliveries: Deliveries, now: Instant): Deliveries =>
  deliveries.begun === undefined ? deliveries : { ...deliveries, begun: { ...deliveries.begun, lastSignAt: now } };

/**
 * The delivery at work is over without a result.
 * @param ended steps that have ended by now
 * @param reason what its worker threw; absent: it is gone
 */
export function loses({ begun, lost }: Deliveries, now: Instant, ended: number, reason?: string): Deliveries {
  const death: LostDelivery = {
    ...(begun === undefined ? { lastSignAt: now } : { begunAt: begun.at, lastSignAt: begun.lastSignAt }),
    noticedAt: now,
    ...(begun !== undefined && ended > begun.ended ? { hasProgressed: true } : {}),
    ...(reason === undefined ? {} : { reason: reason.slice(0, longestReason).toWellFormed() }),
  };
  // A worker that lived this long shows that whatever lost the deliveries before it, of which nothing is known, is over.
  const hasLived = begun !== undefined && between(begun.at, begun.lastSignAt) >= longestDying;
  const before = hasLived ? lost.filter((each) => !isUnknown(each)) : lost;
  return { lost: [...before, death].slice(-mostKept) };
}

/**
 * How long the queue and the sweep wait before they deliver the attempt again, from the last sign of its worker: twice as long
 * with each loss from the second, up to ten minutes, and up to twice that by chance, so that two attempts that died together do not
 * begin together for ever. Undefined where the last that is known is a message on its way.
 */
export function pauseAfter(deliveries: Deliveries, lastSignAt: Instant): DurationMs | undefined {
  const { begun, lost } = deliveries;
  if ((begun?.lastSignAt ?? lost.at(-1)?.noticedAt) !== lastSignAt) return undefined;
  if (lost.length < 2) return firstPause;
  const pause = Math.min(longestPause, firstPause * 2 ** (lost.length - 1));
  return durationMs(Math.round(pause * (1 + chanceOf(lastSignAt + lost.length))));
}

/** From 0 up to 1, the same for the same number: the engine draws nothing. By Knuth's multiplicative hash. */
const chanceOf = (seed: number): number => ((seed * 2_654_435_761) % 2 ** 32) / 2 ** 32;

/** Whether a verdict needs the deaths of other attempts. */
export const mayHaveEnded = ({ lost }: Deliveries): boolean => lost.length >= mostDeathsInTime;

/**
 * The failure of an attempt whose deliveries were lost too often; undefined where it may begin once more.
 * @param others deaths of workers in attempts of other runs since the first of these
 */
export function lostFor(deliveries: Deliveries, others: readonly WorkerDeath[], now: Instant): Failure | undefined {
  const { lost } = deliveries;
  const deaths = lost.filter((death) => isAttributed(death, others));
  const counted = lost.filter((death) => deaths.includes(death) || isUnknown(death));
  const [first] = counted;
  const isLong = first !== undefined && between(first.noticedAt, now) >= longestDying;
  const isOver = deaths.length >= mostDeaths || (isLong && (deaths.length >= mostDeathsInTime || counted.length >= mostDeaths));
  return isOver ? lostFailure(counted) : undefined;
}

const isUnknown = ({ begunAt, reason }: LostDelivery): boolean => begunAt === undefined && reason === undefined;

/**
 * A worker that threw says so itself. Another death counts unless the run got on meanwhile, or the worker of another run's
 * attempt may have died with this one and had been at work for a shorter time: that one is the likelier cause.
 */
function isAttributed(death: LostDelivery, others: readonly WorkerDeath[]): boolean {
  if (death.reason !== undefined) return true;
  const { begunAt, lastSignAt, noticedAt, hasProgressed } = death;
  if (begunAt === undefined || hasProgressed === true) return false;
  const lived = between(begunAt, lastSignAt);
  return !others.some(
    (other) => other.lastSignAt <= noticedAt && other.noticedAt >= lastSignAt && between(other.begunAt, other.lastSignAt) < lived,
  );
}

function lostFailure(counted: readonly LostDelivery[]): Failure {
  const reason = counted.findLast((death) => death.reason !== undefined)?.reason;
  const known = reason === undefined ? 'no worker recorded a reason' : `the last reason recorded: ${reason}`;
  return {
    cause: 'lost',
    code: 'recovery_error',
    message: `${counted.length} deliveries of this attempt ended without a result, because its worker died or threw; ${known}`,
    details: { lostDeliveries: counted.length, ...(reason === undefined ? {} : { lastReason: reason }) },
  };
}

/** When the first of the deaths that a verdict looks at may have happened. */
export const firstSign = ({ lost }: Deliveries): Instant | undefined =>
  lost.length === 0 ? undefined : instant(Math.min(...lost.map(({ lastSignAt }) => lastSignAt)));
