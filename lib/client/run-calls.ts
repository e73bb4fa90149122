/**
 * `client.runs`: starts runs with the types of their workflow. The types come from a code workflow or its spec, or from a list of
 * workflows by name, which `stepwell types` writes for graphs.
 */
import * as z from 'zod';
import { maxWaitSeconds } from '../api/schemas/runs.ts';
import { defined } from '../base/defined.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Stored, Workflow, WorkflowSpec } from '../sdk/index.ts';
import type { AwaitOptions } from './await-run-end.ts';
import { ScopeComputeClientError } from './errors.ts';
import type { IdempotentCallOptions } from './idempotency-keys.ts';
import { type AcceptedRun, type AnsweredRun, type EndedRun, type RequestBody, isAnswered } from './route-types.ts';

/** The types of one workflow. */
export interface WorkflowTypes {
  readonly input: unknown;
  readonly output: unknown;
}

type InputOf<Types> = Types extends { readonly input: infer Input } ? Input : unknown;
type OutputOf<Types> = Types extends { readonly output: infer Output } ? Output : unknown;

/** The input is required unless the workflow accepts none. */
type InputOption<Input> = unknown extends Input
  ? { readonly input?: unknown }
  : undefined extends Input
    ? { readonly input?: Input }
    : { readonly input: Input };

export type StartOptions<Input> = InputOption<Input> &
  Omit<RequestBody<'startRun'>, 'workflowName' | 'input' | 'specVersion'> &
  IdempotentCallOptions;

/** Options are required where the input is. */
type StartArguments<Input> = {} extends InputOption<Input> ? [options?: StartOptions<Input>] : [options: StartOptions<Input>];

interface WaitOption {
  readonly waitSeconds?: number;
}

/** Options are required where the input is. */
type WaitArguments<Input> =
  {} extends InputOption<Input> ? [options?: StartOptions<Input> & WaitOption] : [options: StartOptions<Input> & WaitOption];

/** An ended run. The output is what the workflow returned, as JSON: its type is the workflow's promise and is not checked. */
export type TypedEndedRun<Output> =
  | (Omit<EndedRun, 'status' | 'output'> & { readonly status: 'completed'; readonly output: Output })
  | (Omit<EndedRun, 'status'> & { readonly status: 'failed' | 'cancelled' });

/** A started run. */
export interface RunHandle<Output> extends AcceptedRun {
  /** Waits until the run ends, like `client.result`. Failed and cancelled runs are returned too. */
  result(options?: AwaitOptions): Promise<TypedEndedRun<Output>>;
  /** Waits until the run ends, and returns its output. @throws RunNotCompletedError if it failed or was cancelled */
  output(options?: AwaitOptions): Promise<Output>;
}

/** How a run ended while its start waited. The output has the type as in `TypedEndedRun`. */
export type TypedAnsweredRun<Output> =
  | (Omit<AnsweredRun, 'status' | 'output'> & { readonly status: 'completed'; readonly output: Output })
  | (Omit<AnsweredRun, 'status'> & { readonly status: 'failed' | 'cancelled' });

/** A run whose start waited: its end, or its handle if it has not ended in time. */
export type AwaitedRun<Output> =
  | (TypedAnsweredRun<Output> & { readonly hasEnded: true })
  | (RunHandle<Output> & { readonly hasEnded: false });

/** The run ended, and has no output: it failed, was cancelled, or its output is too large to read. */
export class RunNotCompletedError extends Error {
  readonly run: EndedRun;

  constructor(run: EndedRun) {
    super(`The run ${run.runId} ${endText(run)}.`);
    this.name = new.target.name;
    this.run = run;
  }
}

const endText = ({ status, error, cancelReason, outputOmitted }: EndedRun): string => {
  if (status === 'completed') return `completed, and its output of ${outputOmitted?.bytes ?? 0} bytes is too large to read`;
  if (status === 'cancelled') return `was cancelled${cancelReason === undefined ? '' : `: ${cancelReason}`}`;
  return `failed${error === undefined ? '' : `: ${error.message} (${error.code})`}`;
};

interface Calls {
  readonly trigger: (body: RequestBody<'startRun'>, options: IdempotentCallOptions) => Promise<AcceptedRun>;
  readonly triggerAndWait: (
    body: RequestBody<'startRun'>,
    waitSeconds: number,
    options: IdempotentCallOptions,
  ) => Promise<AcceptedRun | AnsweredRun>;
  readonly result: (runId: string, options?: AwaitOptions) => Promise<EndedRun>;
}

/** A workflow by its value: what `defineWorkflow` or `defineWorkflowSpec` returned. */
type NamedWorkflow<Input, Output, RawInput> = Workflow<Input, Output, RawInput> | WorkflowSpec<Input, Output, RawInput>;

