/** `OpenWorkflow`: defines workflows, and starts, cancels and signals their runs over the HTTP API. */
import { defined } from '../engine/defined.ts';
import type { StepwellClient } from '../client/index.ts';
import type { JsonValue } from '../engine/json.ts';
import { type DurationString, parseDuration } from '../sdk/duration.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';
import { WorkflowRunHandle } from './handle.ts';
import { type SentSignal, sharedCorrelation, sentSignal } from './sent-signal.ts';
import { Worker, type WorkerOptions } from './worker.ts';
import { type Workflow, type WorkflowFunction, defineWorkflow } from './workflow.ts';

export interface OpenWorkflowOptions {
  /** of the installation; else that of the environment variable STEPWELL_URL */
  readonly baseUrl?: string;
  /** else that of STEPWELL_API_KEY */
  readonly apiKey?: string;
  /** a client that is there already, in place of the two */
  readonly client?: StepwellClient;
}

export interface WorkflowRunOptions {
  /** absent: now */
  readonly availableAt?: Date | DurationString;
  /** absent: in 7 days */
  readonly deadlineAt?: Date;
  /** The same key with the same workflow and input is the same run for a day; with others it is refused. */
  readonly idempotencyKey?: string;
}

/** A workflow that starts its own runs. It is a workflow too: exported, it is built. */
export interface RunnableWorkflow<Input, Output, RunInput = Input> extends Workflow<Input, Output, RunInput> {
  readonly workflow: Workflow<Input, Output, RunInput>;
  run(input?: RunInput, options?: WorkflowRunOptions): Promise<WorkflowRunHandle<Output>>;
}

export class OpenWorkflow {
  readonly #options: OpenWorkflowOptions;
  readonly #names = new Set<string>();
  #client: Promise<StepwellClient> | undefined;

  /** Speaks to nobody yet: a bundle of workflows holds one too, and has no key. */
  constructor(options: OpenWorkflowOptions = {}) {
    if ('backend' in options)
      throw new TypeError(
        'runs are kept by the installation: new OpenWorkflow({ baseUrl, apiKey }) takes no backend. ' +
          'For a worker of the package openworkflow there is stepwell/openworkflow/backend.',
      );
    this.#options = options;
  }

  /** @throws TypeError for a name that cannot be, Error for one that is taken */
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

  /** What it gives has to be exported: `stepwell build` finds workflows among the exports of files. */
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

  /** The schema judges the input here, and again where the run begins: what it makes of it is made there. */
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

  /** To one run that waits for it; where none does, it is kept for a day. */
  async sendSignal({
    signal,
    data,
    idempotencyKey,
  }: {
    readonly signal: string;
    readonly data?: unknown;
    readonly idempotencyKey?: string;
  }): Promise<SentSignal> {
    const client = await this.#getClient();
    const sent = await client.sendSignal(
      { name: signal, correlation: sharedCorrelation, payload: jsonOf(data ?? null) },
      idempotencyKey === undefined ? {} : { idempotencyKey },
    );
    return sentSignal(sent.signalId);
  }

  #getClient(): Promise<StepwellClient> {
    return (this.#client ??= this.#connect());
  }

  async #connect(): Promise<StepwellClient> {
    const { client, baseUrl = process.env['STEPWELL_URL'], apiKey = process.env['STEPWELL_API_KEY'] } = this.#options;
    if (client !== undefined) return client;
    if (baseUrl === undefined || apiKey === undefined)
      throw new TypeError(
        'new OpenWorkflow({ baseUrl, apiKey }) needs both, or STEPWELL_URL and STEPWELL_API_KEY in the environment',
      );
    // Loaded when it is needed: a bundle of workflows does without.
    const { StepwellClient: Client } = await import('../client/index.ts');
    return new Client({ baseUrl, apiKey });
  }
}

async function validateInput<Input, RunInput>(
  schema: StandardSchema<RunInput, Input>,
  input: RunInput | undefined,
): Promise<void> {
  const { issues } = await schema['~standard'].validate(input);
  if (issues !== undefined) throw new Error(issues.map(({ message }) => message).join('; ') || 'Validation failed');
}

/** @throws TypeError for what JSON cannot hold */
const jsonOf = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue;

const momentOf = (moment: Date | DurationString): string =>
  (moment instanceof Date ? moment : new Date(Date.now() + parseDuration(moment))).toISOString();
