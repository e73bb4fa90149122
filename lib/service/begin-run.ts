/**
 * Making a run, whoever asks for it. There is no lease: any request with the same key and body goes on at once wherever
 * the first one died, and nobody is answered before the head exists. All racers write commit 1 under the reservation's
 * own nonce, so whoever finds it written knows that it is theirs.
 */
import { decideStart } from '../engine/graph/decide.ts';
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import { type RunId, type Scope, eventId, firstCommit, nonce } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { emptyState, applyCommit } from '../engine/log/fold.ts';
import type { Head, RunCreation } from '../engine/log/head.ts';
import { minuteOf } from '../engine/log/silence.ts';
import type { Trace } from '../engine/trace.ts';
import { type Instant, after, days, instant, minutes, seconds } from '../engine/time.ts';
import type { Reservation } from '../ports/control.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { isWon, untilDefinite } from './append.ts';
import { carryOut } from './carry-out.ts';
import type { Decider } from './decide-run.ts';
import { decideTools } from './graph.ts';
import { spillEvents, spillInput, withPayloads } from './payloads.ts';

export interface BeginRequest {
  readonly scope: Scope;
  /** under which the key is remembered: the same key means another request elsewhere */
  readonly endpoint: string;
  readonly idempotencyKey: string;
  /** SHA-256, in hex, of all that the caller asked for */
  readonly bodyHash: string;
  /** of the request; not a part of what is asked for, so a repetition may carry another */
  readonly trace?: Trace;
  readonly runId?: RunId;
  readonly availableAt?: Instant;
  readonly deadlineAt?: Instant;
}

/** What is to be run, with an input that its version has accepted. */
export interface Resolved {
  readonly kind: 'found';
  readonly version: WorkflowVersion;
  readonly input: JsonValue;
  /** what the system itself says of the run, in its first commit */
  readonly system?: Readonly<Record<string, JsonValue>>;
}

export type BeginAnswer =
  | { readonly kind: 'started'; readonly runId: RunId; readonly deploymentId: null; readonly isReplay: boolean }
  | { readonly kind: 'idempotency_conflict' }
  | { readonly kind: 'run_exists'; readonly runId: RunId };

/** A run may take this long where its workflow and its start do not say. */
export const defaultDeadline = days(7);
/** The sweep's first look: by then a run's first worker has committed, or is dead. */
const firstLook = minutes(2);

/** @param resolve finds what to run; asked again by each repetition until the head exists */
export async function beginRun<Refused extends { readonly kind: string }>(
  decider: Decider,
  request: BeginRequest,
  resolve: () => Promise<Resolved | Refused>,
): Promise<BeginAnswer | Refused> {
  const { deps } = decider;
  const now = deps.clock.now();
  const own: Reservation = {
    runId: request.runId ?? deps.ids.runId(now),
    bodyHash: request.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const reserved = await deps.reservations.reserve(request.scope, request.endpoint, request.idempotencyKey, own, {
    notBefore: instant(now - deps.settings.idempotencyMs),
    expiresAt: after(now, deps.settings.idempotencyMs),
  });
  const standing = reserved.kind === 'taken' ? reserved.by : own;
  if (standing.bodyHash !== request.bodyHash) return { kind: 'idempotency_conflict' };

  const isReplay = reserved.kind === 'taken';
  const address = { ...request.scope, runId: standing.runId };
  const release = (): Promise<void> =>
    deps.reservations.release(request.scope, request.endpoint, request.idempotencyKey, own.owner);
  if (isReplay) {
    const head = await deps.log.head(address);
    if (head !== undefined) return answerFor(head, standing, isReplay);
  }

  const resolved = await resolve();
  if (!isFound(resolved)) {
    // Nothing was tried, so the key is free again; only its own reserver may say so.
    if (!isReplay) await release();
    return resolved;
  }
  const head = await createHead(decider, request, standing, resolved, now);
  if (head === undefined) {
    if (!isReplay) await release();
    return { kind: 'run_exists', runId: standing.runId };
  }
  return { kind: 'started', runId: standing.runId, deploymentId: null, isReplay };
}

const answerFor = (head: Head, standing: Reservation, isReplay: boolean): BeginAnswer =>
  head.commit.nonce === standing.owner
    ? { kind: 'started', runId: standing.runId, deploymentId: null, isReplay }
    : { kind: 'run_exists', runId: standing.runId };

const isFound = (resolved: Resolved | { readonly kind: string }): resolved is Resolved => resolved.kind === 'found';

/** Writes the run and sends its first jobs; undefined where another start has made a run of this id. */
async function createHead(
  decider: Decider,
  request: BeginRequest,
  standing: Reservation,
  { version, input, system }: Resolved,
  now: Instant,
): Promise<RunCreation | undefined> {
  const { deps, plans, by } = decider;
  const address = { ...request.scope, runId: standing.runId };
  const startsAt = request.availableAt !== undefined && request.availableAt > now ? request.availableAt : undefined;
  const ownLimit = version.options.deadlineSeconds === undefined ? defaultDeadline : seconds(version.options.deadlineSeconds);
  const deadlineAt = request.deadlineAt ?? after(startsAt ?? now, ownLimit);
  const expiresAt = after(deadlineAt, deps.settings.retentionMs);
  const payload = await spillInput(deps, address, input, expiresAt);
  const plan = plans.keep(request.scope, version);
  const decided = await withPayloads(deps, address, (loaded) =>
    decideStart(payload, system ?? {}, decideTools(deps, plans, plan, { deadlineAt }, loaded), startsAt),
  );
  const events = await spillEvents(deps, address, decided);
  const creation: RunCreation = {
    address,
    kind: 'graph',
    workflow: { name: version.name, version: version.version },
    deploymentId: null,
    createdAt: now,
    deadlineAt,
    ...(startsAt === undefined ? {} : { availableAt: startsAt }),
    expiresAt,
    bodyHash: request.bodyHash,
    ...(request.trace === undefined ? {} : { trace: request.trace }),
    commit: { number: firstCommit, firstEventId: eventId(1), events, at: now, by, nonce: nonce(standing.owner) },
  };
  // Before the head: a run that exists is always one the sweep will look at.
  await deps.index.markDue({ run: address, minute: minuteOf(after(now, firstLook)) });
  const result = await untilDefinite(deps, () => deps.log.create(creation));
  if (!isWon(result, creation.commit)) return undefined;
  await sendFirstJobs(decider, creation);
  return creation;
}

async function sendFirstJobs({ deps }: Decider, creation: RunCreation): Promise<void> {
  const state = emptyState();
  applyCommit(state, creation.commit);
  const head: Head = { ...creation, projection: { status: 'pending', asOf: firstCommit } };
  try {
    await carryOut(deps, { head, state, snapshotAt: 0 }, creation.commit);
  } catch (trouble) {
    // The run exists and will be looked at: it is acknowledged, and only later than it might be.
    if (!(trouble instanceof Unavailable)) throw trouble;
  }
}
