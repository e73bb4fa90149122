/** Requests for webhooks of apps, and their answers, between the webhooks function and the code function: JSON with bytes in base64. */
import * as z from 'zod';
import type { WebhookAnswer, WebhookCall } from '../ports/devkit.ts';
import { deploymentId, environment, projectId } from './ids.ts';

const bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
const headers = z.record(z.string(), z.string());

const callEvent = z.object({
  webhookCall: z.object({
    scope: z.object({ projectId, environment }),
    deploymentId,
    token: z.string(),
    request: z.object({ method: z.string(), url: z.url(), headers, body: bytes }),
  }),
});

const answerShape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answered'), response: z.object({ status: z.int(), headers, body: bytes }) }),
  z.object({ kind: z.literal('no_hook') }),
  z.object({ kind: z.literal('failed'), reason: z.string() }),
]);

const base64 = (body: Uint8Array): string => Buffer.from(body).toString('base64');

export const writeWebhookCall = ({ request, ...call }: WebhookCall): string =>
  JSON.stringify({ webhookCall: { ...call, request: { ...request, body: base64(request.body) } } });

export const parseWebhookCall = (event: unknown): WebhookCall => callEvent.parse(event).webhookCall;

export const writeWebhookAnswer = (answer: WebhookAnswer): object =>
  answer.kind === 'answered'
    ? { kind: answer.kind, response: { ...answer.response, body: base64(answer.response.body) } }
    : answer;

/** undefined: it is no answer */
export const parseWebhookAnswer = (text: string): WebhookAnswer | undefined => answerShape.safeParse(JSON.parse(text)).data;
