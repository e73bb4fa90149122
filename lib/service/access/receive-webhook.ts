/** Takes a webhook: verifies it, and starts a run, resumes one or sends a signal, as its provider's configuration says, once for each delivery. */
import { createHash } from 'node:crypto';
import { type RunId, type Scope, type SignalId, runId as toRunId, runIdPattern } from '../../engine/ids.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { maxSignalTextLength } from '../../engine/signal-key.ts';
import { type DurationMs, durationMs, hours, iso } from '../../engine/time.ts';
import type { Trace } from '../../engine/trace.ts';
import type { VerificationFailure, ReceivedWebhook } from '../../webhooks/delivery.ts';
import type { WebhookProvider } from '../../webhooks/provider.ts';
import { valueAt } from '../../webhooks/value-at.ts';
import { verify } from '../../webhooks/verify.ts';
import type { Decider } from '../commit/decide-run.ts';
import { type ResumeResult, resumeRun } from '../runs/resume-run.ts';
import { sendSignal } from '../runs/send-signal.ts';
import { type StartResult, startRun } from '../runs/start-run.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

export interface Webhook extends ReceivedWebhook {
  readonly name: string;
  readonly provider: WebhookProvider;
  /** the body as a run sees it; asked for only once it is known to be the sender's */
  readonly content: () => JsonValue;
  readonly trace: Trace;
}

export type WebhookResult =
  | { readonly kind: 'invalid_signature'; readonly why: VerificationFailure }
  /** the body says no run that could be resumed */
  | Verified<{ readonly kind: 'no_run_id'; readonly path: string }>
  /** the body says nothing that could be what a signal is about */
  | Verified<{ readonly kind: 'no_correlation'; readonly path: string }>
  /** what is told a run has a limit of its own */
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

/** A delivery's id is remembered for a day at least: most senders have no time that would make an old one worthless. */
const minIdempotencyTtl = hours(24);
/** As much as `POST /v1/runs/resume` and `POST /v1/signals` take. */
const payloadLimitBytes = 65_536;

/** What a run may see of the headers: nothing that signs, and nothing of the way here. */
const shownHeaders = ['content-type', 'user-agent', 'x-github-event', 'x-github-hook-id', 'webhook-id', 'webhook-timestamp'];

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
  const wanted = valueAt(payload['body'] ?? null, path);
  if (typeof wanted !== 'string' || !runIdPattern.test(wanted)) return { kind: 'no_run_id', path };
  if (isTooLarge(payload)) return tooLarge;
  const runId = toRunId(wanted);
  const result = await resumeRun(decider, { ...scope, runId }, { reason: `webhook ${name}`, payload: payload, idempotency });
  return result.kind === 'resumed' ? { kind: 'accepted', runId, isReplay: result.isReplay } : result;
}

async function signalFromWebhook(
  decider: Decider,
  wanted: { scope: Scope; idempotency: Idempotency; payload: JsonObject; name: string; correlationPath: string },
): Promise<RoutedResult> {
  const { scope, payload, name, correlationPath } = wanted;
  const { key: idempotencyKey, ...idempotency } = wanted.idempotency;
  const correlation = correlationOf(valueAt(payload['body'] ?? null, correlationPath));
  if (correlation === undefined) return { kind: 'no_correlation', path: correlationPath };
  if (isTooLarge(payload)) return tooLarge;
  const result = await sendSignal(decider, scope, { ...idempotency, idempotencyKey, name, correlation, payload: payload });
  return result.kind === 'sent' ? { ...result, kind: 'signalled' } : result;
}

/** Ids are texts or whole numbers, and a wait names them as text. */
function correlationOf(value: JsonValue | undefined): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && text !== '' && text.length <= maxSignalTextLength ? text : undefined;
}

const isTooLarge = (payload: JsonObject): boolean => Buffer.byteLength(JSON.stringify(payload)) > payloadLimitBytes;
const tooLarge = { kind: 'payload_too_large', limitBytes: payloadLimitBytes } as const;

/** What the run is given. Its time is that of the first delivery that came through: a repetition begins nothing. */
const webhookInputOf = ({ deps }: Decider, { name, headers, content }: Webhook, deliveryId: string): JsonObject => ({
  provider: name,
  deliveryId,
  receivedAt: iso(deps.clock.now()),
  headers: Object.fromEntries(
    shownHeaders.flatMap((header) => {
      const value = headers[header];
      return value === undefined ? [] : [[header, value]];
    }),
  ),
  body: content(),
});
