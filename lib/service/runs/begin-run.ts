/**
 * Making a run, whoever asks for it. There is no lease: any request with the same key and body goes on at once wherever
 * the first one died, and nobody is answered before the head exists. All racers write commit 1 under the reservation's
 * own nonce, so whoever finds it written knows that it is theirs.
 */
import { defined } from '../../engine/defined.ts';
import type { UnsavedGraph } from '../../codec/definition.ts';
import { decideCodeStart } from '../../engine/durable/decide.ts';
import { replayVersion, replayVersionKey } from '../../engine/durable/replay-version.ts';
import { decideBundleStart } from '../../engine/bundle/decide.ts';
import { workflowQueue } from '../../engine/bundle/message.ts';
import { decideStart } from '../../engine/graph/decide.ts';
import type { Plan } from '../../engine/graph/plan.ts';
import type { WorkflowVersion } from '../../engine/graph/definition.ts';
import { type ReusedNode, decideRerunFrom } from '../../engine/graph/rerun-from.ts';
import {
  type DeploymentId,
  type NodeId,
  type RunAddress,
  type RunId,
  type Scope,
  eventId,
  firstCommit,
  nonce,
} from '../../engine/ids.ts';
import type { JsonValue, Payload } from '../../engine/json.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import { expiryOf } from '../../engine/log/expiry.ts';
import { emptyState, applyCommit } from '../../engine/log/fold.ts';
import { isTombstone } from '../../engine/log/tombstone.ts';
import {
  type CodeCreation,
  type BundleCreation,
  type GraphCreation,
  type Head,
  type RunCreation,
  firstProjection,
} from '../../engine/log/head.ts';
import type { Trace } from '../../engine/trace.ts';
import { type DurationMs, type Instant, after, days, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { Reservation } from '../../ports/control.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { isWon, putUntilOutcomeKnown } from '../run-log/append.ts';
import { dispatchEffects } from '../commit/dispatch-effects.ts';
import { scheduleDeadlineRecheck, startSchedulesRecheckWithin } from '../commit/deadline.ts';
import { codeTools } from '../commit/decide-code-run.ts';
import { newMessage } from '../commit/decide-bundle-run.ts';
import { type Decider, registerNewWaits } from '../commit/decide-run.ts';
import { measureCommit } from '../commit/measure-commit.ts';
import { saveTestGraph } from '../run-log/test-graph.ts';
import type { Deps } from '../deps.ts';
import { decideTools } from '../commit/plans.ts';
import { markDue } from '../commit/mark-due.ts';
import type { ServedWorkflow } from '../deployments/find-ready-deployment.ts';
import { offloadEvents, offloadInput, withPayloads } from '../run-log/payloads.ts';

/** What a run is made by, beside what it runs. */
export interface RunTerms {
  readonly scope: Scope;
  /** SHA-256, in hex, of all that the caller asked for */
  readonly bodyHash: string;
  /** of the request; not a part of what is asked for, so a repetition may carry another */
  readonly trace?: Trace;
  readonly availableAt?: Instant;
  readonly deadlineAt?: Instant;
  /** whatever its own deadline would be, it is not after this */
  readonly maxDeadlineAt?: Instant;
}

export interface BeginRequest extends RunTerms {
  /** under which the key is remembered: the same key means another request elsewhere */
  readonly endpoint: string;
  readonly idempotencyKey: string;
  /** how long the key is remembered; absent: as the settings say */
  readonly idempotencyTtlMs?: DurationMs;
  readonly runId?: RunId;
}

/** What is to be run, with an input that its version has accepted. */
export type Resolved = ResolvedGraph | ResolvedCode;

interface Found {
  readonly kind: 'found';
  readonly input: JsonValue;
  /** what the system itself says of the run, in its first commit */
  readonly system?: Readonly<Record<string, JsonValue>>;
}

interface ResolvedGraph extends Found {
  readonly version: WorkflowVersion;
  /** it goes on from this node, and these results of an earlier run stand */
  readonly startFrom?: { readonly from: NodeId; readonly reused: readonly ReusedNode[] };
  /** a test: the run carries this, the version is 0, and all of it is forgotten soon */
  readonly unsaved?: UnsavedGraph;
  /** it was called by a test run, and is one itself */
  readonly isTestChild?: true;
}

interface ResolvedCode extends Found, ServedWorkflow {
  readonly deploymentId: DeploymentId;
}

export type BeginResult =
  | { readonly kind: 'started'; readonly runId: RunId; readonly deploymentId: DeploymentId | null; readonly isReplay: boolean }
  /** the deployment's removal has begun in the meantime */
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** the results that stand do not lead to the node that it was to go on from */
  | { readonly kind: 'node_not_reached' }
  | { readonly kind: 'idempotency_conflict' }
  | { readonly kind: 'run_exists'; readonly runId: RunId }
  /** that the key, or the id, stands for: it is not made again */
  | { readonly kind: 'run_deleted'; readonly runId: RunId };

/** A run may take this long where its workflow and its start do not say. */
export const defaultDeadline = days(7);
/** The sweep's first look: by then a run's first worker has committed, or is dead. */
const firstCheckDelay = minutes(2);
/** The longest that a test run may take, and how long it can be looked at after its latest end. */
export const maxTestDuration = days(1);
export const testRetention = days(1);

/** @param resolve finds what to run; asked again by each repetition until the head exists */
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
  const reserved = await deps.reservations.reserve(request.scope, request.endpoint, request.idempotencyKey, proposed, {
    notBefore: instant(now - idempotencyTtlMs),
    expiresAt: after(now, idempotencyTtlMs),
  });
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

  const resolved = await resolve(now);
  if (!isResolved(resolved)) {
    // Nothing was tried, so the key is free again; only its own reserver may say so.
    if (!isReplay) await release();
    return resolved;
  }
  const created = await createHead(decider, request, reservation, resolved, now);
  if (!isCreated(created)) {
    if (!isReplay) await release();
    return created;
  }
  return { kind: 'started', runId: reservation.runId, deploymentId: created.deploymentId, isReplay };
}

