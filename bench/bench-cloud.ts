/** Starts the embedded cloud in this process and records all its AWS calls. */
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { maxWaitSeconds } from '../lib/api/schemas/runs.ts';
import { partitionOf } from '../lib/contract/record-kinds.ts';
import { terminalStatuses } from '../lib/engine/log/head.ts';
import { startCloud, type Cloud, type CloudSettings } from '../lib/local/cloud.ts';
import { createDynamodbCaller } from '../lib/local/emulators/forward.ts';
import { localKey } from '../lib/local/local-credentials.ts';
import type { RecordedCall } from '../lib/local/recorder.ts';
import { checkoutApp } from '../lib/local/synth/cdk-app.ts';
import { synthesize } from '../lib/local/synth/synthesize.ts';
import { loadAssembly } from '../lib/local/template/assembly.ts';
import { billOf, lastUses, Meter, type Bill, type Line } from './bill.ts';
import { type CodeWorkflow, deployCode } from './code-workflows.ts';
import type { Lens, Workflow } from './workflows.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Fixed, so that counts do not depend on the machine. */
export const threads = 4;
/** A run that takes longer has failed, even on a busy machine. */
const timeoutMs = 120_000;
const pollIntervalMs = 10;

const startedShape = z.looseObject({ runId: z.string() });
/** A run that has not ended in time has another status. */
const answeredShape = z.looseObject({ runId: z.string(), status: z.literal('completed') });
const batchShape = z.looseObject({ data: z.array(z.looseObject({ run: startedShape })) });
const keyShape = z.looseObject({ key: z.string() });
const queueInput = z.looseObject({ QueueUrl: z.string() });
const updateInput = z.looseObject({
  Key: z.looseObject({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) }),
  ExpressionAttributeValues: z.looseObject({ ':status': z.object({ S: z.string() }).exactOptional() }).exactOptional(),
});

/** The partition of the head or projection that the call updates with the end of its run; undefined for other calls. */
export function endedHeadIn({ service, operation, input, status }: RecordedCall): string | undefined {
  if (service !== 'dynamodb' || operation !== 'UpdateItem' || status !== 200) return undefined;
  const { Key, ExpressionAttributeValues: values } = updateInput.parse(input);
  const isEnd = terminalStatuses.some((each) => each === values?.[':status']?.S);
  return Key.sk.S === 'head' && isEnd ? Key.pk.S : undefined;
}
const headShape = z.looseObject({ Item: z.looseObject({ status: z.looseObject({ S: z.string() }) }).optional() });

/** Partitions with the status of a run: beside the log for a run of deployed code, in the head for others. */
const partitionsOf = (runId: string): readonly string[] =>
  (['code', 'devkit', 'run'] as const).map((kind) => partitionOf(kind, 'default', 'local', runId));

/**
 * How many delayed messages come in time. No wait can end with a later one. The Workflow DevKit of version 5 sends itself such a message
 * where two functions meet at a run: in 860 seconds it checks that a step which the other one executes has ended.
 */
export const dueBy = (until: number, delayedUntil: readonly number[]): number => delayedUntil.filter((at) => at <= until).length;

export interface BenchCloud {
  readonly cloud: Cloud;
  /** Publishes the first version of a workflow once. Deploys the project of a code workflow, unless it is the active one. */
  publish(workflow: Workflow | CodeWorkflow): Promise<void>;
  /** Publishes the first version of a lens once. */
  publishLens(lens: Lens): Promise<void>;
  /** Starts a run and returns its id. */
  start(workflow: Workflow | CodeWorkflow, idempotencyKey: string, apiKey?: string): Promise<string>;
  /** Starts a run for each key in one request, and returns their ids. */
  startBatch(workflow: Workflow | CodeWorkflow, idempotencyKeys: readonly string[], apiKey?: string): Promise<readonly string[]>;
  /** Starts a run, waits for its end in the same request, and returns its id. */
  startAndWait(workflow: Workflow | CodeWorkflow, idempotencyKey: string): Promise<string>;
  /** Reruns an ended code run from a step and returns the id of the new run. */
  rerun(runId: string, fromNode: string): Promise<string>;
  /** An API key that no function has cached. */
  freshKey(): Promise<string>;
  get(path: string): Promise<unknown>;
  cancel(runId: string): Promise<void>;
  /** Waits until all messages of the run are handled and deleted. Returns the status in the run's head. */
  waitUntilIdle(runId: string): Promise<string>;
  /** Whether a queue has a message that is due or in flight. A message is deleted after all that follows from it. */
  hasMessages(): boolean;
  /** Delays `collect` until the given number of results has been sent. Returns a function that removes the delay. */
  holdResults(count: number): () => void;
  /** Whether the run's head has a terminal status, without an AWS call. */
  hasEnded(runId: string): boolean;
  /** The bill of these runs so far, altogether; no other run may be active since `from`. */
  bill(ofRuns: readonly string[], from: number): Bill;
  /** The bill of one function since `from`. */
  billOf(functionLabel: string, from: number): Bill;
  /** The number of calls so far. */
  readonly calls: number;
  /** Stops recording calls. */
  stopRecording(): void;
  stop(): Promise<void>;
}

