/** The typed client of the HTTP API: bodies and answers have the types of the table of routes. */
import { defined } from '../engine/defined.ts';
import type { JsonValue } from '../engine/json.ts';
import { type CallOptions, sendRequest } from './send-request.ts';
import { type AwaitOptions, type PollOptions, awaitRunEnd, firstPollMs } from './await-run-end.ts';
import { contentKey } from './content-key.ts';
import { LensCalls } from './lens-calls.ts';
import { type IdempotentCallOptions, validateIdempotencyKey, idempotencyKeyOption } from './idempotency-options.ts';
import { type ClientOptions, type ClientConfig, resolveClientConfig, validateInteger } from './options.ts';
import { QueryCalls } from './query-calls.ts';
import { readFirstNonEmptyPage, followEvents, iterateRows } from './pagination.ts';
import { ScheduleCalls } from './schedule-calls.ts';
import type * as shapes from './route-types.ts';
import { type ResponseBody, type RequestBody, type EndedRun, type RequestQuery, type Run, routeOf } from './route-types.ts';
import { TestRunCalls } from './test-run-calls.ts';
import { type Upload, type UploadOptions, uploadArchive } from './upload.ts';
import { type WatchOptions, watchRun } from './watch-run.ts';

const getHealth = routeOf('getHealth');
const getOpenApi = routeOf('getOpenApi');
const createWorkflow = routeOf('createWorkflow');
const publishVersion = routeOf('publishVersion');
const listWorkflows = routeOf('listWorkflows');
const getWorkflow = routeOf('getWorkflow');
const archiveWorkflow = routeOf('archiveWorkflow');
const deleteWorkflow = routeOf('deleteWorkflow');
const validateWorkflow = routeOf('validateWorkflow');
const startRun = routeOf('startRun');
const getRun = routeOf('getRun');
const listRuns = routeOf('listRuns');
const listRunEvents = routeOf('listRunEvents');
const createTicket = routeOf('createTicket');
const listRunTags = routeOf('listRunTags');
const cancelRun = routeOf('cancelRun');
const rerunRun = routeOf('rerunRun');
const resumeRun = routeOf('resumeRun');
const wakeRun = routeOf('wakeRun');
const sendSignal = routeOf('sendSignal');
const sendRunSignal = routeOf('sendRunSignal');
const createDeployment = routeOf('createDeployment');
const listDeployments = routeOf('listDeployments');
const getDeployment = routeOf('getDeployment');
const getActiveDeployment = routeOf('getActiveDeployment');
const activateDeployment = routeOf('activateDeployment');
const verifyDeployment = routeOf('verifyDeployment');
const rollbackDeployment = routeOf('rollbackDeployment');
const removeDeployment = routeOf('removeDeployment');
const publishMessage = routeOf('publishMessage');
const getWorldDeploymentId = routeOf('getWorldDeploymentId');
const createKey = routeOf('createKey');
const listKeys = routeOf('listKeys');
const revokeKey = routeOf('revokeKey');
const rotateKey = routeOf('rotateKey');
const listAudit = routeOf('listAudit');

/** Without a key of the caller's own, one is made for the call. */
export type TriggerOptions = IdempotentCallOptions;

type Message = Pick<RequestBody<'publishMessage'>, 'queueName' | 'message'>;

export interface CreateDeploymentOptions extends CallOptions {
  /** the archive, sent beside the manifest; where it is too large for that, upload it */
  readonly artifact?: Uint8Array<ArrayBuffer>;
}

/**
 * Methods answer with what the route answers, and throw a ComputeClientError otherwise. Arguments that can never work are a
 * TypeError or a RangeError, and nothing is sent.
 */
export class StepwellClient extends TestRunCalls {
  readonly #config: ClientConfig;
  readonly lenses: LensCalls;

  readonly queries: QueryCalls;

  readonly schedules: ScheduleCalls;

  constructor(options: ClientOptions) {
    const config = resolveClientConfig(options);
    super(config);
    this.#config = config;
    this.queries = new QueryCalls(config);
    this.lenses = new LensCalls(config);
    this.schedules = new ScheduleCalls(config);
  }

