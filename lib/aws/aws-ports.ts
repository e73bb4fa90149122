/** All ports on AWS. Each is created at its first use, so a function needs only the settings of the ports that it uses. */
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
import { DynamoConcurrencySlots, DynamoSignals } from './coordination.ts';
import { dynamoLenses, dynamoQueries, dynamoWorkflows } from './published.ts';
import { DynamoRateWindows, DynamoReservations } from './control.ts';
import { SchedulerRecurrences, type ScheduleSettings, SchedulerTimers } from './scheduler.ts';
import type { MessageHeads } from './run-heads.ts';
import { DynamoRunIndex, type Tables } from './run-index.ts';
import { DynamoRunLog } from './run-log.ts';
import { DynamoSchedules } from './schedules.ts';
import { DynamoStreams, DynamoReaderLeases, DynamoTickets } from './watching.ts';
import { SystemClock, SystemIds } from './system.ts';
import { Table } from './table.ts';

/** Creates the value at the first call and returns the same one afterwards. */
const lazy = <Made>(make: () => Made): (() => Made) => {
  let made: { readonly value: Made } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** Undefined if the node queue is a standard queue: without message groups, a project's share cannot be limited. */
export const sharesIn = ({
  nodeQueueUrl,
  nodeConcurrency,
  maxProjectShare,
}: Pick<Settings, 'nodeQueueUrl' | 'nodeConcurrency' | 'maxProjectShare'>): FairShares | undefined =>
  nodeQueueUrl.endsWith('.fifo') ? fairSharesOf(nodeConcurrency, maxProjectShare) : undefined;

/** Wrappers around adapters, for tests and for the hop limiter. */
interface PortWrappers {
  jobs(jobs: Jobs): Jobs;
  log(log: RunLog): RunLog;
}
const noWrappers: PortWrappers = { jobs: (jobs) => jobs, log: (log) => log };

/** @param messageHeads only in the code function, which knows runs from messages; other functions read heads */
export const awsPorts = (settings: Settings, wrappers = noWrappers, messageHeads?: MessageHeads): Ports => {
  const clock = new SystemClock();
  const ids = new SystemIds();
  const dynamo = lazy(dynamoClient);
  const runs = lazy(() => new Table(dynamo(), settings.runsTable));
  const control = lazy(() => new Table(dynamo(), settings.controlTable));
  const log = lazy(() => wrappers.log(new DynamoRunLog(runs(), messageHeads)));
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
  // The tables are lazy too: a function that only records the swept minute has no runs table.
  const index = lazy(() => new DynamoRunIndex(tables, { heads: (runs) => log().heads(runs) }, messageHeads && 'code'));
  const shares = lazy(() => sharesIn(settings));
  const jobs = lazy(() => wrappers.jobs(new SqsJobs(queueClient(), queues, shares)));
  const scheduling = (): ScheduleSettings => {
    const { scheduleGroup: group, delayQueueArn: queueArn, scheduleRoleArn: roleArn } = settings;
    return { group, queueArn, roleArn };
  };
  const timers = lazy(() => new SchedulerTimers(schedulerClient(), scheduling(), clock));
  const schedules = lazy(() => new DynamoSchedules(control()));
  const recurrences = lazy(() => new SchedulerRecurrences(schedulerClient(), scheduling(), clock));
  const bucket = lazy(bucketClient);
  const blobs = lazy(() => new S3Blobs(bucket(), settings.bucket, clock));
  const notices = lazy(() => new EventBridgeNotices(eventBusClient(), settings.eventBusName, settings.startedEvents));
  const metrics = lazy(() => (settings.metrics ? printedMetrics(settings.runsTable) : noMetrics));
  const workflows = lazy(() => dynamoWorkflows(control()));
  const keys = lazy(() => new DynamoKeys(control()));
  const reservations = lazy(() => new DynamoReservations(control()));
  const audit = lazy(() => new DynamoAudit(control()));
  const rates = lazy(() => new DynamoRateWindows(control()));
  const deletions = lazy(() => new DynamoDeletions(control()));
  const deployments = lazy(() => new DynamoDeployments(control()));
  const signals = lazy(() => new DynamoSignals(control()));
  const streams = lazy(() => new DynamoStreams(runs()));
  const tickets = lazy(() => new DynamoTickets(control()));
  const readerLeases = lazy(() => new DynamoReaderLeases(control()));
  const concurrencySlots = lazy(() => new DynamoConcurrencySlots(control()));
  const queries = lazy(() => dynamoQueries(control()));
  const lenses = lazy(() => dynamoLenses(control()));
  const artifacts = lazy(() => new S3Artifacts(bucket(), settings.bucket, clock));
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
