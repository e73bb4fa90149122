/** The route for webhooks, as an entry of the route table. The body of a provider has no schema; only the response has one. */
import { type Route, ok } from './route.ts';
import * as z from 'zod';

/** Far more than webhook providers send. */
export const webhookLimitBytes = 1_048_576;

/** The provider's name in the configuration. */
const webhookParams = z.strictObject({ provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/) });

const webhookResponse = z.strictObject({
  accepted: z.literal(true),
  runId: z.string().exactOptional().meta({ description: 'the run that was started or resumed' }),
  signalId: z.string().exactOptional().meta({ description: 'the signal that was sent' }),
  delivered: z
    .boolean()
    .exactOptional()
    .meta({ description: 'signals only: whether a node waited for it; otherwise the signal is stored' }),
});

export const webhookRoutes = [
  {
    method: 'POST',
    path: '/v1/webhooks/{provider}',
    operationId: 'receiveWebhook',
    summary: 'Receives a webhook signed by its provider, and starts a run, resumes a run or sends a signal',
    servedBy: 'webhooks',
    scope: null,
    params: webhookParams,
    invalidParamsCode: 'unknown_provider',
    rawBody: { limitBytes: webhookLimitBytes, description: 'the body of the provider; its signature covers these bytes' },
    idempotencyKey: 'none',
    action: 'webhooks.ingress',
    responses: { 202: ok('Accepted now or by an earlier delivery', webhookResponse) },
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
