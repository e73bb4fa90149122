/**
 * Runs, newest first. The heads' projections may be late, so the status of a run that its head shows as open is read
 * from its log: a list never shows as running what has ended.
 */
import type { RunId, Scope, WorkflowName } from '../engine/ids.ts';
import { type Head, type RunStatus, isTestRun, terminalStatuses } from '../engine/log/head.ts';
import type { RunEvent } from '../engine/log/events.ts';
import { rerunOf } from '../engine/log/lineage.ts';
import type { Instant } from '../engine/time.ts';
import type { ListPosition, ListedState, RunPage } from '../ports/run-index.ts';
import type { Deps } from './deps.ts';

export interface RunFilters {
  readonly status?: RunStatus;
  readonly workflowName?: WorkflowName;
  /** created at or after */
  readonly createdAfter?: Instant;
  /** created before */
  readonly createdBefore?: Instant;
  readonly attention?: 'waiting' | 'retrying';
  /** made by running that run again */
  readonly rerunOf?: RunId;
  /** runs of unsaved graphs too */
  readonly includeTests?: boolean;
}

export interface ListedRun {
  readonly head: Head;
  readonly status: RunStatus;
}

export interface RunListing {
  readonly runs: readonly ListedRun[];
  /** where to go on; present also where the search was broken off before the page was full */
  readonly next?: ListPosition;
}

/** Pages of the index that one request may look through when its filters let little pass. */
const mostPages = 10;

export async function listRuns(
  deps: Pick<Deps, 'index' | 'log'>,
  scope: Scope,
  filters: RunFilters,
  { limit, after }: { readonly limit: number; readonly after?: ListPosition },
): Promise<RunListing> {
  const runs: ListedRun[] = [];
  // No run id is empty, so this lies before every run created earlier than that.
  const start = filters.createdBefore === undefined ? undefined : { createdAt: filters.createdBefore, runId: '' };
  let position = after ?? start;
  for (let read = 0; read < mostPages; read += 1) {
    const page = await readPage(deps, scope, filters, { limit, ...(position === undefined ? {} : { after: position }) });
    for (const run of await Promise.all(page.heads.map((head) => withStatus(deps, head)))) {
      if (filters.createdAfter !== undefined && run.head.createdAt < filters.createdAfter) return { runs };
      position = { createdAt: run.head.createdAt, runId: run.head.address.runId };
      if (!passes(run, filters)) continue;
      runs.push(run);
      if (runs.length === limit) return { runs, next: position };
    }
    if (page.next === undefined) return { runs };
    position = page.next;
  }
  return { runs, ...(position === undefined ? {} : { next: position }) };
}

const readPage = (
  { index }: Pick<Deps, 'index'>,
  scope: Scope,
  filters: RunFilters,
  options: { readonly limit: number; readonly after?: ListPosition },
): Promise<RunPage> => {
  const state = stateOf(filters);
  return state === undefined ? index.list(scope, options) : index.listByState(scope, state, options);
};

/** The sparse listing that holds every run the filters let pass, where there is one. */
const stateOf = ({ status, attention }: RunFilters): ListedState | undefined =>
  attention ?? (status === 'failed' || status === 'cancelled' ? status : undefined);

const passes = ({ head, status }: ListedRun, filters: RunFilters): boolean =>
  (filters.includeTests === true || !isTestRun(head)) &&
  (filters.status === undefined || filters.status === status) &&
  (filters.workflowName === undefined || filters.workflowName === head.workflow.name) &&
  (filters.rerunOf === undefined || filters.rerunOf === rerunOf(head)) &&
  (filters.createdBefore === undefined || head.createdAt < filters.createdBefore) &&
  (filters.attention === undefined || (filters.attention === head.projection.attention && !isEnded(status)));

const isEnded = (status: RunStatus): boolean => terminalStatuses.some((ended) => ended === status);

async function withStatus({ log }: Pick<Deps, 'log'>, head: Head): Promise<ListedRun> {
  const { status, asOf } = head.projection;
  if (isEnded(status)) return { head, status };
  const tail = await log.commitsAfter(head.address, asOf);
  const events = [...head.commit.events, ...tail.flatMap((commit) => commit.events)];
  const known = events.map(statusSaidBy).findLast((said) => said !== undefined);
  return { head, status: known ?? (status === 'pending' && (asOf > 1 || tail.length > 0) ? 'running' : status) };
}

const statusSaidBy = (event: RunEvent): RunStatus | undefined => {
  switch (event.type) {
    case 'RUN_STATUS_CHANGED':
      return event.status;
    case 'RUN_COMPLETED':
      return 'completed';
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return 'failed';
    case 'RUN_CANCELLED':
      return 'cancelled';
    default:
      return undefined;
  }
};
