/**
 * Writes the head of a run and sends its first jobs, or leaves the head to the executor of the first job. The due entry and the
 * deadline's recheck come before the head, so that the sweep checks every existing run.
 */
import { defined } from '../../base/defined.ts';
import { deadlineTermsOf } from '../../engine/deadline.ts';
import { type RunAddress, type RunId, type Scope, eventId, firstCommit, nonce } from '../../engine/ids.ts';
import {
  type GraphCreation,
  type Head,
  type RunCreation,
  defaultDeadline,
  expiryOf,
  firstProjection,
  maxDeadline,
} from '../../engine/log/head.ts';
import { type Commit, isTombstone } from '../../engine/log/commit.ts';
import { applyCommit, emptyState } from '../../engine/log/fold.ts';
import { type DurationMs, type Instant, after, days, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { Trace } from '../../engine/trace.ts';
import type { Reservation } from '../../ports/control.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { scheduleDeadlineRecheck, startSchedulesRecheckWithin } from '../commit/deadline.ts';
import { type Decider, kindOf } from '../decider.ts';
import { dispatchEffects } from '../commit/dispatch-effects.ts';
import { markRunDue } from '../commit/mark-due.ts';
import { measureCommit } from '../commit/append-facts.ts';
import { isWon, putUntilOutcomeKnown } from '../run-log/append.ts';
import { prepareCommits } from '../run-log/prepare-commits.ts';
import { offloadEvents } from '../run-log/payloads.ts';
import { type FirstJob, type NotPrepared, type PrepareTerms, type PreparedRun, type Resolved, isTest } from '../new-run.ts';

/** The terms of a run, apart from what it runs. */
export interface RunTerms {
  readonly scope: Scope;
  /** SHA-256, in hex, of the caller's request */
  readonly bodyHash: string;
  /** trace context of the request; not part of `bodyHash`, so a repeated request may carry another one */
  readonly trace?: Trace;
  readonly availableAt?: Instant;
  readonly deadlineAt?: Instant;
  /** upper bound of the run's deadline: the latest deadline of the calling run */
  readonly maxDeadlineAt?: Instant;
  /**
   * Takes one job of the first commit, which the caller runs in place of a queue. It is called only by the request that wrote the head: no
   * other request can know whether the job runs already. If it is not called, the job has a queue, or the sweep finds it.
   */
  readonly runsFirst?: (job: FirstJob) => void;
  /**
   * Takes a run that begins with a script and is not written. The caller must see to its head before it responds. Only the request that
   * made the reservation leaves the head to another process, and only if the run id is new.
   */
  readonly takesUnwritten?: (run: UnwrittenRun) => void;
  /** this run is marked already, or is being marked; ignored for a test run */
  readonly marked?: EarlyMark;
  /** marks the run for the sweep's first check, together with the runs of other starts; absent: it has an entry of its own */
  readonly marksDue?: (run: RunAddress, at: Instant) => Promise<void>;
  /** takes the sending of the first jobs, which the caller awaits before it responds; absent: the start awaits it */
  readonly alongside?: (sending: Promise<void>) => void;
}

/** A mark for the sweep's first check, written beside what the start finds out first. */
export interface EarlyMark {
  readonly runId: RunId;
  /** the time of the check, once the entry is stored */
  readonly checkAt: Promise<Instant>;
}

/** A run whose head can be written: all that it refers to exists. */
export interface UnwrittenRun {
  readonly creation: GraphCreation;
  readonly job: Extract<FirstJob, { kind: 'node' }>;
  /** Writes the head as every start does, unless it exists. @returns the run as it was written, by this call or another process */
  readonly write: () => Promise<{ readonly run: RunCreation | NotCreated; readonly isStored: boolean }>;
}

export type NotCreated =
  | NotPrepared
  | { readonly kind: 'run_exists'; readonly runId: RunId }
  /** the run of the key or the id was deleted; it is not created again */
  | { readonly kind: 'run_deleted'; readonly runId: RunId };

/** Delay of the sweep's first check: by then the run's first worker has committed or died. */
const firstCheckDelay = minutes(2);
/** Maximum duration of a test run, and how long it can be read after its deadline. */
export const maxTestDuration = days(1);
export const testRetention = days(1);

export const isCreated = (created: RunCreation | NotCreated): created is RunCreation => 'commit' in created;

/** Writes the run's head and sends its first jobs. Concurrent requests with the same owner write the same run. */
export async function createRun(
  decider: Decider,
  request: RunTerms,
  reservation: Pick<Reservation, 'runId' | 'owner'>,
  resolved: Resolved,
  now: Instant,
): Promise<RunCreation | NotCreated> {
  const { deps } = decider;
  const address = { ...request.scope, runId: reservation.runId };
  const startsAt = request.availableAt !== undefined && request.availableAt > now ? request.availableAt : undefined;
  const deadlines = deadlinesOf(request, resolved, startsAt ?? now);
  const mark = markerOf(deps, request, { address, isTest: isTest(resolved) });
  const runsOneInline = request.runsFirst !== undefined && startsAt === undefined;
  // Marked before the head is written, so that the sweep checks every existing run. If the run is refused, the sweep finds nothing.
  const [prepared, checkAt] = await Promise.all([
    prepareCreation(decider, request, reservation, resolved, { address, now, startsAt, runsOneInline, ...deadlines }),
    request.marked?.runId === address.runId && !isTest(resolved) ? request.marked.checkAt : markFirstCheck(deps, mark),
    scheduleDeadlineRecheck(deps, defined({ address, trace: request.trace, ...deadlines }), startSchedulesRecheckWithin),
  ]);
  if ('kind' in prepared) return prepared;
  // The preparation can take longer than the mark lasts.
  if (deps.clock.now() >= checkAt) await markFirstCheck(deps, mark);
  const { creation, first } = prepared;
  const job = inlineJobOf(decider, creation);
  if (
    request.takesUnwritten !== undefined &&
    first.beginsWithScript === true &&
    creation.kind === 'graph' &&
    job?.kind === 'node'
  ) {
    const write = (): ReturnType<UnwrittenRun['write']> => writeHead(decider, prepared);
    request.takesUnwritten({ creation, job, write });
    return creation;
  }
  const { run, isStored } = await writeHead(decider, prepared, request.alongside);
  if (isStored && job !== undefined) request.runsFirst?.(job);
  return run;
}

/** Writes the head and sends the first jobs. @returns the run as it was written, by this call or another request of its key */
async function writeHead(
  decider: Decider,
  { creation, copied, first }: PreparedCreation,
  alongside?: RunTerms['alongside'],
): ReturnType<UnwrittenRun['write']> {
  const { deps } = decider;
  const result = await putUntilOutcomeKnown(deps, () => deps.log.create(creation));
  const isStored = result.kind === 'stored';
  if (result.kind === 'occupied' && !isWon(result, creation.commit)) {
    const kind = isTombstone(result) ? 'run_deleted' : 'run_exists';
    return { run: { kind, runId: creation.address.runId }, isStored };
  }
  const written = isStored ? creation : await readWritten(decider, creation);
  // The written run has already been deleted or has expired, so nothing is left to send.
  if (written === undefined) return { run: creation, isStored };
  // Another attempt of this start may have written a head with other nodes.
  const { nodeTypeOf: _nodeTypeOf, ...ofAnyHead } = first;
  const sending = sendFirstJobs(decider, written, copied, isStored ? first : ofAnyHead, isStored);
  if (alongside === undefined) await sending;
  else alongside(sending);
  return { run: written, isStored };
}

/** The job that no queue gets. */
function inlineJobOf(decider: Decider, creation: RunCreation): FirstJob | undefined {
  const { number, events } = creation.commit;
  const inline = events.find((event) => event.type === 'NODE_DISPATCHED' && event.via === 'inline');
  return inline?.type === 'NODE_DISPATCHED' ? kindOf(decider, creation).jobOf(headOf(creation), number, inline) : undefined;
}

interface CreationTerms
  extends ReturnType<typeof deadlinesOf>, Pick<PrepareTerms, 'address' | 'now' | 'startsAt' | 'runsOneInline'> {}

interface PreparedCreation {
  readonly creation: RunCreation;
  readonly copied: readonly Commit[];
  readonly first: Pick<PreparedRun, 'nodeTypeOf' | 'firstJobs' | 'beginsWithScript'>;
}

/** Decides the first commit, and writes what it refers to: large values, the pin of the deployment, the copied log of another run. */
async function prepareCreation(
  decider: Decider,
  { bodyHash, trace }: Pick<RunTerms, 'bodyHash' | 'trace'>,
  { runId, owner }: Pick<Reservation, 'runId' | 'owner'>,
  resolved: Resolved,
  { address, now, startsAt, runsOneInline, deadlineAt, deadlineLimitAt }: CreationTerms,
): Promise<PreparedCreation | NotCreated> {
  const { deps, by } = decider;
  const expiresAt = expiryOf({ createdAt: now, deadlineAt }, isTest(resolved) ? testRetention : deps.settings.retentionMs);
  const deadline = deadlineTermsOf(defined({ createdAt: now, availableAt: startsAt, deadlineAt, deadlineLimitAt }));
  const first = await prepare(decider, resolved, { address, now, deadline, expiresAt, startsAt, runsOneInline });
  if ('kind' in first) return first;
  const creation: RunCreation = defined({
    ...first.created,
    address,
    createdAt: now,
    deadlineAt,
    deadlineLimitAt,
    availableAt: startsAt,
    expiresAt,
    bodyHash,
    trace,
    commit: {
      number: firstCommit,
      firstEventId: eventId(1),
      events: await offloadEvents(deps, { address, expiresAt, kind: first.created.kind }, first.events),
      // Later than `createdAt`: the trace of the run shows how long the request took up to here.
      at: deps.clock.now(),
      by,
      nonce: nonce(owner),
    },
  });
  const copied = first.copied === undefined ? [] : await prepareCommits(deps, creation, first.copied);
  return copied === undefined ? { kind: 'run_deleted', runId } : { creation, copied, first };
}

function prepare(decider: Decider, resolved: Resolved, terms: PrepareTerms): Promise<PreparedRun | NotPrepared> {
  const { kinds } = decider;
  if ('version' in resolved) return kinds.graph.create(decider, resolved, terms);
  return resolved.runtime === 'devkit'
    ? kinds.devkit.create(decider, resolved, terms)
    : kinds[resolved.runtime].create(decider, resolved, terms);
}

/**
 * Begins to mark a run before the start knows that it creates it. If it does not, the sweep finds no run, twice. Not for a test run, which
 * records its due entries. The caller awaits the mark in any case.
 */
export function markEarly(deps: Pick<Decider['deps'], 'clock' | 'index'>, address: RunAddress): EarlyMark {
  const checkAt = markFirstCheck(deps, (at) => markRunDue(deps, { address, isTest: false }, at));
  // The creation of the run awaits it too, and throws its error.
  checkAt.catch(() => undefined);
  return { runId: address.runId, checkAt };
}

/**
 * Marks the run for the sweep's first check. Repeats the mark if the process was paused until after the marked minute, because the
 * sweep may have passed that minute already. The sweep's second check covers every later pause.
 */
async function markFirstCheck({ clock }: Pick<Decider['deps'], 'clock'>, mark: Marker): Promise<Instant> {
  for (;;) {
    const checkAt = after(clock.now(), firstCheckDelay);
    await mark(checkAt);
    if (clock.now() < checkAt) return checkAt;
  }
}

type Marker = (at: Instant) => Promise<void>;

/** A test run records its due entries, so it shares none. */
const markerOf =
  (
    deps: Pick<Decider['deps'], 'index'>,
    { marksDue }: Pick<RunTerms, 'marksDue'>,
    newRun: { readonly address: RunAddress; readonly isTest: boolean },
  ): Marker =>
  (at) =>
    marksDue === undefined || newRun.isTest ? markRunDue(deps, newRun, at) : marksDue(newRun.address, at);

/**
 * The head that another attempt of this start wrote. It may use an older version or another deployment: the written head counts, not
 * the proposed one.
 */
async function readWritten({ deps: { deployments, log } }: Decider, proposed: RunCreation): Promise<Head | undefined> {
  const written = await log.head(proposed.address);
  if (written !== undefined && proposed.deploymentId !== null && proposed.deploymentId !== written.deploymentId)
    await deployments.unpin(proposed.address, proposed.deploymentId, proposed.address.runId);
  return written;
}

/**
 * The deadline of the run; if it is the default, also how far waits may extend it. A run never lasts longer than the run that called it
 * may last. A test run is not extended.
 */
function deadlinesOf(
  { deadlineAt, maxDeadlineAt }: RunTerms,
  resolved: Resolved,
  from: Instant,
): { readonly deadlineAt: Instant; readonly deadlineLimitAt?: Instant } {
  const atMost = (moment: Instant): Instant => instant(Math.min(moment, maxDeadlineAt ?? moment));
  if (deadlineAt !== undefined) return { deadlineAt: atMost(deadlineAt) };
  const declared = declaredDeadlineOf(resolved);
  const length = declared ?? defaultDeadline;
  if (isTest(resolved)) return { deadlineAt: atMost(after(from, durationMs(Math.min(length, maxTestDuration)))) };
  if (declared !== undefined) return { deadlineAt: atMost(after(from, declared)) };
  return { deadlineAt: atMost(after(from, defaultDeadline)), deadlineLimitAt: atMost(after(from, maxDeadline)) };
}

function declaredDeadlineOf(resolved: Resolved): DurationMs | undefined {
  if ('request' in resolved) return undefined;
  const declared = 'version' in resolved ? resolved.version.options.deadlineSeconds : resolved.deadlineSeconds;
  return declared === undefined ? undefined : seconds(declared);
}

const headOf = (creation: RunCreation): Head => ({ ...creation, projection: firstProjection });

/** @param isOwn this request has written the head, so no other process has sent the jobs before */
async function sendFirstJobs(
  decider: Decider,
  creation: RunCreation,
  copied: readonly Commit[],
  { nodeTypeOf, firstJobs }: Pick<PreparedRun, 'nodeTypeOf' | 'firstJobs'>,
  isOwn: boolean,
): Promise<void> {
  const state = emptyState();
  applyCommit(state, creation.commit);
  const fold = { head: headOf(creation), state, snapshotAt: 0, shortLog: [creation.commit] };
  try {
    measureCommit(decider.deps, fold, creation.commit, nodeTypeOf);
    await dispatchEffects(decider, fold, creation.commit, isOwn && copied.length === 0);
    const jobs = firstJobs?.(creation) ?? [];
    if (jobs.length > 0) await decider.deps.jobs.send(jobs);
    for (const commit of copied) {
      applyCommit(state, commit);
      await dispatchEffects(decider, fold, commit);
    }
  } catch (error) {
    // The run exists and the sweep will check it, so the start succeeds; its first jobs are only late.
    if (!(error instanceof Unavailable)) throw error;
  }
}
