/** Limits of queues and of the functions that consume them. */
import { defaultWorkerTimeoutSeconds, functionShapes } from '../../lib/constructs/function-shapes.ts';
import { minReceives, retentionDays, visibilityMarginSeconds } from '../../lib/constructs/queues.ts';
import { stepwellDefaults } from '../../lib/constructs/functions.ts';
import { maxEventAgeSeconds } from '../../lib/constructs/timers.ts';
import { defaultConcurrency } from '../../lib/contract/concurrency.ts';
import { maxBackoff, maxHops } from '../../lib/engine/hops.ts';
import { maxInvocationsPerChain } from '../../lib/local/lambda/lineage.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, count, day, days, minutes, percent, phrase, seconds } from './limit.ts';

export const queues: LimitSection = {
  title: 'Queues and functions',
  per: 'message',
  limits: [
    {
      name: 'Time of a sweep',
      value: seconds(functionShapes.sweep.timeoutSeconds * 1_000),
      per: 'sweep',
      atLimit: 'the next sweep continues where it stopped',
      definedIn: ['lib/constructs/function-shapes.ts'],
    },
    {
      name: 'A start of the sweep waits',
      value: seconds(maxEventAgeSeconds * 1_000),
      per: 'sweep',
      atLimit: 'Lambda drops a start that was throttled for this long. The next minute has a start of its own',
      definedIn: ['lib/constructs/timers.ts'],
      quota: pages.lambdaAsync,
    },
    {
      name: 'Time of a worker',
      value: seconds(defaultWorkerTimeoutSeconds * 1_000),
      per: 'invocation',
      atLimit: 'Lambda ends the worker, and SQS redelivers its message; setting `workerTimeoutSeconds`',
      definedIn: ['lib/constructs/function-shapes.ts'],
    },
    {
      name: 'Invisibility of a message',
      value: seconds((defaultWorkerTimeoutSeconds + visibilityMarginSeconds) * 1_000),
      atLimit: "the visibility timeout, a minute more than the worker's time. Then another worker receives the message",
      definedIn: ['lib/constructs/queues.ts', 'lib/constructs/function-shapes.ts'],
    },
    {
      name: 'Tries of a message',
      value: phrase`${count(minReceives)}, and for an hour`,
      atLimit:
        'the message becomes a dead letter. A message whose deliveries recorded nothing is delivered again, because Lambda may have throttled them',
      definedIn: ['lib/constructs/queues.ts'],
    },
    {
      name: 'Hops of messages without a commit',
      value: count(maxHops),
      per: 'chain of messages',
      atLimit: 'Stepwell delays every second further message: by 1 s, 2 s, 4 s …. An alarm reports it. No message is dropped',
      definedIn: ['lib/engine/hops.ts'],
    },
    {
      name: 'Wait of a message beyond them',
      value: minutes(maxBackoff),
      atLimit: '20 s for a message to watchers. A message that takes a minute by itself does not count as a hop',
      definedIn: ['lib/engine/hops.ts'],
    },
    {
      name: 'Invocations of a function in one chain',
      value: count(maxInvocationsPerChain),
      per: 'chain of requests',
      atLimit:
        'Lambda stops the chain in a function that does not allow loops, and so does the embedded cloud. Every function that consumes a queue allows them',
      definedIn: ['lib/local/lambda/lineage.ts'],
      quota: pages.recursion,
    },
    {
      name: 'A message in its queue',
      value: days(retentionDays.messages * day),
      atLimit: 'SQS deletes the message; the sweep redispatches its node',
      definedIn: ['lib/constructs/queues.ts'],
    },
    {
      name: 'A dead letter in its queue',
      value: days(retentionDays.deadLetters * day),
      atLimit: 'SQS deletes the message; an alarm reports it long before',
      definedIn: ['lib/constructs/queues.ts'],
    },
    {
      name: 'Workers at once, per queue',
      value: count(defaultConcurrency.nodeConcurrency),
      per: 'queue',
      atLimit: 'jobs wait; setting `nodeConcurrency`',
      definedIn: ['lib/contract/concurrency.ts'],
    },
    {
      name: 'Share of a project',
      value: percent(stepwellDefaults.maxProjectShare),
      per: 'project and environment',
      atLimit: 'its further jobs wait; setting `maxProjectShare`',
      definedIn: ['lib/constructs/functions.ts'],
    },
    {
      name: 'Collectors at once',
      value: count(defaultConcurrency.resultConcurrency),
      per: 'installation',
      atLimit: 'results wait; setting `resultConcurrency`',
      definedIn: ['lib/contract/concurrency.ts'],
    },
  ],
};
