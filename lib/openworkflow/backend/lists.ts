/**
 * Lists and counts runs by the list beside the logs; the listed states are read from the logs. In the library's pagination a cursor is a
 * position in the order of time and id, and pages go in both directions.
 */
import * as z from 'zod';
import { type ExternalStatus, parseExternalRunId } from '../../engine/external/run.ts';
import { instant } from '../../engine/time.ts';
import type { Listing, ListingPosition } from '../../ports/external-runs.ts';
import type { ListWorkflowRuns, Page, PageOptions, WorkflowRun, WorkflowRunStatus } from './contract.ts';
import type { BackendDeps } from './deps.ts';
import { toWorkflowRun, statusOf } from './library-types.ts';
import type { RunLogs } from './run-logs.ts';

/** Page size of the reads. Listings are small. */
const listingsPerPage = 1_000;

/** Statuses of older library versions, by their current names. */
const matchesStatus = (options: ListWorkflowRuns['status'], status: ExternalStatus): boolean => {
  if (options === undefined) return true;
  return statusOf(status) === (options === 'sleeping' ? 'running' : options === 'succeeded' ? 'completed' : options);
};

export async function listRuns(
  { store }: BackendDeps,
  runLogs: RunLogs,
  namespaceId: string,
  options: ListWorkflowRuns,
): Promise<Page<WorkflowRun>> {
  const pageRequest = parsePageRequest(options);
  const isFiltered = options.status !== undefined || options.workflowName !== undefined;
  const size = isFiltered ? listingsPerPage : pageRequest.limit + 1;
  const rows: WorkflowRun[] = [];
  let from = pageRequest.from && positionOf(pageRequest.from);
  while (rows.length <= pageRequest.limit) {
    const page = {
      order: pageRequest.isBackwards ? 'oldest first' : 'newest first',
      limit: size,
      ...(from && { from }),
    } as const;
    const listings = await store.listings(namespaceId, page);
    const matching = listings.filter(
      ({ status, workflowName }) =>
        matchesStatus(options.status, status) && (options.workflowName === undefined || options.workflowName === workflowName),
    );
    for (let start = 0; start < matching.length && rows.length <= pageRequest.limit; start += pageRequest.limit + 1) {
      const states = await Promise.all(
        matching.slice(start, start + pageRequest.limit + 1).map(({ runId }) => runLogs.state({ namespaceId, runId })),
      );
      for (const state of states)
        if (state !== undefined && matchesStatus(options.status, state.run.status)) rows.push(toWorkflowRun(namespaceId, state));
    }
    from = listings.at(-1);
    if (listings.length < size) break;
  }
  return pageOf(rows.slice(0, pageRequest.limit + 1), pageRequest);
}

/** A foreign position is between two of this list. */
const positionOf = ({ createdAt, id }: PageCursor): ListingPosition | undefined => {
  const runId = parseExternalRunId(id);
  return runId && { createdAt: instant(createdAt.getTime()), runId };
};

export async function countRuns({ store }: BackendDeps, namespaceId: string): Promise<Record<WorkflowRunStatus, number>> {
  const counts = { pending: 0, running: 0, completed: 0, failed: 0, canceled: 0 };
  let from: Listing | undefined;
  for (;;) {
    const page = { order: 'oldest first', limit: listingsPerPage, ...(from && { from }) } as const;
    const listings = await store.listings(namespaceId, page);
    for (const { status } of listings) counts[statusOf(status)] += 1;
    from = listings.at(-1);
    if (listings.length < listingsPerPage) return counts;
  }
}

export interface PageCursor {
  readonly createdAt: Date;
  readonly id: string;
}

const defaultLimit = 100;

export interface PageRequest {
  readonly limit: number;
  /** reads rows after the cursor, in the given order */
  readonly from: PageCursor | undefined;
  readonly isBackwards: boolean;
  readonly hasAfter: boolean;
}

/** @throws Error for an invalid cursor, and for two cursors */
export function parsePageRequest({ limit = defaultLimit, after, before }: PageOptions): PageRequest {
  if (after && before) throw new Error("Cannot specify both 'after' and 'before' cursors");
  const cursor = after || before;
  return { limit, from: cursor ? parseCursor(cursor) : undefined, isBackwards: Boolean(before), hasAfter: Boolean(after) };
}

const cursorShape = z.object({ createdAt: z.iso.datetime().transform((text) => new Date(text)), id: z.string() });

function parseCursor(cursor: string): PageCursor {
  try {
    return cursorShape.parse(JSON.parse(Buffer.from(cursor, 'base64').toString('utf8')));
  } catch (error) {
    throw new Error('the cursor is not valid: pass a cursor of a previous page', { cause: error });
  }
}

const cursorOf = ({ createdAt, id }: PageCursor): string => Buffer.from(JSON.stringify({ createdAt, id })).toString('base64');

/** @param rows in the order of the read, with one more than the limit where there are more */
export function pageOf<Row extends PageCursor>(rows: readonly Row[], { limit, isBackwards, hasAfter }: PageRequest): Page<Row> {
  const hasMore = rows.length > limit;
  const visibleRows = rows.slice(0, limit);
  const data = isBackwards ? visibleRows.toReversed() : visibleRows;
  const [first, last] = [data.at(0), data.at(-1)];
  return {
    data,
    pagination: {
      next: last !== undefined && (isBackwards || hasMore) ? cursorOf(last) : null,
      prev: first !== undefined && (isBackwards ? hasMore : hasAfter) ? cursorOf(first) : null,
    },
  };
}