export class RunCalls<Workflows extends object> {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Starts one run. Without an idempotency key, the client creates one for the call.
   * @param workflow a code workflow, its spec, or a name of `Workflows`
   */
  start<Input, Output, RawInput>(
    workflow: NamedWorkflow<Input, Output, RawInput>,
    ...options: StartArguments<RawInput>
  ): Promise<RunHandle<Stored<Output>>>;
  start<Name extends keyof Workflows & string>(
    workflow: Name,
    ...options: StartArguments<InputOf<Workflows[Name]>>
  ): Promise<RunHandle<OutputOf<Workflows[Name]>>>;
  async start(
    workflow: string | NamedWorkflow<unknown, unknown, unknown>,
    options: StartOptions<unknown> = {},
  ): Promise<RunHandle<unknown>> {
    const { body, callOptions } = requestOf(workflow, options);
    return this.#handle(await this.#calls.trigger(body, callOptions));
  }

  /**
   * Starts one run and waits for its end in the same request, for at most `waitSeconds`: 1 to 25, default 25. A run that waits for a signal
   * or for a later time is returned at once, as a run that has not ended.
   */
  startAndWait<Input, Output, RawInput>(
    workflow: NamedWorkflow<Input, Output, RawInput>,
    ...options: WaitArguments<RawInput>
  ): Promise<AwaitedRun<Stored<Output>>>;
  startAndWait<Name extends keyof Workflows & string>(
    workflow: Name,
    ...options: WaitArguments<InputOf<Workflows[Name]>>
  ): Promise<AwaitedRun<OutputOf<Workflows[Name]>>>;
  async startAndWait(
    workflow: string | NamedWorkflow<unknown, unknown, unknown>,
    { waitSeconds = maxWaitSeconds, ...options }: StartOptions<unknown> & WaitOption = {},
  ): Promise<AwaitedRun<unknown>> {
    const { body, callOptions } = requestOf(workflow, options);
    const run = await this.#calls.triggerAndWait(body, waitSeconds, callOptions);
    return isAnswered(run) ? { ...typedAnswer(run), hasEnded: true } : { ...this.#handle(run), hasEnded: false };
  }

  #handle(started: AcceptedRun): RunHandle<unknown> {
    const result = async (wait?: AwaitOptions): Promise<TypedEndedRun<unknown>> =>
      typed(await this.#calls.result(started.runId, wait));
    return { ...started, result, output: async (wait) => outputOf(await this.#calls.result(started.runId, wait)) };
  }
}

const requestOf = (
  workflow: string | NamedWorkflow<unknown, unknown, unknown>,
  { input, idempotencyKey, signal, correlationId, ...more }: StartOptions<unknown>,
) => ({
  body: { workflowName: nameOf(workflow), ...(input !== undefined && { input: toJson(input) }), ...more },
  callOptions: defined({ idempotencyKey, signal, correlationId }),
});

const nameOf = (workflow: string | NamedWorkflow<unknown, unknown, unknown>): string => {
  if (typeof workflow === 'string') return workflow;
  return 'spec' in workflow ? workflow.spec.name : workflow.name;
};

const jsonValue: z.ZodType<JsonValue> = z.json();

/** The value as a request carries it: dates are strings. @throws ZodError for a value that JSON cannot represent */
const toJson = (value: unknown): JsonValue => {
  const text: string | undefined = JSON.stringify(value);
  return jsonValue.parse(text === undefined ? undefined : JSON.parse(text));
};

/** @throws ScopeComputeClientError */
const typed = (ended: EndedRun): TypedEndedRun<unknown> => {
  const { status, ...run } = ended;
  return status === 'completed' ? { ...run, status, output: shownOutput(ended) } : { ...run, status };
};

/** A status that this client does not know is shown as a failure. @throws ScopeComputeClientError */
function typedAnswer(answer: AnsweredRun): TypedAnsweredRun<unknown> {
  const { status, ...run } = answer;
  if (status === 'completed') return { ...run, status: 'completed', output: shownOutput(answer) };
  return { ...run, status: status === 'cancelled' ? 'cancelled' : 'failed' };
}

/** An output that is hidden is no output of the declared type. */
function shownOutput(run: EndedRun | AnsweredRun): unknown {
  if (run.payloadsHidden === undefined) return run.output;
  const required = 'payloads:read';
  const message = `${run.runId} completed, and its output is hidden: the key lacks ${required}`;
  const correlationId = 'correlationId' in run ? (run.correlationId ?? '') : '';
  throw new ScopeComputeClientError({ status: 403, code: 'missing_scope', message, correlationId, required });
}

/** @throws RunNotCompletedError, ScopeComputeClientError */
function outputOf(run: EndedRun): unknown {
  if (run.status !== 'completed' || run.outputOmitted !== undefined) throw new RunNotCompletedError(run);
  return shownOutput(run);
}
