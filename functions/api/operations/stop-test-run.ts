/** The route that deletes: its function alone may. */
import { stopTestRun } from '../../../lib/service/runs/stop-test-run.ts';
import { type Operations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';

export const stopOperations = ({ decider }: Tools): Operations<'test-runs'> => ({
  stopTestRun: async ({ scope, params }) => {
    const { runId } = params;
    const audit = { resource: `run/${runId}`, facts: { runId } };
    const result = await stopTestRun(decider, { ...scope, runId });
    return result.kind === 'stopped' ? { status: 200, body: { runId, deleted: true }, audit } : { ...refuse(result.kind), audit };
  },
});
