/** The routes about test runs and about what widgets show of a run, as entries of the table of routes. */
import type * as z from 'zod';
import { definitionLimits } from '../engine/graph/findings.ts';
import { canonicalDefinition, canonicalStart } from './aliases.ts';
import type { Route } from './route.ts';
import * as runs from './schemas/runs.ts';
import * as tests from './schemas/test-runs.ts';

/** The configuration of one widget. */
const viewLimitBytes = 262_144;

/** A graph and a start in one body. */
const canonicalTest = (body: unknown): unknown => canonicalStart(canonicalDefinition(body));

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const testRunRoutes = [
  {
    method: 'POST',
    path: '/v1/workflows/test',
    operationId: 'testWorkflow',
    summary: 'Runs a graph that nobody has published',
    servedBy: 'api',
    scope: 'workflows:write',
    body: { schema: tests.testWorkflowBody, limitBytes: definitionLimits.bytes, normalizeBody: canonicalTest },
    idempotencyKey: 'optional',
    action: 'workflows.test',
    responses: { 202: ok('The test run exists and will be worked on', tests.testedResponse) },
    errors: ['definition_invalid', 'input_invalid', 'idempotency_conflict'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/stop',
    operationId: 'stopTestRun',
    summary: 'Stops a test run and deletes every trace of it',
    servedBy: 'test-runs',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    idempotencyKey: 'none',
    action: 'runs.stop',
    responses: { 200: ok('There is no such run any more', tests.stoppedResponse) },
    errors: ['not_found', 'not_a_test_run'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/view',
    operationId: 'viewRun',
    summary: "Resolves a widget's configuration against a run as it is now",
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: tests.viewRunBody, limitBytes: viewLimitBytes },
    idempotencyKey: 'none',
    responses: { 200: ok('What the widget shows', tests.viewResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];
