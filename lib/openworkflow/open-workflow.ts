/** `OpenWorkflow`: defines workflows, and starts, cancels and signals their runs over the HTTP API. */
import { defined } from '../base/defined.ts';
import type { StepwellClient } from '../client/index.ts';
import type { JsonValue } from '../engine/json.ts';
import { type DurationString, parseDuration } from '../sdk/duration.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';
import { WorkflowRunHandle } from './handle.ts';
import { sharedCorrelation } from './step.ts';
import { type Workflow, type WorkflowFunction, defineWorkflow } from './workflow.ts';

export interface OpenWorkflowOptions {
  /** URL of the installation; default: the environment variable STEPWELL_URL */
  readonly baseUrl?: string;
  /** URL of its start API; default: none, or the environment variable STEPWELL_START_URL where the URL is from the environment too */
  readonly startUrl?: string;
  /** default: the environment variable STEPWELL_API_KEY */
  readonly apiKey?: string;
  /** an existing client, in place of the two */
  readonly client?: StepwellClient;
}

export interface WorkflowRunOptions {
  /** default: now */
  readonly availableAt?: Date | DurationString;
  /** default: in 7 days */
  readonly deadlineAt?: Date;
  /** For a day, the same key with the same workflow and input returns the same run; with others it is refused. */
  readonly idempotencyKey?: string;
}

/** A workflow that starts its own runs. If exported, `stepwell build` includes it like any workflow. */
export interface RunnableWorkflow<Input, Output, RunInput = Input> extends Workflow<Input, Output, RunInput> {
  readonly workflow: Workflow<Input, Output, RunInput>;
  run(input?: RunInput, options?: WorkflowRunOptions): Promise<WorkflowRunHandle<Output>>;
}

/** The result of sending a signal from outside of a workflow. */
export interface DeliveredSignal {
  readonly signalId: string;
  /** the run that received the signal; empty: the signal is stored for the first run that waits for it */
  readonly workflowRunIds: readonly string[];
}

export class OpenWorkflow {
  readonly #options: OpenWorkflowOptions;
  readonly #names = new Set<string>();
  #client: Promise<StepwellClient> | undefined;

  /** Makes no request yet: a bundle of workflows also creates one, without a key. */
  constructor(options: OpenWorkflowOptions = {}) {
    if ('backend' in options)
      throw new TypeError(
        'runs are stored by the installation: new OpenWorkflow({ baseUrl, apiKey }) takes no backend. ' +
          'For a worker of the package openworkflow use stepwell/openworkflow/backend.',
      );
    this.#options = options;
  }

  /** @throws TypeError for an invalid name, Error for a name that is already used */
  defineWorkflow<Input = unknown, Output = unknown, RunInput = Input>(
    spec: Parameters<typeof defineWorkflow<Input, Output, RunInput>>[0],
    fn: WorkflowFunction<Input, Output>,
  ): RunnableWorkflow<Input, Output, RunInput> {
    const workflow = this.implementWorkflow<Input, Output, RunInput>(spec, fn);
    return {
      ...workflow,
      [workflowMark]: 1,
      workflow,
      run: (input, options) => this.runWorkflow(workflow.spec, input, options),
    };
  }

