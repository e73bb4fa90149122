/** Every alarm of the product: what is measured, where the line is and why there. Each has a page in docs/RUNBOOK.md. */
import type { FunctionName } from '../contract/environment.ts';
import {
  type MetricsOf,
  deadLetterCount,
  droppedEventsOf,
  errorsOf,
  recursiveInvocationsDropped,
  slowedMessageCount,
  serverErrors,
  p99DurationOf,
  invocationsOf,
  tableThrottles,
  throttlesOf,
  timersDropped,
  traceMessageAge,
  messageAgeIn,
} from './alarm-metrics.ts';

export interface AlarmEntry {
  /** its construct id, and so part of the alarm's name; a second alarm has a 2 behind it, and so on */
  readonly name: string;
  /** the heading in docs/RUNBOOK.md, word for word */
  readonly heading: string;
  /** why the line is where it is */
  readonly reason: string;
  /** of which each has an alarm of its own */
  readonly metrics: MetricsOf;
  readonly threshold: number;
  /** periods of five minutes in a row that must be over the line. Default: 1 */
  readonly periods?: number;
  /** `below`: too little is the trouble, and no data is too little. Default: at or above the threshold, and no data is well. */
  readonly alarmsWhen?: 'below';
}

/** They have a cap of their own, and say something else when they are at it. */
const watcherFunctions: readonly FunctionName[] = ['events', 'sockets', 'broadcaster'];
const isWatcherFunction = (name: string): boolean => watcherFunctions.some((one) => one === name);
/** It runs when the product is deployed, and CloudFormation tells of it. */
const deploymentFunction: FunctionName = 'first-key';
const requestFunctions: readonly FunctionName[] = ['api', 'events', 'deployments', 'library', 'test-runs', 'webhooks'];

