/** The typed client of the HTTP API. Request and response types come from the route table. */
import type { JsonValue } from '../engine/json.ts';
import { parseResponse } from './parse-response.ts';
import { type CallOptions, sendAndParse, sendRequest } from './send-request.ts';
import { type AwaitOptions, type PollOptions, awaitRunEnd, firstPollMs } from './await-run-end.ts';
import { ControlCalls } from './control-calls.ts';
import { LensCalls, QueryCalls } from './definition-calls.ts';
import { type IdempotentCallOptions, contentKey, validateIdempotencyKey, idempotencyKeyOption } from './idempotency-keys.ts';
import { type ClientOptions, type ClientConfig, resolveClientConfig, validateInteger } from './options.ts';
import { readFirstNonEmptyPage, followEvents, iterateRows } from './pagination.ts';
import { RunCalls, type WorkflowTypes } from './run-calls.ts';
import { ScheduleCalls } from './schedule-calls.ts';
import { defined } from '../base/defined.ts';
import type * as shapes from './route-types.ts';
import { type ResponseBody, type RequestBody, type EndedRun, type RequestQuery, type Run, routeOf } from './route-types.ts';
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
const getDraft = routeOf('getDraft');
const saveDraft = routeOf('saveDraft');
const deleteDraft = routeOf('deleteDraft');
const listVersions = routeOf('listVersions');
const testWorkflow = routeOf('testWorkflow');
const stopTestRun = routeOf('stopTestRun');
const viewRun = routeOf('viewRun');
const startRun = routeOf('startRun');
const startRunBatch = routeOf('startRunBatch');
const getRun = routeOf('getRun');
const getRunDefinition = routeOf('getRunDefinition');
const getRunNode = routeOf('getRunNode');
const getRunTimeline = routeOf('getRunTimeline');
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

/** Without an idempotency key, the client creates one for the call. */
export type TriggerOptions = IdempotentCallOptions;

/**
 * Methods return the response of the route, or throw a ComputeClientError. Invalid arguments throw a TypeError or a
 * RangeError before anything is sent.
 */
