/**
 * Making a run, whoever asks for it. There is no lease: any request with the same key and body goes on at once wherever
 * the first one died, and nobody is answered before the head exists. All racers write commit 1 under the reservation's
 * own nonce, so whoever finds it written knows that it is theirs.
 */
import type { UnsavedGraph } from '../codec/definition.ts';
import { decideCodeStart } from '../engine/durable/decide.ts';
import { replayVersion, replayVersionKey } from '../engine/durable/replay-version.ts';
import { decideFetchStart } from '../engine/fetch/decide.ts';
import { workflowQueue } from '../engine/fetch/message.ts';
import { decideStart } from '../engine/graph/decide.ts';
import type { Plan } from '../engine/graph/plan.ts';
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import { type KeptNode, decideRerunFrom } from '../engine/graph/rerun-from.ts';
import {
  type DeploymentId,
  type NodeId,
  type RunAddress,
  type RunId,
  type Scope,
  eventId,
  firstCommit,
  nonce,
} from '../engine/ids.ts';
import type { JsonValue, Payload } from '../engine/json.ts';
import type { RunEvent } from '../engine/log/events.ts';
import { expiryOf } from '../engine/log/expiry.ts';
import { emptyState, applyCommit } from '../engine/log/fold.ts';
import { isForgotten } from '../engine/log/forgotten.ts';
import {
  type CodeCreation,
  type FetchCreation,
  type GraphCreation,
  type Head,
  type RunCreation,
  firstProjection,
} from '../engine/log/head.ts';
import type { Trace } from '../engine/trace.ts';
import { type DurationMs, type Instant, after, days, durationMs, instant, minutes, seconds } from '../engine/time.ts';
import type { Reservation } from '../ports/control.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { isWon, untilDefinite } from './append.ts';
import { carryOut } from './carry-out.ts';
import { leaveDeadlineRecheck, startLeavesRecheckWithin } from './deadline.ts';
import { codeTools } from './decide-code-run.ts';
import { newMessage } from './decide-fetch-run.ts';
import { type Decider, keepWaitsOf } from './decide-run.ts';
import { measureCommit } from './measure-commit.ts';
import { carryGraph } from './carried-graph.ts';
import type { Deps } from './deps.ts';
import { decideTools } from './graph.ts';
import { markDue } from './mark-due.ts';
import type { Served } from './ready-deployment.ts';
import { spillEvents, spillInput, withPayloads } from './payloads.ts';

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
  readonly latestDeadlineAt?: Instant;
}

export interface BeginRequest extends RunTerms {
  /** under which the key is remembered: the same key means another request elsewhere */
  readonly endpoint: string;
  readonly idempotencyKey: string;
  /** how long the key is remembered; absent: as the settings say */
  readonly rememberedMs?: DurationMs;
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
  readonly goesOn?: { readonly from: NodeId; readonly kept: readonly KeptNode[] };
  /** a test: the run carries this, the version is 0, and all of it is forgotten soon */
  readonly unsaved?: UnsavedGraph;
  /** it was called by a test run, and is one itself */
  readonly isOfTest?: true;
}

interface ResolvedCode extends Found, Served {
  readonly deploymentId: DeploymentId;
}

export type BeginAnswer =
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
const firstLook = minutes(2);
/** The longest that a test run may take, and how long it can be looked at after its latest end. */
export const longestTest = days(1);
export const testRetention = days(1);

