/** Messages and timers on AWS: SQS queues and EventBridge Scheduler. */
import { type Makers, lazyProperties, once } from '../base/lazy.ts';
import type { Jobs, MessagingPorts } from '../ports/jobs.ts';
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
