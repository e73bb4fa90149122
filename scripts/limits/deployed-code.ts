/** Limits of deployed code: threads, messages, responses. */
import { maxResponseTime } from '../../functions/code/handle-webhook.ts';
import { appWebhookLimitBytes } from '../../functions/webhooks/app-webhooks.ts';
import { maxWebhookResponseBytes } from '../../lib/ports/bundles.ts';
import { messageLimitBytes } from '../../lib/api/world-routes.ts';
import { maxMessageDelaySeconds } from '../../lib/api/schemas/world.ts';
import { maxBatchCharacters } from '../../lib/bundles/parse-task-messages.ts';
import { printLimits } from '../../lib/bundles/code-output.ts';
import { responseLimits } from '../../lib/bundles/code-output.ts';
import { killTimeoutMs } from '../../lib/bundles/thread-programs.ts';
import { heapShare, threadSlotLimits } from '../../lib/bundles/thread-slots.ts';
import { buildImportTimeoutMs } from '../../lib/cli/project/import-in-thread.ts';
import { functionShapes } from '../../lib/constructs/function-shapes.ts';
import { defaultConcurrency } from '../../lib/contract/concurrency.ts';
import { maxDeliveries, maxDeliveryBackoffMs } from '../../lib/engine/bundle/decide.ts';
import { jsonLimits } from '../../lib/engine/validate-json.ts';
import { type LimitSection, bytes, characters, count, levels, percent, phrase, seconds } from './limit.ts';

export const deployedCode: LimitSection = {
  title: 'Code of deployments',
  per: 'message',
  limits: [
    {
      name: 'Time of a message',
      value: seconds(functionShapes.code.timeoutSeconds * 1_000),
      atLimit: 'Stepwell ends its thread shortly before, and retries the message; setting `codeTimeoutSeconds`',
      definedIn: ['lib/constructs/function-shapes.ts'],
    },
    {
      name: 'Time of an import',
      value: seconds(threadSlotLimits.importTimeoutMs),
      per: 'deployment',
      atLimit: 'the artifact counts as one that cannot be loaded',
      definedIn: ['lib/bundles/thread-slots.ts'],
    },
    {
      name: 'Body of a response',
      value: bytes(responseLimits.bodyBytes),
      per: 'response',
      atLimit: 'the response is invalid, and Stepwell retries the message',
      definedIn: ['lib/bundles/code-output.ts'],
    },
    {
      name: 'Body of a request for a webhook of an app',
      value: bytes(appWebhookLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large`',
      definedIn: ['functions/webhooks/app-webhooks.ts'],
    },
    {
      name: 'Body of the response of a webhook of an app',
      value: bytes(maxWebhookResponseBytes),
      per: 'response',
      atLimit: '`unavailable`, and the run may have taken the request',
      definedIn: ['lib/ports/bundles.ts'],
    },
    {
      name: 'Time of an app to respond to a request for its webhook',
      value: seconds(maxResponseTime),
      per: 'request',
      atLimit: '`unavailable`, and the run may have taken the request',
      definedIn: ['functions/code/handle-webhook.ts'],
    },
    {
      name: 'Nesting of a response',
      value: levels(jsonLimits.levels),
      per: 'response',
      atLimit: 'the response is invalid, and Stepwell retries the message',
      definedIn: ['lib/engine/validate-json.ts'],
    },
    {
      name: 'Text printed during a message',
      value: characters(printLimits.characters),
      atLimit: 'Stepwell drops the rest, and the last line says so',
      definedIn: ['lib/bundles/code-output.ts'],
    },
    {
      name: 'Line that code prints',
      value: characters(printLimits.lineCharacters),
      per: 'line',
      atLimit: 'Stepwell splits it into several lines',
      definedIn: ['lib/bundles/code-output.ts'],
    },
    {
      name: 'Warm deployments of a function',
      value: count(threadSlotLimits.threads),
      per: 'function',
      atLimit: 'Stepwell ends the thread of the least recently used deployment, and starts it again when needed',
      definedIn: ['lib/bundles/thread-slots.ts'],
    },
    {
      name: 'Unpacked artifacts of a function',
      value: phrase`${count(threadSlotLimits.folders.deployments)}, at most ${bytes(threadSlotLimits.folders.bytes)}`,
      per: 'function',
      atLimit: 'Stepwell removes the least recently used one, and loads it again when needed',
      definedIn: ['lib/bundles/thread-slots.ts'],
    },
    {
      name: 'Heap of the thread of a deployment',
      value: phrase`${percent(heapShare * 100)} of the memory`,
      per: 'thread',
      atLimit: 'the thread ends, and Stepwell retries the message; setting `memoryMb`',
      definedIn: ['lib/bundles/thread-slots.ts'],
    },
    {
      name: "A turn of a run's code",
      value: characters(maxBatchCharacters),
      per: 'command batch',
      atLimit: 'the workflow task counts as crashed, and its thread ends',
      definedIn: ['lib/bundles/parse-task-messages.ts'],
    },
    {
      name: 'Code that is to end',
      value: seconds(killTimeoutMs),
      per: 'run',
      atLimit: 'Stepwell ends its thread; the other runs on the thread start their steps again',
      definedIn: ['lib/bundles/thread-programs.ts'],
    },
    {
      name: 'Import by `stepwell build`',
      value: seconds(buildImportTimeoutMs),
      per: 'build',
      atLimit: 'the build fails',
      definedIn: ['lib/cli/project/import-in-thread.ts'],
    },
    {
      name: 'Deliveries of a message',
      value: count(maxDeliveries),
      atLimit: 'the run fails with `delivery_failed`. Code that cannot be loaded is tried 5 times',
      definedIn: ['lib/engine/bundle/decide.ts'],
    },
    {
      name: 'Wait before another delivery',
      value: seconds(maxDeliveryBackoffMs),
      atLimit: 'the wait begins at 1 s and doubles up to this, less a random part of up to a quarter',
      definedIn: ['lib/engine/bundle/decide.ts'],
    },
    {
      name: 'Published message',
      value: bytes(messageLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/world-routes.ts'],
    },
    {
      name: 'Delay of a published message',
      value: seconds(maxMessageDelaySeconds * 1_000),
      atLimit: 'a larger one is refused with `invalid_request`',
      definedIn: ['lib/api/schemas/world.ts'],
    },
    {
      name: 'Messages with code at once',
      value: count(defaultConcurrency.codeConcurrency),
      per: 'installation',
      atLimit: 'further messages wait in their queue; setting `codeConcurrency`',
      definedIn: ['lib/contract/concurrency.ts'],
    },
  ],
};
