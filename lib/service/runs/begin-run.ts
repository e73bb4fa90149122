/**
 * Creates a run for an idempotency key; starts, reruns, tests, schedules and webhooks use it. There is no lease: a repeated request with
 * the same key and body continues at once where the first one died. A response is sent only after the head exists. All concurrent
 * requests write commit 1 with the reservation's nonce, so a request that finds it written recognises its own run.
 */
import { defined } from '../../base/defined.ts';
import type { DeploymentId, RunId } from '../../engine/ids.ts';
import { type Head, firstProjection } from '../../engine/log/head.ts';
import { type DurationMs, type Instant, after, instant } from '../../engine/time.ts';
import type { Reservation } from '../../ports/control.ts';
import type { Decider } from '../decider.ts';
import { type NotCreated, type RunTerms, createRun, isCreated, markEarly } from './create-run.ts';
import type { Resolved } from '../new-run.ts';

export interface BeginRequest extends Omit<RunTerms, 'marked'> {
  /**
   * `resolve` only reads, and finds no test run. So it runs beside the reservation of the key, as the mark of the run does. Absent: it runs
   * after the reservation, and for a repeated request not at all.
   */
  readonly resolvesBesideKey?: true;
  /** endpoint of the idempotency key: the same key at another endpoint is another request */
  readonly endpoint: string;
  readonly idempotencyKey: string;
  /** how long the key is stored; absent: the setting's value */
  readonly idempotencyTtlMs?: DurationMs;
  readonly runId?: RunId;
}

export type BeginResult =
  | {
      readonly kind: 'started';
      readonly runId: RunId;
      readonly deploymentId: DeploymentId | null;
      readonly isReplay: boolean;
      /** as of the first commit, for a caller that reads on */
      readonly head: Head;
    }
  | { readonly kind: 'idempotency_conflict' }
  | NotCreated;

/** @param resolve finds what to run; each repeated request calls it until the head exists */
export async function beginRun<Refused extends { readonly kind: string }>(
  decider: Decider,
  request: BeginRequest,
  resolve: (now: Instant) => Promise<Resolved | Refused>,
): Promise<BeginResult | Refused> {
  const { deps } = decider;
  const { idempotencyTtlMs = deps.settings.idempotencyMs } = request;
  const now = deps.clock.now();
  const proposed: Reservation = {
    runId: request.runId ?? deps.ids.runId(now),
    bodyHash: request.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const isBesideKey = request.resolvesBesideKey === true;
  const resolving = isBesideKey ? settled(resolve(now)) : undefined;
  const mayMark = isBesideKey && request.marksDue === undefined;
  const marked = mayMark ? markEarly(deps, { ...request.scope, runId: proposed.runId }) : undefined;
  const reserving = deps.reservations.reserve(request.scope, request.endpoint, request.idempotencyKey, proposed, {
    notBefore: instant(now - idempotencyTtlMs),
    expiresAt: after(now, idempotencyTtlMs),
  });
  const [reserved, early] = await Promise.all([reserving, resolving, marked && settled(marked.checkAt)]);
  const reservation = reserved.kind === 'taken' ? reserved.by : proposed;
  if (reservation.bodyHash !== request.bodyHash) return { kind: 'idempotency_conflict' };

  const isReplay = reserved.kind === 'taken';
  const address = { ...request.scope, runId: reservation.runId };
  const release = (): Promise<void> =>
    deps.reservations.release(request.scope, request.endpoint, request.idempotencyKey, proposed.owner);
  if (isReplay) {
    const head = await deps.log.head(address);
    if (head !== undefined) return resultFor(head, reservation, isReplay);
  }

  const resolved = await (early === undefined ? resolve(now) : early());
  if (!isResolved(resolved)) {
    // Nothing was written, so the key is released; only the request that reserved it may release it.
    if (!isReplay) await release();
    return resolved;
  }
  // An earlier request of the key may have left the head to a worker, which this request must not wait for.
  const { takesUnwritten, ...asked } = request;
  const terms = defined({ ...asked, marked });
  const mayTake = takesUnwritten !== undefined && !isReplay && request.runId === undefined;
  const created = await createRun(decider, mayTake ? { ...terms, takesUnwritten } : terms, reservation, resolved, now);
  if (!isCreated(created)) {
    if (!isReplay) await release();
    return created;
  }
  return {
    kind: 'started',
    runId: reservation.runId,
    deploymentId: created.deploymentId,
    isReplay,
    head: { ...created, projection: firstProjection },
  };
}

/** Waits for the work. Its result is returned, or its error thrown, only when asked for: a caller that needs neither does not fail. */
export const settled = async <Value>(work: Promise<Value>): Promise<() => Promise<Value>> => {
  await Promise.allSettled([work]);
  return () => work;
};

const resultFor = (head: Head, reservation: Reservation, isReplay: boolean): BeginResult =>
  head.commit.nonce === reservation.owner
    ? {
        kind: 'started',
        runId: reservation.runId,
        deploymentId: head.deploymentId,
        isReplay,
        head: { ...head, projection: firstProjection },
      }
    : { kind: 'run_exists', runId: reservation.runId };

const isResolved = (resolved: Resolved | { readonly kind: string }): resolved is Resolved => resolved.kind === 'found';
