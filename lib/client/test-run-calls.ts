/** Client calls for test runs and views. */
import { ControlCalls } from './control-calls.ts';
import { type CallOptions, sendRequest } from './send-request.ts';
import { type IdempotentCallOptions, idempotencyKeyOption } from './idempotency-options.ts';
import type { ClientConfig } from './options.ts';
import { type ResponseBody, type RequestBody, routeOf } from './route-types.ts';

const testWorkflow = routeOf('testWorkflow');
const stopTestRun = routeOf('stopTestRun');
const viewRun = routeOf('viewRun');

export class TestRunCalls extends ControlCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    super(config);
    this.#config = config;
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
}
