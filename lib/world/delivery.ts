/** Deliveries of messages: requests to the handlers of an application, with a signature over all that a handler reads. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { decodeTagged } from './tagged-json.ts';
import type { DeliveryMeta, MessageHandler } from './types.ts';

export const deliveryHeaders = {
  queueName: 'x-vqs-queue-name',
  messageId: 'x-vqs-message-id',
  attempt: 'x-vqs-message-attempt',
  timestamp: 'x-stepwell-timestamp',
  signature: 'x-stepwell-signature',
} as const;

/** The maximum age of a signature, and how far the clocks of both sides may differ. */
const signatureToleranceSeconds = 300;

export interface Delivery extends DeliveryMeta {
  readonly body: string;
}

/** @param timestamp seconds since the epoch */
export const signDelivery = (secret: string, timestamp: number, { queueName, messageId, attempt, body }: Delivery): string =>
  `v1=${createHmac('sha256', secret).update(`${timestamp}.${queueName}.${messageId}.${attempt}.${body}`).digest('hex')}`;

export interface SignedDelivery extends Delivery {
  readonly timestamp: string;
  readonly signature: string;
}

/** Why a delivery is not from the service; undefined: it is. @param now seconds since the epoch */
export function refusalOf(
  { timestamp, signature, ...delivery }: SignedDelivery,
  secret: string,
  now: number,
): string | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'the delivery has no signature';
  if (Math.abs(now - Number(timestamp)) > signatureToleranceSeconds) return 'the signature is too old, or the clocks differ';
  const expected = Buffer.from(signDelivery(secret, Number(timestamp), delivery));
  const found = Buffer.from(signature);
  return expected.length === found.length && timingSafeEqual(expected, found) ? undefined : 'the signature is wrong';
}

/** @returns why the delivery is refused */
export type CheckDelivery = (delivery: SignedDelivery) => Promise<string | undefined>;

/** The handler of a queue prefix as a handler of requests. */
export function queueHandler(
  prefix: string,
  handler: MessageHandler,
  check: CheckDelivery,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const delivery = await deliveryOf(request);
    if (typeof delivery === 'string') return errorResponse(400, delivery);
    const refusal = await check(delivery);
    if (refusal !== undefined) return errorResponse(401, refusal);
    const { queueName, messageId, attempt, body } = delivery;
    if (!queueName.startsWith(prefix)) return errorResponse(400, `this handler takes messages of ${prefix}, not of ${queueName}`);
    try {
      const result = await handler(decodeTagged(JSON.parse(body)), { queueName, messageId, attempt });
      return Response.json(timeoutOf(result) ?? { ok: true });
    } catch (error) {
      return errorResponse(500, String(error));
    }
  };
}

async function deliveryOf(request: Request): Promise<SignedDelivery | string> {
  const header = (name: keyof typeof deliveryHeaders): string => request.headers.get(deliveryHeaders[name]) ?? '';
  const [queueName, messageId, attempt] = [header('queueName'), header('messageId'), Number(header('attempt'))];
  if (queueName === '' || messageId === '') return 'the headers with the names of the queue and of the message are missing';
  if (!Number.isInteger(attempt) || attempt < 1) return 'the header with the number of the attempt is missing';
  return {
    queueName,
    messageId,
    attempt,
    timestamp: header('timestamp'),
    signature: header('signature'),
    body: await request.text(),
  };
}

/** The SDK asks for another delivery of the message after this time. */
function timeoutOf(result: unknown): { readonly timeoutSeconds: number } | undefined {
  if (typeof result !== 'object' || result === null || !('timeoutSeconds' in result)) return undefined;
  const { timeoutSeconds } = result;
  return typeof timeoutSeconds === 'number' && timeoutSeconds >= 0 ? { timeoutSeconds } : undefined;
}

const errorResponse = (status: number, error: string): Response => Response.json({ error }, { status });
