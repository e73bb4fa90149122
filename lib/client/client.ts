/** The typed client of the HTTP API: bodies and answers have the types of the table of routes. */
import { idempotencyKeyIn } from '../api/idempotency.ts';
import type { JsonValue } from '../engine/json.ts';
import { type CallOptions, ask } from './ask.ts';
import { contentKey } from './content-key.ts';
import { TransportComputeClientError } from './errors.ts';
import { type ClientOptions, type ClientParts, partsOf, whole } from './options.ts';
import { followEvents, rowsOf } from './read-on.ts';
import * as shapes from './shapes.ts';
import { type Answer, type BodyGiven, type EndedRun, type QueryGiven, type Run, routeOf } from './shapes.ts';
import { longer, pause, within } from './within.ts';

const firstPollMs = 250;

const getHealth = routeOf('getHealth');
const createWorkflow = routeOf('createWorkflow');
const publishVersion = routeOf('publishVersion');
const listWorkflows = routeOf('listWorkflows');
const getWorkflow = routeOf('getWorkflow');
const archiveWorkflow = routeOf('archiveWorkflow');
const validateWorkflow = routeOf('validateWorkflow');
const startRun = routeOf('startRun');
const getRun = routeOf('getRun');
const listRuns = routeOf('listRuns');
const listRunEvents = routeOf('listRunEvents');
const cancelRun = routeOf('cancelRun');

export interface TriggerOptions extends CallOptions {
  /** 1 to 255 printable characters; without one, a new one for this call */
  readonly idempotencyKey?: string;
}

export interface PollOptions extends CallOptions {
  /** the first wait between two looks in milliseconds, 250; each is half as long again, up to 5 s */
  readonly pollMs?: number;
}

/**
 * Methods answer with what the route answers, and throw a ComputeClientError otherwise. Arguments that can never work are a
 * TypeError or a RangeError, and nothing is sent.
 */
export class StepwellClient {
  readonly #parts: ClientParts;

  constructor(options: ClientOptions) {
    this.#parts = partsOf(options);
  }

  health(options?: CallOptions): Promise<Answer<'getHealth'>> {
    return ask(this.#parts, getHealth, getHealth.answers[200].schema, {}, options);
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

  /** Judges a definition and publishes nothing; findings are the answer, not an error. */
  validateWorkflow(body: BodyGiven<'validateWorkflow'>, options?: CallOptions): Promise<Answer<'validateWorkflow'>> {
    return ask(this.#parts, validateWorkflow, validateWorkflow.answers[200].schema, { body }, options);
  }

  /** Starts one run, however often the request has to be sent: all of a call's tries carry one idempotency key. */
  async trigger(body: BodyGiven<'startRun'>, options: TriggerOptions = {}): Promise<Answer<'startRun'>> {
    const { idempotencyKey = this.#parts.newId() } = options;
    if (idempotencyKeyIn(idempotencyKey) !== idempotencyKey)
      throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters, without spaces or quotes around them');
    return ask(this.#parts, startRun, startRun.answers[202].schema, { body, idempotencyKey }, options);
  }

  getRun(runId: string, query: QueryGiven<'getRun'> = {}, options?: CallOptions): Promise<Run> {
    return ask(this.#parts, getRun, getRun.answers[200].schema, { params: { runId }, query }, options);
  }

  /** One page, newest first. */
  listRuns(query: QueryGiven<'listRuns'> = {}, options?: CallOptions): Promise<Answer<'listRuns'>> {
    return ask(this.#parts, listRuns, listRuns.answers[200].schema, { query }, options);
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

  /** Once more changes nothing; a run that has ended otherwise is refused with `run_terminal`. */
  cancelRun(runId: string, body: BodyGiven<'cancelRun'> = {}, options?: CallOptions): Promise<Answer<'cancelRun'>> {
    return ask(this.#parts, cancelRun, cancelRun.answers[200].schema, { params: { runId }, body }, options);
  }

  /**
   * The run once it has ended, with its input and output. That it failed or was cancelled is an answer too: see `status`.
   * @throws TransportComputeClientError of kind `timeout` where it has not ended after `timeoutMs`; without one it is waited for
   * without end. The run goes on either way.
   */
  async result(
    runId: string,
    { timeoutMs, pollMs = firstPollMs, ...options }: PollOptions & { readonly timeoutMs?: number } = {},
  ): Promise<EndedRun> {
    const firstMs = whole('pollMs', pollMs, 1);
    if (timeoutMs === undefined) return this.#ended(runId, firstMs, options);
    const { sleep, newId } = this.#parts;
    const { signal, correlationId = newId() } = options;
    const ended = await within(whole('timeoutMs', timeoutMs, 1), { sleep, signal }, (stop) =>
      this.#ended(runId, firstMs, { correlationId, signal: stop }),
    );
    if (ended.isInTime) return ended.value;
    const message = `${runId} has not ended within ${timeoutMs} ms`;
    throw new TransportComputeClientError({ kind: 'timeout', status: 0, message, correlationId });
  }

  /** Values are asked for once, when they are there. */
  async #ended(runId: string, firstMs: number, options: CallOptions): Promise<EndedRun> {
    for (let pauseMs = firstMs; ; pauseMs = longer(pauseMs)) {
      if (shapes.isEnded(await this.getRun(runId, { resolveData: 'none' }, options))) {
        const run = await this.getRun(runId, {}, options);
        if (shapes.isEnded(run)) return run;
      }
      await pause(this.#parts.sleep, pauseMs, options.signal);
    }
  }

  /** An idempotency key for `trigger` by which equal content is one run. */
  contentKey(workflowName: string, input: JsonValue): string {
    return contentKey(workflowName, input);
  }
}
