/**
 * Which open nodes nobody seems to be at work on. Judged node by node, never for the run as a whole: one busy branch
 * must not hide a dead one. Silence never fails anything: a backlog is silent too.
 */
import { type Attempt, type NodeKey, type NodeRef, nodeId, nodeKey, passKey, topLevel } from '../ids.ts';
import {
  type DurationMs,
  type Instant,
  after,
  between,
  durationMs,
  earliest,
  hours,
  instant,
  minutes,
  seconds,
} from '../time.ts';
import { type Deliveries, pauseAfter } from './deliveries.ts';
import { type RunState, openNodes, waitsForPlace } from './fold.ts';
import { type ChildWait, type OpenNode, type SignalWait, endsBy } from './node-state.ts';

/** The last sign of life of a node, beside what the log says. */
export interface Sign {
  readonly node: NodeKey;
  readonly at: Instant;
  readonly resends: number;
  /** absent: the first delivery is at work, or was sent, and no other is known */
  readonly deliveries?: Deliveries;
  /** whose deliveries these are: a worker of an earlier attempt may write its last after the next was asked for */
  readonly attempt?: Attempt;
}

/** One from before the attempt was asked for belongs to an earlier one. */
export const isOfAttempt = ({ at, attempt }: Sign, node: OpenNode): boolean =>
  at >= node.dispatchedAt && (attempt === undefined || attempt === node.attempt);

/** Silent after this long without a beat, a dispatch or a re-send, doubled with each re-send, and at most an hour. */
const firstPatience: DurationMs = seconds(100);
const longestPatience: DurationMs = minutes(60);
/** A timer may come this late by its service's precision (EventBridge Scheduler: 60 s). */
const timerGrace: DurationMs = seconds(60);
/** How soon the sweep looks again at a run that works. */
const workingLook: DurationMs = minutes(2);
/** And at one that awaits a signal, where a meeting may have been left half done: seldomer the longer it waits. */
const firstSignalLook: DurationMs = minutes(10);
const lastSignalLook: DurationMs = hours(6);

/** And at one that waits for a place of its workflow, where the word that one is free may have been lost. */
const lastPlaceLook: DurationMs = minutes(10);

export type Silence =
  /** not expected to show life before then */
  | { readonly kind: 'asleep'; readonly node: OpenNode; readonly isAskedAfter: boolean }
  /** its own passes move it on, or the drive of its run, each of which is judged for itself */
  | { readonly kind: 'carried' }
  /** only a signal or a child is expected to move it on, and its wait is not over */
  | { readonly kind: 'awaiting'; readonly wait: SignalWait | ChildWait; readonly isAskedAfter: boolean }
  /** asked for or seen at work recently */
  | { readonly kind: 'young' }
  | {
      readonly kind: 'silent';
      readonly node: OpenNode;
      readonly resends: number;
      /** of its current attempt */
      readonly sign?: Sign;
    };

export function silenceOf(node: OpenNode, sign: Sign | undefined, now: Instant): Silence {
  if (node.status !== 'waiting' && isOfDrive(node)) return { kind: 'carried' };
  const current = sign !== undefined && isOfAttempt(sign, node) ? sign : undefined;
  const isAskedAfter = current !== undefined && now - current.at < unaskedFor(node, current);
  const isAwaiting = node.status === 'waiting' && (node.for === 'signal' || node.for === 'child');
  if (isAwaiting && (node.expiresAt === undefined || node.expiresAt > now)) return { kind: 'awaiting', wait: node, isAskedAfter };
  if (node.status === 'waiting' && node.for === 'passes' && node.loop.wakeAt === undefined) return { kind: 'carried' };
  const expectedAt =
    node.status === 'waiting'
      ? (endsBy(node) ?? node.dispatchedAt)
      : node.status === 'queued'
        ? (node.notBefore ?? node.dispatchedAt)
        : node.dispatchedAt;
  if (expectedAt > now) return { kind: 'asleep', node, isAskedAfter };
  const resends = current?.resends ?? 0;
  const pause = current?.deliveries === undefined ? undefined : pauseAfter(current.deliveries, current.at);
  const patience =
    pause ??
    (node.status === 'waiting' && resends === 0
      ? timerGrace
      : durationMs(Math.min(longestPatience, firstPatience * 2 ** resends)));
  const lastLife = instant(Math.max(expectedAt, current?.at ?? expectedAt));
  return now - lastLife >= patience
    ? { kind: 'silent', node, resends, ...(current === undefined ? {} : { sign: current }) }
    : { kind: 'young' };
}

/** At first as long as a node may be silent, then as long as the wait has lasted, as with the looks of the sweep. */
const unaskedFor = ({ dispatchedAt }: OpenNode, asked: Sign): DurationMs =>
  durationMs(Math.min(lastSignalLook, Math.max(firstPatience, between(dispatchedAt, asked.at))));