  /** Export its result: `stepwell build` finds workflows among the exports of files. */
  implementWorkflow<Input = unknown, Output = unknown, RunInput = Input>(
    spec: Parameters<typeof defineWorkflow<Input, Output, RunInput>>[0],
    fn: WorkflowFunction<Input, Output>,
  ): Workflow<Input, Output, RunInput> {
    const workflow = defineWorkflow(spec, fn);
    const { name, version } = workflow.spec;
    const key = JSON.stringify([name, version]);
    if (this.#names.has(key))
      throw new Error(`Workflow "${name}"${version === undefined ? '' : ` (version: ${version})`} is already registered`);
    this.#names.add(key);
    return workflow;
  }

  newWorker(_options: WorkerOptions = {}): Worker {
    return new Worker();
  }

  /** Validates the input by the schema. The run validates it again and applies its transformations. */
  async runWorkflow<Input, Output, RunInput = Input>(
    { name, version, schema }: WorkflowSpec<Input, Output, RunInput>,
    input?: RunInput,
    { availableAt, deadlineAt, idempotencyKey }: WorkflowRunOptions = {},
  ): Promise<WorkflowRunHandle<Output>> {
    if (schema !== undefined) await validateInput(schema, input);
    const client = await this.#getClient();
    const started = await client.trigger(
      defined({
        workflowName: name,
        input: input === undefined ? undefined : jsonOf(input),
        availableAt: availableAt === undefined ? undefined : momentOf(availableAt),
        deadlineAt: deadlineAt === undefined ? undefined : deadlineAt.toISOString(),
      }),
      idempotencyKey === undefined ? {} : { idempotencyKey },
    );
    return new WorkflowRunHandle<Output>(client, { id: started.runId, workflowName: name, version: version ?? null });
  }

  async cancelWorkflowRun(workflowRunId: string): Promise<void> {
    await (await this.#getClient()).cancelRun(workflowRunId);
  }

  /** Sends the signal to one run that waits for it, and returns that run. Without one, the signal is stored for a day. */
  async sendSignal({
    signal,
    data,
    idempotencyKey,
  }: {
    readonly signal: string;
    readonly data?: unknown;
    readonly idempotencyKey?: string;
  }): Promise<DeliveredSignal> {
    const client = await this.#getClient();
    const sent = await client.sendSignal(
      { name: signal, correlation: sharedCorrelation, payload: jsonOf(data ?? null) },
      idempotencyKey === undefined ? {} : { idempotencyKey },
    );
    return { signalId: sent.signalId, workflowRunIds: sent.workflowRunIds };
  }

  #getClient(): Promise<StepwellClient> {
    return (this.#client ??= this.#connect());
  }

  async #connect(): Promise<StepwellClient> {
    const { client, baseUrl = process.env['STEPWELL_URL'], apiKey = process.env['STEPWELL_API_KEY'] } = this.#options;
    // The variables describe one installation: the key of another one must not be sent to its address.
    const { startUrl = this.#options.baseUrl === undefined ? process.env['STEPWELL_START_URL'] : undefined } = this.#options;
    if (client !== undefined) return client;
    if (baseUrl === undefined || apiKey === undefined)
      throw new TypeError(
        'new OpenWorkflow({ baseUrl, apiKey }) needs both, or STEPWELL_URL and STEPWELL_API_KEY in the environment',
      );
    // Imported on first use, so that bundles of workflows do not include it.
    const { StepwellClient: Client } = await import('../client/index.ts');
    return new Client({ baseUrl, startUrl, apiKey });
  }
}

async function validateInput<Input, RunInput>(
  schema: StandardSchema<RunInput, Input>,
  input: RunInput | undefined,
): Promise<void> {
  const { issues } = await schema['~standard'].validate(input);
  if (issues !== undefined) throw new Error(issues.map(({ message }) => message).join('; ') || 'Validation failed');
}

/** @throws TypeError for a value that has no JSON */
const jsonOf = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue;

const momentOf = (moment: Date | DurationString): string =>
  (moment instanceof Date ? moment : new Date(Date.now() + parseDuration(moment))).toISOString();

export interface WorkerOptions {
  readonly concurrency?: number | undefined;
}

/**
 * The installation or `stepwell worker start` runs the workflow tasks, from the code that `stepwell deploy` has uploaded. This
 * class has nothing to do. It exists so that programs that start and stop a worker need no change.
 */
export class Worker {
  /** Has no effect. */
  async start(): Promise<void> {}

  /** Has no effect: runs continue. */
  async stop(): Promise<void> {}

  /** @returns the number of claimed runs: 0 */
  async tick(): Promise<number> {
    return 0;
  }
}