export const alarmEntries: readonly AlarmEntry[] = [
  {
    name: 'DeadLetters',
    heading: 'Dead letters',
    reason:
      'A dead letter is consumed within seconds and fails its node in the log; one that stays is work that nobody knows of.',
    metrics: deadLetterCount,
    threshold: 1,
    periods: 3,
  },
  {
    name: 'NodeJobsWait',
    heading: 'Node jobs wait too long',
    reason:
      'A job normally waits for less than a second, and one that a worker has counts too. Half an hour is twice what a worker may take.',
    metrics: messageAgeIn('nodeJobs'),
    threshold: 1_800,
    periods: 2,
  },
  {
    name: 'DelayedWait',
    heading: 'Delayed jobs wait too long',
    reason:
      'The metric may count the 15 minutes that a job is delayed and the 15 that a worker may take. Ten more are a backlog.',
    metrics: messageAgeIn('delayed'),
    threshold: 2_400,
    periods: 2,
  },
  {
    name: 'ResultsWait',
    heading: 'Results wait too long',
    reason: 'Ten results are decided in well under a second. Five minutes is five failed tries.',
    metrics: messageAgeIn('results'),
    threshold: 300,
    periods: 2,
  },
  {
    name: 'CodeMessagesWait',
    heading: 'Messages for code wait too long',
    reason:
      'A message normally waits for less than a second, and one that the code has counts too. Half an hour is twice what it may take for one.',
    metrics: messageAgeIn('code'),
    threshold: 1_800,
    periods: 2,
  },
  {
    name: 'WorkerErrors',
    heading: 'The worker fails',
    reason: 'A node that fails is an outcome and no error. Errors here are crashes and time-outs, each tried again at a cost.',
    metrics: errorsOf('worker'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'CodeErrors',
    heading: 'The function for code fails',
    reason:
      'Code that throws is an outcome and no error. Errors here are ended processes and time-outs, each tried again at a cost.',
    metrics: errorsOf('code'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'CollectErrors',
    heading: 'The collector fails',
    reason: 'Its batches come back by themselves; five errors in five minutes, twice, is more than a slow moment of the table.',
    metrics: errorsOf('collect'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'SweepNotStarting',
    heading: 'The sweep does not start',
    reason: 'It starts every minute. Without it a run whose message was lost waits for nobody.',
    metrics: invocationsOf('sweep'),
    threshold: 1,
    alarmsWhen: 'below',
  },
  {
    name: 'SweepErrors',
    heading: 'The sweep fails',
    reason: 'The next minute makes a failed one good. Three in five minutes, twice, is something that it cannot get past.',
    metrics: errorsOf('sweep'),
    threshold: 3,
    periods: 2,
  },
  {
    name: 'SweepsDropped',
    heading: 'Sweeps are dropped',
    reason:
      'Lambda drops a start that was throttled for a minute, or whose sweep failed. Three in five minutes, twice, is no short burst.',
    metrics: droppedEventsOf('sweep'),
    threshold: 3,
    periods: 2,
  },
  {
    name: 'DeadLetterErrors',
    heading: 'Dead letters cannot be recorded',
    reason:
      'This function is the last that sees a message. Errors here are crashes and time-outs; a letter that it cannot record stays, for 14 days at most, and "Dead letters" tells of it.',
    metrics: errorsOf('dead-letter'),
    threshold: 1,
    periods: 2,
  },
  {
    name: 'ApiServerErrors',
    heading: 'The API answers with server errors',
    reason: 'Temporary trouble of AWS is answered with 503 now and then; ten in five minutes, twice, is not that.',
    metrics: serverErrors,
    threshold: 10,
    periods: 2,
  },
  {
    name: 'RequestErrors',
    heading: 'Functions of the API fail',
    reason:
      'A request that is refused is an answer and no error. Errors here are crashes and time-outs, also of streams that had begun.',
    metrics: errorsOf(...requestFunctions),
    threshold: 10,
    periods: 2,
  },
  {
    name: 'ApiSlow',
    heading: 'The API is slow',
    reason:
      'A start is a handful of writes of some 10 ms; three seconds at the 99th percentile is more than cold starts explain.',
    // The function's duration and not the gateway's latency, which counts open streams.
    metrics: p99DurationOf('api'),
    threshold: 3_000,
    periods: 3,
  },
  {
    name: 'FunctionsThrottled',
    heading: 'Functions are throttled',
    reason:
      'Queues bear a moment without free concurrency. Ten in five minutes, three times, of up to ten functions is a limit that is too low.',
    metrics: throttlesOf((name) => name !== deploymentFunction && !isWatcherFunction(name)),
    threshold: 10,
    periods: 3,
  },
  {
    name: 'WatchersThrottled',
    heading: 'Watchers are throttled',
    reason:
      'Each reader of a stream holds an invocation, and so does each run watched over sockets. Those over the cap have to ask again.',
    metrics: throttlesOf(isWatcherFunction),
    threshold: 10,
    periods: 3,
  },
  {
    name: 'BroadcastsWait',
    heading: 'Watched runs wait for a broadcaster',
    reason: 'A speaker is there within a second. Five minutes are all speakers at work, or one that dies again and again.',
    metrics: messageAgeIn('watches'),
    threshold: 300,
    periods: 2,
  },
  {
    name: 'BroadcasterErrors',
    heading: 'The broadcaster fails',
    reason: 'A socket that is gone is no error. Errors here are crashes, and those who watch see nothing for minutes.',
    metrics: errorsOf('broadcaster'),
    threshold: 3,
    periods: 2,
  },
  {
    name: 'SocketsErrors',
    heading: 'Sockets are not answered',
    reason: 'A socket that is refused is an answer and no error. Errors here are crashes, and the gateway closes the socket.',
    metrics: errorsOf('sockets'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'TracesErrors',
    heading: 'Traces cannot be sent',
    reason: 'The collector was not reached, or refused. Work is not concerned; after an hour a trace is given up.',
    metrics: errorsOf('traces'),
    threshold: 5,
    periods: 2,
  },
  {
    name: 'TracesWait',
    heading: 'Traces wait too long',
    reason: 'A trace is sent within seconds. Half an hour is half of the time after which it is lost.',
    metrics: traceMessageAge,
    threshold: 1_800,
    periods: 2,
  },
  {
    name: 'FirstKeyErrors',
    heading: 'The function of the first key fails',
    reason: 'It answers CloudFormation, also where it says no. After a crash CloudFormation waits five minutes for an answer.',
    metrics: errorsOf(deploymentFunction),
    threshold: 1,
  },
  {
    name: 'TablesThrottled',
    heading: 'Tables are throttled',
    reason: 'The client repeats a throttled request unseen. A hundred in five minutes, twice, is a hot run or a cold table.',
    metrics: tableThrottles,
    threshold: 100,
    periods: 2,
  },
  {
    name: 'TimersDropped',
    heading: 'Timers are dropped',
    reason: 'A schedule that could not deliver for a day is given up. The sweep wakes its run, yet one is already too many.',
    metrics: timersDropped,
    threshold: 1,
  },
  {
    name: 'RecursiveInvocationsDropped',
    heading: 'Lambda drops recursive invocations',
    reason:
      'Functions that consume queues allow recursive loops, and then Lambda does not report this metric. One value says that a function has lost the setting, and that its messages are lost to the dead-letter queue.',
    metrics: recursiveInvocationsDropped,
    threshold: 1,
  },
  {
    name: 'MessagesSlowed',
    heading: 'Messages make no progress',
    reason:
      'A message is sent later after 16 messages in a row without a commit. A quarter of an hour of that is a chain that asks for itself for ever.',
    metrics: slowedMessageCount,
    threshold: 1,
    periods: 3,
  },
];
