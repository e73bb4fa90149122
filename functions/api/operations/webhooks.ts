/** The route that takes webhooks. There is no key: the signature says who sends, and the configuration whose runs it may start. */
import type { ErrorDetail } from '../../../lib/api/errors.ts';
import { json } from '../../../lib/api/schemas/parts.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { maxSignalTextLength } from '../../../lib/engine/signal-key.ts';
import { type Webhook, receiveWebhook } from '../../../lib/service/access/receive-webhook.ts';
import type { WebhookSecrets } from '../../../lib/service/access/webhook-secrets.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { WebhookProviders } from '../../../lib/webhooks/provider.ts';
import { type AuditNote, type Operations, type Refusal, refuse } from '../operation.ts';
import { readJson } from '../pipeline/read-json.ts';
import type { Tools } from '../tools.ts';

export interface WebhookTools extends Tools {
  /** by name; asked for with each request, so that nothing is read before it is used */
  readonly providers: () => Promise<WebhookProviders>;
  readonly secrets: WebhookSecrets;
}

export const webhookOperations = ({ decider, providers, secrets }: WebhookTools): Operations<'webhooks'> => ({
  receiveWebhook: async ({ params: { provider: name }, headers, raw, trace }) => {
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
    const facts = { deliveryId: result.deliveryId };
    const audit: AuditNote = { resource, scope, facts };
    switch (result.kind) {
      case 'accepted': {
        const { runId, isReplay } = result;
        return {
          status: 202,
          body: { accepted: true, runId },
          headers: isReplay ? { 'idempotency-replayed': 'true' } : {},
          audit: { ...audit, facts: { ...facts, runId, deduped: isReplay } },
        };
      }
      case 'signalled': {
        const { signalId, isDelivered: delivered, isReplay } = result;
        return {
          status: 202,
          body: { accepted: true, signalId, delivered },
          headers: isReplay ? { 'idempotency-replayed': 'true' } : {},
          audit: { ...audit, facts: { ...facts, signalId, delivered, deduped: isReplay } },
        };
      }
      case 'input_invalid':
        return { ...refuse(result.kind, { errors: result.errors }), audit };
      case 'no_run_id':
        return { ...refuse('invalid_request', { errors: [missingRunId(result.path)] }), audit };
      case 'no_correlation':
        return { ...refuse('invalid_request', { errors: [missingCorrelation(result.path)] }), audit };
      case 'payload_too_large':
        return { ...tooLarge(result.limitBytes), audit };
      case 'idempotency_conflict':
        return { ...refuse(result.kind, { message: 'The delivery’s id was used with another body.' }), audit };
      case 'run_terminal':
        return { ...refuse(result.kind, { message: `The run has ended already: it is ${result.status}.` }), audit };
      case 'deployment_not_found':
        return { ...refuse('not_found', { message: `There is no deployment ${result.deploymentId}.` }), audit };
      case 'run_deleted':
        // It was taken, and its run has been deleted since: the provider need not send it again.
        return {
          status: 202,
          body: { accepted: true, runId: result.runId },
          headers: { 'idempotency-replayed': 'true' },
          audit: { ...audit, facts: { ...facts, runId: result.runId, deduped: true } },
        };
      case 'run_exists':
        // The id was drawn for this delivery, and somebody else has it: sent again, another is drawn.
        throw new Unavailable('a run id that is free');
      case 'node_not_reached':
        throw new Error('a start goes on from no node');
      case 'deadline_passed':
        throw new Error('a webhook starts runs without a deadline of their own');
      case 'not_found':
      case 'no_active_deployment':
      case 'deployment_not_verified':
      case 'workflow_not_found':
      case 'workflow_archived':
      case 'workflow_deleting':
        return { ...refuse(result.kind), audit };
    }
  },
});

const missingRunId = (pointer: string): ErrorDetail => ({ pointer, code: 'no_run_id', message: 'must be the id of a run' });

const missingCorrelation = (pointer: string): ErrorDetail => ({
  pointer,
  code: 'no_correlation',
  message: `must be a text of up to ${maxSignalTextLength} characters, or a whole number`,
});

const tooLarge = (limitBytes: number): Refusal<'payload_too_large'> =>
  refuse('payload_too_large', { message: `A run is told at most ${limitBytes} bytes when it is resumed or sent a signal.` });

/** JSON where the sender says so and it is safe to keep; the text else. */
function contentOf(bytes: Uint8Array, contentType: string): JsonValue {
  const text = new TextDecoder().decode(bytes);
  if (!/^[^;]*[/+]json\b/i.test(contentType)) return text;
  const parsed = readJson(text);
  return parsed.kind === 'read' ? json.parse(parsed.value) : text;
}
