/** The route that takes webhooks, as an entry of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as webhooks from './schemas/webhooks.ts';

/** Far more than a sender of webhooks sends. */
const webhookLimitBytes = 1_048_576;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const webhookRoutes = [
  {
    method: 'POST',
    path: '/v1/webhooks/{provider}',
    operationId: 'receiveWebhook',
    summary: 'Takes a webhook that its provider has signed, and starts a run, resumes one or sends a signal',
    servedBy: 'webhooks',
    scope: null,
    params: webhooks.webhookParams,
    invalidParamsCode: 'unknown_provider',
    rawBody: { limitBytes: webhookLimitBytes, description: 'whatever the provider sends; its signature is over these bytes' },
    idempotencyKey: 'none',
    action: 'webhooks.ingress',
    responses: { 202: ok('Taken, now or before', webhooks.webhookResponse) },
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
