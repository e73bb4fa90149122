/** Requests for webhooks, by an invocation of the code function. Only the webhooks function has the permission to invoke it. */
import type { Context } from 'aws-lambda';
import { parseWebhookCall, writeWebhookAnswer } from '../../lib/codec/webhook-calls.ts';
import { durationMs, instant, seconds } from '../../lib/engine/time.ts';
import { resumeWebhook } from '../../lib/service/kinds/devkit/resume-webhook.ts';
import type { DevKitDeliverer } from '../../lib/service/worker.ts';

/** The webhooks function ends after 29 seconds, and starts and answers in the rest. */
export const maxResponseTime = seconds(26);

/** SQS sets the fields of its events, so a message cannot imitate a call of the webhooks function. */
export const isWebhookCall = (event: object): boolean => 'webhookCall' in event;

export async function handleWebhookCall(runner: DevKitDeliverer, event: unknown, context: Context): Promise<object> {
  const remaining = Math.min(maxResponseTime, durationMs(context.getRemainingTimeInMillis()));
  return writeWebhookAnswer(await resumeWebhook(runner, parseWebhookCall(event), instant(runner.deps.clock.now() + remaining)));
}
