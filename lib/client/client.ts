/** The typed client of the HTTP API: bodies and answers have the types of the table of routes. */
import type { JsonValue } from '../engine/json.ts';
import { type CallOptions, ask } from './ask.ts';
import { type AwaitOptions, type PollOptions, endOf, firstPollMs } from './await-end.ts';
import { contentKey } from './content-key.ts';
import { LensCalls } from './lenses.ts';
import { type KeyedOptions, checkedKey, keyOf } from './keyed.ts';
import { type ClientOptions, type ClientParts, partsOf, whole } from './options.ts';
import { QueryCalls } from './query-calls.ts';
import { firstWithRows, followEvents, rowsOf } from './read-on.ts';
import { ScheduleCalls } from './schedules.ts';
import type * as shapes from './shapes.ts';
import { type Answer, type BodyGiven, type EndedRun, type QueryGiven, type Run, routeOf } from './shapes.ts';
import { TestRunCalls } from './test-run-calls.ts';
import { type Upload, type UploadOptions, uploaded } from './upload.ts';
import { type WatchFrom, watchRun } from './watch.ts';

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
export type TriggerOptions = KeyedOptions;

type Message = Pick<BodyGiven<'publishMessage'>, 'queueName' | 'message'>;

export interface CreateDeploymentOptions extends CallOptions {
  /** the archive, sent beside the manifest; where it is too large for that, upload it */
  readonly artifact?: Uint8Array<ArrayBuffer>;
}

/**
 * Methods answer with what the route answers, and throw a ComputeClientError otherwise. Arguments that can never work are a
 * TypeError or a RangeError, and nothing is sent.
 */
export class StepwellClient extends TestRunCalls {
  readonly #parts: ClientParts;
  readonly lenses: LensCalls;

  readonly queries: QueryCalls;

  readonly schedules: ScheduleCalls;

  constructor(options: ClientOptions) {
    const parts = partsOf(options);
    super(parts);
    this.#parts = parts;
    this.queries = new QueryCalls(parts);
    this.lenses = new LensCalls(parts);
    this.schedules = new ScheduleCalls(parts);
  }

