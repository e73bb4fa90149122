/** The routes for test runs and views. */
import { bodyHash } from '../../../lib/api/idempotency.ts';
import { testRunRoutes } from '../../../lib/api/run-routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { workflowName } from '../../../lib/engine/ids.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { stopTestRun } from '../../../lib/service/runs/stop-test-run.ts';
import { testWorkflow } from '../../../lib/service/runs/test-workflow.ts';
import { viewRun } from '../../../lib/service/runs/view-run.ts';
import { type Operations, type Served, type OperationTable, refuse } from '../operation.ts';

/** A test run's graph needs no name. */
const unnamed = workflowName('unsaved');

export const testRunOperations: OperationTable<'testWorkflow' | 'viewRun'> = {
  async testWorkflow({ decider, inspect }, { scope, body, idempotencyKey: key, trace }) {
    const { name = unnamed, nodes, edges, options, pinned, input } = body;
    const request = defined({
      scope,
      trace,
      bodyHash: bodyHash(body),
      definition: { name, nodes, edges, options },
      pinned,
      input,
      idempotencyKey: key === '' ? undefined : key,
    });
    const audit = { resource: `workflow/${name}`, facts: { isTest: true } };
    const result = await testWorkflow(decider, request, inspect);
    switch (result.kind) {
      case 'started': {
        const { runId, isReplay } = result;
        return {
          status: 202,
          body: { runId, isTest: true },
          headers: defined({ location: `/v1/runs/${runId}`, 'idempotency-replayed': isReplay ? 'true' : undefined }),
          audit: { resource: `run/${runId}`, facts: { isTest: true, deduped: isReplay, runId } },
        };
      }
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'input_invalid':
        return { ...refuse(result.kind, { errors: result.errors }), audit };
      case 'idempotency_conflict':
        return { ...refuse(result.kind), audit };
      case 'run_exists':
      case 'run_deleted':
        // The generated run id is in use, or the test run was stopped during its start.
        throw new Unavailable('a run id that is free');
      case 'deployment_not_found':
      case 'node_not_reached':
        throw new Error(`unexpected result of a test run: ${result.kind}`);
    }
  },

  async viewRun({ decider }, { scope, params, body }) {
    const result = await viewRun(decider.deps, { ...scope, ...params }, body.config);
    switch (result.kind) {
      case 'found': {
        const { view, status, lastEventId } = result;
        const { widgetType } = body;
        return { status: 200, body: { view, status, lastEventId, ...(widgetType === undefined ? {} : { widgetType }) } };
      }
      case 'refused':
        return refuse('invalid_request', { errors: result.errors });
      case 'not_found':
        return refuse(result.kind);
    }
  },
};

const stopOperations: Operations<'test-runs'> = {
  async stopTestRun({ decider }, { scope, params }) {
    const { runId } = params;
    const audit = { resource: `run/${runId}`, facts: { runId } };
    const result = await stopTestRun(decider, { ...scope, runId });
    return result.kind === 'stopped' ? { status: 200, body: { runId, deleted: true }, audit } : { ...refuse(result.kind), audit };
  },
};

export const servedByTestRuns: Served<'test-runs'> = { routes: testRunRoutes, operations: stopOperations };