/** @param resolve finds what to run; asked again by each repetition until the head exists */
export async function beginRun<Refused extends { readonly kind: string }>(
  decider: Decider,
  request: BeginRequest,
  resolve: (now: Instant) => Promise<Resolved | Refused>,
): Promise<BeginAnswer | Refused> {
  const { deps } = decider;
  const { rememberedMs = deps.settings.idempotencyMs } = request;
  const now = deps.clock.now();
  const own: Reservation = {
    runId: request.runId ?? deps.ids.runId(now),
    bodyHash: request.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const reserved = await deps.reservations.reserve(request.scope, request.endpoint, request.idempotencyKey, own, {
    notBefore: instant(now - rememberedMs),
    expiresAt: after(now, rememberedMs),
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

  const resolved = await resolve(now);
  if (!isFound(resolved)) {
    // Nothing was tried, so the key is free again; only its own reserver may say so.
    if (!isReplay) await release();
    return resolved;
  }
  const made = await createHead(decider, request, standing, resolved, now);
  if (!isMade(made)) {
    if (!isReplay) await release();
    return made;
  }
  return { kind: 'started', runId: standing.runId, deploymentId: made.deploymentId, isReplay };
}

const answerFor = (head: Head, standing: Reservation, isReplay: boolean): BeginAnswer =>
  head.commit.nonce === standing.owner
    ? { kind: 'started', runId: standing.runId, deploymentId: head.deploymentId, isReplay }
    : { kind: 'run_exists', runId: standing.runId };

const isFound = (resolved: Resolved | { readonly kind: string }): resolved is Resolved => resolved.kind === 'found';

export const isMade = (made: RunCreation | NotMade): made is RunCreation => 'commit' in made;

export type NotMade = Exclude<BeginAnswer, { kind: 'started' | 'idempotency_conflict' }>;

/** Writes the run and sends its first jobs. Whoever writes it under the same owner's name has written the same run. */
export async function createHead(
  decider: Decider,
  request: RunTerms,
  standing: Pick<Reservation, 'runId' | 'owner'>,
  resolved: Resolved,
  now: Instant,
): Promise<RunCreation | NotMade> {
  const { deps, by } = decider;
  const address = { ...request.scope, runId: standing.runId };
  const startsAt = request.availableAt !== undefined && request.availableAt > now ? request.availableAt : undefined;
  const ownDeadline = request.deadlineAt ?? after(startsAt ?? now, ownLimitOf(resolved));
  const deadlineAt = instant(Math.min(ownDeadline, request.latestDeadlineAt ?? ownDeadline));
  const expiresAt = expiryOf({ createdAt: now, deadlineAt }, isTest(resolved) ? testRetention : deps.settings.retentionMs);
  const terms: Terms = { address, now, deadlineAt, expiresAt, startsAt };
  const first =
    'version' in resolved ? await firstOfGraph(decider, resolved, terms) : await firstOfCode(decider, resolved, terms);
  if ('kind' in first) return first;
  const creation: RunCreation = {
    ...first.made,
    address,
    createdAt: now,
    deadlineAt,
    ...(startsAt === undefined ? {} : { availableAt: startsAt }),
    expiresAt,
    bodyHash: request.bodyHash,
    ...(request.trace === undefined ? {} : { trace: request.trace }),
    commit: {
      number: firstCommit,
      firstEventId: eventId(1),
      events: await spillEvents(deps, { address, expiresAt, kind: first.made.kind }, first.events),
      at: now,
      by,
      nonce: nonce(standing.owner),
    },
  };
  // Before the head: a run that exists is always one the sweep will look at.
  await markFirstLook(deps, headOf(creation));
  await leaveDeadlineRecheck(deps, creation, startLeavesRecheckWithin);
  const result = await untilDefinite(deps, () => deps.log.create(creation));
  if (result.kind === 'occupied' && !isWon(result, creation.commit))
    return { kind: isForgotten(result) ? 'run_deleted' : 'run_exists', runId: standing.runId };
  if (result.kind === 'occupied') return goOnWithWritten(decider, creation);
  await sendFirstJobs(decider, creation, first.plan);
  return creation;
}

/** Whoever stood still meanwhile may have marked what the sweep had passed. From then on the sweep's second look is late enough. */
async function markFirstLook(deps: Pick<Deps, 'index' | 'clock'>, head: Head): Promise<void> {
  for (;;) {
    const lookAt = after(deps.clock.now(), firstLook);
    await markDue(deps, head, lookAt);
    if (deps.clock.now() < lookAt) return;
  }
}

/**
 * An earlier try of this start has landed, perhaps late, and may have been made of an older version or for another deployment:
 * what is written counts, and not what this one would have written.
 */
async function goOnWithWritten(decider: Decider, own: RunCreation): Promise<RunCreation> {
  const { deployments, log } = decider.deps;
  const written = await log.head(own.address);
  // Written and forgotten already: nothing is left to be sent.
  if (written === undefined) return own;
  if (own.deploymentId !== null && own.deploymentId !== written.deploymentId)
    await deployments.letGo(own.address, own.deploymentId, own.address.runId);
  await sendFirstJobs(decider, written, undefined);
  return written;
}

const isTest = (resolved: Resolved): boolean =>
  'version' in resolved && (resolved.unsaved !== undefined || resolved.isOfTest === true);

const ownLimitOf = (resolved: Resolved): DurationMs => {
  const declared = 'version' in resolved ? resolved.version.options.deadlineSeconds : undefined;
  const limit = declared === undefined ? defaultDeadline : seconds(declared);
  return isTest(resolved) ? durationMs(Math.min(limit, longestTest)) : limit;
};

interface Terms {
  readonly address: RunAddress;
  readonly now: Instant;
  readonly deadlineAt: Instant;
  readonly expiresAt: Instant;
  readonly startsAt: Instant | undefined;
}

/** What a run is made from, and its first events. */
interface First {
  readonly made:
    | Pick<GraphCreation, 'kind' | 'workflow' | 'deploymentId' | 'isTest'>
    | Pick<FetchCreation, 'kind' | 'workflow' | 'deploymentId'>
    | Pick<CodeCreation, 'kind' | 'workflow' | 'deploymentId'>;
  readonly events: readonly RunEvent[];
  /** of a graph */
  readonly plan?: Plan;
}

async function firstOfGraph(
  { deps, plans }: Decider,
  resolved: ResolvedGraph,
  { address, deadlineAt, expiresAt, startsAt }: Terms,
): Promise<First | NotMade> {
  const { version, input, system = {}, goesOn, unsaved } = resolved;
  const payload: Payload = await spillInput(deps, { address, expiresAt, kind: 'graph' }, input);
  const workflow = { name: version.name, version: version.version };
  if (unsaved !== undefined) await carryGraph(deps, address, unsaved, expiresAt);
  const plan =
    unsaved === undefined ? plans.keep(address, version) : plans.keepCarried({ ...workflow, carriedBy: address }, unsaved);
  const events = await withPayloads(deps, address, (loaded) => {
    const tools = decideTools(deps, plans, plan, { address, deadlineAt }, loaded);
    return goesOn === undefined ? decideStart(payload, system, tools, startsAt) : decideRerunFrom(payload, system, goesOn, tools);
  });
  if (events === undefined) return { kind: 'node_not_reached' };
  return {
    made: { kind: 'graph', workflow, deploymentId: null, ...(isTest(resolved) ? { isTest: true } : {}) },
    events,
    plan,
  };
}

async function firstOfCode(
  { deps }: Decider,
  { runtime, deploymentId, workflowName, codeVersion, input, system = {} }: ResolvedCode,
  { address, now, deadlineAt, expiresAt, startsAt }: Terms,
): Promise<First | NotMade> {
  // Held first, looked at again after: a removal marks first and looks for holders after, so one of the two sees the other.
  await deps.deployments.holdOpen(address, deploymentId, address.runId, { since: now, expiresAt });
  const deployment = await deps.deployments.deployment(address, deploymentId);
  if (deployment === undefined || deployment.removingSince !== undefined) {
    await deps.deployments.letGo(address, deploymentId, address.runId);
    return { kind: 'deployment_not_found', deploymentId };
  }
  const payload: Payload = await spillInput(deps, { address, expiresAt, kind: runtime }, input);
  if (runtime === 'code') {
    const workflow = { name: workflowName, ...(codeVersion === undefined ? {} : { version: codeVersion }) };
    const told = { ...system, [replayVersionKey]: replayVersion };
    const tools = codeTools(now, { address, deadlineAt });
    return { made: { kind: 'code', workflow, deploymentId }, events: decideCodeStart(payload, told, tools, startsAt) };
  }
  const body = { runId: address.runId, input };
  // The id follows from the run's, so that every repetition of this start writes the same commit.
  const first = newMessage(deps, 'workflow', { queueName: workflowQueue(workflowName), body }, address.runId);
  const tools = { now, deadlineAt, chance: () => deps.ids.chance() };
  return {
    made: { kind: 'fetch', workflow: { name: workflowName }, deploymentId },
    events: decideFetchStart(payload, system, first, tools, startsAt),
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
    await carryOut(decider.deps, fold, creation.commit);
    await keepWaitsOf(decider, fold, creation.commit);
  } catch (trouble) {
    // The run exists and will be looked at: it is acknowledged, and only later than it might be.
    if (!(trouble instanceof Unavailable)) throw trouble;
  }
}
