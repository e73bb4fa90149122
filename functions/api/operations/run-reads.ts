/** The routes that show and list runs. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { defined } from '../../../lib/base/defined.ts';
import { isExternalRunId } from '../../../lib/engine/external/run.ts';
import { instant } from '../../../lib/engine/time.ts';
import { estimateRun } from '../../../lib/service/runs/estimate-run.ts';
import { getExternalRun } from '../../../lib/service/runs/external-runs.ts';
import { getRun } from '../../../lib/service/runs/get-run.ts';
import { getRunDefinition } from '../../../lib/service/runs/get-run-definition.ts';
import { type ListedRun, listRuns } from '../../../lib/service/runs/list-runs.ts';
import { maxRunsWithWaits, readWaits } from '../../../lib/service/runs/read-waits.ts';
import { type OperationTable, refuse } from '../operation.ts';
import { externalRunOf, externalSummaryOf } from './external-run-view.ts';
import { runDetailOperations } from './run-details.ts';
import { costOf, runOf, runSummaryOf, waitsOf } from './run-view.ts';
import { graphIn } from './workflows.ts';

const cursorShape = z.strictObject({ createdAt: z.number().transform(instant), runId: z.string() });

export const runReadOperations: OperationTable<'listRuns' | 'getRun' | 'getRunDefinition' | 'getRunNode' | 'getRunTimeline'> = {
  ...runDetailOperations,

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

  async getRun({ decider }, { scope, params, query }) {
    const { runId } = params;
    const withValues = query.resolveData === 'all';
    if (isExternalRunId(runId)) {
      const external = await getExternalRun(decider.deps, scope, runId, withValues);
      if (external === undefined) return refuse('not_found');
      const body = externalRunOf(external);
      return { status: 200, body: query.nodes === 'all' ? body : { ...body, nodes: [] } };
    }
    const [result, estimate] = await Promise.all([
      getRun(decider, { ...scope, runId }, withValues),
      query.estimate ? estimateRun(decider.deps, { ...scope, runId }) : undefined,
    ]);
    if (result.kind !== 'found') return refuse(result.kind);
    const { run } = result;
    const shown = query.nodes === 'all' ? run : { ...run, nodes: [] };
    return { status: 200, body: { ...runOf(shown), ...costOf(estimate) } };
  },

  async getRunDefinition({ decider }, { scope, params }) {
    const result = await getRunDefinition(decider.deps, { ...scope, ...params });
    switch (result.kind) {
      case 'found': {
        const { definition, version, pinned } = result;
        const facts = { runId: params.runId, workflowName: definition.name, version };
        return { status: 200, body: defined({ ...facts, ...graphIn(definition), pinned }) };
      }
      case 'no_graph':
        return refuse('not_found', { message: 'The run has no graph: deployed code executes it.' });
      case 'not_found':
        return refuse(result.kind);
    }
  },
};

const summaryOf = (run: ListedRun, waits: Awaited<ReturnType<typeof readWaits>> | undefined) =>
  'external' in run ? externalSummaryOf(run.external) : { ...runSummaryOf(run), ...waitsOf(waits?.get(run.head)) };