/** What the author's code asked for and is at work on: whoever drives the code has it in hand. */
const isOfDrive = ({ step }: OpenNode): boolean => step !== undefined && step.kind !== 'drive';

export function silences(state: RunState, signs: readonly Sign[], now: Instant): readonly (readonly [NodeKey, Silence])[] {
  const byNode = signsByNode(state, signs);
  return openNodes(state).map((node) => [nodeKey(node), silenceOf(node, byNode.get(nodeKey(node)), now)]);
}

/** One drive of a run is at work at a time, and the message of another waits behind it: while one beats, none is lost. */
function signsByNode({ nodes, open }: RunState, signs: readonly Sign[]): ReadonlyMap<NodeKey, Sign> {
  const byNode = new Map(signs.map((sign) => [sign.node, sign]));
  const isDrive = (key: NodeKey): boolean => {
    const node = nodes.get(key);
    return node !== undefined && 'step' in node && node.step?.kind === 'drive';
  };
  const [beat] = signs.filter((sign) => isOfWorker(sign) && isDrive(sign.node)).toSorted((one, other) => other.at - one.at);
  if (beat !== undefined) for (const key of open.keys()) if (isDrive(key)) byNode.set(key, laterSign(byNode.get(key), beat));
  return byNode;
}

/** A heartbeat or a begin, as opposed to a message that was sent again. */
export const isOfWorker = ({ at, resends, deliveries }: Sign): boolean =>
  deliveries === undefined ? resends === 0 : deliveries.begun?.lastSignAt === at;

function laterSign(own: Sign | undefined, { attempt: _attempt, ...other }: Sign): Sign {
  if (own === undefined) return other;
  return own.at >= other.at ? own : { ...own, at: other.at };
}

/** Its sign says when a look at the run last left another one. No loop is in a pass of its own, so that no node has this key. */
const look: NodeRef = { nodeId: nodeId('.look'), iteration: topLevel };
export const lookKey: NodeKey = nodeKey({ ...look, iteration: passKey(look, 0) });
/** How long before its look a nudge is left: longer than the first patience by this. */
const lookLead: DurationMs = seconds(50);

/** Whether another look was left so lately that whatever is young now has had the first patience when it comes. */
export function isLookToCome(signs: readonly Sign[], now: Instant): boolean {
  const left = signs.find(({ node }) => node === lookKey);
  return left !== undefined && now - left.at < lookLead;
}

/**
 * When the sweep must look at an open run next: a minute after the next timer, every two minutes while a node is queued
 * or running, ten minutes to six hours while a signal or a child is awaited, two to ten
 * minutes while a place is, and in any case shortly before the deadline and at it.
 */
export function nextLook(state: RunState, deadlineAt: Instant, now: Instant): Instant {
  const looks: Instant[] = [deadlineLook(deadlineAt, now)];
  const begins = state.admission?.notBefore;
  if (waitsForPlace(state))
    looks.push(
      begins !== undefined && begins > now
        ? after(begins, timerGrace)
        : after(now, placeLook(state.admission?.since ?? now, now)),
    );
  for (const node of openNodes(state)) {
    if (node.status !== 'waiting' && isOfDrive(node)) continue;
    const expectedAt = node.status === 'waiting' ? endsBy(node) : node.status === 'queued' ? node.notBefore : undefined;
    if (node.status === 'waiting' && (node.for === 'signal' || node.for === 'child')) looks.push(awaitedLook(node, now));
    if (node.status === 'waiting' && expectedAt === undefined) continue;
    looks.push(expectedAt !== undefined && expectedAt > now ? after(expectedAt, timerGrace) : after(now, workingLook));
  }
  return earliest(looks) ?? after(now, workingLook);
}

/** The sweep takes a minute once it has passed, and may begin a minute late: it looks at the run two minutes before, at the latest. */
const deadlineLead: DurationMs = minutes(4);

const deadlineLook = (deadlineAt: Instant, now: Instant): Instant =>
  instant(deadlineAt - deadlineLead > now ? deadlineAt - deadlineLead : deadlineAt);

const awaitedLook = (wait: SignalWait | ChildWait, now: Instant): Instant =>
  after(now, durationMs(Math.min(lastSignalLook, Math.max(firstSignalLook, between(wait.dispatchedAt, now)))));

const placeLook = (since: Instant, now: Instant): DurationMs =>
  durationMs(Math.min(lastPlaceLook, Math.max(workingLook, between(since, now))));

/** The whole minute, since the epoch, that an instant lies in. */
export const minuteOf = (moment: Instant): number => Math.floor(moment / 60_000);
