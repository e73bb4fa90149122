/** The routes that show runs. */
import { defined } from '../../../lib/base/defined.ts';
import { isExternalRunId } from '../../../lib/engine/external/run.ts';
import { estimateRun } from '../../../lib/service/runs/estimate-run.ts';
import { getExternalRun } from '../../../lib/service/runs/external-runs.ts';
import { getRun } from '../../../lib/service/runs/get-run.ts';
import { getRunDefinition } from '../../../lib/service/runs/get-run-definition.ts';
import { type OperationTable, refuse } from '../operation.ts';
import { externalRunOf } from './external-run-view.ts';
import { runDetailOperations } from './run-details.ts';
import { runListOperations } from './run-list.ts';
import { costOf, runOf } from './run-view.ts';
import { graphIn } from './workflows.ts';

export const runReadOperations: OperationTable<'listRuns' | 'getRun' | 'getRunDefinition' | 'getRunNode' | 'getRunTimeline'> = {
  ...runListOperations,
  ...runDetailOperations,

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
