/**
 * A process that starts runs and executes a node job with the handlers of `functions`, against the services of an embedded cloud,
 * and prints the files of `lib` and `functions` with a function that ran. The first start and the first job fill the caches of the
 * process and are not recorded.
 */
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import type { SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { awsPorts } from '../../lib/aws/aws-ports.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { jobBody } from '../../lib/codec/jobs.ts';
import { attempt, commitNo, environment, nodeId, projectId, topLevel, runId } from '../../lib/engine/ids.ts';
import { nodeJob } from '../../lib/service/commit/job-messages.ts';
import { context, eventOf } from '../functions/http.ts';

const planSchema = z.object({
  apiKey: z.string(),
  workflowName: z.string(),
  nodeId: z.string(),
  projectId: z.string(),
  environment: z.string(),
});
const plan = planSchema.parse(JSON.parse(process.argv[2] ?? ''));
const root = fileURLToPath(new URL('../../', import.meta.url));

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The files with a function that ran since the last call. The code of a module itself, which runs at its import, does not count. */
async function takeFiles(): Promise<readonly string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ functions }) =>
      functions.some(({ ranges }) => ranges[0] !== undefined && ranges[0].startOffset > 0 && ranges[0].count > 0),
    )
    .flatMap(({ url }) => (url.startsWith('file://') ? [fileURLToPath(url)] : []))
    .filter((path) => path.startsWith(`${root}lib/`) || path.startsWith(`${root}functions/`))
    .map((path) => path.slice(root.length))
    .toSorted();
}

const { handler: api } = await import('../../functions/api/handler.ts');

async function start(idempotencyKey: string): Promise<string> {
  const body = { workflowName: plan.workflowName, input: {} };
  const event = eventOf('POST', '/v1/runs', { key: plan.apiKey, body, headers: { 'idempotency-key': idempotencyKey } });
  const response = await api(event, context);
  const started: unknown = JSON.parse(typeof response.body === 'string' ? response.body : '{}');
  return z.object({ runId: z.string() }).parse(started).runId;
}

const first = await start('recorder-1');
await takeFiles();
const second = await start('recorder-2');
const startFiles = await takeFiles();

const { handler: worker } = await import('../../functions/worker/handler.ts');
const { log } = awsPorts(settingsFrom(process.env));

async function jobOf(id: string): Promise<SQSRecord> {
  const run = { projectId: projectId(plan.projectId), environment: environment(plan.environment), runId: runId(id) };
  const head = await log.head(run);
  if (head === undefined) throw new Error(`the run ${id} has no head`);
  const body = jobBody(nodeJob(head, commitNo(1), { nodeId: nodeId(plan.nodeId), iteration: topLevel, attempt: attempt(1) }));
  return {
    messageId: id,
    receiptHandle: id,
    body,
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: '0',
      SenderId: 'recorder',
      ApproximateFirstReceiveTimestamp: '0',
      MessageGroupId: id,
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:local:000000000000:recorder',
    awsRegion: 'local',
  };
}

const jobs = [await jobOf(first), await jobOf(second)];
for (const record of jobs) {
  await takeFiles();
  const response = await worker({ Records: [record] }, context);
  if (!('batchItemFailures' in response) || response.batchItemFailures.length > 0)
    throw new Error('the worker did not process the job');
}
const nodeFiles = await takeFiles();
process.stdout.write(`\n@files ${JSON.stringify({ start: startFiles, node: nodeFiles })}\n`);
// The sandbox keeps its thread for the next script.
process.exit(0);
