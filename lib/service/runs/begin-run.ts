/**
 * Creates a run; starts, reruns, tests, schedules and webhooks use it. There is no lease: a repeated request with the same
 * idempotency key and body continues at once where the first one died. A response is sent only after the head exists. All concurrent
 * requests write commit 1 with the reservation's nonce, so a request that finds it written recognises its own run.
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

/** The terms of a run, apart from what it runs. */
export interface RunTerms {
  readonly scope: Scope;
  /** SHA-256, in hex, of the caller's request */
  readonly bodyHash: string;
  /** trace context of the request; not part of `bodyHash`, so a repeated request may carry another one */
  readonly trace?: Trace;
  readonly availableAt?: Instant;
  readonly deadlineAt?: Instant;
  /** upper bound of the run's deadline */
  readonly maxDeadlineAt?: Instant;
}

export interface BeginRequest extends RunTerms {
  /** endpoint of the idempotency key: the same key at another endpoint is another request */
  readonly endpoint: string;
  readonly idempotencyKey: string;
  /** how long the key is stored; absent: the setting's value */
  readonly idempotencyTtlMs?: DurationMs;
  readonly runId?: RunId;
}

/** What to run, with an input that the version accepted. */
export type Resolved = ResolvedGraph | ResolvedCode;

interface Found {
  readonly kind: 'found';
  readonly input: JsonValue;
  /** system values for the run's first commit */
  readonly system?: Readonly<Record<string, JsonValue>>;
}

interface ResolvedGraph extends Found {
  readonly version: WorkflowVersion;
  /** the run starts from this node and reuses these results of an earlier run */
  readonly startFrom?: { readonly from: NodeId; readonly reused: readonly ReusedNode[] };
  /** a test run: it carries this graph, has version 0 and expires early */
  readonly unsaved?: UnsavedGraph;
  /** a test run called it, so it is a test run too */
  readonly isTestChild?: true;
}

interface ResolvedCode extends Found, ServedWorkflow {
  readonly deploymentId: DeploymentId;
}

export type BeginResult =
  | { readonly kind: 'started'; readonly runId: RunId; readonly deploymentId: DeploymentId | null; readonly isReplay: boolean }
  /** the deployment's removal has begun meanwhile */
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** the reused results do not lead to the node to start from */
  | { readonly kind: 'node_not_reached' }
  | { readonly kind: 'idempotency_conflict' }
  | { readonly kind: 'run_exists'; readonly runId: RunId }
  /** the run of the key or the id was deleted; it is not created again */
  | { readonly kind: 'run_deleted'; readonly runId: RunId };

/** The deadline of a run if neither its workflow nor its start sets one. */
export const defaultDeadline = days(7);
/** Delay of the sweep's first check: by then the run's first worker has committed or died. */
const firstCheckDelay = minutes(2);
/** Maximum duration of a test run, and how long it can be read after its deadline. */
export const maxTestDuration = days(1);
export const testRetention = days(1);

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
    // Nothing was written, so the key is released; only the request that reserved it may release it.
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

/** Writes the run's head and sends its first jobs. Concurrent requests with the same owner write the same run. */
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
  // Marked before the head is written, so that the sweep checks every existing run.
  await markFirstCheck(deps, headOf(creation));
  await scheduleDeadlineRecheck(deps, creation, startSchedulesRecheckWithin);
  const result = await putUntilOutcomeKnown(deps, () => deps.log.create(creation));
  if (result.kind === 'occupied' && !isWon(result, creation.commit))
    return { kind: isTombstone(result) ? 'run_deleted' : 'run_exists', runId: reservation.runId };
  if (result.kind === 'occupied') return continueWithWritten(decider, creation);
  await sendFirstJobs(decider, creation, first.plan);
  return creation;
}

/**
 * Marks the run for the sweep's first check. Repeats the mark if the process was paused until after the marked minute, because the
 * sweep may have passed that minute already. The sweep's second check covers every later pause.
 */
async function markFirstCheck(deps: Pick<Deps, 'index' | 'clock'>, head: Head): Promise<void> {
  for (;;) {
    const checkAt = after(deps.clock.now(), firstCheckDelay);
    await markDue(deps, head, checkAt);
    if (deps.clock.now() < checkAt) return;
  }
}

/**
 * Continues with the head that another attempt of this start wrote. It may use an older version or another deployment: the written
 * head counts, not the proposed one.
 */
async function continueWithWritten(decider: Decider, proposed: RunCreation): Promise<RunCreation> {
  const { deployments, log } = decider.deps;
  const written = await log.head(proposed.address);
  // The written run has already been deleted or has expired, so nothing is left to send.
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

/** The kind-specific part of a run, and its first events. */
interface PreparedRun {
  readonly created:
    | Pick<GraphCreation, 'kind' | 'workflow' | 'deploymentId' | 'isTest'>
    | Pick<BundleCreation, 'kind' | 'workflow' | 'deploymentId'>
    | Pick<CodeCreation, 'kind' | 'workflow' | 'deploymentId'>;
  readonly events: readonly RunEvent[];
  /** only for a graph run */
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
  // Pins first, then reads the deployment again. A removal marks first, then reads the pins. So one of them sees the other.
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
  // The message id follows from the run id, so that every repeated request writes the same commit.
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
    // The run exists and the sweep will check it, so the start succeeds; its first jobs are only late.
    if (!(error instanceof Unavailable)) throw error;
  }
}
