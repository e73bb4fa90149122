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
  /** where to go on; present also where `mostRowsRead` were read before the page was full */
  readonly next?: ListPosition;
}

/** Rows of the index that one request reads to fill its page, whatever its limit: as many as ten of the largest pages have. */
export const mostRowsRead = 1_000;
/** Where the first rows do not fill the page, each further read is twice as large as the one before, up to this. */
const largestRead = 100;

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
  for (let [rowsRead, size] = [0, limit]; rowsRead < mostRowsRead;) {
    const page = await readPage(deps, scope, filters, { limit: size, ...(position === undefined ? {} : { after: position }) });
    const wanted = page.heads.map(async (head) => (isWanted(head, filters) ? withStatus(deps, head) : undefined));
    for (const [index, run] of (await Promise.all(wanted)).entries()) {
      const head = page.heads[index];
      if (head === undefined) continue;
      if (filters.createdAfter !== undefined && head.createdAt < filters.createdAfter) return { runs };
      position = { createdAt: head.createdAt, runId: head.address.runId };
      if (run === undefined || !passes(run, filters)) continue;
      runs.push(run);
      const isLast = index === page.heads.length - 1 && page.next === undefined;
      if (runs.length === limit) return isLast ? { runs } : { runs, next: position };
    }
    if (page.next === undefined) return { runs };
    position = page.next;
    rowsRead += size;
    size = Math.min(size * 2, largestRead, mostRowsRead - rowsRead);
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

/** By the head alone: the log of a run that is left out is not read. */
const isWanted = (head: Head, filters: RunFilters): boolean =>
  (filters.includeTests === true || !isTestRun(head)) &&
  (filters.workflowName === undefined || filters.workflowName === head.workflow.name) &&
  (filters.rerunOf === undefined || filters.rerunOf === rerunOf(head)) &&
  (filters.createdBefore === undefined || head.createdAt < filters.createdBefore);

const passes = ({ head, status }: ListedRun, filters: RunFilters): boolean =>
  (filters.status === undefined || filters.status === status) &&
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
