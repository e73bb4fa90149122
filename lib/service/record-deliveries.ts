/**
 * Keeps what is known of the deliveries of an attempt in its heartbeat item, and reads it. (`engine/log/deliveries.ts` says what
 * follows from it; `admit-attempt.ts` acts on that.)
 */
import { type NodeRef, nodeKey } from '../engine/ids.ts';
import {
  type Deliveries,
  beats,
  firstSign,
  loses,
  lostFor,
  mayHaveEnded,
  noDeliveries,
  releases,
} from '../engine/log/deliveries.ts';
import type { Failure } from '../engine/log/events.ts';
import type { Head } from '../engine/log/head.ts';
import type { OpenNode } from '../engine/log/node-state.ts';
import { type Sign, isOfAttempt } from '../engine/log/silence.ts';
import type { Instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { patiently } from './patiently.ts';
import type { RunFold } from './read-log.ts';

/** The worker of this attempt is alive. @param deliveries as it was admitted with; absent: it is the first */
export async function sendHeartbeat(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  head: Pick<Head, 'address' | 'expiresAt'>,
  node: NodeRef & Pick<OpenNode, 'attempt'>,
  deliveries: Deliveries | undefined,
): Promise<void> {
  const now = clock.now();
  const known = deliveries === undefined ? {} : { attempt: node.attempt, deliveries: beats(deliveries, now) };
  const resends = deliveries?.begun?.resends ?? 0;
  await log.beat(head.address, { node: nodeKey(node), at: now, resends, ...known }, head.expiresAt);
}

/**
 * What a worker threw in an attempt, or in a decision about a node that waits: on record, so that it ends where it comes again and
 * again. The message comes back all the same.
 * @param own as the attempt was admitted with; absent: what is on record belongs to somebody else
 * @returns the failure that ends it now, which the caller commits. What is unavailable now says nothing of the attempt.
 */
export async function recordThrow(
  deps: Pick<Deps, 'clock' | 'log' | 'index'>,
  fold: RunFold,
  open: OpenNode,
  thrown: unknown,
  own?: Deliveries,
): Promise<Failure | undefined> {
  if (thrown instanceof Unavailable) {
    await release(deps, fold, open, own);
    return undefined;
  }
  const sign = await signOf(deps, fold, open);
  const now = deps.clock.now();
  const reason = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const deliveries = loses(own ?? sign?.deliveries ?? noDeliveries, now, endedNodes(fold), reason);
  const failure = await failureOf(deps, fold, deliveries, now);
  if (failure === undefined) await keep(deps, fold, open, { at: now, resends: sign?.resends ?? 0, deliveries });
  return failure;
}

/** 3.5 seconds in all: within what an invocation leaves for its last writes. */
const triesOfRelease = 4;

/**
 * Records that the worker gives the attempt up and lives. Without this record the next delivery counts a death. A first delivery
 * recorded no begin, so the worker writes nothing for it. If the store refuses the record for seconds, the next delivery counts one
 * death that did not happen. One such death never ends an attempt.
 */
export async function release(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  fold: RunFold,
  open: OpenNode,
  own: Deliveries | undefined,
): Promise<void> {
  const begunAt = own?.begun?.at;
  if (begunAt === undefined) return;
  const record = async (): Promise<void> => {
    const sign = await signOf({ log }, fold, open);
    // Another worker may have begun it since.
    if (sign?.deliveries?.begun?.at !== begunAt) return;
    await keep({ log }, fold, open, { at: clock.now(), resends: sign.resends, deliveries: releases(sign.deliveries) });
  };
  try {
    await patiently(clock, record, triesOfRelease);
  } catch (unrecorded) {
    if (!(unrecorded instanceof Unavailable)) throw unrecorded;
  }
}

export async function signOf({ log }: Pick<Deps, 'log'>, { head }: RunFold, open: OpenNode): Promise<Sign | undefined> {
  const sign = (await log.beats(head.address)).find(({ node }) => node === nodeKey(open));
  return sign !== undefined && isOfAttempt(sign, open) ? sign : undefined;
}

export const keep = (
  { log }: Pick<Deps, 'log'>,
  { head }: RunFold,
  open: OpenNode,
  sign: Omit<Sign, 'node' | 'attempt'>,
): Promise<void> => log.beat(head.address, { node: nodeKey(open), attempt: open.attempt, ...sign }, head.expiresAt);

export async function lose(
  { index }: Pick<Deps, 'index'>,
  fold: RunFold,
  open: OpenNode,
  known: Deliveries,
  now: Instant,
): Promise<Deliveries> {
  const { begun } = known;
  if (begun !== undefined) {
    const { at: begunAt, lastSignAt } = begun;
    await index.noteDeath(fold.head.address, { node: nodeKey(open), begunAt, lastSignAt, noticedAt: now });
  }
  return loses(known, now, endedNodes(fold));
}

export async function failureOf(
  { index }: Pick<Deps, 'index'>,
  { head }: RunFold,
  deliveries: Deliveries,
  now: Instant,
): Promise<Failure | undefined> {
  const since = firstSign(deliveries);
  if (since === undefined || !mayHaveEnded(deliveries)) return undefined;
  const deaths = await index.deathsBetween(since, now);
  const others = deaths.filter(({ runId }) => runId !== head.address.runId);
  return lostFor(deliveries, others, now);
}

/** A workflow task gets on when its steps end. Other nodes of a graph say nothing of an attempt. */
export const endedNodes = ({ head, state }: RunFold): number => (head.kind === 'code' ? state.nodes.size - state.open.size : 0);
