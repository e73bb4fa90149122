/** Receives a webhook: verifies it, then starts a run, resumes a run or sends a signal, once per delivery, as the provider's configuration says. */
import { createHash } from 'node:crypto';
import { type RunId, type Scope, type SignalId, runId as toRunId, runIdPattern, maxSignalTextLength } from '../../engine/ids.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type DurationMs, durationMs, hours, iso } from '../../engine/time.ts';
import type { Trace } from '../../engine/trace.ts';
import { type WebhookProvider, valueAt } from '../../webhooks/provider.ts';
import { type VerificationFailure, type ReceivedWebhook, verify } from '../../webhooks/verify.ts';
import type { Decider } from '../decider.ts';
import { type ResumeResult, resumeRun } from '../runs/resume-run.ts';
import { sendSignal } from '../runs/send-signal.ts';
import { type StartResult, startRun } from '../runs/start-run.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

export interface Webhook extends ReceivedWebhook {
  readonly name: string;
  readonly provider: WebhookProvider;
  /** the body as a run sees it; parsed only after the signature is verified */
  readonly content: () => JsonValue;
  readonly trace: Trace;
}

export type WebhookResult =
  | { readonly kind: 'invalid_signature'; readonly why: VerificationFailure }
  /** the body has no run id at the configured path */
  | Verified<{ readonly kind: 'no_run_id'; readonly path: string }>
  /** the body has no correlation value at the configured path */
  | Verified<{ readonly kind: 'no_correlation'; readonly path: string }>
  /** payloads of resumes and signals have their own size limit */
  | Verified<{ readonly kind: 'payload_too_large'; readonly limitBytes: number }>
  | Verified<{ readonly kind: 'accepted'; readonly runId: RunId; readonly isReplay: boolean }>
  | Verified<{
      readonly kind: 'signalled';
      readonly signalId: SignalId;
      readonly isDelivered: boolean;
      readonly isReplay: boolean;
    }>
  | Verified<Exclude<StartResult, { kind: 'started' }>>
  | Verified<Exclude<ResumeResult, { kind: 'resumed' }>>;

type Verified<Result> = Result & { readonly deliveryId: string };

/** A delivery id is stored for at least a day, because most senders do not sign a timestamp that would expire. */
export const minIdempotencyTtl = hours(24);
/** The limit of `POST /v1/runs/resume` and `POST /v1/signals`. */
export const payloadLimitBytes = 65_536;

/** Headers in the run's input: no signatures, no routing headers. */
const exposedHeaders = ['content-type', 'user-agent', 'x-github-event', 'x-github-hook-id', 'webhook-id', 'webhook-timestamp'];

export async function receiveWebhook(decider: Decider, secrets: WebhookSecrets, webhook: Webhook): Promise<WebhookResult> {
  const verification = await verifyWebhook(decider, secrets, webhook);
  if (verification.kind === 'refused') return { kind: 'invalid_signature', why: verification.why };
  const { deliveryId } = verification;
  return { ...(await route(decider, webhook, deliveryId)), deliveryId };
}

async function verifyWebhook({ deps }: Decider, secrets: WebhookSecrets, webhook: Webhook) {
  const { provider } = webhook;
  const now = deps.clock.now();
  const verification = verify(provider, webhook, await secrets.of(provider.secretArn), now);
  if (verification.kind === 'verified' || verification.why !== 'mismatch') return verification;
  const refreshedSecrets = await secrets.refresh(provider.secretArn);
  return refreshedSecrets === undefined ? verification : verify(provider, webhook, refreshedSecrets, now);
}

type RoutedResult = WebhookResult extends infer Result
  ? Result extends { deliveryId: string }
    ? Omit<Result, 'deliveryId'>
    : never
  : never;

async function route(decider: Decider, webhook: Webhook, deliveryId: string): Promise<RoutedResult> {
  const { provider, name } = webhook;
  const { target } = provider;
  const idempotency: Idempotency = {
    endpoint: `POST /v1/webhooks/${name}`,
    key: deliveryId,
    bodyHash: createHash('sha256').update(webhook.body).digest('hex'),
    idempotencyTtlMs: durationMs(Math.max(minIdempotencyTtl, decider.deps.settings.idempotencyMs)),
  };
  const scope: Scope = { projectId: provider.projectId, environment: provider.environment };
  const payload = webhookInputOf(decider, webhook, deliveryId);
  if ('workflowName' in target) {
    const { key: idempotencyKey, ...rest } = idempotency;
    const { trace } = webhook;
    const result = await startRun(decider, { ...rest, idempotencyKey, scope, ...target, input: payload, trace });
    return result.kind === 'started' ? { kind: 'accepted', runId: result.runId, isReplay: result.isReplay } : result;
  }
  return 'resume' in target
    ? resumeFromWebhook(decider, webhook, { scope, idempotency, payload, path: target.resume.runIdPath })
    : signalFromWebhook(decider, { scope, idempotency, payload, ...target.signal });
}

interface Idempotency {
  readonly endpoint: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly idempotencyTtlMs: DurationMs;
}

async function resumeFromWebhook(
  decider: Decider,
  { name }: Webhook,
  { scope, idempotency, payload, path }: { scope: Scope; idempotency: Idempotency; payload: JsonObject; path: string },
): Promise<RoutedResult> {
  const value = valueAt(payload['body'] ?? null, path);
  if (typeof value !== 'string' || !runIdPattern.test(value)) return { kind: 'no_run_id', path };
  if (isTooLarge(payload)) return tooLarge;
  const runId = toRunId(value);
  const result = await resumeRun(decider, { ...scope, runId }, { reason: `webhook ${name}`, payload, idempotency });
  return result.kind === 'resumed' ? { kind: 'accepted', runId, isReplay: result.isReplay } : result;
}

async function signalFromWebhook(
  decider: Decider,
  request: { scope: Scope; idempotency: Idempotency; payload: JsonObject; name: string; correlationPath: string },
): Promise<RoutedResult> {
  const { scope, payload, name, correlationPath } = request;
  const { key: idempotencyKey, ...idempotency } = request.idempotency;
  const correlation = correlationOf(valueAt(payload['body'] ?? null, correlationPath));
  if (correlation === undefined) return { kind: 'no_correlation', path: correlationPath };
  if (isTooLarge(payload)) return tooLarge;
  const result = await sendSignal(decider, scope, { ...idempotency, idempotencyKey, name, correlation, payload });
  return result.kind === 'sent' ? { ...result, kind: 'signalled' } : result;
}

/** A correlation value is a string or an integer; a waiting node names it as a string. */
function correlationOf(value: JsonValue | undefined): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && text !== '' && text.length <= maxSignalTextLength ? text : undefined;
}

const isTooLarge = (payload: JsonObject): boolean => Buffer.byteLength(JSON.stringify(payload)) > payloadLimitBytes;
const tooLarge = { kind: 'payload_too_large', limitBytes: payloadLimitBytes } as const;

/** The run's input. `receivedAt` is the time of the first accepted delivery, because a repeated delivery starts nothing. */
const webhookInputOf = ({ deps }: Decider, { name, headers, content }: Webhook, deliveryId: string): JsonObject => ({
  provider: name,
  deliveryId,
  receivedAt: iso(deps.clock.now()),
  headers: Object.fromEntries(
    exposedHeaders.flatMap((header) => {
      const value = headers[header];
      return value === undefined ? [] : [[header, value]];
    }),
  ),
  body: content(),
});
