/**
 * The AWS adapters over emulators of the AWS services: one process for the tables and one server for queues and bucket, shared
 * by all test environments. Each environment has its own tables and queues. Delayed messages are sent to the emulator and
 * found by polling, because the tests use virtual time.
 */
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { S3Artifacts } from '../../lib/aws/artifacts.ts';
import { DynamoAudit } from '../../lib/aws/audit.ts';
import { S3Blobs } from '../../lib/aws/blobs.ts';
import { S3Uploads } from '../../lib/aws/uploads.ts';
import { DynamoDeletions } from '../../lib/aws/deletions.ts';
import { DynamoDrafts } from '../../lib/aws/drafts.ts';
import { DynamoDevKitStreams, DynamoHookTokens, DynamoRegisteredApps } from '../../lib/aws/devkit.ts';
import { DynamoDeployments } from '../../lib/aws/deployments.ts';
import { SqsJobs } from '../../lib/aws/jobs.ts';
import { DynamoKeys } from '../../lib/aws/keys.ts';
import { EventBridgeNotices } from '../../lib/aws/notices.ts';
import { DynamoConcurrencySlots } from '../../lib/aws/concurrency-slots.ts';
import { DynamoSignals } from '../../lib/aws/signals.ts';
import { dynamoLenses, dynamoQueries, dynamoWorkflows } from '../../lib/aws/published.ts';
import { DynamoReservations } from '../../lib/aws/control.ts';
import { DynamoRateWindows } from '../../lib/aws/rate-windows.ts';
import { DynamoExternalLogs } from '../../lib/aws/external-logs.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { noMetrics } from '../../lib/aws/metrics.ts';
import { DynamoSchedules } from '../../lib/aws/schedules.ts';
import { DynamoEmbeds } from '../../lib/aws/embeds.ts';
import { DynamoSessions } from '../../lib/aws/sessions.ts';
import { DynamoStreams, DynamoReaderLeases, DynamoTickets } from '../../lib/aws/watching.ts';
import { SystemIds } from '../../lib/aws/system.ts';
import { SchedulerTimers } from '../../lib/aws/scheduler.ts';
import { parseJob, parseResult } from '../../lib/codec/jobs.ts';
import { type Instant, after, earliest, instant, seconds } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import type { Job, Jobs } from '../../lib/ports/jobs.ts';
import {
  createControlTable,
  createRunsTable,
  dynaliteServer,
  dynamoAt,
  dynamoImplementations,
  testCredentials,
} from '../contract/emulators/dynamo.ts';
import { type QueuesAndBucket, startQueuesAndBucket } from '../contract/emulators/fauxqs.ts';
import { type Answer, type Recorded, startRecorder } from '../contract/emulators/recorder.ts';
import { type ConformanceEnv, AdvancingClock } from './conformance-env.ts';

export interface AwsEnvs {
  open(): Promise<ConformanceEnv>;
  close(): Promise<void>;
}

const bucket = 'conformance-bucket';

interface Due {
  readonly job: Job;
  readonly dueAt: Instant;
}

/** The fast emulator, if it runs on this machine. */
const usualTables = dynamoImplementations.find(({ name }) => name === 'dynoxide') ?? dynamoImplementations[0] ?? dynaliteServer;
/** Emulators for whole runs: the fast one, and Amazon's if it is installed. */
export const testedImplementations = [
  usualTables,
  ...dynamoImplementations.filter((each) => each !== usualTables && each.name === 'DynamoDB Local'),
];

export const startAwsEnvs = async (implementation = usualTables): Promise<AwsEnvs> => {
  const emulator = await implementation.start();
  const dynamo = dynamoAt(emulator.endpoint);
  const services = await startQueuesAndBucket();
  services.server.createBucket(bucket);
  const schedules = new Map<string, Due>();
  const recorder = await startRecorder((request) => answerTo(request, schedules));
  const settings = { region: 'eu-central-1', credentials: testCredentials, endpoint: recorder.endpoint };
  const [scheduler, bus] = [new SchedulerClient(settings), new EventBridgeClient(settings)];
  let opened = 0;

  const open = async (): Promise<ConformanceEnv> => {
    opened += 1;
    schedules.clear();
    const [runs, control] = await Promise.all([createRunsTable(dynamo), createControlTable(dynamo)]);
    // The first instant of the memory environment's clock, so that both environments have the same time.
    const clock = new MemoryClock(memoryPorts().clock.now());
    const log = new DynamoRunLog(runs);
    const queues = queuesOf(services, opened, clock);
    const names = { group: 'timers', queueArn: 'arn:aws:sqs:eu-central-1:000000000000:delays', roleArn: roleOfTimers };
    const takeDue = async (): Promise<readonly Job[]> => {
      const ready = [...schedules].filter(([, { dueAt }]) => dueAt <= clock.now());
      for (const [name] of ready) schedules.delete(name);
      return [...queues.takeDue(), ...inOrder(ready.map(([, due]) => due))];
    };
    return {
      ports: {
        clock: new AdvancingClock(clock),
        ids: new SystemIds(),
        log,
        index: new DynamoRunIndex({ runs, control }, log, 'platform', new DynamoExternalLogs(runs)),
        externalLogs: new DynamoExternalLogs(runs),
        jobs: queues.jobs,
        timers: new SchedulerTimers(scheduler, names, clock),
        notices: new EventBridgeNotices(bus, 'bus', 'ended'),
        blobs: new S3Blobs(services.s3, bucket, clock),
        uploads: new S3Uploads(services.s3, bucket, clock),
        artifacts: new S3Artifacts(services.s3, bucket, clock),
        workflows: dynamoWorkflows(control),
        keys: new DynamoKeys(control),
        reservations: new DynamoReservations(control),
        audit: new DynamoAudit(control),
        rates: new DynamoRateWindows(control),
        signals: new DynamoSignals(control),
        concurrencySlots: new DynamoConcurrencySlots(control),
        streams: new DynamoStreams(runs),
        hookTokens: new DynamoHookTokens(runs),
        devKitStreams: new DynamoDevKitStreams(runs),
        registeredApps: new DynamoRegisteredApps(control),
        queries: dynamoQueries(control),
        lenses: dynamoLenses(control),
        schedules: new DynamoSchedules(control),
        recurrences: memoryPorts().recurrences,
        metrics: noMetrics,
        tickets: new DynamoTickets(control),
        sessions: new DynamoSessions(control),
        embeds: new DynamoEmbeds(control),
        readerLeases: new DynamoReaderLeases(control),
        deletions: new DynamoDeletions(control),
        drafts: new DynamoDrafts(control),
        deployments: new DynamoDeployments(control),
      },
      clock,
      takeJobs: async () => (await queues.takeAll('nodes')).map(parseJob),
      takeResults: async () => (await queues.takeAll('results')).map(parseResult),
      takeDue,
      nextDue: () => earliest([...queues.delayed(), ...schedules.values()].map(({ dueAt }) => dueAt)),
    };
  };

  const close = async (): Promise<void> => {
    for (const client of [dynamo, scheduler, bus]) client.destroy();
    await Promise.all([services.close(), recorder.close(), emulator.close()]);
  };
  return { open, close };
};

