/** Lists and counts runs by the list that is kept beside the logs. What is shown is read from the logs. */
import type { PolledStatus } from '../../engine/polled/run.ts';
import { asPolledRunId } from '../../engine/polled/ids.ts';
import { instant } from '../../engine/time.ts';
import type { Listing, ListingPosition } from '../../ports/polled-runs.ts';
import { runAnswer, statusOf } from './answers.ts';
import type { ListWorkflowRuns, Page, WorkflowRun, WorkflowRunStatus } from './contract.ts';
import type { Ledgers } from './ledgers.ts';
import { type Place, pageOf, turnOf } from './pages.ts';
import type { BackendParts } from './parts.ts';

/** Listings are small: so many are read at once. */
const listingsAtOnce = 1_000;

/** The statuses that older versions of the library had, by what they have become. */
const isAskedFor = (asked: ListWorkflowRuns['status'], status: PolledStatus): boolean => {
  if (asked === undefined) return true;
  return statusOf(status) === (asked === 'sleeping' ? 'running' : asked === 'succeeded' ? 'completed' : asked);
};

export async function listRuns(
  { store }: BackendParts,
  ledgers: Ledgers,
  namespaceId: string,
  asked: ListWorkflowRuns,
): Promise<Page<WorkflowRun>> {
  const turn = turnOf(asked);
  const isFiltered = asked.status !== undefined || asked.workflowName !== undefined;
  const size = isFiltered ? listingsAtOnce : turn.limit + 1;
  const rows: WorkflowRun[] = [];
  let from = turn.from && positionOf(turn.from);
  while (rows.length <= turn.limit) {
    const page = { order: turn.isBackwards ? 'oldest first' : 'newest first', limit: size, ...(from && { from }) } as const;
    const listings = await store.listings(namespaceId, page);
    const meant = listings.filter(
      ({ status, workflowName }) =>
        isAskedFor(asked.status, status) && (asked.workflowName === undefined || asked.workflowName === workflowName),
    );
    for (let start = 0; start < meant.length && rows.length <= turn.limit; start += turn.limit + 1) {
      const states = await Promise.all(
        meant.slice(start, start + turn.limit + 1).map(({ runId }) => ledgers.state({ namespaceId, runId })),
      );
      for (const state of states)
        if (state !== undefined && isAskedFor(asked.status, state.run.status)) rows.push(runAnswer(namespaceId, state));
    }
    from = listings.at(-1);
    if (listings.length < size) break;
  }
  return pageOf(rows.slice(0, turn.limit + 1), turn);
}

/** A place of a stranger's is one between two of ours. */
const positionOf = ({ createdAt, id }: Place): ListingPosition | undefined => {
  const runId = asPolledRunId(id);
  return runId && { createdAt: instant(createdAt.getTime()), runId };
};

export async function countRuns({ store }: BackendParts, namespaceId: string): Promise<Record<WorkflowRunStatus, number>> {
  const counts = { pending: 0, running: 0, completed: 0, failed: 0, canceled: 0 };
  let from: Listing | undefined;
  for (;;) {
    const page = { order: 'oldest first', limit: listingsAtOnce, ...(from && { from }) } as const;
    const listings = await store.listings(namespaceId, page);
    for (const { status } of listings) counts[statusOf(status)] += 1;
    from = listings.at(-1);
    if (listings.length < listingsAtOnce) return counts;
  }
}
