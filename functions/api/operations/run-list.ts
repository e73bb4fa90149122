/** The route that lists runs. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { topLevel } from '../../../lib/engine/ids.ts';
import { instant, iso } from '../../../lib/engine/time.ts';
import { type ListedRun, listRuns } from '../../../lib/service/runs/list-runs.ts';
import { type RunWaits, maxRunsWithWaits, readWaits } from '../../../lib/service/runs/read-waits.ts';
import { type OperationTable, refuse } from '../operation.ts';
import { externalSummaryOf } from './external-run-view.ts';
import { runSummaryOf, waitingForOf } from './run-view.ts';

type RunSummary = ResponseOf<'listRuns'>['body']['data'][number];

const cursorShape = z.strictObject({ createdAt: z.number().transform(instant), runId: z.string() });

export const runListOperations: OperationTable<'listRuns'> = {
  async listRuns({ decider }, { scope, query }) {
    const { cursor, limit: requested, includeWaits, ...filters } = query;
    const limit = includeWaits ? Math.min(requested, maxRunsWithWaits) : requested;
    const listing = { operationId: 'listRuns', scope, filters };
    const start = cursor === undefined ? undefined : decodeCursor(listing, cursorShape, cursor);
    if (cursor !== undefined && start === undefined) return refuse('cursor_invalid');
    const found = await listRuns(decider.deps, scope, filters, defined({ limit, after: start }));
    const next = found.next === undefined ? null : encodeCursor(listing, { ...found.next });
    const waits = includeWaits ? await readWaits(decider.deps, found.runs) : undefined;
    const data = found.runs.map((run) => summaryOf(run, waits));
    return { status: 200, body: { data, cursor: next, hasMore: next !== null } };
  },
};

const summaryOf = (run: ListedRun, waits: Awaited<ReturnType<typeof readWaits>> | undefined) =>
  'external' in run ? externalSummaryOf(run.external) : { ...runSummaryOf(run), ...waitsOf(waits?.get(run.head)) };

/** Empty if the waits were not asked for, or the run has none. */
const waitsOf = (found: RunWaits | undefined): Pick<RunSummary, 'waits' | 'waitsOmitted'> =>
  found === undefined || found.waits.length === 0
    ? {}
    : defined({
        waits: found.waits.map((wait) =>
          defined({
            nodeId: wait.nodeId,
            iteration: wait.iteration === topLevel ? undefined : wait.iteration,
            since: iso(wait.dispatchedAt),
            ...waitingForOf(wait),
          }),
        ),
        waitsOmitted: found.omitted === 0 ? undefined : found.omitted,
      });
