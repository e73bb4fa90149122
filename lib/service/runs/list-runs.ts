/**
 * Lists runs, newest first. A head's projection may lag behind the log, so the status of a run with an open head is read from its
 * newest commit: a list never shows an ended run as running.
 */
import { defined } from '../../base/defined.ts';
import type { DevKitEventName } from '../../engine/devkit/events.ts';
import { type AnyRunId, runOfStep } from '../../engine/external/run.ts';
import type { CorrelationId, DeploymentId, RunId, ScheduleId, Scope } from '../../engine/ids.ts';
import { type Head, type RunStatus, carriesGraph, isTestRun, terminalStatuses } from '../../engine/log/head.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import { callerOf, rerunOf, scheduleOf } from '../../engine/log/lineage.ts';
import type { Instant } from '../../engine/time.ts';
import type { Listing } from '../../ports/external-runs.ts';
import {
  type ListPosition,
  type ListedState,
  type PageRequest,
  type RunPage,
  listedExternalState,
} from '../../ports/run-index.ts';
import type { Deps } from '../deps.ts';
import { findNewestCommits } from '../run-log/find-newest-commits.ts';

export interface RunFilters {
  readonly status?: RunStatus;
  readonly workflowName?: string;
  /** absent: runs of all kinds, and external-worker runs */
  readonly kind?: Head['kind'];
  /** created at or after */
  readonly createdAfter?: Instant;
  /** created before */
  readonly createdBefore?: Instant;
  readonly attention?: 'waiting' | 'retrying';
  /** reruns of that run */
  readonly rerunOf?: RunId;
  readonly deploymentId?: DeploymentId;
  /** started by that schedule */
  readonly scheduleId?: ScheduleId;
  /** of the request that started the run */
  readonly correlationId?: CorrelationId;
  /** called by that run */
  readonly calledBy?: AnyRunId;
  /** of a graph: its number; of code: the text that its author declared */
  readonly version?: string;
  /** includes runs that another run called */
  readonly includeChildren?: boolean;
  /** includes test runs of unsaved graphs */
  readonly includeTests?: boolean;
}

export type ListedRun = { readonly head: Head; readonly status: RunStatus } | { readonly external: Listing };

export interface RunListing {
  readonly runs: readonly ListedRun[];
  /** cursor of the next page; also present if `maxRowsRead` was reached before the page was full */
  readonly next?: ListPosition;
}

/** Maximum number of index rows that one request reads to fill its page: ten of the largest pages. */
export const maxRowsRead = 1_000;
/** If the first rows do not fill the page, each further read is twice as large, up to this size. */
const maxReadSize = 100;

export async function listRuns(
  deps: Pick<Deps, 'index' | 'log'>,
  scope: Scope,
  filters: RunFilters,
  { limit, after }: { readonly limit: number; readonly after?: ListPosition },
): Promise<RunListing> {
  const runs: ListedRun[] = [];
  // The empty run id sorts before every run created at that time.
  const start = filters.createdBefore === undefined ? undefined : { createdAt: filters.createdBefore, runId: '' };
  let position = after ?? start;
  for (let [rowsRead, size] = [0, limit]; rowsRead < maxRowsRead;) {
    const page = await readPage(deps, scope, filters, defined({ limit: size, after: position }));
    const statuses = await statusesOf(
      deps,
      page.heads.filter((head) => matchesHead(head, filters)),
    );
    const rows = rowsOf(page);
    for (const [index, row] of rows.entries()) {
      if (filters.createdAfter !== undefined && row.position.createdAt < filters.createdAfter) return { runs };
      position = row.position;
      const run = matchingRun(row, statuses, filters);
      if (run === undefined) continue;
      runs.push(run);
      const isLast = index === rows.length - 1 && page.next === undefined;
      if (runs.length === limit) return isLast ? { runs } : { runs, next: position };
    }
    if (page.next === undefined) return { runs };
    position = page.next;
    rowsRead += size;
    size = Math.min(size * 2, maxReadSize, maxRowsRead - rowsRead);
  }
  return defined({ runs, next: position });
}

type Row = { readonly position: ListPosition } & ({ readonly head: Head } | { readonly external: Listing });

/** The runs of a page in the order of their positions. */
function rowsOf({ heads, externalRuns = [] }: RunPage): readonly Row[] {
  const rows: readonly Row[] = heads.map((head) => ({
    position: { createdAt: head.createdAt, runId: head.address.runId },
    head,
  }));
  if (externalRuns.length === 0) return rows;
  const external = externalRuns.map((listing) => ({
    position: { createdAt: listing.createdAt, runId: listing.runId },
    external: listing,
  }));
  return [...rows, ...external].toSorted(
    ({ position: one }, { position: other }) => other.createdAt - one.createdAt || (one.runId < other.runId ? 1 : -1),
  );
}

function matchingRun(row: Row, statuses: ReadonlyMap<Head, RunStatus>, filters: RunFilters): ListedRun | undefined {
  if ('external' in row) return matchesListing(row.external, filters) ? { external: row.external } : undefined;
  const { head } = row;
  const status = statuses.get(head);
  return status !== undefined && matchesStatus(head, status, filters) ? { head, status } : undefined;
}

const isAbsent = (filter: unknown): boolean => filter === undefined;

/** The runs that a run called are children. */
const showsChildren = ({ includeChildren, calledBy }: RunFilters): boolean => includeChildren === true || calledBy !== undefined;

