/** The client's calls about test runs and views. */
import { type CallOptions, ask } from './ask.ts';
import { type KeyedOptions, keyOf } from './keyed.ts';
import type { ClientParts } from './options.ts';
import { type Answer, type BodyGiven, routeOf } from './shapes.ts';

const testWorkflow = routeOf('testWorkflow');
const stopTestRun = routeOf('stopTestRun');
const viewRun = routeOf('viewRun');

export class TestRunCalls {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Runs a graph that nobody has published. Without a key, each call is a test run of its own. */
  async testWorkflow(body: BodyGiven<'testWorkflow'>, options: KeyedOptions = {}): Promise<Answer<'testWorkflow'>> {
    return ask(this.#parts, testWorkflow, testWorkflow.answers[202].schema, { body, ...keyOf(options) }, options);
  }

  /** Ends a test run and deletes every trace of it; once more finds no run. */
  stopTestRun(runId: string, options?: CallOptions): Promise<Answer<'stopTestRun'>> {
    return ask(this.#parts, stopTestRun, stopTestRun.answers[200].schema, { params: { runId } }, options);
  }

  /** The configuration, with every template looked up in the run's context as it is now. */
  viewRun(runId: string, body: BodyGiven<'viewRun'>, options?: CallOptions): Promise<Answer<'viewRun'>> {
    return ask(this.#parts, viewRun, viewRun.answers[200].schema, { params: { runId }, body }, options);
  }
}
