/** The client's calls about test runs and views. */
import { type CallOptions, sendRequest } from './send-request.ts';
import { type IdempotentCallOptions, idempotencyKeyOption } from './idempotency-options.ts';
import type { ClientConfig } from './options.ts';
import { type ResponseBody, type RequestBody, routeOf } from './route-types.ts';

const testWorkflow = routeOf('testWorkflow');
const stopTestRun = routeOf('stopTestRun');
const viewRun = routeOf('viewRun');

export class TestRunCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /** Runs a graph that nobody has published. Without a key, each call is a test run of its own. */
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

  /** Ends a test run and deletes every trace of it; once more finds no run. */
  stopTestRun(runId: string, options?: CallOptions): Promise<ResponseBody<'stopTestRun'>> {
    return sendRequest(this.#config, stopTestRun, stopTestRun.responses[200].schema, { params: { runId } }, options);
  }

  /** The configuration, with every template looked up in the run's context as it is now. */
  viewRun(runId: string, body: RequestBody<'viewRun'>, options?: CallOptions): Promise<ResponseBody<'viewRun'>> {
    return sendRequest(this.#config, viewRun, viewRun.responses[200].schema, { params: { runId }, body }, options);
  }
}
