/** Receives webhooks. Instead of a key, the signature authenticates the sender, and the configuration names the project. */
import type { ErrorDetail } from '../../../lib/api/errors.ts';
import { json } from '../../../lib/api/schemas/parts.ts';
import { webhookRoutes } from '../../../lib/api/webhook-routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { maxSignalTextLength } from '../../../lib/engine/ids.ts';
import type { JsonObject, JsonValue } from '../../../lib/engine/json.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { type Webhook, receiveWebhook } from '../../../lib/service/access/receive-webhook.ts';
import type { WebhookSecrets } from '../../../lib/service/access/webhook-secrets.ts';
import type { WebhookProviders } from '../../../lib/webhooks/provider.ts';
import type { AuditNote } from '../caller.ts';
import { type Operations, type Served, type Refusal, type Tools, refuse } from '../operation.ts';
import { readJson } from '../pipeline/read-request.ts';

export interface WebhookTools extends Tools {
  /** configured providers by name, read on first use */
  readonly providers: () => Promise<WebhookProviders>;
  readonly secrets: WebhookSecrets;
}

const webhookOperations: Operations<'webhooks', WebhookTools> = {
  async receiveWebhook({ decider, providers, secrets }, { params: { provider: name }, headers, raw, trace }) {
    const configuredProviders = await providers();
    const provider = Object.hasOwn(configuredProviders, name) ? configuredProviders[name] : undefined;
    if (provider === undefined) return refuse('unknown_provider');
    const content = () => contentOf(raw, headers['content-type'] ?? '');
    const webhook: Webhook = { name, provider, headers, body: raw, content, trace };
    const result = await receiveWebhook(decider, secrets, webhook);
    const scope = { projectId: provider.projectId, environment: provider.environment };
    const resource = `webhook/${name}`;
    if (result.kind === 'invalid_signature')
      return { ...refuse(result.kind), audit: { resource, scope, failedAuthentication: result.why } };
    const audit = { resource, scope, facts: { deliveryId: result.deliveryId } };
    switch (result.kind) {
      case 'accepted':
        return acceptedResponse(audit, { runId: result.runId }, result.isReplay);
      case 'signalled':
        return acceptedResponse(audit, { signalId: result.signalId, delivered: result.isDelivered }, result.isReplay);
      case 'input_invalid':
        return { ...refuse(result.kind, { errors: result.errors }), audit };
      case 'no_run_id':
        return { ...refuse('invalid_request', { errors: [missingRunId(result.path)] }), audit };
      case 'no_correlation':
        return { ...refuse('invalid_request', { errors: [missingCorrelation(result.path)] }), audit };
      case 'payload_too_large':
        return { ...tooLarge(result.limitBytes), audit };
      case 'idempotency_conflict':
        return { ...refuse(result.kind, { message: 'The delivery id was already used with another body.' }), audit };
      case 'run_terminal':
        return { ...refuse(result.kind, { message: `The run has ended already: it is ${result.status}.` }), audit };
      case 'deployment_not_found':
        return { ...refuse('not_found', { message: `There is no deployment ${result.deploymentId}.` }), audit };
      case 'run_deleted':
        // The delivery was accepted before and its run has been deleted: the provider must not retry.
        return acceptedResponse(audit, { runId: result.runId }, true);
      case 'run_exists':
        // The generated run id is in use. A retry of the delivery generates another id.
        throw new Unavailable('no free run id was generated');
      case 'node_not_reached':
        throw new Error('unexpected result node_not_reached: a start does not continue from a node');
      case 'deadline_passed':
        throw new Error('unexpected result deadline_passed: a webhook sets no deadline');
      case 'version_not_found':
        throw new Error('unexpected result version_not_found: a webhook names no version');
      case 'not_found':
      case 'no_active_deployment':
      case 'deployment_not_verified':
      case 'workflow_not_found':
      case 'workflow_archived':
      case 'workflow_deleting':
        return { ...refuse(result.kind), audit };
    }
  },
};

export const servedByWebhooks: Served<'webhooks', WebhookTools> = { routes: webhookRoutes, operations: webhookOperations };

interface DeliveryNote extends AuditNote {
  readonly facts: { readonly deliveryId: string };
}

const acceptedResponse = <Effect extends JsonObject>(audit: DeliveryNote, effect: Effect, isReplay: boolean) => ({
  status: 202 as const,
  body: { accepted: true as const, ...effect },
  headers: defined({ 'idempotency-replayed': isReplay ? 'true' : undefined }),
  audit: { ...audit, facts: { ...audit.facts, ...effect, deduped: isReplay } },
});

const missingRunId = (pointer: string): ErrorDetail => ({ pointer, code: 'no_run_id', message: 'must be the id of a run' });

const missingCorrelation = (pointer: string): ErrorDetail => ({
  pointer,
  code: 'no_correlation',
  message: `must be a text of up to ${maxSignalTextLength} characters, or a whole number`,
});

const tooLarge = (limitBytes: number): Refusal<'payload_too_large'> =>
  refuse('payload_too_large', { message: `The payload of a signal or a resumption may have at most ${limitBytes} bytes.` });

/** The body as JSON if its content type is JSON and it is valid; else as text. */
function contentOf(bytes: Uint8Array, contentType: string): JsonValue {
  const text = new TextDecoder().decode(bytes);
  if (!/^[^;]*[/+]json\b/i.test(contentType)) return text;
  const parsed = readJson(text);
  return parsed.kind === 'read' ? json.parse(parsed.value) : text;
}
