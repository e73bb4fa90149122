/** The route for webhooks, as an entry of the route table. */
import { ok, type Route } from './route.ts';
import * as webhooks from './schemas/webhooks.ts';

/** Far more than webhook providers send. */
export const webhookLimitBytes = 1_048_576;

export const webhookRoutes = [
  {
    method: 'POST',
    path: '/v1/webhooks/{provider}',
    operationId: 'receiveWebhook',
    summary: 'Receives a webhook signed by its provider, and starts a run, resumes a run or sends a signal',
    servedBy: 'webhooks',
    scope: null,
    params: webhooks.webhookParams,
    invalidParamsCode: 'unknown_provider',
    rawBody: { limitBytes: webhookLimitBytes, description: 'the body of the provider; its signature covers these bytes' },
    idempotencyKey: 'none',
    action: 'webhooks.ingress',
    responses: { 202: ok('Accepted now or by an earlier delivery', webhooks.webhookResponse) },
    errors: [
      'unknown_provider',
      'invalid_signature',
      'payload_too_large',
      'invalid_request',
      'idempotency_conflict',
      'not_found',
      'run_terminal',
      'no_active_deployment',
      'deployment_not_verified',
      'workflow_not_found',
      'workflow_archived',
      'workflow_deleting',
      'input_invalid',
    ],
  },
] as const satisfies readonly Route[];
