/** The HTTP functions in this process, over the AWS adapters and the emulators. No worker executes the runs. */
import { randomBytes } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { servedByApi } from '../../../functions/api/operations/all.ts';
import { servedByDeployments } from '../../../functions/api/operations/deployments.ts';
import { servedByLibrary } from '../../../functions/api/operations/library.ts';
import { servedByTestRuns } from '../../../functions/api/operations/test-runs.ts';
import { servedByEvents } from '../../../functions/api/operations/events.ts';
import { servedByWebhooks } from '../../../functions/api/operations/webhooks.ts';
import { servedByWorld } from '../../../functions/api/operations/world.ts';
import { testInstallation } from '../../functions/installation.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import { httpFunction } from '../../../functions/api/pipeline/http-function.ts';
import { toolsOf } from '../../../functions/api/operation.ts';
import { newKey } from '../../../lib/api/auth.ts';
import { S3Artifacts } from '../../../lib/aws/artifacts.ts';
import { DynamoAudit } from '../../../lib/aws/audit.ts';
import { S3Blobs } from '../../../lib/aws/blobs.ts';
import { S3Uploads } from '../../../lib/aws/uploads.ts';
import { DynamoDeletions } from '../../../lib/aws/deletions.ts';
import { DynamoDrafts } from '../../../lib/aws/drafts.ts';
import { DynamoDevKitStreams, DynamoHookTokens, DynamoRegisteredApps } from '../../../lib/aws/devkit.ts';
import { DynamoDeployments } from '../../../lib/aws/deployments.ts';
import { SqsJobs } from '../../../lib/aws/jobs.ts';
import { DynamoKeys } from '../../../lib/aws/keys.ts';
import { DynamoConcurrencySlots } from '../../../lib/aws/concurrency-slots.ts';
import { DynamoSignals } from '../../../lib/aws/signals.ts';
import { dynamoLenses, dynamoQueries, dynamoWorkflows } from '../../../lib/aws/published.ts';
import { DynamoReservations } from '../../../lib/aws/control.ts';
import { DynamoRateWindows } from '../../../lib/aws/rate-windows.ts';
import { DynamoExternalLogs } from '../../../lib/aws/external-logs.ts';
import { DynamoRunIndex } from '../../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../../lib/aws/run-log.ts';
import { SystemClock, SystemIds } from '../../../lib/aws/system.ts';
import { DynamoSchedules } from '../../../lib/aws/schedules.ts';
import { DynamoEmbeds } from '../../../lib/aws/embeds.ts';
import { DynamoSessions } from '../../../lib/aws/sessions.ts';
import { DynamoStreams, DynamoReaderLeases, DynamoTickets } from '../../../lib/aws/watching.ts';
import { compile } from '../../../lib/engine/graph/compile.ts';
import { environment, projectId } from '../../../lib/engine/ids.ts';
import { days, hours } from '../../../lib/engine/time.ts';
import { MemorySecrets } from '../../../lib/memory/secrets.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { evaluatePure, inspectNode, termsOf } from '../../../lib/nodes/catalogue.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { Plans } from '../../../lib/service/commit/plans.ts';
import { runKinds } from '../../../lib/service/kinds/run-kinds.ts';
import { SecretCache } from '../../../lib/service/access/secret-cache.ts';
import { WebhookSecrets } from '../../../lib/service/access/webhook-secrets.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from '../../contract/emulators/dynamo.ts';
import { startQueuesAndBucket } from '../../contract/emulators/fauxqs.ts';
import { context, eventOf } from '../../functions/http.ts';
import { delivery, hooksArn, hooksSecret, testProviders } from '../../functions/webhook-providers.ts';
import type { FuzzTarget } from './campaign.ts';
import { type FuzzResponse, routeOf } from './check-response.ts';
import type { FuzzRequest } from './requests.ts';

export interface OpenFuzzTarget extends FuzzTarget {
  close(): Promise<void>;
}

const bucket = 'fuzz-bucket';

