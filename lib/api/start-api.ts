/**
 * The routes of the start API, which are routes of the REST API too: programs call them often, and they never stream. This file imports no
 * schema, because the construct reads it. A test compares it with the route table.
 */
interface StartApiRoute {
  readonly operationId: string;
  readonly method: 'GET' | 'POST';
  readonly path: `/v1/${string}`;
}

export const startApiRoutes: readonly StartApiRoute[] = [
  { operationId: 'startRun', method: 'POST', path: '/v1/runs' },
  { operationId: 'startRunBatch', method: 'POST', path: '/v1/runs/batch' },
  { operationId: 'getRun', method: 'GET', path: '/v1/runs/{runId}' },
  { operationId: 'sendSignal', method: 'POST', path: '/v1/signals' },
  { operationId: 'sendRunSignal', method: 'POST', path: '/v1/runs/{runId}/signals' },
];

const operations: ReadonlySet<string> = new Set(startApiRoutes.map(({ operationId }) => operationId));

export const isOnStartApi = (operationId: string): boolean => operations.has(operationId);