  health(options?: CallOptions): Promise<ResponseBody<'getHealth'>> {
    return sendRequest(this.#config, getHealth, getHealth.responses[200].schema, {}, options);
  }

  /** The service's own description of its routes, as OpenAPI 3.1. */
  openApi(options?: CallOptions): Promise<ResponseBody<'getOpenApi'>> {
    return sendRequest(this.#config, getOpenApi, getOpenApi.responses[200].schema, {}, options);
  }

  /** Publishes version 1 of a new workflow. */
  createWorkflow(body: RequestBody<'createWorkflow'>, options?: CallOptions): Promise<ResponseBody<'createWorkflow'>> {
    return sendRequest(this.#config, createWorkflow, createWorkflow.responses[201].schema, { body }, options);
  }

  publishVersion(
    name: string,
    body: RequestBody<'publishVersion'>,
    options?: CallOptions,
  ): Promise<ResponseBody<'publishVersion'>> {
    return sendRequest(this.#config, publishVersion, publishVersion.responses[201].schema, { params: { name }, body }, options);
  }

  /** One page. */
  listWorkflows(query: RequestQuery<'listWorkflows'> = {}, options?: CallOptions): Promise<ResponseBody<'listWorkflows'>> {
    return sendRequest(this.#config, listWorkflows, listWorkflows.responses[200].schema, { query }, options);
  }

  /** Every workflow, page by page. */
  eachWorkflow(
    query: RequestQuery<'listWorkflows'> = {},
    options?: CallOptions,
  ): AsyncGenerator<shapes.WorkflowSummary, void, undefined> {
    return iterateRows((from) => this.listWorkflows({ ...query, ...from }, options));
  }

  getWorkflow(
    name: string,
    query: RequestQuery<'getWorkflow'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'getWorkflow'>> {
    return sendRequest(this.#config, getWorkflow, getWorkflow.responses[200].schema, { params: { name }, query }, options);
  }

  archiveWorkflow(name: string, options?: CallOptions): Promise<ResponseBody<'archiveWorkflow'>> {
    return sendRequest(this.#config, archiveWorkflow, archiveWorkflow.responses[200].schema, { params: { name } }, options);
  }

  /**
   * Deletes a workflow with all its versions and runs, for good. The answer says that it has begun; `getWorkflow` says how far it has
   * come, and answers `workflow_not_found` once the name is free.
   */
  deleteWorkflow(
    name: string,
    body: RequestBody<'deleteWorkflow'>,
    options?: CallOptions,
  ): Promise<ResponseBody<'deleteWorkflow'>> {
    return sendRequest(this.#config, deleteWorkflow, deleteWorkflow.responses[202].schema, { params: { name }, body }, options);
  }

  /** Judges a definition and publishes nothing; findings are the answer, not an error. */
  validateWorkflow(body: RequestBody<'validateWorkflow'>, options?: CallOptions): Promise<ResponseBody<'validateWorkflow'>> {
    return sendRequest(this.#config, validateWorkflow, validateWorkflow.responses[200].schema, { body }, options);
  }

  /** Starts one run, however often the request has to be sent: all of a call's tries carry one idempotency key. */
  async trigger(body: RequestBody<'startRun'>, options: TriggerOptions = {}): Promise<ResponseBody<'startRun'>> {
    const idempotencyKey = this.#resolveIdempotencyKey(options);
    return sendRequest(this.#config, startRun, startRun.responses[202].schema, { body, idempotencyKey }, options);
  }

  /** Runs a run again, as one new run, however often the request has to be sent. */
  async rerunRun(
    runId: string,
    body: RequestBody<'rerunRun'> = {},
    options: TriggerOptions = {},
  ): Promise<ResponseBody<'rerunRun'>> {
    const idempotencyKey = this.#resolveIdempotencyKey(options);
    return sendRequest(
      this.#config,
      rerunRun,
      rerunRun.responses[202].schema,
      { params: { runId }, body, idempotencyKey },
      options,
    );
  }

  #resolveIdempotencyKey({ idempotencyKey = this.#config.newId() }: TriggerOptions): string {
    return validateIdempotencyKey(idempotencyKey);
  }

  getRun(runId: string, query: RequestQuery<'getRun'> = {}, options?: CallOptions): Promise<Run> {
    return sendRequest(this.#config, getRun, getRun.responses[200].schema, { params: { runId }, query }, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listRuns(query: RequestQuery<'listRuns'> = {}, options?: CallOptions): Promise<ResponseBody<'listRuns'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(this.#config, listRuns, listRuns.responses[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /** Every run, newest first, page by page. */
  eachRun(query: RequestQuery<'listRuns'> = {}, options?: CallOptions): AsyncGenerator<shapes.RunSummary, void, undefined> {
    return iterateRows((from) => this.listRuns({ ...query, ...from }, options));
  }

  /** One page of what has happened so far; its cursor goes on as `after`, now or later. */
  listRunEvents(
    runId: string,
    query: RequestQuery<'listRunEvents'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'listRunEvents'>> {
    return sendRequest(this.#config, listRunEvents, listRunEvents.responses[200].schema, { params: { runId }, query }, options);
  }

  /** Every event after `after`, as they happen, until the run has ended. */
  followRunEvents(
    runId: string,
    { after, limit }: RequestQuery<'listRunEvents'> = {},
    { pollMs = firstPollMs, ...options }: PollOptions = {},
  ): AsyncGenerator<shapes.RunEvent, void, undefined> {
    const size = limit === undefined ? {} : { limit };
    return followEvents(
      {
        readPageAfter: (from) => this.listRunEvents(runId, { ...size, ...from }, options),
        readRun: () => this.getRun(runId, { resolveData: 'none' }, options),
      },
      this.#config,
      { ...options, after, pollMs: validateInteger('pollMs', pollMs, 1) },
    );
  }

  /** Every event after `after`, and between them what nodes say while they are at work, until the run has ended. */
  watchRun(runId: string, from: WatchOptions = {}, options: CallOptions = {}): AsyncGenerator<shapes.RunUpdate, void, undefined> {
    return watchRun(this.#config, runId, from, options);
  }

  /** For a page that watches this run with an RunEventReader: it opens one stream, once, within a minute. */
  createTicket(runId: string, options?: CallOptions): Promise<ResponseBody<'createTicket'>> {
    return sendRequest(this.#config, createTicket, createTicket.responses[201].schema, { params: { runId } }, options);
  }

  /** Once more changes nothing; a run that has ended otherwise is refused with `run_terminal`. */
  cancelRun(runId: string, body: RequestBody<'cancelRun'> = {}, options?: CallOptions): Promise<ResponseBody<'cancelRun'>> {
    return sendRequest(this.#config, cancelRun, cancelRun.responses[200].schema, { params: { runId }, body }, options);
  }

  /** Tells an open run to go on, and why. Without a key, each call is told in its log once more. */
  async resumeRun(body: RequestBody<'resumeRun'>, options: IdempotentCallOptions = {}): Promise<ResponseBody<'resumeRun'>> {
    return sendRequest(
      this.#config,
      resumeRun,
      resumeRun.responses[202].schema,
      { body, ...idempotencyKeyOption(options) },
      options,
    );
  }

  /** Wakes the sleeping nodes that are named, or all of them. */
  wakeRun(runId: string, body: RequestBody<'wakeRun'> = {}, options?: CallOptions): Promise<ResponseBody<'wakeRun'>> {
    return sendRequest(this.#config, wakeRun, wakeRun.responses[202].schema, { params: { runId }, body }, options);
  }

  /** To whoever waits for it, or kept for who will. Without a key and without a `signalId`, each call is a signal of its own. */
  async sendSignal(body: RequestBody<'sendSignal'>, options: IdempotentCallOptions = {}): Promise<ResponseBody<'sendSignal'>> {
    const requestParts = { body, ...idempotencyKeyOption(options), bodyHasIdempotencyKey: body.signalId !== undefined };
    return sendRequest(this.#config, sendSignal, sendSignal.responses[202].schema, requestParts, options);
  }

  /** To a wait of this run that names no correlation. */
  async sendRunSignal(
    runId: string,
    body: RequestBody<'sendRunSignal'>,
    options: IdempotentCallOptions = {},
  ): Promise<ResponseBody<'sendRunSignal'>> {
    const requestParts = {
      params: { runId },
      body,
      ...idempotencyKeyOption(options),
      bodyHasIdempotencyKey: body.signalId !== undefined,
    };
    return sendRequest(this.#config, sendRunSignal, sendRunSignal.responses[202].schema, requestParts, options);
  }

  /** One page of what is worth a glance. */
  listRunTags(
    runId: string,
    query: RequestQuery<'listRunTags'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'listRunTags'>> {
    return sendRequest(this.#config, listRunTags, listRunTags.responses[200].schema, { params: { runId }, query }, options);
  }

  /** Takes a manifest, and its artifact where it is given; else the answer says where to upload it, if it is not there yet. */
  async createDeployment(
    body: RequestBody<'createDeployment'>,
    { artifact, ...options }: CreateDeploymentOptions = {},
  ): Promise<ResponseBody<'createDeployment'>> {
    const file = artifact === undefined ? {} : { file: artifact };
    return sendRequest(this.#config, createDeployment, createDeployment.responses[201].schema, { body, ...file }, options);
  }

  /** Brings an archive to where `createDeployment` said. The address is a secret as long as it works: no error tells it. */
  uploadArtifact(upload: Upload, archive: Uint8Array<ArrayBuffer>, options?: UploadOptions): Promise<void> {
    return uploadArchive(this.#config, upload, archive, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listDeployments(query: RequestQuery<'listDeployments'> = {}, options?: CallOptions): Promise<ResponseBody<'listDeployments'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(
        this.#config,
        listDeployments,
        listDeployments.responses[200].schema,
        { query: { ...query, ...from } },
        options,
      ),
    );
  }

  getDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'getDeployment'>> {
    return sendRequest(this.#config, getDeployment, getDeployment.responses[200].schema, { params: { deploymentId } }, options);
  }

  /** Refused with `no_active_deployment` where there is none. */
  getActiveDeployment(options?: CallOptions): Promise<ResponseBody<'getActiveDeployment'>> {
    return sendRequest(this.#config, getActiveDeployment, getActiveDeployment.responses[200].schema, {}, options);
  }

  /** Judges what was uploaded, so that runs can be started on it by its id; once more changes nothing. */
  verifyDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'verifyDeployment'>> {
    return sendRequest(
      this.#config,
      verifyDeployment,
      verifyDeployment.responses[200].schema,
      { params: { deploymentId } },
      options,
    );
  }

  /** New runs get this deployment; once more changes nothing. */
  activateDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'activateDeployment'>> {
    const { schema } = activateDeployment.responses[200];
    return sendRequest(this.#config, activateDeployment, schema, { params: { deploymentId } }, options);
  }

  /** Without an id, the deployment that was active before: twice goes back twice. */
  rollbackDeployment(
    body: RequestBody<'rollbackDeployment'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'rollbackDeployment'>> {
    return sendRequest(this.#config, rollbackDeployment, rollbackDeployment.responses[200].schema, { body }, options);
  }

  removeDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'removeDeployment'>> {
    return sendRequest(
      this.#config,
      removeDeployment,
      removeDeployment.responses[200].schema,
      { params: { deploymentId } },
      options,
    );
  }

  /** Sends a run of a deployment a message. Without `opts.idempotencyKey`, each call sends one. */
  publish(
    queueName: Message['queueName'],
    message: Message['message'],
    opts?: RequestBody<'publishMessage'>['opts'],
    options?: CallOptions,
  ): Promise<ResponseBody<'publishMessage'>> {
    const body = defined({ queueName, message, opts });
    const bodyHasIdempotencyKey = opts?.idempotencyKey !== undefined;
    return sendRequest(
      this.#config,
      publishMessage,
      publishMessage.responses[200].schema,
      { body, bodyHasIdempotencyKey },
      options,
    );
  }

  /** As `getActiveDeployment`, for keys of the programs of deployments. */
  getWorldDeploymentId(options?: CallOptions): Promise<ResponseBody<'getWorldDeploymentId'>> {
    return sendRequest(this.#config, getWorldDeploymentId, getWorldDeploymentId.responses[200].schema, {}, options);
  }

  /** The answer is the only one that shows the key. */
  createKey(body: RequestBody<'createKey'>, options?: CallOptions): Promise<ResponseBody<'createKey'>> {
    return sendRequest(this.#config, createKey, createKey.responses[201].schema, { body }, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listKeys(query: RequestQuery<'listKeys'> = {}, options?: CallOptions): Promise<ResponseBody<'listKeys'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(this.#config, listKeys, listKeys.responses[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /** Once more keeps the first time. */
  revokeKey(keyId: string, options?: CallOptions): Promise<ResponseBody<'revokeKey'>> {
    return sendRequest(this.#config, revokeKey, revokeKey.responses[200].schema, { params: { keyId } }, options);
  }

  /** The answer is the only one that shows the new key. */
  rotateKey(keyId: string, body: RequestBody<'rotateKey'> = {}, options?: CallOptions): Promise<ResponseBody<'rotateKey'>> {
    return sendRequest(this.#config, rotateKey, rotateKey.responses[201].schema, { params: { keyId }, body }, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listAudit(query: RequestQuery<'listAudit'> = {}, options?: CallOptions): Promise<ResponseBody<'listAudit'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(this.#config, listAudit, listAudit.responses[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /**
   * The run once it has ended, with its input and output. That it failed or was cancelled is an answer too: see `status`.
   * @throws TransportComputeClientError of kind `timeout` where it has not ended after `timeoutMs`; without one it is waited for
   * without end. The run goes on either way.
   */
  result(runId: string, options: AwaitOptions = {}): Promise<EndedRun> {
    return awaitRunEnd(this.#config, (...callArguments) => this.getRun(...callArguments), runId, options);
  }

  /** An idempotency key for `trigger` by which equal content is one run. */
  contentKey(workflowName: string, input: JsonValue): string {
    return contentKey(workflowName, input);
  }
}
