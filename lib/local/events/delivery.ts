/**
 * Delivers events to the queues of the matching rules: at least once, with the retry policy of the target, then to its dead-letter queue
 * (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-event-delivery.html).
 */
import { setTimeout as wait } from 'node:timers/promises';
import { type Backoff, retryOutcome, type RetryPolicy } from '../../base/retry.ts';
import { lastPart } from '../aws-environment.ts';
import type { QueueClient } from '../pollers/queue-client.ts';
import { type BusEvent, envelopeOf } from './bus-event.ts';
import type { Rule, RuleTarget } from './rules.ts';

/** AWS does not publish its backoff. This one makes few retries of a queue that fails for long. */
const deliveryBackoff: Backoff = { baseMs: 1_000, maxMs: 60_000 };

export interface DeliveryParts {
  readonly rules: readonly Rule[];
  readonly queues: Pick<QueueClient, 'send'>;
  readonly warn: (line: string) => void;
  /** Delivers each event twice, as EventBridge may do. For tests. */
  readonly deliversTwice?: boolean | undefined;
  readonly now?: () => number;
  /** Waits before a retry; rejects when the delivery is stopped. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

export interface Delivery {
  /** Settles after the first attempt for each target. Retries continue in the background. */
  readonly deliver: (event: BusEvent) => Promise<void>;
  /** Ends the retries. Their events are lost, and are named at the terminal. */
  readonly stop: () => Promise<void>;
}

/** One event for one target. */
interface Message {
  readonly target: RuleTarget;
  readonly eventId: string;
  readonly body: string;
}

type Send = (message: Message) => Promise<void>;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

type Result = { readonly kind: 'sent' } | { readonly kind: 'failed'; readonly error: unknown; readonly failures: number };

/** Sends the message until it succeeds or the retry policy of its target ends. Rejects when `sleep` rejects. */
async function sendWithRetries(
  message: Message,
  send: Send,
  now: () => number,
  sleep: (ms: number) => Promise<unknown>,
): Promise<Result> {
  const { retries, maxAgeMs } = message.target;
  const startedAt = now();
  let failures = 0;
  const attempt = (): Promise<Result> =>
    send(message).then(
      () => ({ kind: 'sent' }),
      (error: unknown) => ({ kind: 'failed', error, failures: ++failures }),
    );
  const policy: RetryPolicy<Result> = {
    attempts: retries + 1,
    backoff: deliveryBackoff,
    remainingMs: () => startedAt + maxAgeMs - now(),
    isRetryable: ({ kind }) => kind === 'failed',
  };
  return retryOutcome(attempt, policy, { sleep });
}

/** The attributes of EventBridge: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html */
const deadLetterAttributes = ({ target }: Message, failures: number, error: unknown): Readonly<Record<string, string>> => ({
  RULE_ARN: target.ruleArn,
  TARGET_ARN: target.queueArn,
  ERROR_CODE: 'SDK_CLIENT_ERROR',
  ERROR_MESSAGE: messageOf(error),
  EXHAUSTED_RETRY_CONDITION: failures > target.retries ? 'MaximumRetryAttempts' : 'MaximumEventAgeInSeconds',
  RETRY_ATTEMPTS: String(failures - 1),
});

export function createDelivery(parts: DeliveryParts): Delivery {
  const { rules, queues, warn, deliversTwice = false, now = Date.now } = parts;
  const { sleep = (ms, signal) => wait(ms, undefined, { signal, ref: false }) } = parts;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  const send: Send = async ({ target, body }) => {
    await queues.send(target.queueUrl, body, target.messageGroupId);
    if (deliversTwice) await queues.send(target.queueUrl, body, target.messageGroupId);
  };

  /** @param onAttempt is called after each attempt */
  async function deliverMessage(message: Message, onAttempt: () => void): Promise<void> {
    const { target, eventId, body } = message;
    const queueName = lastPart(target.queueArn);
    try {
      const result = await sendWithRetries(
        message,
        (attempted) => send(attempted).finally(onAttempt),
        now,
        (ms) => sleep(ms, stopping.signal),
      );
      if (result.kind === 'sent') return;
      const line = `the event ${eventId} could not be delivered to ${queueName}: ${messageOf(result.error)}`;
      if (target.deadLetterUrl === undefined) return warn(`${line}; it is dropped`);
      const attributes = deadLetterAttributes(message, result.failures, result.error);
      await queues.send(target.deadLetterUrl, body, undefined, attributes);
      warn(`${line}; it is in the dead-letter queue`);
    } catch (error) {
      const reason = stopping.signal.aborted ? 'the cloud stops' : messageOf(error);
      warn(`the event ${eventId} was not delivered to ${queueName} and is lost: ${reason}`);
    }
  }

  /** Settles after the first attempt. */
  function start(message: Message): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const delivery = deliverMessage(message, resolve).finally(() => running.delete(delivery));
    running.add(delivery);
    return promise;
  }

  return {
    async deliver(event) {
      const envelope = envelopeOf(event);
      const body = JSON.stringify(envelope);
      const targets = rules.filter(({ bus, matches }) => bus === event.bus && matches(envelope)).flatMap((rule) => rule.targets);
      await Promise.all(targets.map((target) => start({ target, body, eventId: event.id })));
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
