/** The alarms of the installation: their metrics, thresholds and reasons. Each has a page in docs/RUNBOOK.md. */
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions';
import type * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import {
  type MetricsOf,
  type MonitoredResources,
  type MonitoredTrigger,
  deadLetterCount,
  droppedEventsOf,
  errorsOf,
  invocationsOf,
  messageAgeIn,
  p99DurationOf,
  recursiveInvocationsDropped,
  serverErrors,
  slowedMessageCount,
  tableThrottles,
  throttlesOf,
  timersDropped,
  traceMessageAge,
  triggerDeadLetterCount,
  triggerErrors,
  triggerMessageAge,
} from './alarm-metrics.ts';
import type { FunctionName } from '../contract/environment.ts';

export interface AlarmsProps {
  readonly monitored: MonitoredResources;
  /** Topic that is notified of every alarm and of its end. */
  readonly topic: sns.ITopic | undefined;
}

/** Each alarm's description links to its page, by the heading. */
const runbook = 'docs/RUNBOOK.md';

export class Alarms extends Construct {
  readonly #topic: sns.ITopic | undefined;

  constructor(scope: Construct, id: string, { monitored, topic }: AlarmsProps) {
    super(scope, id);
    this.#topic = topic;
    for (const entry of alarmEntries) {
      for (const [index, metric] of entry.metrics(monitored).entries())
        this.#add(index === 0 ? entry.name : `${entry.name}${index + 1}`, entry, metric);
    }
  }

  /** Adds the alarms of a trigger, and with the first trigger those of the function. */
  watchTrigger(name: string, monitored: MonitoredTrigger): void {
    for (const entry of triggerAlarmEntries) {
      const id = entry.ofFunction === true ? entry.name : `${entry.name}${name}`;
      if (this.node.tryFindChild(id) === undefined) this.#add(id, entry, entry.metric(monitored));
    }
  }