export class StepwellClient<Workflows extends object = Readonly<Record<string, WorkflowTypes>>> extends ControlCalls {
  readonly #config: ClientConfig;
  /** starts runs with the types of their workflow; the type parameter lists workflows by name */
  readonly runs: RunCalls<Workflows>;
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
    this.runs = new RunCalls({
      trigger: (body, callOptions) => this.trigger(body, callOptions),
      triggerAndWait: (body, waitSeconds, callOptions) => this.triggerAndWait(body, waitSeconds, callOptions),
      result: (runId, callOptions) => this.result(runId, callOptions),
    });
  }

  health(options?: CallOptions): Promise<ResponseBody<'getHealth'>> {
    return sendRequest(this.#config, getHealth, getHealth.responses[200].schema, {}, options);
  }

  /** The OpenAPI 3.1 document of the service. */
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

  /** One page, newest first, without the definitions. */
  listVersions(
    name: string,
    query: RequestQuery<'listVersions'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'listVersions'>> {
    return sendRequest(this.#config, listVersions, listVersions.responses[200].schema, { params: { name }, query }, options);
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
   * Permanently deletes a workflow with all versions and runs. The response reports the start; `getWorkflow` reports the
   * progress, and fails with `workflow_not_found` once the name is free.
   */
  deleteWorkflow(
    name: string,
    body: RequestBody<'deleteWorkflow'>,
    options?: CallOptions,
  ): Promise<ResponseBody<'deleteWorkflow'>> {
    return sendRequest(this.#config, deleteWorkflow, deleteWorkflow.responses[202].schema, { params: { name }, body }, options);
  }

  /** Validates a definition without publishing it. Findings are part of the response, not an error. */
  validateWorkflow(body: RequestBody<'validateWorkflow'>, options?: CallOptions): Promise<ResponseBody<'validateWorkflow'>> {
    return sendRequest(this.#config, validateWorkflow, validateWorkflow.responses[200].schema, { body }, options);
  }

  /** Fails with `draft_not_found` if the workflow has none. */
  getDraft(name: string, options?: CallOptions): Promise<ResponseBody<'getDraft'>> {
    return sendRequest(this.#config, getDraft, getDraft.responses[200].schema, { params: { name } }, options);
  }

  /** Saves the draft if it still has the revision that the body replaces; else it fails with `draft_conflict`. */
  saveDraft(name: string, body: RequestBody<'saveDraft'>, options?: CallOptions): Promise<ResponseBody<'saveDraft'>> {
    return sendRequest(this.#config, saveDraft, saveDraft.responses[200].schema, { params: { name }, body }, options);
  }

  deleteDraft(
    name: string,
    query: RequestQuery<'deleteDraft'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'deleteDraft'>> {
    return sendRequest(this.#config, deleteDraft, deleteDraft.responses[200].schema, { params: { name }, query }, options);
  }

  /** Runs an unpublished graph. Without an idempotency key, each call starts a new test run. */
  async testWorkflow(
    body: RequestBody<'testWorkflow'>,
    options: IdempotentCallOptions = {},
  ): Promise<ResponseBody<'testWorkflow'>> {
    return sendRequest(
      this.#config,
      testWorkflow,
      testWorkflow.responses[202].schema,
      { body, ...idempotencyKeyOption(options) },
      options,
    );
  }

  /** Ends a test run and deletes all of its data. Repeating it fails with `not_found`. */
  stopTestRun(runId: string, options?: CallOptions): Promise<ResponseBody<'stopTestRun'>> {
    return sendRequest(this.#config, stopTestRun, stopTestRun.responses[200].schema, { params: { runId } }, options);
  }

  /** Resolves every template of the configuration in the run's current context. */
  viewRun(runId: string, body: RequestBody<'viewRun'>, options?: CallOptions): Promise<ResponseBody<'viewRun'>> {
    return sendRequest(this.#config, viewRun, viewRun.responses[200].schema, { params: { runId }, body }, options);
  }

  /** Starts one run. All attempts of a call send the same idempotency key. */
  async trigger(body: RequestBody<'startRun'>, options: TriggerOptions = {}): Promise<shapes.AcceptedRun> {
    const idempotencyKey = this.#resolveIdempotencyKey(options);
    return sendRequest(this.#config, startRun, startRun.responses[202].schema, { body, idempotencyKey }, options);
  }

  /**
   * Starts one run and waits for its end in the same request, for at most `waitSeconds` (1 to 25). The response of a run that has ended has
   * `completedAt`. An attempt may last five seconds longer than the wait.
   */
  async triggerAndWait(
    body: RequestBody<'startRun'>,
    waitSeconds: number,
    options: TriggerOptions = {},
  ): Promise<shapes.AcceptedRun | shapes.AnsweredRun> {
    const idempotencyKey = this.#resolveIdempotencyKey(options);
    const wait = validateInteger('waitSeconds', waitSeconds, 1);
    const config = { ...this.#config, timeoutMs: Math.max(this.#config.timeoutMs, (wait + 5) * 1_000) };
    return sendAndParse(config, startRun, { body, query: { wait }, idempotencyKey }, options, (response, context) => {
      if (response.status === 202) return parseResponse(response, startRun.responses[202].schema, context);
      return parseResponse(response, startRun.responses[200].schema, context);
    });
  }

  /**
   * Starts up to 100 runs in one request. Each start has its own outcome, in the order of `runs`: a refused one does not stop the others.
   * A start without an idempotency key gets one for the call.
   */
  async triggerBatch(runs: readonly shapes.BatchStart[], options: CallOptions = {}): Promise<ResponseBody<'startRunBatch'>> {
    const body = {
      runs: runs.map(({ idempotencyKey, ...start }) => ({
        ...start,
        idempotencyKey: this.#resolveIdempotencyKey(defined({ idempotencyKey })),
      })),
    };
    return sendRequest(this.#config, startRunBatch, startRunBatch.responses[200].schema, { body }, options);
  }

  /** Reruns a run as one new run. All attempts of a call send the same idempotency key. */
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

  /** The graph that a run executes, also of a test run. */
  getRunDefinition(runId: string, options?: CallOptions): Promise<ResponseBody<'getRunDefinition'>> {
    return sendRequest(this.#config, getRunDefinition, getRunDefinition.responses[200].schema, { params: { runId } }, options);
  }

  /** What a node of a run saw and did: its context, inputs and resolved config, and its attempts. */
  getRunNode(
    runId: string,
    nodeId: string,
    query: RequestQuery<'getRunNode'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'getRunNode'>> {
    return sendRequest(
      this.#config,
      getRunNode,
      getRunNode.responses[200].schema,
      { params: { runId, nodeId }, query: { ...query } },
      options,
    );
  }

  /** One page of the attempts of a run, as compact rows. */
  getRunTimeline(
    runId: string,
    query: RequestQuery<'getRunTimeline'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'getRunTimeline'>> {
    return sendRequest(
      this.#config,
      getRunTimeline,
      getRunTimeline.responses[200].schema,
      { params: { runId }, query: { ...query } },
      options,
    );
  }

  /** One page, newest first; only the last page can be empty. */
  listRuns(query: RequestQuery<'listRuns'> = {}, options?: CallOptions): Promise<ResponseBody<'listRuns'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(this.#config, listRuns, listRuns.responses[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /** Every run, newest first, page by page. */
  eachRun(query: RequestQuery<'listRuns'> = {}, options?: CallOptions): AsyncGenerator<shapes.RunSummary, void, undefined> {
    return iterateRows((from) => this.listRuns({ ...query, ...from }, options));
  }

  /** One page of events; pass its cursor as `after` to continue, now or later. */
  listRunEvents(
    runId: string,
    query: RequestQuery<'listRunEvents'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'listRunEvents'>> {
    return sendRequest(this.#config, listRunEvents, listRunEvents.responses[200].schema, { params: { runId }, query }, options);
  }

  /** Polls for every event after `after` until the run ends. */
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

  /** Streams every event after `after`, and the deltas of running nodes, until the run ends. */
  watchRun(runId: string, from: WatchOptions = {}, options: CallOptions = {}): AsyncGenerator<shapes.RunUpdate, void, undefined> {
    return watchRun(this.#config, runId, from, options);
  }

  /** A ticket for a page that watches this run with an EventSource. It opens one stream, once, within a minute. */
  createTicket(runId: string, options?: CallOptions): Promise<ResponseBody<'createTicket'>> {
    return sendRequest(this.#config, createTicket, createTicket.responses[201].schema, { params: { runId } }, options);
  }

  /** Repeating it has no effect. A run that ended otherwise is refused with `run_terminal`. */
  cancelRun(runId: string, body: RequestBody<'cancelRun'> = {}, options?: CallOptions): Promise<ResponseBody<'cancelRun'>> {
    return sendRequest(this.#config, cancelRun, cancelRun.responses[200].schema, { params: { runId }, body }, options);
  }

  /** Resumes an open run. Without an idempotency key, each call adds an event to its log. */
  async resumeRun(body: RequestBody<'resumeRun'>, options: IdempotentCallOptions = {}): Promise<ResponseBody<'resumeRun'>> {
    return sendRequest(
      this.#config,
      resumeRun,
      resumeRun.responses[202].schema,
      { body, ...idempotencyKeyOption(options) },
      options,
    );
  }

  /** Wakes the named sleeping nodes, or all of them. With `retries`, nodes that wait for their next attempt are retried now instead. */
  wakeRun(runId: string, body: RequestBody<'wakeRun'> = {}, options?: CallOptions): Promise<ResponseBody<'wakeRun'>> {
    return sendRequest(this.#config, wakeRun, wakeRun.responses[202].schema, { params: { runId }, body }, options);
  }

  /** Sends a signal to a waiting run, or stores it for a later wait. Without a key or a `signalId`, each call sends a new signal. */
  async sendSignal(body: RequestBody<'sendSignal'>, options: IdempotentCallOptions = {}): Promise<ResponseBody<'sendSignal'>> {
    const requestParts = { body, ...idempotencyKeyOption(options), bodyHasIdempotencyKey: body.signalId !== undefined };
    return sendRequest(this.#config, sendSignal, sendSignal.responses[202].schema, requestParts, options);
  }

  /** Sends a signal to a wait of this run that names no correlation. */
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

  /** One page of tags. */
  listRunTags(
    runId: string,
    query: RequestQuery<'listRunTags'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'listRunTags'>> {
    return sendRequest(this.#config, listRunTags, listRunTags.responses[200].schema, { params: { runId }, query }, options);
  }

  /**
   * Waits until the run ends, and returns it with input and output. Failed and cancelled runs are returned too: see `status`.
   * @throws TransportComputeClientError of kind `timeout` if the run has not ended after `timeoutMs`. Without `timeoutMs` it waits
   * without limit. The run continues in any case.
   */
  result(runId: string, options: AwaitOptions = {}): Promise<EndedRun> {
    return awaitRunEnd(this.#config, (...callArguments) => this.getRun(...callArguments), runId, options);
  }

  /** An idempotency key for `trigger`: the same workflow and input start one run. */
  contentKey(workflowName: string, input: JsonValue): string {
    return contentKey(workflowName, input);
  }
}