/** Nothing reruns or deploys an external-worker run, and it has no schedule. The list may be behind the log for the moment in which a worker writes both. */
const matchesListing = (listing: Listing, filters: RunFilters): boolean =>
  (showsChildren(filters) || listing.parent === undefined) &&
  (filters.workflowName === undefined || filters.workflowName === listing.workflowName) &&
  (filters.calledBy === undefined || (listing.parent !== undefined && filters.calledBy === runOfStep(listing.parent))) &&
  (filters.version === undefined || filters.version === listing.version) &&
  [filters.rerunOf, filters.kind, filters.deploymentId, filters.scheduleId, filters.correlationId].every(isAbsent) &&
  (filters.createdBefore === undefined || listing.createdAt < filters.createdBefore) &&
  (filters.status === undefined || filters.status === listing.status) &&
  (filters.attention === undefined || filters.attention === listedExternalState(listing));

const readPage = (
  { index }: Pick<Deps, 'index'>,
  scope: Scope,
  filters: RunFilters,
  request: Omit<PageRequest, 'includesExternal'>,
): Promise<RunPage> => {
  const options: PageRequest = filters.kind === undefined ? { ...request, includesExternal: true } : request;
  const state = stateOf(filters);
  return state === undefined ? index.list(scope, options) : index.listByState(scope, state, options);
};

/** The sparse index that contains every matching run, if there is one. */
const stateOf = ({ status, attention }: RunFilters): ListedState | undefined =>
  attention ?? (status === 'failed' || status === 'cancelled' ? status : undefined);

/** Filters by the head alone, so that the logs of other runs are not read. */
const matchesHead = (head: Head, filters: RunFilters): boolean =>
  (showsChildren(filters) || callerOf(head) === undefined) &&
  (filters.includeTests === true || !isTestRun(head)) &&
  (filters.workflowName === undefined || filters.workflowName === head.workflow.name) &&
  (filters.kind === undefined || filters.kind === head.kind) &&
  (filters.rerunOf === undefined || filters.rerunOf === rerunOf(head)) &&
  (filters.deploymentId === undefined || filters.deploymentId === head.deploymentId) &&
  (filters.scheduleId === undefined || filters.scheduleId === scheduleOf(head)?.scheduleId) &&
  (filters.correlationId === undefined || filters.correlationId === head.trace?.correlationId) &&
  (filters.calledBy === undefined || filters.calledBy === callerOf(head)?.runId) &&
  (filters.version === undefined || filters.version === versionOf(head)) &&
  (filters.createdBefore === undefined || head.createdAt < filters.createdBefore);

/** A test run of an unsaved graph, a bundle run and a run of the DevKit have none. */
function versionOf(head: Head): string | undefined {
  if (head.kind === 'graph') return carriesGraph(head) ? undefined : String(head.workflow.version);
  return head.kind === 'code' ? head.workflow.version : undefined;
}

const matchesStatus = (head: Head, status: RunStatus, filters: RunFilters): boolean =>
  (filters.status === undefined || filters.status === status) &&
  (filters.attention === undefined || (filters.attention === head.projection.attention && !isEnded(status)));

const isEnded = (status: RunStatus): boolean => terminalStatuses.some((ended) => ended === status);

/** The statuses of the heads. For open runs the newest commits are read too. Nothing follows the end of a run. */
async function statusesOf(deps: Pick<Deps, 'log'>, heads: readonly Head[]): Promise<ReadonlyMap<Head, RunStatus>> {
  const open = heads.filter(({ projection }) => !isEnded(projection.status));
  const known = open.map(({ address, projection }) => ({ run: address, number: projection.asOf }));
  const newest = await findNewestCommits(deps, known, ({ events }) => endIn(events) !== undefined);
  const statuses = open.map((head, index) => [head, statusAfter(head, newest[index])] as const);
  return new Map([...heads.map((head) => [head, head.projection.status] as const), ...statuses]);
}

/** The status of one run, which its list shows. */
export const statusOf = async (deps: Pick<Deps, 'log'>, head: Head): Promise<RunStatus> =>
  (await statusesOf(deps, [head])).get(head) ?? head.projection.status;

function statusAfter({ commit, projection: { status, asOf } }: Head, newest: Commit | undefined): RunStatus {
  const isRunning = asOf > 1 || newest !== undefined || commit.events.some(isStart);
  return endIn((newest ?? commit).events) ?? (isRunning ? 'running' : status);
}

const isStart = (event: RunEvent): boolean =>
  event.type === 'DEVKIT' ? event.event === 'run_started' : event.type === 'RUN_STATUS_CHANGED';

const endIn = (events: readonly RunEvent[]): RunStatus | undefined =>
  events.map(endFromEvent).find((status) => status !== undefined);

const endFromEvent = (event: RunEvent): RunStatus | undefined => {
  switch (event.type) {
    case 'RUN_COMPLETED':
      return 'completed';
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return 'failed';
    case 'RUN_CANCELLED':
      return 'cancelled';
    case 'DEVKIT':
      return event.afterEnd ?? endOfDevKit(event.event);
    default:
      return undefined;
  }
};

const endOfDevKit = (event: DevKitEventName): RunStatus | undefined =>
  event === 'run_completed'
    ? 'completed'
    : event === 'run_failed'
      ? 'failed'
      : event === 'run_cancelled'
        ? 'cancelled'
        : undefined;