  #add(id: string, terms: AlarmTerms, metric: cloudwatch.IMetric): void {
    const alarm = new cloudwatch.Alarm(this, id, { ...alarmProps(terms), metric });
    if (this.#topic === undefined) return;
    alarm.addAlarmAction(new actions.SnsAction(this.#topic));
    alarm.addOkAction(new actions.SnsAction(this.#topic));
  }
}

const alarmProps = ({ heading, reason, threshold, periods, alarmsWhen }: AlarmTerms) => ({
  alarmDescription: `${heading}. ${reason} ${runbook}#${anchor(heading)}`,
  threshold,
  evaluationPeriods: periods ?? 1,
  comparisonOperator:
    alarmsWhen === 'below'
      ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
      : cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  treatMissingData: alarmsWhen === 'below' ? cloudwatch.TreatMissingData.BREACHING : cloudwatch.TreatMissingData.NOT_BREACHING,
});

/** The URL fragment of a Markdown heading. */
export const anchor = (heading: string) => heading.toLowerCase().replaceAll(' ', '-');

export interface AlarmTerms {
  /** construct id, part of the alarm's name; a second alarm of the same entry gets the suffix 2, and so on */
  readonly name: string;
  /** exact heading of its page in docs/RUNBOOK.md */
  readonly heading: string;
  /** reason for the threshold */
  readonly reason: string;
  readonly threshold: number;
  /** consecutive periods of five minutes that must breach the threshold. Default: 1 */
  readonly periods?: number;
  /** `below`: breaches below the threshold; missing data breaches too. Default: at or above the threshold; missing data does not breach. */
  readonly alarmsWhen?: 'below';
}

export interface AlarmEntry extends AlarmTerms {
  /** each metric gets its own alarm */
  readonly metrics: MetricsOf;
}

/** An alarm of each trigger, with the name of the trigger as its suffix. */
export interface TriggerAlarmEntry extends AlarmTerms {
  /** one alarm for all triggers */
  readonly ofFunction?: true;
  readonly metric: (queues: MonitoredTrigger) => cloudwatch.IMetric;
}

/** These functions have their own concurrency limit and their own alarm. */
const watcherFunctions: readonly FunctionName[] = ['events', 'sockets', 'broadcaster'];
const isWatcherFunction = (name: string): boolean => watcherFunctions.some((one) => one === name);
/** It runs during a deployment only, and CloudFormation reports its failure. */
const deploymentFunction: FunctionName = 'first-key';
const requestFunctions: readonly FunctionName[] = [
  'api',
  'events',
  'deployments',
  'library',
  'test-runs',
  'webhooks',
  'world',
  'console',
];

export const alarmEntries: readonly AlarmEntry[] = [
  {
    name: 'DeadLetters',
    heading: 'Dead letters',
    reason:
      'The dead-letter function consumes each message within seconds and fails its node in the run log. A message that stays is work that no function has recorded.',
    metrics: deadLetterCount,
    threshold: 1,
    periods: 3,
  },
  {
    name: 'NodeJobsWait',
    heading: 'Node jobs wait too long',
    reason:
      'A job normally waits for less than a second. The age includes the time that a worker takes, at most 15 minutes. Half an hour is twice that.',
    metrics: messageAgeIn('nodeJobs'),
    threshold: 1_800,
    periods: 2,
  },
  {
    name: 'DelayedWait',
    heading: 'Delayed jobs wait too long',
    reason:
      'The age can include the delay of a job (15 minutes) and the time that a worker takes (15 minutes). Ten minutes more are a backlog.',
    metrics: messageAgeIn('delayed'),
    threshold: 2_400,
    periods: 2,
  },
  {
    name: 'ResultsWait',
    heading: 'Results wait too long',
    reason: 'The collector records ten results in well under a second. Five minutes are five failed attempts.',
    metrics: messageAgeIn('results'),
    threshold: 300,
    periods: 2,
  },
  {
    name: 'CodeMessagesWait',
    heading: 'Messages for code wait too long',
    reason:
      'A message normally waits for less than a second. The age includes the time that the code takes, at most 15 minutes. Half an hour is twice that.',
    metrics: messageAgeIn('code'),
    threshold: 1_800,
    periods: 2,
  },
  {
    name: 'WorkerErrors',
    heading: 'The worker fails',
    reason:
      'A failed node is an outcome of its run, not an error of the function. Errors here are crashes and timeouts. Lambda bills each one, and SQS redelivers its messages.',
    metrics: errorsOf('worker'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'CodeErrors',
    heading: 'The function for code fails',
    reason:
      'Code that throws is an outcome of its run, not an error of the function. Errors here are ended processes and timeouts. Lambda bills each one, and SQS redelivers its messages.',
    metrics: errorsOf('code'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'CollectErrors',
    heading: 'The collector fails',
    reason:
      'SQS redelivers a failed batch. Five errors in five minutes, twice in a row, are more than a short slowdown of the table.',
    metrics: errorsOf('collect'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'SweepNotStarting',
    heading: 'The sweep does not start',
    reason: 'The sweep starts every minute. Without it, a run whose message or timer was lost does not continue.',
    metrics: invocationsOf('sweep'),
    threshold: 1,
    alarmsWhen: 'below',
  },
  {
    name: 'SweepErrors',
    heading: 'The sweep fails',
    reason:
      'The next sweep continues after a failed one. Three failures in five minutes, twice in a row, mean that the sweep cannot pass an item.',
    metrics: errorsOf('sweep'),
    threshold: 3,
    periods: 2,
  },
  {
    name: 'SweepsDropped',
    heading: 'Sweeps are dropped',
    reason:
      'Lambda drops a start of the sweep after one minute of throttling or after a failed sweep. Three in five minutes, twice in a row, are more than a short burst.',
    metrics: droppedEventsOf('sweep'),
    threshold: 3,
    periods: 2,
  },
  {
    name: 'DeadLetterErrors',
    heading: 'Dead letters cannot be recorded',
    reason:
      'This is the last function that handles a message. Errors here are crashes and timeouts. A message that it cannot record stays in its queue for at most 14 days and raises the alarm "Dead letters".',
    metrics: errorsOf('dead-letter'),
    threshold: 1,
    periods: 2,
  },
  {
    name: 'ApiServerErrors',
    heading: 'The API answers with server errors',
    reason:
      'A temporary error of AWS causes a single 503. Ten server errors in five minutes, twice in a row, have another cause.',
    metrics: serverErrors,
    threshold: 10,
    periods: 2,
  },
  {
    name: 'RequestErrors',
    heading: 'Functions of the API fail',
    reason:
      'A refused request is a response, not an error of the function. Errors here are crashes and timeouts, including those of open streams.',
    metrics: errorsOf(...requestFunctions),
    threshold: 10,
    periods: 2,
  },
  {
    name: 'ApiSlow',
    heading: 'The API is slow',
    reason:
      'Starting a run takes a few writes of about 10 ms each. Cold starts alone do not explain three seconds at the 99th percentile.',
    // The function's duration: the gateway's latency includes open streams.
    metrics: p99DurationOf('api'),
    threshold: 3_000,
    periods: 3,
  },
  {
    name: 'FunctionsThrottled',
    heading: 'Functions are throttled',
    reason:
      'Queues absorb a short lack of concurrency. Ten throttled invocations in five minutes, three times in a row, of up to ten functions mean that a concurrency limit is too low.',
    metrics: throttlesOf((name) => name !== deploymentFunction && !isWatcherFunction(name)),
    threshold: 10,
    periods: 3,
  },
  {
    name: 'WatchersThrottled',
    heading: 'Watchers are throttled',
    reason:
      'Each reader of an event stream and each run watched over sockets holds one invocation. Lambda refuses those above the limit, and their clients must retry.',
    metrics: throttlesOf(isWatcherFunction),
    threshold: 10,
    periods: 3,
  },
  {
    name: 'BroadcastsWait',
    heading: 'Watched runs wait for a broadcaster',
    reason: 'A broadcaster starts within a second. After five minutes, all broadcasters are busy or one crashes repeatedly.',
    metrics: messageAgeIn('watches'),
    threshold: 300,
    periods: 2,
  },
  {
    name: 'BroadcasterErrors',
    heading: 'The broadcaster fails',
    reason:
      'A closed socket is not an error. Errors here are crashes and timeouts. Watchers receive no updates for up to three minutes after each one.',
    metrics: errorsOf('broadcaster'),
    threshold: 3,
    periods: 2,
  },
  {
    name: 'SocketsErrors',
    heading: 'Sockets are not answered',
    reason:
      'A refused socket is a response, not an error of the function. Errors here are crashes and timeouts, and the gateway closes the socket.',
    metrics: errorsOf('sockets'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'TracesErrors',
    heading: 'Traces cannot be sent',
    reason:
      'The trace collector did not respond or returned an error. Runs are not affected. A trace that is not sent within an hour is lost.',
    metrics: errorsOf('traces'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'TracesWait',
    heading: 'Traces wait too long',
    reason: 'A trace is sent within seconds. After an hour it is lost; half an hour leaves time to react.',
    metrics: traceMessageAge,
    threshold: 1_800,
    periods: 2,
  },
  {
    name: 'FirstKeyErrors',
    heading: 'The function of the first key fails',
    reason:
      'The function responds to CloudFormation even when it refuses the request. After a crash or a timeout, CloudFormation waits five minutes for a response.',
    metrics: errorsOf(deploymentFunction),
    threshold: 1,
  },
  {
    name: 'TablesThrottled',
    heading: 'Tables are throttled',
    reason:
      'The AWS client retries throttled requests by itself. A hundred in five minutes, twice in a row, mean a contended run or a table that has not scaled yet.',
    metrics: tableThrottles,
    threshold: 100,
    periods: 2,
  },
  {
    name: 'TimersDropped',
    heading: 'Timers are dropped',
    reason:
      'EventBridge Scheduler drops a timer that it could not deliver for a day. The sweep wakes the run, but one dropped timer already means that the schedule group cannot deliver.',
    metrics: timersDropped,
    threshold: 1,
  },
  {
    name: 'RecursiveInvocationsDropped',
    heading: 'Lambda drops recursive invocations',
    reason:
      'Functions that queues or deployed code start allow recursive loops, and Lambda then does not report this metric. One data point means that a function has lost this setting and that its messages go to the dead-letter queue.',
    metrics: recursiveInvocationsDropped,
    threshold: 1,
  },
  {
    name: 'MessagesSlowed',
    heading: 'Messages make no progress',
    reason:
      'After 16 messages in a row without a commit, the functions delay the next message. A quarter of an hour of delayed messages means that a chain of messages repeats without end.',
    metrics: slowedMessageCount,
    threshold: 1,
    periods: 3,
  },
];

export const triggerAlarmEntries: readonly TriggerAlarmEntry[] = [
  {
    name: 'StartsErrors',
    heading: 'The function of the triggers fails',
    reason:
      'A message that can start nothing is a dead letter, not an error of the function. Errors here are crashes and timeouts, and SQS redelivers their messages.',
    ofFunction: true,
    metric: triggerErrors,
    threshold: 5,
    periods: 2,
  },
  {
    name: 'TriggerDeadLetters',
    heading: 'Messages of a trigger start nothing',
    reason:
      'Each message in this queue is a run that did not start. It stays until an operator sends it again or deletes it, at most 14 days in a queue that Stepwell created.',
    metric: triggerDeadLetterCount,
    threshold: 1,
  },
  {
    name: 'TriggerWaits',
    heading: 'Messages of a trigger wait too long',
    reason:
      'A message normally waits for less than a second. After half an hour, starts fail for a temporary reason, or more messages arrive than the trigger may take.',
    metric: triggerMessageAge,
    threshold: 1_800,
    periods: 2,
  },
];