  health(options?: CallOptions): Promise<Answer<'getHealth'>> {
    return ask(this.#parts, getHealth, getHealth.answers[200].schema, {}, options);
  }

  /** The service's own description of its routes, as OpenAPI 3.1. */
  openApi(options?: CallOptions): Promise<Answer<'getOpenApi'>> {
    return ask(this.#parts, getOpenApi, getOpenApi.answers[200].schema, {}, options);
  }

  /** Publishes version 1 of a new workflow. */
  createWorkflow(body: BodyGiven<'createWorkflow'>, options?: CallOptions): Promise<Answer<'createWorkflow'>> {
    return ask(this.#parts, createWorkflow, createWorkflow.answers[201].schema, { body }, options);
  }

  publishVersion(name: string, body: BodyGiven<'publishVersion'>, options?: CallOptions): Promise<Answer<'publishVersion'>> {
    return ask(this.#parts, publishVersion, publishVersion.answers[201].schema, { params: { name }, body }, options);
  }

  /** One page. */
  listWorkflows(query: QueryGiven<'listWorkflows'> = {}, options?: CallOptions): Promise<Answer<'listWorkflows'>> {
    return ask(this.#parts, listWorkflows, listWorkflows.answers[200].schema, { query }, options);
  }

  /** Every workflow, page by page. */
  eachWorkflow(
    query: QueryGiven<'listWorkflows'> = {},
    options?: CallOptions,
  ): AsyncGenerator<shapes.WorkflowSummary, void, undefined> {
    return rowsOf((from) => this.listWorkflows({ ...query, ...from }, options));
  }

  getWorkflow(name: string, query: QueryGiven<'getWorkflow'> = {}, options?: CallOptions): Promise<Answer<'getWorkflow'>> {
    return ask(this.#parts, getWorkflow, getWorkflow.answers[200].schema, { params: { name }, query }, options);
  }

  archiveWorkflow(name: string, options?: CallOptions): Promise<Answer<'archiveWorkflow'>> {
    return ask(this.#parts, archiveWorkflow, archiveWorkflow.answers[200].schema, { params: { name } }, options);
  }

  /**
   * Deletes a workflow with all its versions and runs, for good. The answer says that it has begun; `getWorkflow` says how far it has
   * come, and answers `workflow_not_found` once the name is free.
   */
  deleteWorkflow(name: string, body: BodyGiven<'deleteWorkflow'>, options?: CallOptions): Promise<Answer<'deleteWorkflow'>> {
    return ask(this.#parts, deleteWorkflow, deleteWorkflow.answers[202].schema, { params: { name }, body }, options);
  }

  /** Judges a definition and publishes nothing; findings are the answer, not an error. */
  validateWorkflow(body: BodyGiven<'validateWorkflow'>, options?: CallOptions): Promise<Answer<'validateWorkflow'>> {
    return ask(this.#parts, validateWorkflow, validateWorkflow.answers[200].schema, { body }, options);
  }

  /** Starts one run, however often the request has to be sent: all of a call's tries carry one idempotency key. */
  async trigger(body: BodyGiven<'startRun'>, options: TriggerOptions = {}): Promise<Answer<'startRun'>> {
    const idempotencyKey = this.#keyOf(options);
    return ask(this.#parts, startRun, startRun.answers[202].schema, { body, idempotencyKey }, options);
  }

  /** Runs a run again, as one new run, however often the request has to be sent. */
  async rerunRun(runId: string, body: BodyGiven<'rerunRun'> = {}, options: TriggerOptions = {}): Promise<Answer<'rerunRun'>> {
    const idempotencyKey = this.#keyOf(options);
    return ask(this.#parts, rerunRun, rerunRun.answers[202].schema, { params: { runId }, body, idempotencyKey }, options);
  }

  #keyOf({ idempotencyKey = this.#parts.newId() }: TriggerOptions): string {
    return checkedKey(idempotencyKey);
  }

  getRun(runId: string, query: QueryGiven<'getRun'> = {}, options?: CallOptions): Promise<Run> {
    return ask(this.#parts, getRun, getRun.answers[200].schema, { params: { runId }, query }, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listRuns(query: QueryGiven<'listRuns'> = {}, options?: CallOptions): Promise<Answer<'listRuns'>> {
    return firstWithRows(query, (from) =>
      ask(this.#parts, listRuns, listRuns.answers[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /** Every run, newest first, page by page. */
  eachRun(query: QueryGiven<'listRuns'> = {}, options?: CallOptions): AsyncGenerator<shapes.RunSummary, void, undefined> {
    return rowsOf((from) => this.listRuns({ ...query, ...from }, options));
  }

  /** One page of what has happened so far; its cursor goes on as `after`, now or later. */
  listRunEvents(runId: string, query: QueryGiven<'listRunEvents'> = {}, options?: CallOptions): Promise<Answer<'listRunEvents'>> {
    return ask(this.#parts, listRunEvents, listRunEvents.answers[200].schema, { params: { runId }, query }, options);
  }

  /** Every event after `after`, as they happen, until the run has ended. */
  followRunEvents(
    runId: string,
    { after, limit }: QueryGiven<'listRunEvents'> = {},
    { pollMs = firstPollMs, ...options }: PollOptions = {},
  ): AsyncGenerator<shapes.RunEvent, void, undefined> {
    const size = limit === undefined ? {} : { limit };
    return followEvents(
      {
        pageAfter: (from) => this.listRunEvents(runId, { ...size, ...from }, options),
        run: () => this.getRun(runId, { resolveData: 'none' }, options),
      },
      this.#parts,
      { ...options, after, pollMs: whole('pollMs', pollMs, 1) },
    );
  }

  /** Every event after `after`, and between them what nodes say while they are at work, until the run has ended. */
  watchRun(runId: string, from: WatchFrom = {}, options: CallOptions = {}): AsyncGenerator<shapes.RunNews, void, undefined> {
    return watchRun(this.#parts, runId, from, options);
  }

  /** For a page that watches this run with an EventSource: it opens one stream, once, within a minute. */
  createTicket(runId: string, options?: CallOptions): Promise<Answer<'createTicket'>> {
    return ask(this.#parts, createTicket, createTicket.answers[201].schema, { params: { runId } }, options);
  }

  /** Once more changes nothing; a run that has ended otherwise is refused with `run_terminal`. */
  cancelRun(runId: string, body: BodyGiven<'cancelRun'> = {}, options?: CallOptions): Promise<Answer<'cancelRun'>> {
    return ask(this.#parts, cancelRun, cancelRun.answers[200].schema, { params: { runId }, body }, options);
  }

  /** Tells an open run to go on, and why. Without a key, each call is told in its log once more. */
  async resumeRun(body: BodyGiven<'resumeRun'>, options: KeyedOptions = {}): Promise<Answer<'resumeRun'>> {
    return ask(this.#parts, resumeRun, resumeRun.answers[202].schema, { body, ...keyOf(options) }, options);
  }

  /** Wakes the sleeping nodes that are named, or all of them. */
  wakeRun(runId: string, body: BodyGiven<'wakeRun'> = {}, options?: CallOptions): Promise<Answer<'wakeRun'>> {
    return ask(this.#parts, wakeRun, wakeRun.answers[202].schema, { params: { runId }, body }, options);
  }

  /** To whoever waits for it, or kept for who will. Without a key and without a `signalId`, each call is a signal of its own. */
  async sendSignal(body: BodyGiven<'sendSignal'>, options: KeyedOptions = {}): Promise<Answer<'sendSignal'>> {
    const asked = { body, ...keyOf(options), isBodyKeyed: body.signalId !== undefined };
    return ask(this.#parts, sendSignal, sendSignal.answers[202].schema, asked, options);
  }

  /** To a wait of this run that names no correlation. */
  async sendRunSignal(
    runId: string,
    body: BodyGiven<'sendRunSignal'>,
    options: KeyedOptions = {},
  ): Promise<Answer<'sendRunSignal'>> {
    const asked = { params: { runId }, body, ...keyOf(options), isBodyKeyed: body.signalId !== undefined };
    return ask(this.#parts, sendRunSignal, sendRunSignal.answers[202].schema, asked, options);
  }

  /** One page of what is worth a glance. */
  listRunTags(runId: string, query: QueryGiven<'listRunTags'> = {}, options?: CallOptions): Promise<Answer<'listRunTags'>> {
    return ask(this.#parts, listRunTags, listRunTags.answers[200].schema, { params: { runId }, query }, options);
  }

  /** Takes a manifest, and its artifact where it is given; else the answer says where to upload it, if it is not there yet. */
  async createDeployment(
    body: BodyGiven<'createDeployment'>,
    { artifact, ...options }: CreateDeploymentOptions = {},
  ): Promise<Answer<'createDeployment'>> {
    const file = artifact === undefined ? {} : { file: artifact };
    return ask(this.#parts, createDeployment, createDeployment.answers[201].schema, { body, ...file }, options);
  }

  /** Brings an archive to where `createDeployment` said. The address is a secret as long as it works: no error tells it. */
  uploadArtifact(upload: Upload, archive: Uint8Array<ArrayBuffer>, options?: UploadOptions): Promise<void> {
    return uploaded(this.#parts, upload, archive, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listDeployments(query: QueryGiven<'listDeployments'> = {}, options?: CallOptions): Promise<Answer<'listDeployments'>> {
    return firstWithRows(query, (from) =>
      ask(this.#parts, listDeployments, listDeployments.answers[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  getDeployment(deploymentId: string, options?: CallOptions): Promise<Answer<'getDeployment'>> {
    return ask(this.#parts, getDeployment, getDeployment.answers[200].schema, { params: { deploymentId } }, options);
  }

  /** Refused with `no_active_deployment` where there is none. */
  getActiveDeployment(options?: CallOptions): Promise<Answer<'getActiveDeployment'>> {
    return ask(this.#parts, getActiveDeployment, getActiveDeployment.answers[200].schema, {}, options);
  }

  /** Judges what was uploaded, so that runs can be started on it by its id; once more changes nothing. */
  verifyDeployment(deploymentId: string, options?: CallOptions): Promise<Answer<'verifyDeployment'>> {
    return ask(this.#parts, verifyDeployment, verifyDeployment.answers[200].schema, { params: { deploymentId } }, options);
  }

  /** New runs get this deployment; once more changes nothing. */
  activateDeployment(deploymentId: string, options?: CallOptions): Promise<Answer<'activateDeployment'>> {
    const { schema } = activateDeployment.answers[200];
    return ask(this.#parts, activateDeployment, schema, { params: { deploymentId } }, options);
  }

  /** Without an id, the deployment that was active before: twice goes back twice. */
  rollbackDeployment(body: BodyGiven<'rollbackDeployment'> = {}, options?: CallOptions): Promise<Answer<'rollbackDeployment'>> {
    return ask(this.#parts, rollbackDeployment, rollbackDeployment.answers[200].schema, { body }, options);
  }

  removeDeployment(deploymentId: string, options?: CallOptions): Promise<Answer<'removeDeployment'>> {
    return ask(this.#parts, removeDeployment, removeDeployment.answers[200].schema, { params: { deploymentId } }, options);
  }

  /** Sends a run of a deployment a message. Without `opts.idempotencyKey`, each call sends one. */
  publish(
    queueName: Message['queueName'],
    message: Message['message'],
    opts?: BodyGiven<'publishMessage'>['opts'],
    options?: CallOptions,
  ): Promise<Answer<'publishMessage'>> {
    const body = { queueName, message, ...(opts === undefined ? {} : { opts }) };
    const isBodyKeyed = opts?.idempotencyKey !== undefined;
    return ask(this.#parts, publishMessage, publishMessage.answers[200].schema, { body, isBodyKeyed }, options);
  }

  /** As `getActiveDeployment`, for keys of the programs of deployments. */
  getWorldDeploymentId(options?: CallOptions): Promise<Answer<'getWorldDeploymentId'>> {
    return ask(this.#parts, getWorldDeploymentId, getWorldDeploymentId.answers[200].schema, {}, options);
  }

  /** The answer is the only one that shows the key. */
  createKey(body: BodyGiven<'createKey'>, options?: CallOptions): Promise<Answer<'createKey'>> {
    return ask(this.#parts, createKey, createKey.answers[201].schema, { body }, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listKeys(query: QueryGiven<'listKeys'> = {}, options?: CallOptions): Promise<Answer<'listKeys'>> {
    return firstWithRows(query, (from) =>
      ask(this.#parts, listKeys, listKeys.answers[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /** Once more keeps the first time. */
  revokeKey(keyId: string, options?: CallOptions): Promise<Answer<'revokeKey'>> {
    return ask(this.#parts, revokeKey, revokeKey.answers[200].schema, { params: { keyId } }, options);
  }

  /** The answer is the only one that shows the new key. */
  rotateKey(keyId: string, body: BodyGiven<'rotateKey'> = {}, options?: CallOptions): Promise<Answer<'rotateKey'>> {
    return ask(this.#parts, rotateKey, rotateKey.answers[201].schema, { params: { keyId }, body }, options);
  }

  /** One page, newest first; never an empty one before the last. */
  listAudit(query: QueryGiven<'listAudit'> = {}, options?: CallOptions): Promise<Answer<'listAudit'>> {
    return firstWithRows(query, (from) =>
      ask(this.#parts, listAudit, listAudit.answers[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /**
   * The run once it has ended, with its input and output. That it failed or was cancelled is an answer too: see `status`.
   * @throws TransportComputeClientError of kind `timeout` where it has not ended after `timeoutMs`; without one it is waited for
   * without end. The run goes on either way.
   */
  result(runId: string, options: AwaitOptions = {}): Promise<EndedRun> {
    return endOf(this.#parts, (...given) => this.getRun(...given), runId, options);
  }

  /** An idempotency key for `trigger` by which equal content is one run. */
  contentKey(workflowName: string, input: JsonValue): string {
    return contentKey(workflowName, input);
  }
}
