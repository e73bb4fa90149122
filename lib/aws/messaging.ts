/** What continues runs on AWS: messages on SQS queues, timers of EventBridge Scheduler, signals and concurrency slots. */
import { type Makers, lazyProperties, once } from '../base/lazy.ts';
import type { CoordinationPorts } from '../ports/coordination.ts';
import type { Jobs, MessagingPorts } from '../ports/jobs.ts';
import { DynamoConcurrencySlots } from './concurrency-slots.ts';
import { DynamoSignals } from './signals.ts';
import { sharesIn } from './environment.ts';
import { type QueueUrls, SqsJobs } from './jobs.ts';
import type { Resources } from './resources.ts';
import { SchedulerTimers, schedulerSettings } from './scheduler.ts';

export const messagingPorts = (resources: Resources, wrapJobs: (jobs: Jobs) => Jobs): Makers<MessagingPorts> => {
  const { settings } = resources;
  const urls = lazyProperties<QueueUrls>({
    nodes: () => settings.nodeQueueUrl,
    code: () => settings.codeQueueUrl,
    delays: () => settings.delayQueueUrl,
    results: () => settings.resultsQueueUrl,
  });
  return {
    jobs: () =>
      wrapJobs(
        new SqsJobs(
          resources.queues,
          urls,
          once(() => sharesIn(settings)),
        ),
      ),
    timers: () => new SchedulerTimers(resources.scheduler, schedulerSettings(settings), resources.clock),
  };
};

export const coordinationPorts = (resources: Resources): Makers<CoordinationPorts> => ({
  signals: () => new DynamoSignals(resources.control),
  concurrencySlots: () => new DynamoConcurrencySlots(resources.control),
});