const roleOfTimers = 'arn:aws:iam::000000000000:role/timers';

const inOrder = (due: readonly Due[]): readonly Job[] =>
  due.toSorted((one, other) => one.dueAt - other.dueAt).map(({ job }) => job);

function queuesOf({ sqs, server, queue }: QueuesAndBucket, place: number, clock: MemoryClock) {
  const nameOf = (of: string): string => `${of.replace('.fifo', '')}-${place}${of.endsWith('.fifo') ? '.fifo' : ''}`;
  const delays = nameOf('delays');
  const urls = {
    nodes: queue(nameOf('nodes.fifo')),
    code: queue(nameOf('code.fifo')),
    delays: queue(delays),
    results: queue(nameOf('results.fifo')),
  };
  const seen = new Set<string>();
  let waiting: readonly Due[] = [];

  const findDelayed = (): void => {
    const lying = server.inspectQueue(delays)?.messages;
    for (const { messageId, body, delayUntil, sentTimestamp } of [...(lying?.ready ?? []), ...(lying?.delayed ?? [])]) {
      if (seen.has(messageId)) continue;
      seen.add(messageId);
      const delaySeconds = Math.round(((delayUntil ?? sentTimestamp) - sentTimestamp) / 1_000);
      waiting = [...waiting, { job: parseJob(body), dueAt: after(clock.now(), seconds(delaySeconds)) }];
    }
  };
  const sender = new SqsJobs(sqs, urls);
  const jobs: Jobs = {
    send: (list) => sender.send(list),
    sendTogether: (list) => sender.sendTogether(list),
    sendResult: (result) => sender.sendResult(result),
    sendFire: (fire) => sender.sendFire(fire),
    sendDelayed: async (job, delay) => {
      await sender.sendDelayed(job, delay);
      findDelayed();
    },
  };
  return {
    jobs,
    delayed: () => waiting,
    takeDue: (): readonly Job[] => {
      const now = clock.now();
      const due = waiting.filter(({ dueAt }) => dueAt <= now);
      waiting = waiting.filter(({ dueAt }) => dueAt > now);
      return inOrder(due);
    },
    takeAll: async (of: 'nodes' | 'results'): Promise<readonly string[]> => {
      const bodies: string[] = [];
      // Most polls find nothing, and an empty poll takes as long as a write.
      while ((server.inspectQueue(nameOf(`${of}.fifo`))?.messages.ready.length ?? 0) > 0) {
        const ask = new ReceiveMessageCommand({ QueueUrl: urls[of], MaxNumberOfMessages: 10 });
        const { Messages = [] } = await sqs.send(ask);
        if (Messages.length === 0) break;
        for (const { Body = '', ReceiptHandle } of Messages) {
          bodies.push(Body);
          await sqs.send(new DeleteMessageCommand({ QueueUrl: urls[of], ReceiptHandle }));
        }
      }
      return bodies;
    },
  };
}

const scheduleRequest = z.object({ ScheduleExpression: z.string(), Target: z.object({ Input: z.string() }) });

/** The scheduler rejects an existing name; the bus accepts everything. */
const answerTo = ({ path, body }: Recorded, schedules: Map<string, Due>): Answer => {
  if (!path.startsWith('/schedules/')) return { status: 200, body: { FailedEntryCount: 0, Entries: [{ EventId: '1' }] } };
  if (schedules.has(path)) {
    return { status: 409, headers: { 'x-amzn-errortype': 'ConflictException' }, body: { Message: 'it exists' } };
  }
  const { ScheduleExpression, Target } = scheduleRequest.parse(JSON.parse(body));
  const dueAt = instant(Date.parse(`${ScheduleExpression.slice('at('.length, -1)}Z`));
  schedules.set(path, { job: parseJob(Target.Input), dueAt });
  return { status: 200, body: { ScheduleArn: `arn:aws:scheduler:eu-central-1:000000000000:schedule${path}` } };
};
