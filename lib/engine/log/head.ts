/** The head of a run: commit 1, and a projection that may be late but never reports a wrong end. */
import { type CommitNo, type DeploymentId, type RunAddress, firstCommit, secondCommit } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type Instant, type DurationMs, after, between, days, instant } from '../time.ts';
import type { Trace } from '../trace.ts';
import type { CarriedGraph, Commit, PinnedVersion } from './commit.ts';
import type { Failure } from './events.ts';

export const runStatuses = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];
export const terminalStatuses = ['completed', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];
export type TerminalStatus = (typeof terminalStatuses)[number];

/** How a run was created; written once, with commit 1. */
interface RunCreationBase {
  readonly address: RunAddress;
  readonly createdAt: Instant;
  /** a run that is open at this time fails */
  readonly deadlineAt: Instant;
  /** set if the deadline was not declared: waits of the run extend its deadline, up to this time (`deadline.ts`) */
  readonly deadlineLimitAt?: Instant;
  /** when a worker may take the first jobs; absent: at once */
  readonly availableAt?: Instant;
  /** when its items may be deleted: `expiryOf` */
  readonly expiresAt: Instant;
  /** SHA-256 of the caller's canonical body, in hex */
  readonly bodyHash: string;
  /** of the request that started the run; absent in runs that predate request tracing */
  readonly trace?: Trace;
  readonly commit: Commit;
}

/** A graph run, pinned to a version. */
export interface GraphCreation extends RunCreationBase {
  readonly kind: 'graph';
  readonly workflow: PinnedVersion;
  readonly deploymentId: null;
  /** a test run of an unpublished graph that the run carries as version 0, or a child of a test run */
  readonly isTest?: true;
  /** commit 2 is a part of the head, because it will probably end the run (docs/decisions/commit-two-in-the-head.md) */
  readonly holdsSecondCommit?: true;
}

/** A bundle run, pinned to a deployment; its bundle receives messages over HTTP. */
export interface BundleCreation extends RunCreationBase {
  readonly kind: 'bundle';
  readonly workflow: { readonly name: string };
  readonly deploymentId: DeploymentId;
}

/** A code run, pinned to a deployment; its code is replayed. */
export interface CodeCreation extends RunCreationBase {
  readonly kind: 'code';
  /** `version` as the author declared it; absent if not declared */
  readonly workflow: { readonly name: string; readonly version?: string };
  readonly deploymentId: DeploymentId;
}

/** A run of the Workflow DevKit, pinned to a deployment or to the registered address of an application. */
export interface DevKitCreation extends RunCreationBase {
  readonly kind: 'devkit';
  /** as the DevKit names it: `workflow//./workflows/order//processOrder` */
  readonly workflow: { readonly name: string };
  readonly deploymentId: DeploymentId;
  /** in the names of the queues whose messages its code takes */
  readonly queueNamespace?: string;
}

export type RunCreation = GraphCreation | BundleCreation | CodeCreation | DevKitCreation;

/**
 * Where the records of a run are: `platform` only the platform's functions write, `code` and `devkit` the function that executes deployed
 * code too. No platform function but the World writes `devkit` for applications.
 */
export type Side = 'platform' | 'code' | 'devkit';
export const sideOfKind: { readonly [Kind in RunCreation['kind']]: Side } = {
  graph: 'platform',
  bundle: 'code',
  code: 'code',
  devkit: 'devkit',
};

export const isTestRun = (run: RunCreation): boolean => run.kind === 'graph' && run.isTest === true;

/** Whether every writer of this commit writes it to the head of the run. */
export const isHeldByHead = (run: RunCreation, { number }: Pick<Commit, 'number'>): boolean =>
  run.kind === 'graph' && run.holdsSecondCommit === true && number === secondCommit;

/** Published versions count from 1. */
export const carriesGraph = (run: RunCreation): boolean =>
  run.kind === 'graph' && run.isTest === true && run.workflow.version === 0;

