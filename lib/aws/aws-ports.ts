/** Every port on AWS. Each is built when it is first asked for, so a function needs settings only for what it uses. */
import { type FairShares, fairSharesOf } from '../engine/fair-shares.ts';
import type { Jobs } from '../ports/jobs.ts';
import type { RunLog } from '../ports/run-log.ts';
import type { Ports } from '../ports/ports.ts';
import { S3Artifacts } from './artifacts.ts';
import { DynamoAudit } from './audit.ts';
import { S3Blobs } from './blobs.ts';
import { bucketClient, dynamoClient, eventBusClient, queueClient, schedulerClient } from './clients.ts';
import { DynamoDeletions } from './deletions.ts';
import { DynamoDeployments } from './deployments.ts';
import type { Settings } from './environment.ts';
import { type QueueUrls, SqsJobs } from './jobs.ts';
import { DynamoKeys } from './keys.ts';
import { noMetrics, printedMetrics } from './metrics.ts';
import { EventBridgeNotices } from './notices.ts';
import { DynamoConcurrencySlots } from './concurrency-slots.ts';
import { dynamoLenses, dynamoQueries, dynamoWorkflows } from './published.ts';
import { DynamoRateWindows } from './rate-windows.ts';
import { SchedulerRecurrences } from './recurrences.ts';
import { DynamoReservations } from './reservations.ts';
import type { MessageHeads } from './run-heads.ts';
import { DynamoRunIndex, type Tables } from './run-index.ts';
import { DynamoRunLog } from './run-log.ts';
import { DynamoSchedules } from './schedules.ts';
import { DynamoSignals } from './signals.ts';
import { DynamoStreams } from './streams.ts';
import { SystemClock } from './system-clock.ts';
import { SystemIds } from './system-ids.ts';
import { Table } from './table.ts';
import { DynamoReaderLeases } from './reader-leases.ts';
import { DynamoTickets } from './tickets.ts';
import { type ScheduleSettings, SchedulerTimers } from './timers.ts';

/** Made at the first call, and the same one ever after. */
const once = <Made>(make: () => Made): (() => Made) => {
  let made: { readonly value: Made } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** Undefined where the node queue knows no groups: nothing there can bound what a project takes. */
export const sharesIn = ({
  nodeQueueUrl,
  nodeConcurrency,
  maxProjectShare,
}: Pick<Settings, 'nodeQueueUrl' | 'nodeConcurrency' | 'maxProjectShare'>): FairShares | undefined =>
  nodeQueueUrl.endsWith('.fifo') ? fairSharesOf(nodeConcurrency, maxProjectShare) : undefined;

/** What stands before an adapter, for those of its calls that count. */
interface PortWrappers {
  jobs(jobs: Jobs): Jobs;
  log(log: RunLog): RunLog;
}
const noWrappers: PortWrappers = { jobs: (jobs) => jobs, log: (log) => log };

/** @param messageHeads of the process that runs the code of deployments: it knows of runs what messages say. Others read heads. */
export const awsPorts = (settings: Settings, wrappers = noWrappers, messageHeads?: MessageHeads): Ports => {
  const clock = new SystemClock();
  const ids = new SystemIds();
  const dynamo = once(dynamoClient);
  const runs = once(() => new Table(dynamo(), settings.runsTable));
  const control = once(() => new Table(dynamo(), settings.controlTable));
  const log = once(() => wrappers.log(new DynamoRunLog(runs(), messageHeads)));
  const tables: Tables = {
    get runs() {
      return runs();
    },
    get control() {
      return control();
    },
  };
  const queues: QueueUrls = {
    get nodes() {
      return settings.nodeQueueUrl;
    },
    get code() {
      return settings.codeQueueUrl;
    },
    get delays() {
      return settings.delayQueueUrl;
    },
    get results() {
      return settings.resultsQueueUrl;
    },
  };
  // Whoever only notes how far the sweep is has no table of runs.
  const index = once(() => new DynamoRunIndex(tables, { heads: (runs) => log().heads(runs) }, messageHeads && 'code'));
  const shares = once(() => sharesIn(settings));
  const jobs = once(() => wrappers.jobs(new SqsJobs(queueClient(), queues, shares)));
  const scheduling = (): ScheduleSettings => {
    const { scheduleGroup: group, delayQueueArn: queueArn, scheduleRoleArn: roleArn } = settings;
    return { group, queueArn, roleArn };
  };
  const timers = once(() => new SchedulerTimers(schedulerClient(), scheduling(), clock));
  const schedules = once(() => new DynamoSchedules(control()));
  const recurrences = once(() => new SchedulerRecurrences(schedulerClient(), scheduling(), clock));
  const bucket = once(bucketClient);
  const blobs = once(() => new S3Blobs(bucket(), settings.bucket, clock));
  const notices = once(() => new EventBridgeNotices(eventBusClient(), settings.eventBusName, settings.startedEvents));
  const metrics = once(() => (settings.metrics ? printedMetrics(settings.runsTable) : noMetrics));
  const workflows = once(() => dynamoWorkflows(control()));
  const keys = once(() => new DynamoKeys(control()));
  const reservations = once(() => new DynamoReservations(control()));
  const audit = once(() => new DynamoAudit(control()));
  const rates = once(() => new DynamoRateWindows(control()));
  const deletions = once(() => new DynamoDeletions(control()));
  const deployments = once(() => new DynamoDeployments(control()));
  const signals = once(() => new DynamoSignals(control()));
  const streams = once(() => new DynamoStreams(runs()));
  const tickets = once(() => new DynamoTickets(control()));
  const readerLeases = once(() => new DynamoReaderLeases(control()));
  const concurrencySlots = once(() => new DynamoConcurrencySlots(control()));
  const queries = once(() => dynamoQueries(control()));
  const lenses = once(() => dynamoLenses(control()));
  const artifacts = once(() => new S3Artifacts(bucket(), settings.bucket, clock));
  return {
    clock,
    ids,
    get log() {
      return log();
    },
    get index() {
      return index();
    },
    get jobs() {
      return jobs();
    },
    get timers() {
      return timers();
    },
    get schedules() {
      return schedules();
    },
    get recurrences() {
      return recurrences();
    },
    get blobs() {
      return blobs();
    },
    get notices() {
      return notices();
    },
    get metrics() {
      return metrics();
    },
    get workflows() {
      return workflows();
    },
    get keys() {
      return keys();
    },
    get reservations() {
      return reservations();
    },
    get audit() {
      return audit();
    },
    get rates() {
      return rates();
    },
    get deletions() {
      return deletions();
    },
    get deployments() {
      return deployments();
    },
    get artifacts() {
      return artifacts();
    },
    get signals() {
      return signals();
    },
    get streams() {
      return streams();
    },
    get tickets() {
      return tickets();
    },
    get readerLeases() {
      return readerLeases();
    },
    get concurrencySlots() {
      return concurrencySlots();
    },
    get queries() {
      return queries();
    },
    get lenses() {
      return lenses();
    },
  };
};