const resultFor = (head: Head, reservation: Reservation, isReplay: boolean): BeginResult =>
  head.commit.nonce === reservation.owner
    ? { kind: 'started', runId: reservation.runId, deploymentId: head.deploymentId, isReplay }
    : { kind: 'run_exists', runId: reservation.runId };

const isResolved = (resolved: Resolved | { readonly kind: string }): resolved is Resolved => resolved.kind === 'found';

export const isCreated = (created: RunCreation | NotCreated): created is RunCreation => 'commit' in created;

export type NotCreated = Exclude<BeginResult, { kind: 'started' | 'idempotency_conflict' }>;

/** Writes the run and sends its first jobs. Whoever writes it under the same owner's name has written the same run. */
export async function createHead(
  decider: Decider,
  request: RunTerms,
  reservation: Pick<Reservation, 'runId' | 'owner'>,
  resolved: Resolved,
  now: Instant,
): Promise<RunCreation | NotCreated> {
  const { deps, by } = decider;
  const address = { ...request.scope, runId: reservation.runId };
  const startsAt = request.availableAt !== undefined && request.availableAt > now ? request.availableAt : undefined;
  const requestedDeadline = request.deadlineAt ?? after(startsAt ?? now, deadlineLimitOf(resolved));
  const deadlineAt = instant(Math.min(requestedDeadline, request.maxDeadlineAt ?? requestedDeadline));
  const expiresAt = expiryOf({ createdAt: now, deadlineAt }, isTest(resolved) ? testRetention : deps.settings.retentionMs);
  const terms: Terms = { address, now, deadlineAt, expiresAt, startsAt };
  const first =
    'version' in resolved ? await prepareGraphRun(decider, resolved, terms) : await prepareCodeRun(decider, resolved, terms);
  if ('kind' in first) return first;
  const creation: RunCreation = defined({
    ...first.created,
    address,
    createdAt: now,
    deadlineAt,
    availableAt: startsAt,
    expiresAt,
    bodyHash: request.bodyHash,
    trace: request.trace,
    commit: {
      number: firstCommit,
      firstEventId: eventId(1),
      events: await offloadEvents(deps, { address, expiresAt, kind: first.created.kind }, first.events),
      at: now,
      by,
      nonce: nonce(reservation.owner),
    },
  });
  // Before the head: a run that exists is always one the sweep will look at.
  await markFirstCheck(deps, headOf(creation));
  await scheduleDeadlineRecheck(deps, creation, startSchedulesRecheckWithin);
  const result = await putUntilOutcomeKnown(deps, () => deps.log.create(creation));
  if (result.kind === 'occupied' && !isWon(result, creation.commit))
    return { kind: isTombstone(result) ? 'run_deleted' : 'run_exists', runId: reservation.runId };
  if (result.kind === 'occupied') return continueWithWritten(decider, creation);
  await sendFirstJobs(decider, creation, first.plan);
  return creation;
}

/** Whoever stood still meanwhile may have marked what the sweep had passed. From then on the sweep's second look is late enough. */
async function markFirstCheck(deps: Pick<Deps, 'index' | 'clock'>, head: Head): Promise<void> {
  for (;;) {
    const checkAt = after(deps.clock.now(), firstCheckDelay);
    await markDue(deps, head, checkAt);
    if (deps.clock.now() < checkAt) return;
  }
}

/**
 * An earlier try of this start has landed, perhaps late, and may have been made of an older version or for another deployment:
 * what is written counts, and not what this one would have written.
 */
async function continueWithWritten(decider: Decider, proposed: RunCreation): Promise<RunCreation> {
  const { deployments, log } = decider.deps;
  const written = await log.head(proposed.address);
  // Written and forgotten already: nothing is left to be sent.
  if (written === undefined) return proposed;
  if (proposed.deploymentId !== null && proposed.deploymentId !== written.deploymentId)
    await deployments.unpin(proposed.address, proposed.deploymentId, proposed.address.runId);
  await sendFirstJobs(decider, written, undefined);
  return written;
}

