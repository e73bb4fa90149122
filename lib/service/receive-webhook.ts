/** Takes a webhook: verifies it, and starts a run, resumes one or sends a signal, as its provider's configuration says, once for each delivery. */
import { createHash } from 'node:crypto';
import { type RunId, type Scope, type SignalId, runId as toRunId, runIdPattern } from '../engine/ids.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import { longestSignalWord } from '../engine/signal.ts';
import { type DurationMs, durationMs, hours, iso } from '../engine/time.ts';
import type { Trace } from '../engine/trace.ts';
import type { Fault, Received } from '../webhooks/delivery.ts';
import type { WebhookProvider } from '../webhooks/provider.ts';
import { valueAt } from '../webhooks/value-at.ts';
import { verify } from '../webhooks/verify.ts';
import type { Decider } from './decide-run.ts';
import { type ResumeAnswer, resumeRun } from './resume-run.ts';
import { sendSignal } from './send-signal.ts';
import { type StartAnswer, startRun } from './start-run.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

export interface Webhook extends Received {
  readonly name: string;
  readonly provider: WebhookProvider;
  /** the body as a run sees it; asked for only once it is known to be the sender's */
  readonly content: () => JsonValue;
  readonly trace: Trace;
}

export type WebhookAnswer =
  | { readonly kind: 'invalid_signature'; readonly why: Fault }
  /** the body says no run that could be resumed */
  | Verified<{ readonly kind: 'no_run_id'; readonly place: string }>
  /** the body says nothing that could be what a signal is about */
  | Verified<{ readonly kind: 'no_correlation'; readonly place: string }>
  /** what is told a run has a limit of its own */
  | Verified<{ readonly kind: 'payload_too_large'; readonly limitBytes: number }>
  | Verified<{ readonly kind: 'accepted'; readonly runId: RunId; readonly isReplay: boolean }>
  | Verified<{
      readonly kind: 'signalled';
      readonly signalId: SignalId;
      readonly isDelivered: boolean;
      readonly isReplay: boolean;
    }>
  | Verified<Exclude<StartAnswer, { kind: 'started' }>>
  | Verified<Exclude<ResumeAnswer, { kind: 'resumed' }>>;

type Verified<Answer> = Answer & { readonly deliveryId: string };

/** A delivery's id is remembered for a day at least: most senders have no time that would make an old one worthless. */
const leastRemembered = hours(24);
/** As much as `POST /v1/runs/resume` and `POST /v1/signals` take. */
const toldLimitBytes = 65_536;

/** What a run may see of the headers: nothing that signs, and nothing of the way here. */
const shownHeaders = ['content-type', 'user-agent', 'x-github-event', 'x-github-hook-id', 'webhook-id', 'webhook-timestamp'];

export async function receiveWebhook(decider: Decider, secrets: WebhookSecrets, webhook: Webhook): Promise<WebhookAnswer> {
  const verdict = await judge(decider, secrets, webhook);
  if (verdict.kind === 'refused') return { kind: 'invalid_signature', why: verdict.why };
  const { deliveryId } = verdict;
  return { ...(await route(decider, webhook, deliveryId)), deliveryId };
}

async function judge({ deps }: Decider, secrets: WebhookSecrets, webhook: Webhook) {
  const { provider } = webhook;
  const now = deps.clock.now();
  const verdict = verify(provider, webhook, await secrets.of(provider.secretArn), now);
  if (verdict.kind === 'verified' || verdict.why !== 'mismatch') return verdict;
  const newer = await secrets.again(provider.secretArn);
  return newer === undefined ? verdict : verify(provider, webhook, newer, now);
}

type Routed = WebhookAnswer extends infer Answer
  ? Answer extends { deliveryId: string }
    ? Omit<Answer, 'deliveryId'>
    : never
  : never;

async function route(decider: Decider, webhook: Webhook, deliveryId: string): Promise<Routed> {
  const { provider, name } = webhook;
  const { target } = provider;
  const once: Once = {
    endpoint: `POST /v1/webhooks/${name}`,
    key: deliveryId,
    bodyHash: createHash('sha256').update(webhook.body).digest('hex'),
    rememberedMs: durationMs(Math.max(leastRemembered, decider.deps.settings.idempotencyMs)),
  };
  const scope: Scope = { projectId: provider.projectId, environment: provider.environment };
  const told = inputOf(decider, webhook, deliveryId);
  if ('workflowName' in target) {
    const { key: idempotencyKey, ...rest } = once;
    const { trace } = webhook;
    const answer = await startRun(decider, { ...rest, idempotencyKey, scope, ...target, input: told, trace });
    return answer.kind === 'started' ? { kind: 'accepted', runId: answer.runId, isReplay: answer.isReplay } : answer;
  }
  return 'resume' in target
    ? resumed(decider, webhook, { scope, once, told, place: target.resume.runIdPath })
    : signalled(decider, { scope, once, told, ...target.signal });
}

interface Once {
  readonly endpoint: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly rememberedMs: DurationMs;
}

async function resumed(
  decider: Decider,
  { name }: Webhook,
  { scope, once, told, place }: { scope: Scope; once: Once; told: JsonObject; place: string },
): Promise<Routed> {
  const wanted = valueAt(told['body'] ?? null, place);
  if (typeof wanted !== 'string' || !runIdPattern.test(wanted)) return { kind: 'no_run_id', place };
  if (isTooLarge(told)) return tooLarge;
  const runId = toRunId(wanted);
  const answer = await resumeRun(decider, { ...scope, runId }, { reason: `webhook ${name}`, payload: told, once });
  return answer.kind === 'resumed' ? { kind: 'accepted', runId, isReplay: answer.isReplay } : answer;
}

async function signalled(
  decider: Decider,
  wanted: { scope: Scope; once: Once; told: JsonObject; name: string; correlationPath: string },
): Promise<Routed> {
  const { scope, told, name, correlationPath } = wanted;
  const { key: idempotencyKey, ...once } = wanted.once;
  const correlation = correlationOf(valueAt(told['body'] ?? null, correlationPath));
  if (correlation === undefined) return { kind: 'no_correlation', place: correlationPath };
  if (isTooLarge(told)) return tooLarge;
  const answer = await sendSignal(decider, scope, { ...once, idempotencyKey, name, correlation, payload: told });
  return answer.kind === 'sent' ? { ...answer, kind: 'signalled' } : answer;
}

/** Ids are texts or whole numbers, and a wait names them as text. */
function correlationOf(value: JsonValue | undefined): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && text !== '' && text.length <= longestSignalWord ? text : undefined;
}

const isTooLarge = (told: JsonObject): boolean => Buffer.byteLength(JSON.stringify(told)) > toldLimitBytes;
const tooLarge = { kind: 'payload_too_large', limitBytes: toldLimitBytes } as const;

/** What the run is given. Its time is that of the first delivery that came through: a repetition begins nothing. */
const inputOf = ({ deps }: Decider, { name, headers, content }: Webhook, deliveryId: string): JsonObject => ({
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