/**
 * @param directory contains the last synthesis and receives the state
 * @param settings of the context, such as `stepwell:runEvents`
 * @param callDelay default: none
 */
export async function startBenchCloud(
  directory: string,
  warn: (line: string) => void,
  settings?: Readonly<Record<string, unknown>>,
  callDelay?: CloudSettings['callDelay'],
): Promise<BenchCloud> {
  const assembly = synthesize(checkoutApp(root), directory, settings).then((synthesis) => loadAssembly(synthesis.directory));
  const cloud = await startCloud({
    directory,
    port: 0,
    threads,
    assembly,
    warn,
    onEmulatorExit: warn,
    ...(callDelay === undefined ? {} : { callDelay }),
  });
  const calls: RecordedCall[] = [];
  const stopRecording = cloud.recorder.listen((call) => void calls.push(call));
  const { url, template } = cloud;
  if (url === undefined) throw new Error('the template has no API');
  const apiKey = localKey(cloud);
  const meter = new Meter(template);
  const endedHeads = new Set<string>();
  cloud.recorder.listen((call) => {
    const ended = endedHeadIn(call);
    if (ended !== undefined) endedHeads.add(ended);
  });
  const published = new Set<string>();
  /** the project of the active deployment */
  let activeFolder: string | undefined;
  const perCall: (readonly Line[])[] = [];
  /** remainder of each run's last queue request, cached because waiting for a long run polls it often */
  const lastRequests = new Map<string, string>();
  const readNewCalls = (): void => {
    for (const call of calls.slice(perCall.length)) {
      const lines = meter.read(call);
      perCall.push(lines);
      for (const { kind, part, runIds } of lines)
        if (kind === 'queueRequests') for (const runId of runIds) lastRequests.set(runId, part);
    }
  };
  const linesFrom = (from: number): readonly Line[] => {
    readNewCalls();
    return perCall.slice(from).flat();
  };
  // The last use of a key is written once an hour, which would add a write to a random run.
  const billedLinesFrom = (from: number): readonly Line[] => linesFrom(from).filter(({ part }) => part !== lastUses);

  async function request(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  const functionByLabel = (label: string) => {
    const found = [...cloud.functions.values()].find(({ name }) => meter.labelOf(name) === label);
    if (found === undefined) throw new Error(`the template has no function ${label}`);
    return found;
  };
  const queueOf = (input: unknown): string => {
    const { QueueUrl } = queueInput.parse(input);
    return meter.labelOf(QueueUrl.slice(QueueUrl.lastIndexOf('/') + 1));
  };

  /** The queues that have messages. @param until messages that are delayed beyond this time do not count */
  const queuesWithMessages = (until: number) =>
    template.of('AWS::SQS::Queue').flatMap(({ name }) => {
      const { fauxqs } = cloud.emulators;
      const depth = { ...fauxqs.depth(name), delayed: dueBy(until, fauxqs.delayedUntil(name)) };
      return depth.ready + depth.delayed + depth.inFlight === 0 ? [] : [{ queue: meter.labelOf(name), ...depth }];
    });

  const runsTable = template
    .of('AWS::DynamoDB::Table')
    .find(({ properties }) => properties['GlobalSecondaryIndexes'] !== undefined);
  const queryEmulator = createDynamodbCaller(cloud.emulators.dynamodb.forward);

  return {
    cloud,
    async publish(workflow) {
      if ('input' in workflow) {
        if (activeFolder !== workflow.folder) await deployCode(url, apiKey, workflow.folder);
        activeFolder = workflow.folder;
        return;
      }
      if (published.has(workflow.name)) return;
      await request('POST', '/v1/workflows', workflow);
      published.add(workflow.name);
    },
    async publishLens(lens) {
      if (published.has(`lens ${lens.name}`)) return;
      await request('POST', '/v1/lenses', lens);
      published.add(`lens ${lens.name}`);
    },
    async start(workflow, idempotencyKey, key = apiKey) {
      const body = { workflowName: workflow.name, input: 'input' in workflow ? workflow.input : {} };
      const headers = { 'idempotency-key': idempotencyKey, authorization: `Bearer ${key}` };
      return startedShape.parse(await request('POST', '/v1/runs', body, headers)).runId;
    },
    async startBatch(workflow, idempotencyKeys, key = apiKey) {
      const input = 'input' in workflow ? workflow.input : {};
      const runs = idempotencyKeys.map((idempotencyKey) => ({ workflowName: workflow.name, input, idempotencyKey }));
      const { data } = batchShape.parse(await request('POST', '/v1/runs/batch', { runs }, { authorization: `Bearer ${key}` }));
      return data.map(({ run }) => run.runId);
    },
    async startAndWait(workflow, idempotencyKey) {
      const body = { workflowName: workflow.name, input: 'input' in workflow ? workflow.input : {} };
      const headers = { 'idempotency-key': idempotencyKey };
      const answer = await request('POST', `/v1/runs?wait=${maxWaitSeconds}`, body, headers);
      return answeredShape.parse(answer).runId;
    },
    async rerun(runId, fromNode) {
      const headers = { 'idempotency-key': `${runId} from ${fromNode}` };
      return startedShape.parse(await request('POST', `/v1/runs/${runId}/rerun`, { fromNode }, headers)).runId;
    },
    async freshKey() {
      const body = { scopes: ['trigger:write'], rateLimitPerMinute: null };
      return keyShape.parse(await request('POST', '/v1/keys', body)).key;
    },
    get: (path) => request('GET', path),
    hasMessages: () => queuesWithMessages(Date.now()).length > 0,
    cancel: async (runId) => void (await request('POST', `/v1/runs/${runId}/cancel`)),
    async waitUntilIdle(runId) {
      const until = Date.now() + timeoutMs;
      // A message is sent before its cause is deleted, so an active run always has a message.
      for (;;) {
        readNewCalls();
        const lastRequest = lastRequests.get(runId);
        const queues = queuesWithMessages(until);
        if (lastRequest?.startsWith('delete ') === true && queues.length === 0) break;
        if (Date.now() > until)
          throw new Error(
            `${runId} still has messages after ${timeoutMs} ms: ${JSON.stringify(queues)}, and its last request is ${lastRequest}`,
          );
        await wait(pollIntervalMs);
      }
      for (const pk of partitionsOf(runId)) {
        const Key = { pk: { S: pk }, sk: { S: 'head' } };
        const { output } = await queryEmulator('GetItem', { TableName: runsTable?.name, Key, ConsistentRead: true });
        const status = headShape.parse(output).Item?.status.S;
        if (status !== undefined) return status;
      }
      return 'absent';
    },
    holdResults(count) {
      const collect = functionByLabel('collect');
      const isResult = ({ service, operation, input }: RecordedCall): boolean =>
        service === 'sqs' && operation === 'SendMessage' && queueOf(input) === 'results queue';
      const invoke = collect.invoke.bind(collect);
      let sent = 0;
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const stopListening = cloud.recorder.listen((call) => {
        if (isResult(call) && ++sent === count) open();
      });
      collect.invoke = async (event, onChunk) => {
        await opened;
        return invoke(event, onChunk);
      };
      return () => {
        stopListening();
        open();
        collect.invoke = invoke;
      };
    },
    hasEnded: (runId) => partitionsOf(runId).some((pk) => endedHeads.has(pk)),
    // The sweep runs by the clock, independent of runs.
    bill: (ofRuns, from) =>
      billOf(
        billedLinesFrom(from).filter(
          ({ by, runIds }) => meter.labelOf(by) !== 'sweep' && (runIds.size === 0 || ofRuns.some((runId) => runIds.has(runId))),
        ),
      ),
    billOf: (label, from) => billOf(billedLinesFrom(from).filter(({ by }) => meter.labelOf(by) === label)),
    get calls() {
      return calls.length;
    },
    stopRecording,
    async stop() {
      stopRecording();
      await cloud.stop();
    },
  };
}