const isTest = (resolved: Resolved): boolean =>
  'version' in resolved && (resolved.unsaved !== undefined || resolved.isTestChild === true);

const deadlineLimitOf = (resolved: Resolved): DurationMs => {
  const declared = 'version' in resolved ? resolved.version.options.deadlineSeconds : undefined;
  const limit = declared === undefined ? defaultDeadline : seconds(declared);
  return isTest(resolved) ? durationMs(Math.min(limit, maxTestDuration)) : limit;
};

interface Terms {
  readonly address: RunAddress;
  readonly now: Instant;
  readonly deadlineAt: Instant;
  readonly expiresAt: Instant;
  readonly startsAt: Instant | undefined;
}

/** What a run is made from, and its first events. */
interface PreparedRun {
  readonly created:
    | Pick<GraphCreation, 'kind' | 'workflow' | 'deploymentId' | 'isTest'>
    | Pick<BundleCreation, 'kind' | 'workflow' | 'deploymentId'>
    | Pick<CodeCreation, 'kind' | 'workflow' | 'deploymentId'>;
  readonly events: readonly RunEvent[];
  /** of a graph */
  readonly plan?: Plan;
}

async function prepareGraphRun(
  { deps, plans }: Decider,
  resolved: ResolvedGraph,
  { address, deadlineAt, expiresAt, startsAt }: Terms,
): Promise<PreparedRun | NotCreated> {
  const { version, input, system = {}, startFrom, unsaved } = resolved;
  const payload: Payload = await offloadInput(deps, { address, expiresAt, kind: 'graph' }, input);
  const workflow = { name: version.name, version: version.version };
  if (unsaved !== undefined) await saveTestGraph(deps, address, unsaved, expiresAt);
  const plan =
    unsaved === undefined ? plans.add(address, version) : plans.addTestGraph({ ...workflow, carriedBy: address }, unsaved);
  const events = await withPayloads(deps, address, (loaded) => {
    const tools = decideTools(deps, plans, plan, { address, deadlineAt }, loaded);
    return startFrom === undefined
      ? decideStart(payload, system, tools, startsAt)
      : decideRerunFrom(payload, system, startFrom, tools);
  });
  if (events === undefined) return { kind: 'node_not_reached' };
  return {
    created: defined({ kind: 'graph', workflow, deploymentId: null, isTest: isTest(resolved) ? true : undefined }),
    events,
    plan,
  };
}

async function prepareCodeRun(
  { deps }: Decider,
  { runtime, deploymentId, workflowName, codeVersion, input, system = {} }: ResolvedCode,
  { address, now, deadlineAt, expiresAt, startsAt }: Terms,
): Promise<PreparedRun | NotCreated> {
  // Held first, looked at again after: a removal marks first and looks for holders after, so one of the two sees the other.
  await deps.deployments.pin(address, deploymentId, address.runId, { since: now, expiresAt });
  const deployment = await deps.deployments.deployment(address, deploymentId);
  if (deployment === undefined || deployment.removingSince !== undefined) {
    await deps.deployments.unpin(address, deploymentId, address.runId);
    return { kind: 'deployment_not_found', deploymentId };
  }
  const payload: Payload = await offloadInput(deps, { address, expiresAt, kind: runtime }, input);
  if (runtime === 'code') {
    const workflow = defined({ name: workflowName, version: codeVersion });
    const systemValues = { ...system, [replayVersionKey]: replayVersion };
    const tools = codeTools(now, { address, deadlineAt });
    return { created: { kind: 'code', workflow, deploymentId }, events: decideCodeStart(payload, systemValues, tools, startsAt) };
  }
  const body = { runId: address.runId, input };
  // The id follows from the run's, so that every repetition of this start writes the same commit.
  const first = newMessage(deps, 'workflow', { queueName: workflowQueue(workflowName), body }, address.runId);
  const tools = { now, deadlineAt, random: () => deps.ids.random() };
  return {
    created: { kind: 'bundle', workflow: { name: workflowName }, deploymentId },
    events: decideBundleStart(payload, system, first, tools, startsAt),
  };
}

const headOf = (creation: RunCreation): Head => ({ ...creation, projection: firstProjection });

async function sendFirstJobs(decider: Decider, creation: RunCreation, plan: Plan | undefined): Promise<void> {
  const state = emptyState();
  applyCommit(state, creation.commit);
  const head = headOf(creation);
  try {
    const fold = { head, state, snapshotAt: 0 };
    measureCommit(decider.deps, fold, creation.commit, plan);
    await dispatchEffects(decider.deps, fold, creation.commit);
    await registerNewWaits(decider, fold, creation.commit);
  } catch (error) {
    // The run exists and will be looked at: it is acknowledged, and only later than it might be.
    if (!(error instanceof Unavailable)) throw error;
  }
}