export const openHandlers = async (): Promise<OpenFuzzTarget> => {
  const implementation = dynamoImplementations.find(({ name }) => name === 'dynoxide') ?? dynamoImplementations[0];
  if (implementation === undefined) throw new Error('there is no emulator of DynamoDB');
  const emulator = await implementation.start();
  const client = dynamoAt(emulator.endpoint);
  const services = await startQueuesAndBucket();
  services.server.createBucket(bucket);
  const [runs, control] = [await createRunsTable(client), await createControlTable(client)];
  const clock = new SystemClock();
  const log = new DynamoRunLog(runs);
  const urls = {
    nodes: services.queue('nodes.fifo'),
    code: services.queue('code.fifo'),
    delays: services.queue('delays'),
    results: services.queue('results.fifo'),
  };
  // Timers and the bus are called, and have no emulator here.
  const { timers, recurrences, notices, metrics } = memoryPorts();
  const deps: Deps = {
    clock,
    ids: new SystemIds(),
    log,
    index: new DynamoRunIndex({ runs, control }, log, 'platform', new DynamoExternalLogs(runs)),
    externalLogs: new DynamoExternalLogs(runs),
    jobs: new SqsJobs(services.sqs, urls),
    timers,
    recurrences,
    metrics,
    schedules: new DynamoSchedules(control),
    notices,
    blobs: new S3Blobs(services.s3, bucket, clock),
    uploads: new S3Uploads(services.s3, bucket, clock),
    artifacts: new S3Artifacts(services.s3, bucket, clock),
    workflows: dynamoWorkflows(control),
    queries: dynamoQueries(control),
    lenses: dynamoLenses(control),
    keys: new DynamoKeys(control),
    reservations: new DynamoReservations(control),
    streams: new DynamoStreams(runs),
    hookTokens: new DynamoHookTokens(runs),
    devKitStreams: new DynamoDevKitStreams(runs),
    registeredApps: new DynamoRegisteredApps(control),
    tickets: new DynamoTickets(control),
    sessions: new DynamoSessions(control),
    embeds: new DynamoEmbeds(control),
    readerLeases: new DynamoReaderLeases(control),
    audit: new DynamoAudit(control),
    rates: new DynamoRateWindows(control),
    signals: new DynamoSignals(control),
    concurrencySlots: new DynamoConcurrencySlots(control),
    deletions: new DynamoDeletions(control),
    drafts: new DynamoDrafts(control),
    deployments: new DynamoDeployments(control),
    settings: { retentionMs: days(30), idempotencyMs: hours(24), requiresHttps: true },
  };
  const place = environment('fuzz');
  const { text, keyId, secretHash } = newKey(place, randomBytes);
  const terms = { scopes: ['admin'], createdAt: clock.now(), rateLimitPerMinute: null } as const;
  await deps.keys.putKey({ keyId, secretHash, projectId: projectId('fuzz'), environment: place, ...terms });

  const decider = {
    deps,
    by: 'api',
    plans: new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure }),
    kinds: runKinds,
  };
  const ignore = (): void => {};
  const tools = toolsOf({ decider, inspect: inspectNode, logger: { info: ignore, warn: ignore, error: console.error } });
  const secrets = new MemorySecrets();
  secrets.create(hooksArn, hooksSecret);
  const webhooks = {
    ...tools,
    providers: async () => testProviders,
    secrets: new WebhookSecrets(new SecretCache(secrets, clock)),
  };
  const functions = {
    // No function of jobs: they go through the queue.
    api: httpFunction({ ...tools, jobCalls: { call: async () => ({ kind: 'refused' as const }) } }, servedByApi),
    events: httpFunction(tools, servedByEvents),
    deployments: httpFunction(tools, servedByDeployments),
    library: httpFunction({ ...tools, signIn: async () => undefined, installation: testInstallation }, servedByLibrary),
    'test-runs': httpFunction(tools, servedByTestRuns),
    webhooks: httpFunction(webhooks, servedByWebhooks),
    world: httpFunction({ ...tools, decider: { ...decider, foldCache: new FoldCache() } }, servedByWorld),
  };
  return {
    apiKey: text,
    send: async (request): Promise<FuzzResponse> => {
      const handler = functions[routeOf(request)?.servedBy ?? 'api'];
      const { statusCode, headers, body } = await handler(gatewayEvent(request), context);
      if (typeof body === 'string') return { status: statusCode, headers, text: body };
      body.destroy();
      throw new Error('the response is a stream, and the request asked for none');
    },
    async close() {
      client.destroy();
      await services.close();
      await emulator.close();
    },
  };
};

/** The last of several headers with one name, as API Gateway passes it. Forms are encoded; other bodies are text. */
const gatewayEvent = ({ method, target, headers, body }: FuzzRequest): APIGatewayProxyEvent => {
  const url = new URL(`http://localhost${target}`);
  const byName = new Map(headers.map(([name, value]) => [name, value]));
  byName.set('X-Forwarded-Proto', 'https');
  const isForm = (byName.get('Content-Type') ?? '').startsWith('multipart/');
  const text = body === undefined ? undefined : Buffer.from(body).toString(isForm ? 'base64' : 'utf8');
  // Half of the webhooks have a valid signature.
  const isSigned = url.pathname.startsWith('/v1/webhooks/') && typeof body === 'string' && body.length % 2 === 0;
  const signature = isSigned ? delivery(body, { id: `d-${body.length}` }).headers : {};
  return eventOf(method, url.pathname, {
    headers: { ...Object.fromEntries(byName), ...signature },
    ...(url.search === '' ? {} : { query: Object.fromEntries(url.searchParams) }),
    ...(text === undefined ? {} : { text, isBase64Encoded: isForm }),
  });
};