/** The version or graph that a graph run is pinned to. Node jobs and results exist only for graph runs. */
export function pinnedVersion(run: RunCreation): PinnedVersion | CarriedGraph {
  invariant(run.kind === 'graph', `${run.address.runId} is a ${run.kind} run, not a graph run`);
  return carriesGraph(run) ? { ...run.workflow, carriedBy: run.address } : run.workflow;
}

/** The fields that lists show. Each write names the commit it is made from; a write from an older commit never wins. */
export interface HeadProjection {
  readonly status: RunStatus;
  readonly asOf: CommitNo;
  /** the index entry of an open run that waits or retries; absent in a run that makes progress */
  readonly attention?: 'waiting' | 'retrying';
  readonly endedAt?: Instant;
  readonly error?: Failure;
  /** the deadline of the ended run was extended, so that the expiries of its items may have to move */
  readonly hasExtendedDeadline?: true;
}

/** The projection of a new run. */
export const firstProjection: HeadProjection = { status: 'pending', asOf: firstCommit };

/** How far the expiries of the items of a run are moved (docs/decisions/long-waits.md). */
export interface RetentionProgress {
  /** the expiry to which they are moved: what is before the position may have an earlier one */
  readonly expiresAt: Instant;
  readonly part: 'items' | 'payloads';
  /** the last item or value that was moved, as the store names it */
  readonly after: string;
}

interface Projected {
  readonly projection: HeadProjection;
  /** set while messages continue each other; removed when the head itself is extended */
  readonly retention?: RetentionProgress;
}
export type GraphHead = GraphCreation & Projected;
export type BundleHead = BundleCreation & Projected;
export type CodeHead = CodeCreation & Projected;
export type DevKitHead = DevKitCreation & Projected;
export type Head = GraphHead | BundleHead | CodeHead | DevKitHead;

/** The head as it was created, with the deadline of the log. */
export function creationOf<Of extends RunCreation>(head: Of & Projected): Omit<Of & Projected, keyof Projected> {
  const { projection: _projection, retention: _retention, ...creation } = head;
  return creation;
}

/**
 * The latest end of a run after its deadline: a rollback may take an hour, and the sweep that ends a run may be late. The retention
 * counts from here, so every item outlives the run's end by the full retention.
 */
export const latestEndAfterDeadline: DurationMs = days(1);

/** The longest time from now to the deadline of a run, and so the longest wait inside a run. */
export const maxDeadline: DurationMs = days(365);

/** The deadline of a run if neither its workflow, nor its start, nor its caller declares one. Waits extend it. */
export const defaultDeadline: DurationMs = days(7);

/** The latest time to which the deadline of the run can move. It never changes, so the code of a run may read it in every replay. */
export const latestDeadlineOf = ({ deadlineAt, deadlineLimitAt }: Pick<RunCreation, 'deadlineAt' | 'deadlineLimitAt'>): Instant =>
  deadlineLimitAt ?? deadlineAt;

/**
 * The head with the deadline of the log, which is never earlier than the deadline of the head. The expiry of the run's items moves
 * with it. A deadline beyond the limit of the head does not count: deployed code writes the logs of its runs, but no head.
 */
export function withExtendedDeadline<Of extends Pick<RunCreation, 'deadlineAt' | 'deadlineLimitAt' | 'expiresAt'>>(
  head: Of,
  extendedTo: Instant | undefined,
): Of {
  const { deadlineLimitAt } = head;
  if (extendedTo === undefined || deadlineLimitAt === undefined) return head;
  const deadlineAt = instant(Math.min(extendedTo, deadlineLimitAt));
  if (deadlineAt <= head.deadlineAt) return head;
  return { ...head, deadlineAt, expiresAt: after(head.expiresAt, between(head.deadlineAt, deadlineAt)) };
}

interface Lifetime {
  readonly createdAt: Instant;
  readonly deadlineAt: Instant;
}

/** When the items of a run expire. All items of a run share this time. */
export function expiryOf({ createdAt, deadlineAt }: Lifetime, retention: DurationMs): Instant {
  invariant(deadlineAt > createdAt, () => `the deadline ${deadlineAt} is not after the creation of the run at ${createdAt}`);
  return after(after(deadlineAt, latestEndAfterDeadline), retention);
}
